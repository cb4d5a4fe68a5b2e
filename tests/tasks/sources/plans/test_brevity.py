from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.sources.plans.brevity import BRIEF, brief_criteria, brief_part
from tasks.text import clean

PARAGRAPH = "Some words of a paragraph that says one thing."
WORDS = st.sampled_from(
    [
        "word",
        "long-word " * 9,
        "\n",
        "\n\n",
        "- ",
        "  - ",
        "1. ",
        "# ",
        "```\n",
        "> ",
        "    ",
        "|",
        ". ",
        "文",
        "-----BEGIN KEY-----\n",
        "<b>",
    ]
)


def test_a_short_text_is_all_brief():
    assert brief_part("One.\n\nTwo.") == ("One.\n\nTwo.", "")
    assert brief_part("") == ("", "")
    assert brief_part("\n \n  One.\n\n", most=6) == ("  One.", "")


def test_as_many_blocks_as_fit_are_the_brief():
    assert brief_part("One.\n\nTwo.\n\nThree.", most=10) == ("One.\n\nTwo.", "Three.")
    assert brief_part("One.\n\n- a\n- b\n\nThree.", most=11) == ("One.", "- a\n- b\n\nThree.")


def test_a_heading_goes_with_what_it_is_the_heading_of():
    text = f"Intro.\n\n## Part\n\n### Inner\n\n{PARAGRAPH}\n\nEnd."
    assert brief_part(text, most=30) == ("Intro.", text.removeprefix("Intro.\n\n"))
    assert brief_part(text, most=len(text) - 6) == (text.removesuffix("\n\nEnd."), "End.")


@pytest.mark.parametrize(
    "code",
    [
        "```sh\nmake\n\nmake test\n```",
        "~~~\na\n\nb\n~~~",
        "    a = 1\n\n    b = 2",
        "- item:\n\n  ```\n  a\n\n  b\n  ```",
    ],
)
def test_code_is_never_cut(code):
    text = f"Intro.\n\n{code}\n\nEnd."
    for most in range(6, len(text)):
        head, rest = brief_part(text, most)
        assert (code in head) != (code in rest)


def test_a_text_that_begins_with_too_much_code_has_an_empty_beginning():
    text = "```\n" + "x = 1\n" * 50 + "```\n\nEnd."
    assert brief_part(text, most=100) == ("", text)


def test_a_key_is_never_cut():
    key = "-----BEGIN " + "PRIVATE KEY-----\n" + "abcd\n" * 8 + "-----END " + "PRIVATE KEY-----"
    text = f"The key is\n{key}\nand no other."
    for most in range(10, len(text)):
        head, rest = brief_part(text, most)
        assert (key in head) != (key in rest)


class TestTooLongAFirstBlock:
    def test_a_list_is_cut_between_its_entries(self):
        assert brief_part("- one\n- two\n  more\n- three", most=20) == ("- one\n- two\n  more", "- three")

    def test_a_paragraph_is_cut_between_its_lines(self):
        assert brief_part("One line here.\nAnother line.\nA third.", most=30) == (
            "One line here.\nAnother line.",
            "A third.",
        )

    def test_a_line_is_cut_between_its_sentences(self):
        assert brief_part("The first one. The second one. The third one.", most=32) == (
            "The first one. The second one.",
            "The third one.",
        )
        assert brief_part("最初の文。次の文。最後の文。", most=10) == ("最初の文。次の文。", "最後の文。")

    def test_a_sentence_is_cut_between_its_words(self):
        assert brief_part("seven words stand in this sentence, no more", most=20) == (
            "seven words stand in",
            "this sentence, no more",
        )
        assert brief_part("文" * 9, most=5) == ("文" * 5, "文" * 4)

    def test_a_word_is_never_cut(self):
        assert brief_part("x" * 50, most=20) == ("", "x" * 50)

    def test_a_cut_that_leaves_half_of_the_room_is_taken_before_a_nicer_one(self):
        text = "Short.\n" + "and then a long line of many words that goes on"
        assert brief_part(text, most=30) == ("Short.\nand then a long line of", "many words that goes on")

    def test_a_rest_does_not_begin_like_code(self):
        head, rest = brief_part("- one\n- two\n    - inner one\n    - inner two\n- three", most=40)
        assert not rest.startswith("    ")
        assert head.startswith("- one\n- two")


@given(st.lists(WORDS, max_size=60).map("".join), st.integers(1, 120))
def test_nothing_is_lost_and_the_beginning_fits(text, most):
    head, rest = brief_part(text, most)
    assert len(head) <= most
    assert "".join((head + rest).split()) == "".join(text.split())


@given(st.text(max_size=300).map(clean), st.integers(1, 100))
def test_any_text_can_be_cut(text, most):
    head, rest = brief_part(text, most)
    assert len(head) <= most
    assert "".join((head + rest).split()) == "".join(text.split())


def test_a_long_plan_is_cut_at_the_length_of_a_brief():
    text = "\n\n".join([PARAGRAPH] * 100)
    head, rest = brief_part(text)
    assert BRIEF - len(PARAGRAPH) - 2 <= len(head) <= BRIEF
    assert f"{head}\n\n{rest}" == text


def test_few_criteria_all_stand_in_the_brief():
    assert brief_criteria(["a", "b"]) == (["a", "b"], "")
    assert brief_criteria([]) == ([], "")


@pytest.mark.parametrize(("lines", "kept"), [(["x"] * 35, 30), (["y" * 900] * 3, 2), (["z" * 2001, "z"], 0)])
def test_of_many_criteria_the_rest_is_a_list_of_its_own(lines, kept):
    first, rest = brief_criteria(lines)
    assert first == lines[:kept]
    assert rest == "Acceptance criteria:\n\n" + "\n".join(f"- {line}" for line in lines[kept:])
