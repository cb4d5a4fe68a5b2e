"""The words that the frames, the sources and the readers of a build share."""

from __future__ import annotations

STAGE_NAMES = (
    "generate_candidates",
    "resolve_dependency_closure",
    "apply_sensitivity_filter",
    "apply_firewall_to_batch",
    "score_candidates",
    "deduplicate_candidates",
    "select_and_pack",
    "render_context",
)
SECTIONS = ("rules", "requirements", "design", "reference", "history", "brief")
SECTION_TITLES = {
    "rules": "Security rules",
    "requirements": "Requirements",
    "design": "Design",
    "reference": "Reference",
    "history": "History",
    "brief": "Task",
}
KINDS = (
    "user_turn",
    "agent_msg",
    "tool_call",
    "tool_result",
    "doc_snippet",
    "retrieved_doc",
    "memory_fact",
    "plan_state",
    "policy",
)
LEVELS = ("public", "internal", "confidential", "restricted")
REASONS = (
    "phase",
    "sensitivity",
    "duplicate",
    "kind_limit",
    "section_budget",
    "budget",
    "parent_missing_room",
    "horizon",
    "irrelevant",
)
#: How far a task is in its plan.
PROGRESS = ("pending", "in-progress", "review", "blocked", "done", "deferred", "cancelled")
#: The first so many stages work on what tasks share; the others on pairs, shard by shard.
POOLED_STAGES = 4
STATUSES = ("ok", "over_budget", "fallback", "failed")
#: How urgent a rule is, where its source says so: most urgent first. Its tag is `priority:<word>`.
PRIORITIES = ("critical", "important", "recommended")
PRIORITY = "priority:"
SEVERITIES = ("info", "warning", "error")


def placeholder(level: str) -> str:
    """What stands in the place of a text of this level, where such items are redacted."""
    return f"[REDACTED: {level}]"
