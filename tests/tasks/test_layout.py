"""How items look; what is packed is what is rendered."""

from __future__ import annotations

from itertools import product

import polars as pl
import pytest

from tasks.batch import KIND, SECTION
from tasks.layout import SEPARATOR, blocks, compose, distinct_blocks, label, labelled, title
from tasks.markdown import embed
from tasks.settings import RenderSettings
from tasks.terms import KINDS, SECTION_TITLES, SECTIONS

MARKDOWN, LABELLED = RenderSettings(style="markdown"), RenderSettings(style="labelled")


def test_sections_have_titles_in_markdown_only():
    assert [title(section, MARKDOWN) for section in SECTIONS] == [
        f"## {SECTION_TITLES[section]}" for section in SECTIONS
    ]
    assert {title(section, LABELLED) for section in SECTIONS} == {""}


def test_the_brief_comes_last_and_what_most_share_first():
    assert SECTIONS[0] == "rules"
    assert SECTIONS[-1] == "brief"


@pytest.mark.parametrize("kind", KINDS)
def test_history_says_whose_words_it_holds(kind):
    assert label("history", kind, MARKDOWN).startswith("### ")
    assert label("history", kind, LABELLED).startswith("[")


def test_documents_need_no_label_in_markdown():
    assert label("requirements", "doc_snippet", MARKDOWN) == label("reference", "doc_snippet", MARKDOWN) == ""
    assert label("reference", "plan_state", MARKDOWN) == "### Plan"
    assert label("brief", "user_turn", LABELLED) == "[TASK]"


@pytest.mark.parametrize("style", [MARKDOWN, LABELLED])
def test_many_blocks_are_those_made_one_by_one(style):
    rows = [
        (0, "# A\n\ntext", "design", "doc_snippet"),
        (1, "same", "history", "user_turn"),
        (2, "same", "history", "tool_result"),
        (3, "same", "brief", "user_turn"),
    ]
    frame = pl.DataFrame(
        rows, schema={"item": pl.UInt32, "text": pl.String, "section": pl.String, "kind": pl.String}, orient="row"
    )
    drawn = blocks(frame, style)
    assert drawn["item"].to_list() == [0, 1, 2, 3]
    assert drawn["block"].to_list() == [
        labelled(embed(text), label(section, kind, style), style) for _, text, section, kind in rows
    ]
    assert drawn["body"].to_list() == ["#### A\n\ntext", "same", "same", "same"]


def test_a_prompt_ends_with_one_newline_and_leaves_empty_sections_out():
    text = compose([("rules", []), ("design", ["one", "two"]), ("brief", ["do"])], MARKDOWN)
    assert text == "## Design\n\none\n\ntwo\n\n## Task\n\ndo\n"
    assert compose([("design", ["one"]), ("brief", ["[TASK]\ndo"])], LABELLED) == f"one{SEPARATOR}[TASK]\ndo\n"
    assert compose([("rules", [])], MARKDOWN) == ""


@pytest.mark.parametrize("style", [MARKDOWN, LABELLED])
def test_a_distinct_block_is_made_once_for_each_text_section_and_kind(style):
    kinds = [kind for kind in KINDS if kind != "tool_call"]
    rows = [*product(("one", "two"), SECTIONS, kinds)] * 2
    frame = pl.DataFrame(rows, {"text": pl.String, "section": SECTION, "kind": KIND}, orient="row")
    made, numbers = distinct_blocks(frame, style)
    assert len(made) == len(rows) // 2
    assert [made[number] for number in numbers] == [
        labelled(text, label(section, kind, style), style) for text, section, kind in rows
    ]
