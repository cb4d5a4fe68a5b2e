"""Why each candidate of a task is in or out, in words, from a build's files alone.

Text at or above the floor is never shown, whatever the files hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from tasks.errors import BuildMissingError
from tasks.settings import Settings
from tasks.terms import LEVELS, PRIORITY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tasks.outputs.reader import BuildFolder

#: The parts of a score: the column of a context, and the weight that the settings give it.
SCORE_PARTS = {
    "recency": "recency",
    "similarity": "similarity",
    "kind_priority": "kind",
    "token_penalty": "penalty",
}

_BEGINNING = 72  # characters of an item that are shown
_UNKNOWN = "restricted"  # what an item without a valid label counts as


def explain_task(build: BuildFolder, graph: str, task_id: str) -> pl.DataFrame:
    """Why each candidate of a task is in or out, one row a candidate.

    Columns: `decision, stage, reason, because, rank, score, prompt_order, section, kind, tokens, item_id, path,
    line_start, line_end, begins`. What is selected comes first, in the order of the prompt, then the rest by rank.
    `begins` holds the first words of an item; it is null at or above the floor.

    Raises:
        BuildMissingError: the build has no such task, or no context of it.
    """
    context, settings = _context(build, graph, task_id), _Settings(build.manifest)
    items = _items(build, context["item_id"].to_list())
    explained: dict[str, list[str | None]] = {
        "because": [
            _because(row, items.get(row["item_id"], {}), settings, items) for row in context.iter_rows(named=True)
        ],
        "begins": [_beginning(items.get(item_id), settings) for item_id in context["item_id"]],
    }
    described = ("section", "kind", "tokens", "path", "line_start", "line_end")
    known = build.items.select(pl.col("item_id"), *described)
    return (
        context.with_columns(pl.Series(name, values, dtype=pl.String) for name, values in explained.items())
        .join(known, on="item_id", how="left", maintain_order="left")
        .sort(
            pl.col("decision").cast(pl.String) != "selected",
            "prompt_order",
            "rank",
            "item_id",
            nulls_last=True,
        )
        .select(
            "decision", "stage", "reason", "because", "rank", "score", "prompt_order", "section", "kind", "tokens",
            "item_id", "path", "line_start", "line_end", "begins",
        )
    )  # fmt: skip


def explain_item(build: BuildFolder, graph: str, task_id: str, item_id: str) -> dict[str, Any]:
    """All that the build says about one item in one task, as plain values.

    Keys: `graph, task_id, item_id, candidate` (whether it was one of this task), `decision, stage, reason, because`
    (the reason as a sentence), `rank, candidates` (of how many), `score, parts` (of `part, value, weight, product`),
    `duplicate_of` (of `item_id, begins`; null where it repeats nothing), `shortfall_tokens, prompt_order, parents` (of
    `item_id, decision, begins`, the nearest first), and from the item `section, kind, sensitivity, tokens, path,
    line_start, line_end, begins`. An item that was no candidate has null for what only candidates have.

    Raises:
        BuildMissingError: the build has no such task or item.
    """
    item = build.item(item_id)
    context, settings = _context(build, graph, task_id), _Settings(build.manifest)
    task = build.tasks.row(by_predicate=(pl.col("graph") == graph) & (pl.col("task_id") == task_id), named=True)
    found = context.filter(pl.col("item_id") == item["item_id"])
    row: dict[str, Any] = found.row(0, named=True) if len(found) else {}
    lineage = [item["item_id"], *_ancestors(build, item["item_id"])]
    repeated = row.get("duplicate_of")
    items = _items(build, [*lineage, *([repeated] if repeated else [])])
    decisions = dict(context.select("item_id", pl.col("decision").cast(pl.String)).iter_rows())
    because = _because(row, item, settings, items) if row else _no_candidate(item, task, len(context))
    return {
        "graph": graph,
        "task_id": task_id,
        "item_id": item["item_id"],
        "candidate": bool(row),
        **{name: row.get(name) for name in ("decision", "stage", "reason")},
        "because": because,
        "rank": row.get("rank"),
        "candidates": task["candidates"],
        "score": row.get("score"),
        "parts": list(_parts(row, settings)),
        "duplicate_of": {"item_id": repeated, "begins": _beginning(items.get(repeated), settings)}
        if repeated
        else None,
        "shortfall_tokens": row.get("shortfall_tokens"),
        "prompt_order": row.get("prompt_order"),
        "parents": [
            {"item_id": above, "decision": decisions.get(above), "begins": _beginning(items.get(above), settings)}
            for above in lineage[1:]
        ],
        **{name: item[name] for name in ("section", "kind", "sensitivity", "tokens", "path", "line_start", "line_end")},
        "begins": _beginning(item, settings),
    }


class _Settings:
    """The few settings that an explanation quotes; prebrief's defaults where a manifest does not hold them."""

    def __init__(self, manifest: Mapping[str, Any]) -> None:
        given = manifest.get("settings")
        self._given: Mapping[str, Any] = given if isinstance(given, dict) else {}
        self._default = Settings.model_construct().model_dump(mode="json")

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - as many types as there are settings
        found: Any = self._given
        default: Any = self._default
        for step in name.split("."):
            default = default.get(step) if isinstance(default, dict) else None
            found = found.get(step, default) if isinstance(found, dict) else default
        return found

    def above_floor(self, level: object) -> bool:
        """Whether text with this label is kept out; a label that is none counts as the highest."""
        known = str(level) if str(level) in LEVELS else _UNKNOWN
        floor = self["policy.sensitivity_floor"]
        return LEVELS.index(known) >= LEVELS.index(floor if floor in LEVELS else "confidential")


def _context(build: BuildFolder, graph: str, task_id: str) -> pl.DataFrame:
    try:
        return build.context(graph, task_id)
    except BuildMissingError:
        chosen = (pl.col("graph") == graph) & (pl.col("task_id") == task_id) & (pl.col("status") == "failed")
        failed = build.tasks.filter(chosen)["message"].to_list()
        if not failed:
            raise
        raise BuildMissingError(
            f"{graph}/{task_id} failed before it had candidates ({failed[0]}); mend that and run prebrief build again."
        ) from None


def _items(build: BuildFolder, item_ids: list[str]) -> dict[str, dict[str, Any]]:
    """The items of these ids, and those they were found to repeat, by id."""
    rows = build.items.filter(pl.col("item_id").is_in(item_ids))
    return {row["item_id"]: row for row in rows.iter_rows(named=True)}


def _ancestors(build: BuildFolder, item_id: str) -> list[str]:
    """The ids above an item, nearest first; a parent that is missing is the last, a cycle ends where it closes."""
    parents = dict(build.items.select("item_id", "parent_id").iter_rows())
    chain = [item_id]
    while (above := parents.get(chain[-1])) is not None and above not in chain:
        chain.append(above)
    return chain[1:]


def _parts(row: Mapping[str, Any], settings: _Settings) -> Iterator[dict[str, Any]]:
    for column, weighed in SCORE_PARTS.items():
        value = row.get(column)
        if value is not None:
            weight = settings[f"scoring.weights.{weighed}"]
            yield {"part": column, "value": value, "weight": weight, "product": value * weight}


def _beginning(item: Mapping[str, Any] | None, settings: _Settings) -> str | None:
    """The first words of an item on one line; nothing at or above the floor."""
    if item is None or item.get("text") is None or settings.above_floor(item.get("sensitivity")):
        return None
    words = " ".join(item["text"][: _BEGINNING * 4].split())
    return words if len(words) <= _BEGINNING else words[:_BEGINNING].rsplit(" ", 1)[0] + " …"


def _because(
    row: Mapping[str, Any], item: Mapping[str, Any], settings: _Settings, items: Mapping[str, Mapping[str, Any]]
) -> str:
    """Why a candidate is in or out, in one sentence."""
    if row["decision"] == "selected":
        return _why_in(row, item)
    kind, missed = item.get("kind"), _missed(row)
    match row["reason"]:
        case "phase":
            return f"The phase {settings['policy.phase']} leaves out items of kind {kind}."
        case "sensitivity":
            floor = settings["policy.sensitivity_floor"]
            return f"It, or what it descends from or repeats, is {item.get('sensitivity')}; the floor is {floor}."
        case "duplicate":
            begins = _beginning(items.get(row["duplicate_of"]), settings)
            quoted = f" ({begins})" if begins else ""
            return f"It repeats {row['duplicate_of']}{quoted}, which has the higher score."
        case "kind_limit":
            limits = settings["policy.kind_limits"]
            limit = limits.get(kind, settings["policy.kind_limit"]) if isinstance(limits, dict) else "all its"
            return f"The {limit} places for items of kind {kind} were taken by higher scores."
        case "section_budget":
            return f"The share of the section {item.get('section')} was spent on higher scores{missed}."
        case "budget":
            return f"The budget was spent on higher scores{missed}."
        case "parent_missing_room":
            return f"It would need its ancestors beside it, and they do not fit{missed}."
        case "horizon":
            return f"It is not among the best {settings['packing.horizon']} of its section, beyond which none is tried."
        case "irrelevant" if row["stage"] == "select_and_pack":
            return "It is a heading, and nothing under it was selected."
        case "irrelevant":
            top = settings["spec.top"]
            return (
                "None of the task's keywords stands in it."
                if top is None
                else (f"None of the task's keywords stands in it, or {top} passages of its document match better.")
            )
        case reason:
            return f"It went out at {row['stage']} for the reason {reason}."


def _why_in(row: Mapping[str, Any], item: Mapping[str, Any]) -> str:
    if item.get("section") == "brief":
        return "A task's own brief is always in."
    if row["rank"] is None:
        return "It is part of the full context that a task falls back to."
    return f"It fits, at rank {row['rank']} of this task's candidates."


def _missed(row: Mapping[str, Any]) -> str:
    short = row["shortfall_tokens"]
    return "" if short is None else f"; it missed by {short} token{'' if short == 1 else 's'}"


def _no_candidate(item: Mapping[str, Any], task: Mapping[str, Any], rows: int) -> str:
    """Why an item does not stand among the candidates of a task. What is certain is said before what may be."""
    owner = f"{item['graph']}/{item['task_id']}" if item["graph"] is not None else item["task_id"]
    elsewhere = item["task_id"] not in (None, task["task_id"])
    if item["graph"] not in (None, task["graph"]):
        return f"It belongs to {'graph ' + item['graph'] if item['task_id'] is None else 'task ' + owner}."
    if elsewhere and item["section"] != "history":
        return f"It belongs to task {owner}."
    if task["candidates"] > rows:
        return (
            f"It is no candidate, or one of the {task['candidates'] - rows} with the lowest scores, which are counted"
            " and not written down (audit.max_rows_per_task)."
        )
    if elsewhere:
        return f"It belongs to task {owner}, on which this task does not depend."
    if item["source"] == "rules":
        tags = [tag for tag in item["tags"] or () if not tag.startswith(PRIORITY)]
        scopes = ", ".join(tags).replace("glob:", "").replace("|", ", ") or "other files"
        return f"It is a rule for {scopes}, and this task creates or modifies no such file."
    return "No group of candidates that this task draws from holds it."
