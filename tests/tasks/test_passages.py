"""A passage is found by its own words and those of the heading right above it."""

from __future__ import annotations

from tasks.passages import headings, is_document, words_with_headings
from tests.tasks.batches import batch, brief, names, passage, rule, said

ITEMS = [
    passage("a", "# Login"),
    passage("b", "the page asks", "a"),
    passage("c", "## Errors", "a"),
    passage("d", "one sentence", "c"),
    said("e", "history words", "a"),
    rule("f", "rules"),
    brief(),
    {**passage("g", "of one task"), "task_id": "t0"},
]


def test_documents_are_what_several_tasks_may_draw_from():
    given = batch(ITEMS)
    assert names(given, given.items.filter(is_document())["item"].to_list()) == ["a", "b", "c", "d"]


def test_headings_are_passages_of_one_line_that_begin_with_hashes():
    given = batch(ITEMS)
    assert names(given, headings(given.items)["item"].to_list()) == ["a", "c"]


def test_words_come_from_the_heading_right_above_alone():
    given = batch(ITEMS)
    table = words_with_headings(given.items, "unicode")
    words = {name: set() for name in "abcdefg"}
    for item, token in table.iter_rows():
        words.setdefault(names(given, [item])[0], set()).add(token)
    assert words["b"] == {"page", "asks", "login"}
    assert words["d"] == {"one", "sentence", "errors"}
    assert words["c"] == {"errors"}, "a heading has its own words only"
    assert words["e"] == {"history", "words"}, "so has what is no passage"
