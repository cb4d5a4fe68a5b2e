"""Every prompt parses into exactly the sections and items that the build says were put in, whatever the items say.

The parser is markdown-it, and what it must find is worked out here from `contexts/` and `items.parquet` alone.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tasks.settings import load_settings
from tests.fuzz.strategies import KINDS, TEXTS, documents, texts, whole_builds
from tests.swarms import Built, built, event, task, write_swarm
from tests.tasks.small_build import TITLES

if TYPE_CHECKING:
    from collections.abc import Iterator

SPEAKERS = {
    "user_turn": "User",
    "agent_msg": "Assistant",
    "tool_call": "Tool call",
    "tool_result": "Tool result",
    "doc_snippet": "Document",
    "retrieved_doc": "Retrieved",
    "memory_fact": "Fact",
    "plan_state": "Plan",
    "policy": "Policy",
}
LABEL = re.compile(rf"\s{{0,3}}\[(?:TASK|TOOL SCHEMA|{'|'.join(map(str.upper, SPEAKERS.values()))})\]\s*")


def headings(prompt: str) -> list[tuple[str, str, int]]:
    """Level, title and line of each heading that is in no list and no quote."""
    tokens = MarkdownIt("commonmark").parse(prompt)
    return [
        (token.tag, tokens[place + 1].content, token.map[0])
        for place, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0
    ]


def put_in(build: Built, task_id: str) -> dict[str, list[dict[str, Any]]]:
    """The items of a task's prompt by section, in the prompt's order."""
    rows = build.contexts.filter((pl.col("task_id") == task_id) & (pl.col("decision") == "selected"))
    known = {row["item_id"]: row for row in build.items.to_dicts()}
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows.sort("prompt_order").to_dicts():
        item = known[row["item_id"]]
        found.setdefault(item["section"], []).append({"text": row["text"], "kind": item["kind"]})
    return found


def label_of(section: str, kind: str) -> str | None:
    """The heading above an item in Markdown style, by the contract."""
    if section not in ("reference", "history") or (section, kind) == ("reference", "doc_snippet"):
        return None
    return SPEAKERS[kind]


def check_markdown(build: Built, task_id: str) -> None:
    prompt, wanted = build.prompt(task_id), put_in(build, task_id)
    found = headings(prompt)
    assert [title for level, title, _ in found if level == "h2"] == [TITLES[name] for name in TITLES if name in wanted]
    assert not [title for level, title, _ in found if level == "h1"]
    labels = [label for name in TITLES for row in wanted.get(name, ()) if (label := label_of(name, row["kind"]))]
    assert [title for level, title, _ in found if level == "h3"] == labels
    lines = prompt.split("\n")
    starts = [line for level, _, line in found if level == "h2"]
    for name, start, end in zip(
        [name for name in TITLES if name in wanted], starts, [*starts[1:], len(lines)], strict=True
    ):
        body = "\n".join(lines[start + 1 : end]).strip("\n")
        blocks = [
            f"### {label}\n\n{row['text']}" if (label := label_of(name, row["kind"])) else row["text"]
            for row in wanted[name]
        ]
        assert body == "\n\n".join(blocks).strip("\n"), name


def check_labelled(build: Built, task_id: str) -> None:
    prompt, wanted = build.prompt(task_id), put_in(build, task_id)
    assert [title for level, title, _ in headings(prompt) if level in ("h1", "h2", "h3")] == []
    rows = [
        (f"[{'TASK' if name == 'brief' else SPEAKERS[row['kind']].upper()}]", row["text"])
        for name in TITLES
        for row in wanted.get(name, ())
    ]
    assert prompt == "\n\n".join(f"{label}\n{text}" for label, text in rows) + "\n"
    fenced = {
        line
        for token in MarkdownIt("commonmark").parse(prompt)
        if token.type in ("fence", "code_block")
        for line in range(*token.map)
    }
    labels = [
        line.strip() for place, line in enumerate(prompt.split("\n")) if LABEL.fullmatch(line) and place not in fenced
    ]
    assert labels == [label for label, _ in rows]


def check_ends(build: Built, task_id: str, style: str) -> None:
    """What one item opens does not reach into the next: each item alone parses to the blocks that it has in the whole."""
    prompt = build.prompt(task_id)
    alone = [
        kind
        for name, rows in put_in(build, task_id).items()
        for row in rows
        for kind in _kinds(f"{_head(style, name, row)}{row['text']}")
    ]
    whole = _kinds(prompt)
    titles = [f"heading_open h2 {title}" for title in TITLES.values()]
    assert sorted(kind for kind in whole if kind not in titles) == sorted(alone)


def _head(style: str, section: str, row: dict[str, Any]) -> str:
    if style == "labelled":
        return f"[{'TASK' if section == 'brief' else SPEAKERS[row['kind']].upper()}]\n"
    label = label_of(section, row["kind"])
    return f"### {label}\n\n" if label else ""


def _kinds(text: str) -> list[str]:
    tokens = MarkdownIt("commonmark").parse(text)
    return [
        f"{token.type} {token.tag} {tokens[place + 1].content if token.type == 'heading_open' else ''}"
        for place, token in enumerate(tokens)
        if token.level == 0 and token.type in ("heading_open", "fence", "html_block", "code_block", "blockquote_open")
    ]


@st.composite
def swarms(draw: st.DrawFn) -> dict[str, Any]:
    """A task whose every text is hostile, with documents and a log that are."""
    events = [
        event(
            f"e{number}", draw(st.sampled_from([kind for kind in KINDS if kind])), draw(texts), draw(_parents(number))
        )
        for number in range(draw(st.integers(0, 7)))
    ]
    files = {"create": ["app/login.py"], "modify": draw(st.lists(st.sampled_from(["a`b.py", "# x.md", "web/p.ts"]), max_size=2))}  # fmt: skip
    row = task(
        "T-0",
        draw(texts)[:200],
        description=draw(texts) + " token login session",
        files=files,
        acceptance_criteria=draw(st.lists(texts, max_size=2)),
        verification=draw(texts),
        context=draw(texts),
    )
    return {
        "tasks": [row],
        "requirements": draw(documents()).decode("utf-8", "replace"),
        "design": draw(documents()).decode("utf-8", "replace"),
        "events": events,
        "rules": {"_core/owasp-2025.md": f"# Rules\n\n## Rule: Ask\n\n**When**: {draw(texts)}\n\n{draw(texts)}"},
    }


def _parents(number: int) -> st.SearchStrategy[str | None]:
    return st.one_of(st.none(), st.sampled_from([f"e{place}" for place in range(max(1, number))]))


def check_both(swarm: dict[str, Any], **chosen: Any) -> None:
    clean = {
        name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
        for name, value in swarm.items()
    }
    clean["rules"] = {place: text.encode("utf-8", "replace").decode() for place, text in swarm["rules"].items()}
    with tempfile.TemporaryDirectory() as folder:
        request = write_swarm(Path(folder), **clean)
        for style, check in (("markdown", check_markdown), ("labelled", check_labelled)):
            build = built(request, load_settings(render={"style": style}, **chosen), Path(folder) / style)
            if build.status("T-0") == "ok":
                check(build, "T-0")
                check_ends(build, "T-0", style)


@whole_builds(10)
@given(swarms(), st.sampled_from([300, 1500, 30_000]))
def test_a_prompt_is_what_was_put_in_and_nothing_else(swarm, budget):
    check_both(swarm, budget={"tokens": budget})


def _each(kind: str) -> Iterator[dict[str, Any]]:
    for number, text in enumerate(TEXTS):
        yield event(f"{kind}{number}", kind, text)


@pytest.mark.parametrize("kind", ["agent_msg", "policy"])
def test_each_ugly_text_alone_and_beside_all_others(kind):
    swarm = {"tasks": [task("T-0")], "events": list(_each(kind)), "rules": {"_core/owasp-2025.md": "# R\n\n## Rule: A"}}
    check_both(swarm, budget={"tokens": 30_000}, policy={"kind_limits": {}}, dedup={"threshold": 2.0})
