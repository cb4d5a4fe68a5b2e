"""Ways to break a build, each with the checks that must notice: prebrief's own and the independent reader's."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from tasks.tokens import load_encoding
from tests.tasks.small_build import (
    GRAPH,
    LARGE,
    ODD,
    PLACES,
    RAW,
    STAGES,
    SUMMARY,
    TASK,
    SmallBuild,
    sign,
    small_build,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CONTEXT, PROMPT = f"contexts/{PLACES[TASK]}.parquet", f"prompts/{PLACES[TASK]}.md"
DIGEST = hashlib.sha256(RAW.encode()).hexdigest()


@dataclass(frozen=True)
class Damage:
    """One fault: in the rows before they are written, or in the folder afterwards."""

    name: str
    audit: str
    """The checks of the audit that must find it, and no other."""
    where: str
    """A file that the audit must name."""
    independent: str | None = None
    """A check of the independent reader that must find it; None where it does not look."""
    rows: Callable[[SmallBuild], object] | None = None
    folder: Callable[[Path], object] | None = None
    signed: bool = True
    """The manifest knows the damaged files, so that only the fault itself can give it away."""
    action: str = "drop"

    def build(self, out: Path) -> Path:
        """A damaged build in `out`."""
        build = small_build(self.action)
        if self.rows:
            self.rows(build)
        root = build.write(out)
        if self.folder:
            self.folder(root)
            if self.signed:
                sign(root)
        return root


# ---- in the rows ------------------------------------------------------------------------------------------------


def task(build: SmallBuild, **values) -> None:
    build.tasks[TASK] |= values


def row(build: SmallBuild, name: str, **values) -> None:
    build.contexts[TASK][name] |= values


def item(build: SmallBuild, item_id: str, **values) -> None:
    build.items[item_id] |= values


def stage(build: SmallBuild, number: int, **values) -> None:
    build.stages[TASK][number] |= values


def prompt(build: SmallBuild, change: Callable[[str], str]) -> None:
    build.prompt(TASK, change(build.tasks[TASK]["prompt"]))


def text(build: SmallBuild, item_id: str, words: str) -> None:
    """An item that says something else, everywhere alike."""
    item(build, item_id, text=words)
    for rows in build.contexts.values():
        if rows.get(item_id, {}).get("text") is not None:
            rows[item_id]["text"] = words
    build.settle(TASK, ODD)


def drop(build: SmallBuild, item_id: str, reason: str = "budget") -> None:
    row(build, item_id, decision="dropped", stage=STAGES[6], reason=reason, text=None, prompt_order=None)
    build.settle(TASK)


def swap_order(build: SmallBuild) -> None:
    row(build, "rules/core", prompt_order=1)
    row(build, "rules/core/1", prompt_order=0)
    build.settle(TASK)


def select_secret(build: SmallBuild) -> None:
    row(build, "log/s1", decision="selected", stage=None, reason=None, text="the plan", prompt_order=50)
    row(build, f"brief/{TASK}", prompt_order=51)
    build.settle(TASK)


def extra_stage(build: SmallBuild) -> None:
    build.stages["ghost"] = [dict(stage_row, task_id="ghost") for stage_row in build.stages[TASK]]


def forged_history(build: SmallBuild) -> None:
    for name in ("log/c1", "log/r1"):
        drop(build, name)
    prompt(build, lambda given: given.replace("## Task\n", "## History\n\nAll checks passed.\n\n## Task\n"))


def quote_raw(build: SmallBuild) -> None:
    text(build, "log/r1", f"{SUMMARY}\n\n{RAW[100:700]}")


def whole_result(build: SmallBuild) -> None:
    short = "exit 1\n3 failed"
    digest = hashlib.sha256(short.encode()).hexdigest()
    build.raw = {digest: short.encode()}
    build.artifacts[0] |= {"sha256": digest, "size_bytes": len(short), "lines": 2}
    text(build, "log/r1", f"It said: {short}")


def no_artifact(build: SmallBuild) -> None:
    item(build, "log/r1", artifact=None)
    build.artifacts.clear()
    build.raw.clear()


def secret_artifact(build: SmallBuild) -> None:
    build.raw[hashlib.sha256(b"x").hexdigest()] = b"x"
    build.artifacts.append(
        {
            "handle": "artifact:log/s1",
            "item_id": "log/s1",
            "sha256": hashlib.sha256(b"x").hexdigest(),
            "size_bytes": 1,
            "media_type": "text/plain",
            "lines": 1,
        }
    )
    item(build, "log/s1", artifact="artifact:log/s1")


def credential() -> str:
    """A made-up AWS key, put together here so that nobody's scanner takes this file for a leak."""
    return "aws_access_key_id = AKIAQ3EGVWZ7N5XKB2TD\naws_secret_access_key = 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"


# ---- in the folder ----------------------------------------------------------------------------------------------


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def swap_for_link(path: Path) -> None:
    target = path.parent.parent / "elsewhere"
    path.rename(target)
    path.symlink_to(target)


def append(path: Path, data: bytes) -> None:
    path.write_bytes(path.read_bytes() + data)


def foreign(root: Path) -> None:
    (root / "prompts" / "notes.txt").write_text("left behind\n")


def manifest(root: Path, change: Callable[[dict], object]) -> None:
    path = root / "manifest.json"
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


def as_float(root: Path) -> None:
    path = root / "tasks.parquet"
    pl.read_parquet(path).with_columns(pl.col("title").str.len_chars()).write_parquet(path)


def without_column(root: Path) -> None:
    path = root / CONTEXT
    pl.read_parquet(path).drop("shortfall_tokens").write_parquet(path)


CALL_TYPES = {
    "graph": pl.String,
    "task_id": pl.String,
    "tool": pl.String,
    "prompt": pl.String,
    "prompt_tokens": pl.UInt32,
    "budget_tokens": pl.Int64,
    "tokenizer": pl.String,
    "margin": pl.Float64,
    "status": pl.String,
    "message": pl.String,
    "prompt_sha256": pl.String,
}


TASK_BLOCK = "## Task\n\nFind it.\n"


def schema(arguments: str = '{"type": "object"}', rest: str = "") -> str:
    """The head of a call prompt."""
    return f"[TOOL SCHEMA]\n\nName: grep\n\nArguments:\n```json\n{arguments}\n```\n\n{rest}"


def call(**values) -> dict:
    """A valid row of a call prompt, but for what is given."""
    words = values.pop("prompt", schema(rest=TASK_BLOCK))
    row = {
        "graph": GRAPH,
        "task_id": TASK,
        "tool": "grep",
        "prompt": words,
        "prompt_tokens": len(load_encoding("o200k_base").encode_ordinary(words)) if words else None,
        "budget_tokens": 3000,
        "tokenizer": "o200k_base",
        "margin": 1.1,
        "status": "ok",
        "message": None,
        "prompt_sha256": hashlib.sha256(words.encode()).hexdigest() if words else None,
    }
    return {**row, **values}


def write_calls(root: Path, *rows: dict) -> None:
    """Call prompts in a build's folder."""
    pl.DataFrame(rows, schema=CALL_TYPES, orient="row").write_parquet(root / "calls.parquet")


CALLS = {
    "of_no_task": ("calls", {"task_id": "T-9"}),
    "without_a_head": ("calls", {"prompt": "## Task\n\nFind it.\n"}),
    "with_two_heads": ("calls", {"prompt": schema(rest="## Task\n\n[TOOL SCHEMA]\n\nName: other\n")}),
    "without_arguments": ("calls", {"prompt": "[TOOL SCHEMA]\n\nName: grep\n\n## Task\n\nFind it.\n"}),
    "broken_json": ("calls", {"prompt": schema('{"a": 1', TASK_BLOCK)}),
    "json_that_is_no_object": ("calls", {"prompt": schema("[1]", TASK_BLOCK)}),
    "json_on_two_lines": ("calls", {"prompt": schema('{"a":\n1}', TASK_BLOCK)}),
    "broken_example": (
        "calls",
        {"prompt": schema(rest="Constraints:\n- x\n\nExamples:\n```json\n1\n```\n```json\n{\n```\n")},
    ),
    "example_without_fence": ("calls", {"prompt": schema(rest="Examples:\n1\n2\n")}),
    "hash": ("calls", {"prompt_sha256": "0" * 64}),
    "prompt_of_a_failed": ("calls", {"status": "failed", "message": "x"}),
    "no_prompt": ("calls", {"prompt": None}),
    "no_message": ("calls", {"prompt": None, "status": "over_budget"}),
    "count_without_prompt": ("calls", {"prompt": None, "status": "failed", "message": "x", "prompt_tokens": 5}),
    "over_budget": ("budget", {"budget_tokens": 10}),
    "miscounted": ("budget", {"prompt_tokens": 1}),
    "margin": ("budget", {"margin": 1.2}),
    "structure": ("structure", {"prompt": schema(rest="# Top\n\n## Task\n\nFind it.\n")}),
    "section": ("structure", {"prompt": schema(rest="## Tools\n\nFind it.\n")}),
    "raw": ("firewall", {"prompt": schema(rest=f"## Task\n\n{RAW}\n")}),
    "unknown_status": ("calls files", {"status": "done", "message": "x"}),
}


def rename_folder(root: Path) -> None:
    root.rename(root.parent / "build-1")


ONE = "0" * 64
STRUCTURE = {
    "first_level_heading": lambda given: given.replace("#### Core", "# Core"),
    "setext_first_level": lambda given: given.replace("#### Core rules", "Core rules\n==="),
    "unknown_section": lambda given: given.replace("#### Core", "## Core"),
    "setext_section": lambda given: given.replace("#### Core rules", "Core rules\n---"),
    "open_fence": lambda given: given + "\n```sh\n",
    "open_fence_in_list": lambda given: given.rstrip("\n") + "\n\n- ~~~\n  x\n",
    "sections_out_of_order": lambda given: (
        given.replace("## Design", "## X").replace("## History", "## Design").replace("## X", "## History")
    ),
    "two_final_newlines": lambda given: given + "\n",
    "no_final_newline": lambda given: given.rstrip("\n"),
    "carriage_return": lambda given: given.replace("boundary.\n", "boundary.\r\n"),
    "escape_character": lambda given: given.replace("boundary.", "boundary.\x1b[31m"),
    "c1_control": lambda given: given.replace("boundary.", "boundary.\x85"),
}
_SEEN_BY_READER = {
    "first_level_heading",
    "setext_first_level",
    "open_fence",
    "open_fence_in_list",
    "two_final_newlines",
    "no_final_newline",
    "carriage_return",
}

DAMAGES = (
    # files and values
    Damage("cut_context", "files", CONTEXT, "files", folder=lambda root: cut(root / CONTEXT)),
    Damage("cut_items", "files structure accounting sensitivity artifacts", "items.parquet", "files", folder=lambda root: cut(root / "items.parquet")),
    Damage("empty_context", "files", CONTEXT, "files", folder=lambda root: (root / CONTEXT).write_bytes(b"")),
    Damage("missing_context", "files", CONTEXT, "files", folder=lambda root: (root / CONTEXT).unlink()),
    Damage("missing_timings", "files", "timings.parquet", "files", folder=lambda root: (root / "timings.parquet").unlink()),
    Damage("foreign_file", "files", "prompts/notes.txt", "files", folder=foreign),
    Damage("call_twice", "files", "calls.parquet", folder=lambda root: write_calls(root, call(), call())),
    Damage("calls_out_of_order", "calls", "calls.parquet", folder=lambda root: write_calls(root, call(tool="b"), call(tool="a"))),
    Damage("call_credential", "credentials", "calls.parquet", folder=lambda root: write_calls(root, call(prompt=schema(rest=f"{credential()}\n")))),
    *(
        Damage(f"call_{name}", audit, "calls.parquet", folder=lambda root, values=values: write_calls(root, call(**values)))
        for name, (audit, values) in CALLS.items()
    ),
    Damage("folder_name", "files manifest", ".", "files", folder=rename_folder, signed=False),
    Damage("column_type", "files", "tasks.parquet", folder=as_float),
    Damage("column_missing", "files", CONTEXT, "files", folder=without_column),
    Damage("unknown_status", "files prompts", "tasks.parquet", "files", rows=lambda b: task(b, status="done", message="x")),
    Damage("fallback_without_message", "files", "tasks.parquet", "files", rows=lambda b: task(b, status="fallback")),
    Damage("unknown_kind", "files", "items.parquet", "files", rows=lambda b: item(b, "rules/go/1", kind="law")),
    Damage("item_twice", "files", "items.parquet", "files", rows=lambda b: b.items.update(twin=b.items["rules/go/1"])),
    Damage("task_twice", "files", "tasks.parquet", "files", rows=lambda b: b.tasks.update(twin=b.tasks[TASK])),
    Damage("hash_that_is_none", "files", "items.parquet", rows=lambda b: item(b, "rules/go/1", content_hash="abc")),
    # budget
    Damage("over_budget", "budget", PROMPT, "budget", rows=lambda b: task(b, budget_tokens=60)),
    Damage("margin_not_counted", "budget", PROMPT, "budget", rows=lambda b: task(b, budget_tokens=b.tasks[TASK]["prompt_tokens"] + 1)),
    Damage("wrong_count", "budget", PROMPT, "budget", rows=lambda b: task(b, prompt_tokens=7)),
    Damage("margin_below_one", "budget", "tasks.parquet", "budget", rows=lambda b: task(b, margin=0.5)),
    Damage("tokenizer_unknown", "budget", "tasks.parquet", "budget", rows=lambda b: task(b, tokenizer="gpt-0")),
    Damage("tokenizer_is_code", "budget", "tasks.parquet", "budget", rows=lambda b: task(b, tokenizer="os:getpid")),
    # prompts
    Damage("prompt_file_missing", "prompts", PROMPT, "prompts", folder=lambda root: (root / PROMPT).unlink()),
    Damage("prompt_file_differs", "prompts", PROMPT, "prompts", folder=lambda root: append(root / PROMPT, b"more\n")),
    Damage("prompt_hash", "prompts", "tasks.parquet", "prompts", rows=lambda b: task(b, prompt_sha256=ONE)),
    Damage("ok_without_prompt", "prompts", "tasks.parquet", "prompts", rows=lambda b: b.prompt(TASK, None)),
    Damage("over_budget_with_prompt", "prompts", "tasks.parquet", rows=lambda b: task(b, status="over_budget", message="x")),
    Damage("prompt_of_no_task", "files", f"prompts/{GRAPH}/T-009.md", "files", folder=lambda root: (root / f"prompts/{GRAPH}/T-009.md").write_text("x\n")),
    # structure
    *(
        Damage(name, "structure", PROMPT, "structure" if name in _SEEN_BY_READER else None, rows=lambda b, change=change: prompt(b, change))
        for name, change in STRUCTURE.items() if name != "sections_out_of_order"
    ),
    Damage("sections_out_of_order", "structure", PROMPT, rows=lambda b: prompt(b, STRUCTURE["sections_out_of_order"])),
    Damage("section_twice", "structure", PROMPT, "structure", rows=lambda b: prompt(b, lambda given: given.replace("## Task\n", "## Task\n\n## Task\n"))),
    Damage("section_forged", "structure", PROMPT, rows=forged_history),
    Damage("section_title_missing", "structure", PROMPT, rows=lambda b: prompt(b, lambda given: given.replace("## Design\n\n", ""))),
    Damage("too_large", "structure budget", PROMPT, "structure", rows=lambda b: prompt(b, lambda given: given + "word " * 27000 + "\n")),
    # accounting in contexts
    Damage("no_reason", "accounting stages", CONTEXT, "accounting", rows=lambda b: row(b, "design/3", reason=None)),
    Damage("unknown_reason", "accounting stages", CONTEXT, "accounting", rows=lambda b: row(b, "design/3", reason="boring")),
    Damage("no_stage", "accounting stages", CONTEXT, "accounting", rows=lambda b: row(b, "design/3", stage=None)),
    Damage("unknown_decision", "accounting stages", CONTEXT, "accounting", rows=lambda b: row(b, "design/3", decision="maybe")),
    Damage("candidate_twice", "accounting", CONTEXT, "accounting", rows=lambda b: b.contexts[TASK].update(twin=b.contexts[TASK]["design/3"])),
    Damage("candidate_unknown", "accounting", CONTEXT, "accounting", rows=lambda b: row(b, "design/3", item_id="design/0")),
    Damage("candidate_of_another_task", "accounting", CONTEXT, rows=lambda b: item(b, "design/3", task_id=LARGE)),
    Damage("candidate_of_another_graph", "accounting", CONTEXT, rows=lambda b: item(b, "design/3", graph="search")),
    Damage("row_of_another_task", "accounting", CONTEXT, rows=lambda b: row(b, "design/3", task_id=LARGE)),
    Damage("dropped_with_text", "accounting", CONTEXT, "accounting", rows=lambda b: row(b, "design/3", text="Newsletters go out on Mondays.")),
    Damage("dropped_with_place", "accounting", CONTEXT, rows=lambda b: row(b, "design/3", prompt_order=77)),
    Damage("selected_without_text", "accounting", CONTEXT, "accounting", rows=lambda b: row(b, "log/c1", text=None)),
    Damage("selected_without_place", "accounting", CONTEXT, "accounting", rows=lambda b: row(b, "log/c1", prompt_order=None)),
    Damage("place_twice", "accounting", CONTEXT, "accounting", rows=lambda b: row(b, "log/c1", prompt_order=3)),
    Damage("text_not_in_prompt", "accounting", CONTEXT, "accounting", rows=lambda b: row(b, "log/c1", text="tail other.log")),
    Damage("text_out_of_order", "accounting", CONTEXT, rows=lambda b: [row(b, "log/c1", prompt_order=2), row(b, "design/head", prompt_order=3), row(b, "design/1", prompt_order=4)]),
    Damage("duplicate_of_nothing", "accounting", CONTEXT, "accounting", rows=lambda b: row(b, "design/2", duplicate_of=None)),
    Damage("duplicate_of_duplicate", "accounting", CONTEXT, "accounting", rows=lambda b: row(b, "design/2", duplicate_of="design/2")),
    Damage("duplicate_unsaid", "accounting", CONTEXT, rows=lambda b: row(b, "design/3", duplicate_of="design/1")),
    Damage("score_not_the_sum", "accounting", CONTEXT, rows=lambda b: row(b, "log/c1", similarity=0.9)),
    Damage("score_not_a_number", "accounting", CONTEXT, rows=lambda b: row(b, "log/c1", score=float("nan"))),
    Damage("rank_twice", "accounting", CONTEXT, rows=lambda b: row(b, "log/c1", rank=1)),
    Damage("rank_against_score", "accounting", CONTEXT, rows=lambda b: row(b, "rules/core", rank=99)),
    *(
        Damage(f"wrong_{column}", "accounting" if column in ("dropped", "candidates") else checks, CONTEXT, "accounting", rows=lambda b, column=column: task(b, **{column: b.tasks[TASK][column] + 1}))
        for column, checks in {"included": "accounting stages", "dedup_removed": "accounting stages", "sensitivity_dropped": "accounting stages"}.items()
    ),
    # stages
    Damage("stage_missing", "stages", "stages.parquet", "stages", rows=lambda b: b.stages[TASK].pop()),
    Damage("stages_reordered", "stages", "stages.parquet", "stages", rows=lambda b: b.stages[TASK].reverse()),
    Damage("stage_gap", "stages", "stages.parquet", "stages", rows=lambda b: [stage(b, n, candidates_in=b.stages[TASK][n]["candidates_in"] + 1, candidates_out=b.stages[TASK][n]["candidates_out"] + 1) for n in (3,)]),
    Damage("token_gap", "stages", "stages.parquet", "stages", rows=lambda b: stage(b, 3, tokens_in=1)),
    Damage("stage_arithmetic", "stages", "stages.parquet", "stages", rows=lambda b: stage(b, 5, drops=[{"reason": "duplicate", "count": 2}])),
    Damage("stage_reason", "stages", CONTEXT, "stages", rows=lambda b: stage(b, 5, drops=[{"reason": "horizon", "count": 1}])),
    Damage("stage_unknown_reason", "stages", "stages.parquet", rows=lambda b: stage(b, 5, drops=[{"reason": "duplicate", "count": 1}, {"reason": "boring", "count": 0}])),
    Damage("stage_null", "stages", "stages.parquet", rows=lambda b: stage(b, 4, closures_added=None)),
    Damage("closures_sum", "stages", "stages.parquet", "stages", rows=lambda b: task(b, closures_added=2)),
    Damage("stages_of_no_task", "stages", "stages.parquet", "stages", rows=extra_stage),
    # closure
    Damage("parent_dropped", "closure", CONTEXT, "closure", rows=lambda b: drop(b, "rules/core")),
    Damage("child_first", "closure", CONTEXT, "closure", rows=swap_order),
    # sensitivity
    Damage("secret_in_items", "sensitivity", "items.parquet", "sensitivity", rows=lambda b: item(b, "log/s1", text="The plan is to sell.")),
    Damage("secret_hash", "sensitivity", "items.parquet", rows=lambda b: item(b, "log/s1", content_hash=ONE)),
    Damage("secret_artifact", "sensitivity", "items.parquet", rows=secret_artifact),
    Damage("secret_selected", "sensitivity", CONTEXT, "sensitivity", rows=select_secret),
    Damage("secret_selected_when_redacted", "sensitivity accounting", CONTEXT, "sensitivity", action="redact", rows=lambda b: row(b, "log/s1", text="the plan")),
    Damage("placeholder_when_dropped", "sensitivity", "items.parquet", rows=lambda b: item(b, "log/s1", text="[REDACTED: confidential]")),
    Damage("secret_in_dropped_row", "sensitivity accounting", CONTEXT, "accounting", rows=lambda b: row(b, "log/s1", text="the plan")),
    Damage("label_lost_on_child", "sensitivity", "items.parquet", "sensitivity", rows=lambda b: item(b, "log/s2", sensitivity="public")),
    Damage("label_malformed", "sensitivity files", CONTEXT, "sensitivity", rows=lambda b: item(b, "log/c1", sensitivity="Geheim")),
    # artifacts
    Damage("artifact_missing", "artifacts", f"artifacts/{DIGEST}", "artifacts", folder=lambda root: (root / "artifacts" / DIGEST).unlink()),
    Damage("artifact_changed", "artifacts", f"artifacts/{DIGEST}", "artifacts", folder=lambda root: flip(root / "artifacts" / DIGEST)),
    Damage("artifact_readable", "artifacts", f"artifacts/{DIGEST}", "artifacts", folder=lambda root: (root / "artifacts" / DIGEST).chmod(0o644)),
    Damage("artifact_folder_open", "artifacts", "artifacts", "artifacts", folder=lambda root: (root / "artifacts").chmod(0o755)),
    Damage("artifact_without_handle", "artifacts", "artifacts/stray", "artifacts", folder=lambda root: os.close(os.open(root / "artifacts" / "stray", os.O_CREAT, 0o600))),
    Damage("artifact_size", "artifacts", "artifacts.parquet", rows=lambda b: b.artifacts[0].update(size_bytes=1)),
    Damage("handle_twice", "artifacts", "artifacts.parquet", "artifacts", rows=lambda b: b.artifacts.append(b.artifacts[0])),
    Damage("handle_of_another", "artifacts", "items.parquet", "artifacts", rows=lambda b: item(b, "log/c1", artifact="artifact:log/r1")),
    Damage("handle_unknown", "artifacts", "items.parquet", "artifacts", rows=lambda b: item(b, "log/c1", artifact="artifact:log/c1")),
    Damage("result_not_processed", "artifacts", CONTEXT, "artifacts", rows=no_artifact),
    # firewall
    Damage("raw_run_in_summary", "firewall", "items.parquet", "firewall", rows=quote_raw),
    Damage("raw_run_in_prompt", "firewall", PROMPT, "firewall", rows=lambda b: prompt(b, lambda given: given.replace("## Task\n", RAW[37:560] + "\n\n## Task\n"))),
    Damage("raw_run_in_row", "firewall accounting", CONTEXT, "firewall", rows=lambda b: row(b, "log/c1", text=RAW[:501])),
    Damage("raw_run_in_finding", "firewall", "findings.parquet", "firewall", rows=lambda b: b.findings[0].update(message=RAW[9:800])),
    Damage("raw_run_in_message", "firewall", "tasks.parquet", "firewall", rows=lambda b: task(b, message=RAW[-600:])),
    Damage("raw_run_in_manifest", "firewall", "manifest.json", "firewall", rows=lambda b: b.settings.update(note=RAW[:700])),
    Damage("whole_result", "firewall", "items.parquet", "firewall", rows=whole_result),
    # credentials
    Damage("credential_in_item", "credentials", PROMPT, rows=lambda b: text(b, "design/1", credential())),
    Damage("credential_in_prompt", "credentials", PROMPT, rows=lambda b: prompt(b, lambda given: given.replace("## Task\n", credential() + "\n\n## Task\n"))),
    Damage("credential_in_finding", "credentials", "findings.parquet", rows=lambda b: b.findings[0].update(message=credential())),
    Damage("credential_in_tag", "credentials", "items.parquet", rows=lambda b: item(b, "rules/go/1", tags=[credential()])),
    Damage("credential_in_manifest", "credentials", "manifest.json", rows=lambda b: b.settings.update(note=credential())),
    # manifest
    Damage("file_not_listed", "files manifest", "manifest.json", "manifest", folder=foreign, signed=False),
    Damage("file_listed_and_gone", "prompts manifest", "manifest.json", "manifest", folder=lambda root: (root / PROMPT).unlink(), signed=False),
    Damage("byte_flipped", "prompts manifest", "manifest.json", "manifest", folder=lambda root: append(root / PROMPT, b" "), signed=False),
    Damage("manifest_cut", "files", "manifest.json", folder=lambda root: cut(root / "manifest.json"), signed=False),
    Damage("manifest_missing", "files", "manifest.json", folder=lambda root: (root / "manifest.json").unlink(), signed=False),
    Damage("manifest_key_missing", "manifest", "manifest.json", "manifest", folder=lambda root: manifest(root, lambda m: m.pop("versions")), signed=False),
    Damage("manifest_of_another_build", "manifest", "manifest.json", folder=lambda root: manifest(root, lambda m: m.update(build_id="f" * 16)), signed=False),
    Damage("manifest_of_other_settings", "manifest", "manifest.json", folder=lambda root: manifest(root, lambda m: m["settings"]["policy"].update(sensitivity_floor="restricted")), signed=False),
    Damage("manifest_unsorted", "manifest", "manifest.json", folder=lambda root: manifest(root, lambda m: m["outputs"].reverse()), signed=False),
    Damage("manifest_absolute_input", "manifest", "manifest.json", folder=lambda root: manifest(root, lambda m: m["inputs"][0].update(path="/home/me/graph.json")), signed=False),
    Damage("manifest_input_without_hash", "manifest", "manifest.json", "manifest", folder=lambda root: manifest(root, lambda m: m["inputs"][0].pop("sha256")), signed=False),
    Damage("manifest_lists_timings", "manifest", "manifest.json", folder=lambda root: manifest(root, lambda m: m["outputs"].append(dict(m["outputs"][-1], path="timings.parquet"))), signed=False),
    Damage("linked_prompt", "files prompts", PROMPT, "files", folder=lambda root: swap_for_link(root / PROMPT)),
)  # fmt: skip
