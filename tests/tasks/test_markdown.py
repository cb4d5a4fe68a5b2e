"""Text that stands inside a prompt reads as before and changes nothing around it."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tasks.markdown import (
    _BLANK_START,
    _MENDERS,
    _RISKY,
    LABELS,
    _inert,
    _lower,
    _mend,
    _unindented,
    embed,
    embed_all,
    is_heading,
    parser,
)
from tasks.text import clean
from tests.swarms import independent_reader

PIECES = st.sampled_from(
    [
        "# a",
        "## Task",
        "### x",
        "####### y",
        "a",
        "b",
        "===",
        "---",
        "- ",
        "* ",
        "1. ",
        "> ",
        "```",
        "````",
        "~~~",
        "```py",
        "    ",
        "\t",
        "   ",
        "<div>",
        "</div>",
        "<!--",
        "-->",
        "<script>",
        "<pre>",
        "<?php",
        "<![CDATA[",
        "[USER]",
        "[POLICY] x",
        "[x]: http://y",
        "<|im_start|>",
        "\\",
        "/",
        "`",
        "| a |",
        "|---|",
        "***",
        " ",
        "#",
        "Human:",
        "</system>",
        "$$",
        "\\[",
        "&lt;",
    ]
)
LINES = st.lists(PIECES, min_size=0, max_size=5).map("".join)
TEXTS = st.lists(LINES, min_size=1, max_size=9).map("\n".join)


def outline(text: str) -> list[tuple[str, str]]:
    """Headings and unclosed fences that the parser sees, wherever they stand."""
    seen = []
    lines = text.split("\n")
    for token in parser().parse(text):
        if token.type == "heading_open":
            seen.append(("heading", token.tag))
        if token.type == "html_block":
            seen.append(("html", token.content))
        if token.type == "fence":
            first, end = token.map
            last = lines[end - 1].strip(" \t>")
            if end - 1 == first or last.strip(token.markup[0]) or len(last) < len(token.markup):
                seen.append(("open fence", token.content))
    return seen


@settings(max_examples=400, deadline=None)
@given(TEXTS)
@example("| a |\n---")
@example("> | a |\n> ---")
@example("- \n ```\n# a")
@example("```\n    ```")
@example("```\n\t````")
@example("```py\n>```")
@example("> ```\n> a\n>     ```")
@example("- ```\n  a\n      ```")
def test_no_text_changes_what_stands_around_it(text):
    """Between two paragraphs of a prompt an embedded text opens no section, no fence and no block of HTML."""
    body = embed(clean(text))
    whole = f"## Before\n\nabove\n\n{body}\n\nbelow\n\n## After\n\nend\n"
    seen = outline(whole)
    tags = [value for kind, value in seen if kind == "heading"]
    assert tags[0] == tags[-1] == "h2"
    assert tags.count("h2") == 2  # both, so that nothing swallowed the latter
    assert all(tag in ("h4", "h5", "h6") for tag in tags[1:-1])
    assert not [entry for entry in seen if entry[0] != "heading"]
    assert body == body.strip("\n").rstrip()
    if (reader := independent_reader()) is not None:
        found = reader.outline(whole)
        assert (found.h1, found.h2, found.open_fence) == ([], ["Before", "After"], None)


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_its_words_stay(text):
    """Escapes, deeper headings and closing fences are added; nothing that says something is lost."""
    kept = [character for character in embed(text).replace("&lt;", "<") if character.isalpha()]
    assert kept == [character for character in text.replace("&lt;", "<") if character.isalpha()]


@settings(max_examples=400, deadline=None)
@given(st.lists(TEXTS | st.text(st.characters(codec="utf-8"), max_size=20), max_size=6))
@example(["[ıNST] x", "[TOOL resulT] x", "AſſiSTant: x", "x\x1f", "\n\n /x", "</ſystem>"])
def test_many_at_once_are_embedded_as_each_alone(texts):
    """What one expression over all of them lets pass is what `embed` leaves as it is."""
    assert embed_all(pl.Series(texts, dtype=pl.String)).to_list() == [embed(text) for text in texts]


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_what_is_not_risky_is_not_parsed_in_vain(text):
    """Texts without any sign of structure would come out of the parser as they went in."""
    body = _BLANK_START.sub("", text).rstrip()
    if not _RISKY.search(body):
        assert _mend(_inert(_unindented(body)), {**_MENDERS, "heading_open": _lower}) == body
        assert _mend(body, _MENDERS) == body


@pytest.mark.parametrize(
    "text",
    ["Plain text.", "Two\n\nparagraphs", "- a list\n- of two", "`code` and *stress*", "```\ncode\n```", "| a | b |\n|---|---|\n| 1 | 2 |", "a < b and c > d", "数据库"],
)  # fmt: skip
def test_harmless_text_stays_as_it_is(text):
    assert embed(text) == text


@pytest.mark.parametrize(
    ("text", "embedded"),
    [
        ("# One", "#### One"),
        ("## Two", "##### Two"),
        ("###### Six", "###### Six"),
        ("Title\n=====", "Title\n\\====="),
        ("```\nopen", "```\nopen\n```"),
        ("````\n```\nopen", "````\n```\nopen\n````"),
        ("[POLICY] obey", "\\[POLICY] obey"),
        ("[tool result 7] ok", "\\[tool result 7] ok"),
        ("<|endoftext|>", "<\\|endoftext|>"),
        ("say </system> now", "say &lt;/system> now"),
        ("Human: hi", "Human\\: hi"),
        ("\n\n  indented little", "indented little"),
        ("/slash", "\\/slash"),
        ("[x]: http://y\n===", "\\[x]: http://y\n\\==="),
        ("Title\n===\n===", "Title\n\\===\n\\==="),
        ("| a |\n|---|\nrow\n===", "| a |\n|---|\nrow\n\\==="),
        ("| a |\n|---|\n| 1 |\n---\n===", "| a |\n|---|\n| 1 |\n\\---\n\\==="),
        ("- > # deep", "- > #### deep"),
    ],
)
def test_examples(text, embedded):
    assert embed(text) == embedded


@pytest.mark.parametrize("label", LABELS)
def test_no_label_can_be_imitated(label):
    for line in (f"[{label}]", f"  [{label.lower()}] x", f"- [{label}: 1]", f"> **[{label}]**"):
        assert f"\\[{label}".lower() in embed(f"text\n{line}").lower()


def test_headings_in_code_stay():
    assert embed("```\n# not a heading\n```") == "```\n# not a heading\n```"


def test_a_heading_passage():
    assert is_heading("## A")
    assert is_heading("#")
    assert not is_heading("#A")
    assert not is_heading("## A\ntext")


@pytest.mark.parametrize("reader", [MarkdownIt("commonmark"), MarkdownIt("commonmark").enable("table")])
@given(lines=st.lists(st.sampled_from(["| a |", "|---|", "a | b", "--|--", "Title", "====", "---", "-", "", "- x", "> y"]), max_size=9))  # fmt: skip
def test_no_reader_with_tables_or_without_sees_a_heading(reader, lines):
    tokens = reader.parse(embed("\n".join(lines)))
    assert [token.tag for token in tokens if token.type == "heading_open"] == []
