from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.sources.plans.acceptance import criteria_of
from tasks.sources.plans.enumeration import unrolled

WORDS = st.lists(st.text("abcdefghijk", min_size=1, max_size=6), min_size=1, max_size=4).map(" ".join)


def split(text):
    return list(unrolled(text.split("\n")))


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("1. With a theme 2. Wave forms. 3. Last", ["1. With a theme", "2. Wave forms.", "3. Last"]),
        ("1) one 2) two", ["1) one", "2) two"]),
        ("(1) one; (2) two", ["(1) one;", "(2) two"]),
        ("- 1. one 2. two", ["1. one", "2. two"]),
        ("  1. one 2. two", ["  1. one", "  2. two"]),
        ("1. one 2. two\n   goes on 3. three", ["1. one", "2. two", "   goes on", "3. three"]),
        ("1. one 2. `two 3. words` 3. three", ["1. one", "2. `two 3. words`", "3. three"]),
    ],
)
def test_entries_within_a_line_get_lines_of_their_own(text, lines):
    assert split(text) == lines


@pytest.mark.parametrize(
    "text",
    [
        "1. one\n2. two\n3. three",
        "1. one\n\n1. one again",
        "Words 1. one 2. two",
        "2. two 3. three",
        "1. one 3. three",
        "1. Move to version 2. Then rest",
        "1. It takes 2. 5 seconds",
        "1. It is 2.5 times as fast",
        "1. one\n- other 2. two",
    ],
)
def test_all_else_stays(text):
    assert split(text) == text.split("\n")


def test_criteria_are_told_apart_without_their_numbers():
    assert criteria_of("1. With a theme 2. Wave forms. 3. Last") == ["With a theme", "Wave forms.", "Last"]
    assert criteria_of("(1) One (2) Two") == ["One", "Two"]


@given(st.lists(WORDS, min_size=2, max_size=12))
def test_a_list_on_one_line_is_the_list_on_lines(entries):
    numbered = [f"{number}. {words}" for number, words in enumerate(entries, 1)]
    assert criteria_of(" ".join(numbered)) == criteria_of("\n".join(numbered)) == entries


@given(st.lists(st.text("1234.() abc`\n-", max_size=40), max_size=6))
def test_no_word_is_lost(lines):
    assert "".join("".join(unrolled(lines)).split()).replace("-", "") == "".join("".join(lines).split()).replace(
        "-", ""
    )
