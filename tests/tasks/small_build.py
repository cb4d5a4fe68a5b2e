"""A small, valid build folder made by hand from the contract, without any code that builds.

Its parts are plain rows, so that a test can change one before the folder is written. Counts that follow from rows are
made from them; what a test sets itself stays as set.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from tasks.tokens import load_encoding

if TYPE_CHECKING:
    from pathlib import Path

VERSION = "0.1.0"
INPUTS = [{"path": "task-graph.json", "sha256": hashlib.sha256(b"{}").hexdigest(), "bytes": 2}]
GRAPH = "checkout"
TASK, LARGE, ODD = "T-001", "T-002", "T 3/…"
ODD_STEM = "T%203%2F%E2%80%A6~" + hashlib.sha256(ODD.encode()).hexdigest()[:12]
PLACES = {TASK: f"{GRAPH}/{TASK}", LARGE: f"{GRAPH}/{LARGE}", ODD: f"{GRAPH}/{ODD_STEM}"}

STAGES = (
    "generate_candidates",
    "resolve_dependency_closure",
    "apply_sensitivity_filter",
    "apply_firewall_to_batch",
    "score_candidates",
    "deduplicate_candidates",
    "select_and_pack",
    "render_context",
)
TITLES = {
    "rules": "Security rules",
    "requirements": "Requirements",
    "design": "Design",
    "reference": "Reference",
    "history": "History",
    "brief": "Task",
}
WEIGHTS = {"recency": 0.30, "similarity": 0.25, "kind": 0.35, "penalty": 0.10}

RAW = "\n".join(
    f"{minute:02d}:00 worker {minute % 3} took order {minute * 7919 % 1000} from the queue" for minute in range(40)
)
SUMMARY = "Log of 40 lines, no errors. The whole is at artifact:log/r1."

ITEM_TYPES = {
    "item_id": pl.String,
    "graph": pl.String,
    "task_id": pl.String,
    "source": pl.String,
    "section": pl.Enum(list(TITLES)),
    "kind": pl.String,
    "text": pl.String,
    "tokens": pl.UInt32,
    "parent_id": pl.String,
    "sensitivity": pl.Categorical(),
    "position": pl.UInt32,
    "path": pl.String,
    "line_start": pl.UInt32,
    "line_end": pl.UInt32,
    "tags": pl.List(pl.String),
    "trusted": pl.Boolean,
    "media_type": pl.String,
    "artifact": pl.String,
    "content_hash": pl.String,
}
CONTEXT_TYPES = {
    "graph": pl.String,
    "task_id": pl.String,
    "item_id": pl.String,
    "recency": pl.Float64,
    "similarity": pl.Float64,
    "kind_priority": pl.Float64,
    "token_penalty": pl.Float64,
    "score": pl.Float64,
    "rank": pl.UInt32,
    "decision": pl.String,
    "stage": pl.Enum(list(STAGES)),
    "reason": pl.String,
    "duplicate_of": pl.String,
    "shortfall_tokens": pl.UInt32,
    "prompt_order": pl.UInt32,
    "text": pl.String,
}
STAGE_TYPES = {
    "graph": pl.String,
    "task_id": pl.String,
    "stage": pl.Enum(list(STAGES)),
    "candidates_in": pl.UInt32,
    "candidates_out": pl.UInt32,
    "tokens_in": pl.UInt64,
    "tokens_out": pl.UInt64,
    "drops": pl.List(pl.Struct({"reason": pl.String, "count": pl.UInt32})),
    "closures_added": pl.UInt32,
}
TASK_TYPES = {
    "graph": pl.String,
    "task_id": pl.String,
    "title": pl.String,
    "level": pl.Int32,
    "status": pl.String,
    "prompt": pl.String,
    "prompt_tokens": pl.UInt32,
    "budget_tokens": pl.UInt32,
    "tokenizer": pl.String,
    "margin": pl.Float64,
    "prompt_sha256": pl.String,
    "shared_prefix_tokens": pl.UInt32,
    "candidates": pl.UInt32,
    "included": pl.UInt32,
    "dropped": pl.UInt32,
    "closures_added": pl.UInt32,
    "dedup_removed": pl.UInt32,
    "sensitivity_dropped": pl.UInt32,
    "firewalled": pl.UInt32,
    "redactions": pl.UInt32,
    "tokens_by_section": pl.Struct(dict.fromkeys(TITLES, pl.UInt32)),
    "message": pl.String,
}
TIMING_TYPES = {
    "stage": pl.String,
    "shard": pl.UInt32,
    "tasks": pl.UInt32,
    "rows": pl.UInt64,
    "started": pl.String,
    "seconds": pl.Float64,
    "peak_mb": pl.Float64,
}
FINDING_TYPES = dict.fromkeys(("severity", "code", "where", "message"), pl.String)
ARTIFACT_TYPES = {
    "handle": pl.String,
    "item_id": pl.String,
    "sha256": pl.String,
    "size_bytes": pl.UInt64,
    "media_type": pl.String,
    "lines": pl.UInt64,
}


@dataclass
class SmallBuild:
    """The rows of a build. `write` makes a folder of them, every file listed and hashed."""

    settings: dict = field(default_factory=dict)
    items: dict[str, dict] = field(default_factory=dict)
    tasks: dict[str, dict] = field(default_factory=dict)
    contexts: dict[str, dict[str, dict]] = field(default_factory=dict)
    drops: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    stages: dict[str, list[dict]] = field(default_factory=dict)
    findings: list[dict] = field(default_factory=list)
    artifacts: list[dict] = field(default_factory=list)
    raw: dict[str, bytes] = field(default_factory=dict)
    types: dict[str, dict] = field(default_factory=dict)

    def write(self, out: Path) -> Path:
        """The build's folder in `out`."""
        root = out / build_id(self.settings)
        root.mkdir(parents=True)
        save(root / "tasks.parquet", self.tasks.values(), self.types.get("tasks", TASK_TYPES))
        save(root / "items.parquet", self.items.values(), self.types.get("items", ITEM_TYPES))
        stages = [row for rows in self.stages.values() for row in rows]
        save(root / "stages.parquet", stages, self.types.get("stages", STAGE_TYPES))
        save(root / "findings.parquet", self.findings, FINDING_TYPES)
        save(root / "artifacts.parquet", self.artifacts, self.types.get("artifacts", ARTIFACT_TYPES))
        timing = {
            "stage": STAGES[0],
            "shard": 0,
            "tasks": 3,
            "rows": 24,
            "started": "",
            "seconds": 0.1,
            "peak_mb": 90.0,
        }
        save(root / "timings.parquet", [timing], TIMING_TYPES)
        for task_id, rows in self.contexts.items():
            save(root / f"contexts/{PLACES[task_id]}.parquet", rows.values(), self.types.get("contexts", CONTEXT_TYPES))
        for task in self.tasks.values():
            if task["prompt"] is not None:
                path = root / f"prompts/{PLACES[task['task_id']]}.md"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(task["prompt"].encode())
        folder = root / "artifacts"
        folder.mkdir(mode=0o700)
        for name, data in self.raw.items():
            (folder / name).write_bytes(data)
            (folder / name).chmod(0o600)
        sign(root, self.settings)
        return root

    def settle(self, *task_ids: str) -> None:
        """Makes prompts, counts and stages again from the rows, for all tasks or some."""
        for task_id in task_ids or tuple(self.contexts):
            self._settle(task_id)

    def prompt(self, task_id: str, prompt: str | None) -> None:
        """Gives a task this prompt, counted and hashed."""
        task = self.tasks[task_id]
        tokens = len(load_encoding("o200k_base").encode_ordinary(prompt or ""))
        digest = hashlib.sha256((prompt or "").encode()).hexdigest()
        given = prompt is not None
        task |= {
            "prompt": prompt,
            "prompt_tokens": tokens if given else None,
            "prompt_sha256": digest if given else None,
        }

    def _settle(self, task_id: str) -> None:
        task, rows = self.tasks[task_id], self.contexts[task_id]
        chosen = sorted(
            (row for row in rows.values() if row["decision"] == "selected"), key=lambda row: row["prompt_order"]
        )
        out = [row for row in rows.values() if row["decision"] == "dropped"]
        parts: list[str] = []
        for section, title in TITLES.items():
            texts = [row["text"] for row in chosen if self.items[row["item_id"]]["section"] == section]
            parts += [f"## {title}", *texts] if texts else []
        self.prompt(task_id, "\n\n".join(parts) + "\n" if parts else None)
        back = task["closures_added"]
        task |= {
            "candidates": len(rows),
            "included": len(chosen),
            "dropped": len(out),
            "dedup_removed": sum(row["reason"] == "duplicate" for row in out),
            "sensitivity_dropped": sum(row["reason"] == "sensitivity" for row in out),
        }
        inside, tokens = len(rows), sum(self.items[row["item_id"]]["tokens"] for row in rows.values())
        self.stages[task_id] = []
        for stage in STAGES:
            here = [row for row in out if row["stage"] == stage]
            reasons = sorted({row["reason"] for row in here})
            drops = {reason: sum(row["reason"] == reason for row in here) for reason in reasons}
            if stage == STAGES[0] and back:  # what stage 2 brings back
                drops["irrelevant"] = drops.get("irrelevant", 0) + back
            added = back if stage == STAGES[1] else 0
            after = inside - sum(drops.values()) + added
            row = {"graph": GRAPH, "task_id": task_id, "stage": stage, "candidates_in": inside, "candidates_out": after}
            row |= {"tokens_in": tokens, "tokens_out": tokens - 3 * len(here), "closures_added": added}
            row["drops"] = [{"reason": reason, "count": count} for reason, count in drops.items()]
            self.stages[task_id].append(row)
            inside, tokens = after, row["tokens_out"]


def save(path: Path, rows, types: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = {name: [row.get(name) for row in rows] for name in types}
    pl.DataFrame(data, schema=types).write_parquet(path)


def sign(root: Path, settings: dict | None = None) -> None:
    """Writes the manifest for what lies in the folder now."""
    old = json.loads((root / "manifest.json").read_text()) if settings is None else {"settings": settings}
    outputs = [
        {"path": str(path.relative_to(root)), **_measured(path.read_bytes())}
        for path in root.rglob("*")
        if path.is_file() and not path.is_symlink() and path.name not in ("manifest.json", "timings.parquet")
    ]
    manifest = {
        "build_id": build_id(old["settings"]),
        "prebrief": VERSION,
        "inputs": INPUTS,
        "settings": old["settings"],
        "versions": {"polars": "2.1.0"},
        "tokenizer": "o200k_base",
        "margin": 1.1,
        "outputs": sorted(outputs, key=lambda row: row["path"]),
    }
    (root / "manifest.json").write_text(json.dumps(manifest, indent=1))


def build_id(settings: dict) -> str:
    identity = {"inputs": INPUTS, "settings": settings, "prebrief": VERSION}
    return hashlib.sha256(
        json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    ).hexdigest()[:16]


def _measured(data: bytes) -> dict:
    return {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}


# ---- the build --------------------------------------------------------------------------------------------------


def small_build(action: str = "drop") -> SmallBuild:
    """Three tasks of one graph: one with a prompt, one over budget, one whose id needs encoding."""
    build = SmallBuild(
        settings={
            "policy": {"phase": "interpret", "sensitivity_floor": "confidential", "sensitivity_action": action,
                       "kind_limit": 50, "kind_limits": {"policy": 200}},
            "scoring": {"weights": WEIGHTS},
            "firewall": {"summariser": "shape"},
            "packing": {"horizon": 2000},
            "spec": {"top": None},
            "render": {"style": "markdown"},
            "audit": {"max_rows_per_task": 2000},
        }
    )  # fmt: skip
    secret = {
        "sensitivity": "confidential",
        "text": None if action == "drop" else "[REDACTED: confidential]",
        "tokens": 0,
    }
    _item(build, "rules/core", "rules", "policy", "#### Core rules", source="rules", tags=["core"])
    _item(
        build,
        "rules/core/1",
        "rules",
        "policy",
        "Validate every input at the boundary.",
        source="rules",
        parent_id="rules/core",
        tags=["core"],
    )
    _item(build, "rules/go/1", "rules", "policy", "Check every returned error.", source="rules", tags=["go"])
    _item(build, "design/head", "design", "doc_snippet", "#### Payment flow", graph=GRAPH)
    _item(
        build,
        "design/1",
        "design",
        "doc_snippet",
        "The payment service holds the cart until the bank answers.",
        graph=GRAPH,
        parent_id="design/head",
    )
    _item(
        build,
        "design/2",
        "design",
        "doc_snippet",
        "The payment service holds the cart until the bank has answered.",
        graph=GRAPH,
        parent_id="design/head",
    )
    _item(
        build,
        "design/3",
        "design",
        "doc_snippet",
        "Newsletters go out on Mondays.",
        graph=GRAPH,
        parent_id="design/head",
    )
    _item(build, "log/c1", "history", "tool_call", "tail worker.log", trusted=False)
    _item(
        build,
        "log/r1",
        "history",
        "tool_result",
        SUMMARY,
        parent_id="log/c1",
        trusted=False,
        artifact="artifact:log/r1",
        media_type="text/plain",
    )
    _item(build, "log/s1", "history", "user_turn", trusted=False, **secret)
    _item(build, "log/s2", "history", "agent_msg", parent_id="log/s1", trusted=False, **secret)
    _item(build, "log/z1", "history", "agent_msg", "An event of the last task.", task_id=ODD, graph=GRAPH)
    for task_id in PLACES:
        _item(
            build,
            f"brief/{task_id}",
            "brief",
            "plan_state",
            f"#### Task {task_id}\n\nBuild the payment step.",
            graph=GRAPH,
            task_id=task_id,
            source="brief",
        )
    digest = hashlib.sha256(RAW.encode()).hexdigest()
    build.raw[digest] = RAW.encode()
    build.artifacts.append(
        {
            "handle": "artifact:log/r1",
            "item_id": "log/r1",
            "sha256": digest,
            "size_bytes": len(RAW),
            "media_type": "text/plain",
            "lines": 40,
        }
    )
    build.findings.append(
        {
            "severity": "warning",
            "code": "UNKNOWN_CONSUMER",
            "where": "task-graph.json",
            "message": "T-001 names a consumer that is no task.",
        }
    )

    gone = {"log/s1": (STAGES[2], "sensitivity"), "log/s2": (STAGES[2], "sensitivity")} if action == "drop" else {}
    _task(build, TASK, {"design/2": (STAGES[5], "duplicate"), "design/3": (STAGES[0], "irrelevant"), **gone}, back=1)
    _task(build, LARGE, dict.fromkeys(_candidates(LARGE), (STAGES[6], "budget")) | gone)
    _task(build, ODD, {"design/2": (STAGES[6], "section_budget"), "design/3": (STAGES[0], "irrelevant"), **gone})
    build.contexts[TASK]["design/2"]["duplicate_of"] = "design/1"
    build.contexts[LARGE][f"brief/{LARGE}"]["shortfall_tokens"] = 12
    build.contexts[ODD]["design/2"]["shortfall_tokens"] = 7
    build.tasks[LARGE] |= {"status": "over_budget", "message": "The brief alone is 12 tokens over the budget."}
    return build


def _candidates(task_id: str) -> list[str]:
    rules, designs = ["rules/core", "rules/core/1"], ["design/head", "design/1", "design/2", "design/3"]
    return [*rules, *designs, "log/c1", "log/r1", "log/s1", "log/s2", f"brief/{task_id}"]


def _item(build: SmallBuild, item_id: str, section: str, kind: str, text: str | None = None, **others) -> None:
    tokens = len(load_encoding("o200k_base").encode_ordinary(text or ""))
    digest = (
        hashlib.sha256(text.encode()).hexdigest() if text and others.get("sensitivity", "public") == "public" else None
    )
    row = {"item_id": item_id, "section": section, "kind": kind, "text": text, "tokens": tokens, "source": "spec"}
    row |= {"sensitivity": "public", "position": len(build.items), "tags": [], "trusted": True, "content_hash": digest}
    row |= {"path": f"{section}.md", "line_start": len(build.items) + 1, "line_end": len(build.items) + 1}
    build.items[item_id] = row | others


def _task(build: SmallBuild, task_id: str, out: dict[str, tuple[str, str]], back: int = 0) -> None:
    rows: dict[str, dict] = {}
    place = 0
    for rank, item_id in enumerate(_candidates(task_id), 1):
        parts = {"recency": 1.0, "similarity": 1.0 - rank / 20, "kind_priority": 0.5, "token_penalty": 0.9}
        score = sum(weight * value for weight, value in zip(WEIGHTS.values(), parts.values(), strict=True))
        row = {
            "graph": GRAPH,
            "task_id": task_id,
            "item_id": item_id,
            "decision": "selected",
            "rank": rank,
            **parts,
            "score": score,
        }
        if item_id in out:
            row |= {"decision": "dropped", "stage": out[item_id][0], "reason": out[item_id][1]}
            if STAGES.index(row["stage"]) < STAGES.index("score_candidates"):
                row |= dict.fromkeys([*parts, "score", "rank"])
        else:
            row |= {"prompt_order": place, "text": build.items[item_id]["text"]}
            place += 1
        rows[item_id] = {name: row.get(name) for name in CONTEXT_TYPES}
    build.contexts[task_id] = rows
    build.tasks[task_id] = {
        "graph": GRAPH, "task_id": task_id, "title": f"Task {task_id}", "level": 1, "status": "ok", "budget_tokens": 4000,
        "tokenizer": "o200k_base", "margin": 1.1, "shared_prefix_tokens": 20, "closures_added": back, "firewalled": 1,
        "redactions": 0, "tokens_by_section": dict.fromkeys(TITLES, 5), "message": None,
    }  # fmt: skip
    build.settle(task_id)
