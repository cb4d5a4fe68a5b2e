"""Nothing at or above the floor leaves a trace: in no file of a build, and in nothing that reads one back.

Two laws over random logs. Words that stand in closed items alone stand nowhere afterwards, but for ids where a row
names its item. And whatever a closed item says instead, no byte changes but those that state the inputs' own hashes.
"""

from __future__ import annotations

import json
import re
import tempfile
from contextlib import chdir
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from flows.cli import app
from tasks.outputs.explain import explain_item
from tasks.outputs.reader import BuildFolder
from tasks.outputs.summary import build_summary, stage_summary
from tasks.settings import load_settings
from tasks.sources import load as loading
from tests.fuzz.strategies import whole_builds
from tests.swarms import Built, built, event, task, write_swarm

if TYPE_CHECKING:
    from collections.abc import Iterator

LEVELS = ("public", "internal", "confidential", "restricted")
#: Labels as logs have them, and what each counts as.
LABELS: tuple[tuple[Any, str], ...] = (
    (None, "public"),
    ("public", "public"),
    ("internal", "internal"),
    ("confidential", "confidential"),
    ("Confidential", "confidential"),
    (" internal ", "restricted"),
    ("restricted", "restricted"),
    ("top secret", "restricted"),
    ("", "restricted"),
    (0, "restricted"),
    (["public"], "restricted"),
    ({"level": "public"}, "restricted"),
)
KINDS = ("user_turn", "agent_msg", "tool_call", "tool_result", "memory_fact", "retrieved_doc", "plan_state", "observation", "ledger entry", None)  # fmt: skip
OPEN = (
    "The login page keeps its session in a cookie.",
    "Retry the queue twice, then give up.",
    "status: green",
    "row 1\nrow 2\n" * 90 + "ERROR: the schema has no table users\n",
    json.dumps([{"id": number, "state": "open", "error": None} for number in range(80)]),
    "## Heading\n\n```\nopen fence",
)
#: Where a row names its item, and so may hold an id that somebody made of a secret word.
NAMING = {
    "items.parquet": ("item_id", "parent_id", "graph"),
    "contexts": ("item_id", "duplicate_of"),
    "findings.parquet": ("where",),
}
#: What a closed text may say: each is taken for another, and none may be told from the next by what is written.
SAYINGS = (
    "{0}",
    "The {0} merger closes in May, the price is 41 million.",
    "{0} " * 400,
    "# {0}\n\n```\n" + "line of {0}\n" * 80,
    OPEN[1],
    OPEN[2],
    "password = " + "'Zq9" + "-hunter-{0}-7741x'",
    '{{"{0}": [' + ", ".join(["1"] * 300) + "]}}",
    "token {0} 数据库 \u202e \ud800 \x1b[31m",
    "ERROR {0} failed\n" * 60 + "1 failed, 2 passed",
)


@dataclass(frozen=True)
class Said:
    """One event before it has a text: what is closed is given one of several."""

    event_id: str
    kind: str
    label: Any
    level: str
    parent: str | None
    text: str
    owner: str | None


@st.composite
def logs(draw: st.DrawFn) -> list[Said]:
    """Events whose parents may be missing, later, themselves or in a ring, and whose ids may be given twice."""
    count = draw(st.integers(2, 9))
    names = [f"e{number}" for number in range(count)]
    return [
        Said(
            event_id=draw(st.sampled_from([names[number], names[number], names[0]])),
            kind=draw(st.sampled_from(KINDS)),
            label=(label := draw(st.sampled_from(LABELS)))[0],
            level=label[1],
            parent=draw(st.one_of(st.none(), st.sampled_from([*names, "gone"]))),
            text=draw(st.sampled_from(OPEN)),
            owner=draw(st.sampled_from([None, None, "T-0", "T-1"])),
        )
        for number in range(count)
    ]


@st.composite
def choices(draw: st.DrawFn) -> dict[str, dict[str, Any]]:
    return {
        "budget": {"tokens": draw(st.sampled_from([None, 200, 600]))},
        "policy": {
            "phase": draw(st.sampled_from(["interpret", "answer", "call"])),
            "sensitivity_floor": draw(st.sampled_from(["confidential", "confidential", "internal", "restricted"])),
            "sensitivity_action": draw(st.sampled_from(["drop", "redact"])),
            "kind_limit": draw(st.sampled_from([50, 1])),
        },
        "scoring": {"similarity": draw(st.sampled_from(["jaccard", "bm25", "tfidf", "tags"]))},
        "firewall": {"summariser": draw(st.sampled_from(["shape", "lead"]))},
        "render": {"style": draw(st.sampled_from(["markdown", "labelled"]))},
        "audit": {"max_rows_per_task": draw(st.sampled_from([2000, 0, 3]))},
    }


def closed(log: list[Said], floor: str) -> set[int]:
    """The places of the events at or above the floor, and of those that descend from one: by the contract, not the
    code. Of an id that several events share all have the highest label; a child of it is the first one's."""
    rank = {level: place for place, level in enumerate(LEVELS)}
    levels: dict[str, int] = {}
    first: dict[str, int] = {}  # what a parent's id means
    for place, said in enumerate(log):
        levels[said.event_id] = max(levels.get(said.event_id, 0), rank[said.level])
        first.setdefault(said.event_id, place)
    shut = {place for place, said in enumerate(log) if levels[said.event_id] >= rank[floor]}
    while True:
        more = {place for place, said in enumerate(log) if first.get(said.parent) in shut} - shut
        if not more:
            return shut
        shut |= more


def rows(
    log: list[Said], shut: set[int], sayings: list[int], word: str, *, named: bool = False
) -> list[dict[str, Any]]:
    """The log with a text in each closed event, its tags and media type telling of it too; `named`: kind and graph."""
    found = []
    for place, said in enumerate(log):
        more: dict[str, Any] = {} if said.owner is None else {"task_id": said.owner}
        if said.label is not None:
            more["sensitivity"] = said.label
        text = said.text
        if place in shut:
            saying = sayings[place % len(sayings)]
            text = SAYINGS[saying % len(SAYINGS)].format(f"{word}{place}")
            more |= {"tags": [f"{word}{place}", "login"][: 1 + saying % 2], "media_type": f"text/x-{word.lower()}"}
            if named and saying % 3 == 0:
                more |= {"graph": f"{word} graph", "type": f"{word} note"}
        found.append(event(said.event_id, said.kind, text, said.parent, **more))
    return found


def write(folder: str, events: list[dict[str, Any]]) -> Any:
    tasks = [task("T-0", "Login queue", description="Retry the session."), task("T-1", dependencies=["T-0"])]
    spec = "# Session\n\nThe login session has a schema.\n\n## Queue\n\nRetry the queue twice."
    return write_swarm(Path(folder), tasks, requirements=spec, events=events)


def told(build: Built, *, whole: bool) -> dict[str, str]:
    """What everything that reads a build back says of it; `whole` asks of each item, too."""
    out: dict[str, str] = {}

    def run(*words: str) -> None:
        done = CliRunner().invoke(app, list(words))
        out[" ".join(words)] = f"{done.exit_code}\n{done.output}"

    folder = BuildFolder(build.path)
    events = build.items.filter(pl.col("source") == "history")["item_id"].to_list()
    out["summary"] = repr((build_summary(folder), stage_summary(folder)))
    place = str(build.path)
    with chdir(build.path.parent.parent):
        for name in ("T-0", "T-1"):
            run("show", name, "--build", place)
            run("why", name, "--build", place, "--json")
            if whole:
                for item in events:
                    row = explain_item(folder, folder.task(name)["graph"], name, item)
                    out[f"why {name} {item}"] = repr(row)
        if whole:
            for item in events:
                run("artifact", "get", f"artifact:{item}", "--build", place)
        run("artifact", "list", "--build", place, "--json")
        run("audit", place)
        run("forecast", place, "--json")
        for form in ("zerg", "markdown", "jsonl"):
            run("export", "--format", form, "--build", place, "--out", f"out-{form}")
        for path in sorted(Path().glob("out-*/**/*.md")) + sorted(Path().glob("out-*")):
            if path.is_file():
                out[path.as_posix()] = path.read_text("utf-8")
    return out


@whole_builds(5)
@given(logs(), choices(), st.lists(st.integers(0, 99), min_size=3, max_size=3))
def test_no_word_of_a_closed_item_stands_anywhere(log, chosen, sayings):
    word = "Quetzal"
    shut = closed(log, chosen["policy"]["sensitivity_floor"])
    ids = {said.event_id: f"{said.event_id}-{word}" for place, said in enumerate(log) if place in shut}
    log = [
        replace(said, event_id=ids.get(said.event_id, said.event_id), parent=ids.get(said.parent, said.parent))
        for said in log
    ]
    with tempfile.TemporaryDirectory() as folder:
        build = built(write(folder, rows(log, shut, sayings, word, named=True)), load_settings(**chosen))
        assert build.problems() == []
        found = [
            f"{path.relative_to(build.path)}: {column}"
            for path in sorted(build.path.rglob("*.parquet"))
            for column, value in _cells(path)
            if word.casefold() in value.casefold() and column not in _naming(path.relative_to(build.path))
        ]
        found += [
            path.name
            for path in sorted(build.path.rglob("*"))
            if path.is_file() and path.suffix != ".parquet" and word.lower().encode() in path.read_bytes().lower()
        ]
        assert found == []
        known = {name for row in build.items.to_dicts() for name in (row["item_id"], row["graph"]) if name}
        for name, text in told(build, whole=True).items():
            rest = text
            for item_id in sorted(known, key=len, reverse=True):  # what names an item, and nothing of what it says
                rest = rest.replace(item_id, "")
            assert word.casefold() not in rest.casefold(), name


def _cells(path: Path) -> Iterator[tuple[str, str]]:
    for row in pl.read_parquet(path).to_dicts():
        for column, value in row.items():
            yield column, json.dumps(value, ensure_ascii=False, default=str)


def _naming(path: Path) -> tuple[str, ...]:
    return NAMING.get(path.parts[0], ())


@whole_builds(10)
@given(
    logs(),
    choices(),
    st.lists(st.integers(0, 99), min_size=3, max_size=3),
    st.lists(st.integers(0, 99), min_size=3, max_size=3),
)
def test_what_a_closed_item_says_changes_nothing(log, chosen, sayings, others):
    shut = closed(log, chosen["policy"]["sensitivity_floor"])
    own = [place for place, saying in enumerate(SAYINGS) if saying not in OPEN]  # what repeats closes what it repeats
    left, right = ([own[saying % len(own)] for saying in given] for given in (sayings, others))
    compare(rows(log, shut, left, "Quetzal"), rows(log, shut, right, "Ocelot"), chosen)


def compare(log: list[dict[str, Any]], other: list[dict[str, Any]], chosen: dict[str, dict[str, Any]]) -> None:
    """Two builds of logs that say other things where they are closed are the same, but for what states the inputs."""
    with (
        tempfile.TemporaryDirectory() as first,
        tempfile.TemporaryDirectory() as second,
        pytest.MonkeyPatch.context() as patched,
    ):
        # A log's namespace is made of its whole content by contract: here it is of its name alone.
        patched.setattr(loading, "read_log", _plainly_named)
        one, two = (
            built(write(folder, events), load_settings(**chosen)) for folder, events in ((first, log), (second, other))
        )
        left, right = one.bytes(), two.bytes()
        assert left.keys() == right.keys()
        differing = [name for name in left if name != "manifest.json" and left[name] != right[name]]
        assert differing == [], "\n".join(_differences(one, two, differing))
        assert _stated(left["manifest.json"]) == _stated(right["manifest.json"])
        told_of = [
            {
                name.replace(build.path.as_posix(), "BUILD"): _without(text, build)
                for name, text in told(build, whole=False).items()
            }
            for build in (one, two)
        ]
        assert told_of[0] == told_of[1]


_read_log = loading.read_log


def _plainly_named(file: Any) -> Any:
    read = _read_log(file)
    return replace(read, namespace=read.namespace.split("@")[0])


def _stated(manifest: bytes) -> dict[str, Any]:
    stated = json.loads(manifest)
    del stated["build_id"]
    for row in stated["inputs"]:
        if row["path"].endswith(".jsonl"):
            row |= {"sha256": "", "bytes": 0}
    return stated


def _without(text: str, build: Built) -> str:
    text = text.replace(str(build.path), "BUILD").replace(build.path.name, "ID")
    return re.sub(r'"(?:seconds|peak_mb)": [\d.]+', "", text)


def _differences(one: Built, two: Built, names: list[str]) -> Iterator[str]:
    for name in names:
        if not name.endswith(".parquet"):
            yield f"{name}: other bytes"
            continue
        left, right = (pl.read_parquet(build.path / name).to_dicts() for build in (one, two))
        if len(left) != len(right):
            yield f"{name}: {len(left)} and {len(right)} rows: {left} {right}"
        for before, after in zip(left, right, strict=False):
            yield from (
                f"{name}: {column}: {before[column]!r} and {after[column]!r}"
                for column in before
                if before[column] != after[column]
            )


@pytest.mark.parametrize("action", ["drop", "redact"])
def test_what_repeats_a_closed_item_is_closed_but_for_what_the_project_wrote(action, tmp_path):
    secret = "The login session has a schema."
    log = [
        event("e1", "agent_msg", secret, sensitivity="restricted"),
        event("e2", "user_turn", f"{secret}\n"),
        event("e3", "user_turn", "It says so.", "e2"),
        event("e4", "user_turn", "ok", sensitivity="restricted"),
        event("e5", "user_turn", "ok"),
        event("e6", "user_turn", f"I read: {secret}"),
    ]
    build = built(write(str(tmp_path), log), load_settings(policy={"sensitivity_action": action}))
    assert build.item("/e2")["sensitivity"] == build.item("/e3")["sensitivity"] == "restricted"
    assert build.item("/e5")["sensitivity"] == build.item("/e6")["sensitivity"] == "public"
    assert secret in build.items.filter(pl.col("section") == "requirements")["text"].str.join(" ").item()
