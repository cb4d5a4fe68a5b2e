"""Small swarms for tests: written to a folder, built in this process, and read back as tests speak of them."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from tasks.audit import audit
from tasks.building import build
from tasks.settings import Settings, load_settings
from tasks.sources.inputs import Request

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ROOT = Path(__file__).parents[1]
CHECKER = ROOT.parent / "shared" / "tools" / "check_build.py"

#: Two short rules, so that small budgets have room for something else.
RULES = {
    "_core/owasp-2025.md": "# Core rules\n\n## Rule: Check who asks\n\n**Level**: `strict`\n\n**When**: Always.\n",
    "languages/python/CLAUDE.md": "# Python rules\n\n## Rule: Bind parameters\n\n**Level**: `strict`\n\n**When**: In SQL.\n",
}


def event(event_id: str, kind: str, text: str, parent: str | None = None, **more: Any) -> dict[str, Any]:
    """A row of an event log."""
    return {"id": event_id, "kind": kind, "text": text, **({"parent_id": parent} if parent else {}), **more}


def task(task_id: str, title: str = "Login page", **more: Any) -> dict[str, Any]:
    """A task of a plan."""
    return {"id": task_id, "title": title, "description": "", "level": 1, "dependencies": [], "files": {}, **more}


def write_swarm(
    folder: Path,
    tasks: Sequence[Mapping[str, Any]],
    *,
    requirements: str = "",
    design: str = "",
    events: Iterable[Mapping[str, Any] | str | bytes] = (),
    logs: Mapping[str, Iterable[Mapping[str, Any] | str | bytes]] | None = None,
    rules: Mapping[str, str] = RULES,
    feature: str = "demo",
) -> Request:
    """Writes a graph with its documents, rules and logs, and asks for all of them. A row given as text stays as it is."""
    plan = folder / "plan"
    _write(plan / "task-graph.json", json.dumps({"feature": feature, "tasks": list(tasks)}))
    if requirements:
        _write(plan / "requirements.md", requirements)
    if design:
        _write(plan / "design.md", design)
    for place, text in rules.items():
        _write(folder / "rules" / place, text)
    named = dict(logs or {})
    if events:
        named["history.jsonl"] = events
    for name, rows in named.items():
        _write(folder / "logs" / name, b"\n".join(map(_line, rows)) + b"\n")
    return Request(
        graphs=(Path("plan/task-graph.json"),),
        rules=Path("rules") if rules else None,
        history=tuple(Path("logs", name) for name in named),
        cwd=folder,
    )


def build_swarm(
    folder: Path, tasks: Sequence[Mapping[str, Any]], *, settings: Settings | None = None, **parts: Any
) -> Built:
    """Writes a swarm and builds it."""
    return built(write_swarm(folder, tasks, **parts), settings)


def built(request: Request, settings: Settings | None = None, out: Path | None = None) -> Built:
    """Builds what was asked for into `out`, else beside it."""
    place = out or request.cwd / "builds"
    return Built(
        build(request, settings or load_settings(), place).path, tuple(request.cwd / log for log in request.history)
    )


@dataclass(frozen=True)
class Built:
    """A build folder, as tests ask about it. Tasks are named by their id alone, items by the end of theirs."""

    path: Path
    logs: tuple[Path, ...] = ()

    @cached_property
    def tasks(self) -> pl.DataFrame:
        return pl.read_parquet(self.path / "tasks.parquet")

    @cached_property
    def items(self) -> pl.DataFrame:
        return pl.read_parquet(self.path / "items.parquet")

    @cached_property
    def stages(self) -> pl.DataFrame:
        return pl.read_parquet(self.path / "stages.parquet")

    @cached_property
    def artifacts(self) -> pl.DataFrame:
        return pl.read_parquet(self.path / "artifacts.parquet")

    @cached_property
    def findings(self) -> list[str]:
        return pl.read_parquet(self.path / "findings.parquet")["code"].to_list()

    @cached_property
    def contexts(self) -> pl.DataFrame:
        files = sorted((self.path / "contexts").rglob("*.parquet"))
        return pl.concat([pl.read_parquet(file) for file in files])

    def task(self, task_id: str) -> dict[str, Any]:
        return self.tasks.row(by_predicate=pl.col("task_id") == task_id, named=True)

    def status(self, task_id: str) -> str:
        return self.task(task_id)["status"]

    def prompt(self, task_id: str) -> str:
        prompt = self.task(task_id)["prompt"]
        assert prompt is not None, self.task(task_id)["message"]
        return prompt

    def item(self, end: str) -> dict[str, Any]:
        return self.items.row(by_predicate=pl.col("item_id").str.ends_with(end), named=True)

    def row(self, task_id: str, end: str) -> dict[str, Any]:
        """A candidate of a task."""
        mine = (pl.col("task_id") == task_id) & pl.col("item_id").str.ends_with(end)
        return self.contexts.row(by_predicate=mine, named=True)

    def reason(self, task_id: str, end: str) -> str | None:
        """Why an item is out of a task's context; None where it is in."""
        return self.row(task_id, end)["reason"]

    def selected(self, task_id: str) -> list[str]:
        """The ends of the ids of a task's items, in the prompt's order."""
        rows = self.contexts.filter((pl.col("task_id") == task_id) & (pl.col("decision") == "selected"))
        return [item.rsplit("/", 1)[-1] for item in rows.sort("prompt_order")["item_id"]]

    def everything(self) -> bytes:
        """All bytes of all files but the artifacts'."""
        kept = [path for path in sorted(self.path.rglob("*")) if path.is_file() and path.parent.name != "artifacts"]
        return b"\n".join(path.read_bytes() for path in kept) + "\n".join(self.texts()).encode()

    def texts(self) -> list[str]:
        """Every text of every frame, compressed or not."""
        found = []
        for path in sorted(self.path.rglob("*.parquet")):
            found += [json.dumps(row, ensure_ascii=False, default=str) for row in pl.read_parquet(path).to_dicts()]
        return found

    def problems(self) -> list[str]:
        """What the audit and, where it is at hand, the independent reader find wrong."""
        found = [f"audit: {violation}" for violation in audit(self.path)]
        if (checker := independent_reader()) is not None:
            report, _ = checker.check(self.path, self.logs)
            found += [f"{check}: {message}" for check, messages in report.found.items() for message in messages]
        return found

    def bytes(self) -> dict[str, bytes]:
        """Every file that belongs to the build's identity."""
        files = [path for path in sorted(self.path.rglob("*")) if path.is_file() and path.name != "timings.parquet"]
        return {path.relative_to(self.path).as_posix(): path.read_bytes() for path in files}


@cache
def independent_reader() -> Any:
    """The reader of build folders that shares no code with prebrief, as a module; None where it is not here."""
    if not CHECKER.is_file():
        return None
    spec = importlib.util.spec_from_file_location("check_build", CHECKER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = writes
    return module


def _write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def _line(row: Mapping[str, Any] | str | bytes) -> bytes:
    if isinstance(row, bytes):
        return row
    return row.encode() if isinstance(row, str) else json.dumps(row, ensure_ascii=True).encode()
