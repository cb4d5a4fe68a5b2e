from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.audit.runs import RunIndex
from tasks.audit.texts import CUT, without


def words(seed: int, length: int) -> str:
    letters = random.Random(seed)
    return "".join(letters.choice("abcdefghijklmnop \n") for _ in range(length))


def index_of(*texts: str, limit: int = 500) -> RunIndex:
    index = RunIndex(limit, texts.__getitem__)
    for number, text in enumerate(texts):
        index.add(number, text)
    return index


@given(
    before=st.integers(0, 900),
    start=st.integers(0, 2000),
    length=st.integers(501, 1200),
    seed=st.integers(0, 50),
)
def test_a_run_above_the_limit_is_found_wherever_it_stands(before: int, start: int, length: int, seed: int) -> None:
    known = words(seed, 3200)
    run = known[start : start + length]
    (found,) = index_of(words(1000, 700), known).within("#" * before + run + "#" * 40)
    assert (found.start, found.end, found.known) == (before, before + len(run), 1)


@given(start=st.integers(0, 2000), seed=st.integers(0, 50))
def test_a_run_at_the_limit_is_none(start: int, seed: int) -> None:
    known = words(seed, 3200)
    assert list(index_of(known).within("#" * 300 + known[start : start + 500] + "#" * 300)) == []


def test_runs_are_given_in_order_each_once() -> None:
    one, other = words(1, 1500), words(2, 1500)
    text = one[:600] + "#" + other[300:1100] + "#" + one[700:1300]
    assert [(run.start, run.end, run.known) for run in index_of(one, other).within(text)] == [
        (0, 600, 0),
        (601, 1401, 1),
        (1402, 2002, 0),
    ]


@pytest.mark.parametrize("limit", [70, 127, 128, 200, 500, 1000])
def test_any_limit_holds(limit: int) -> None:
    known = words(3, 4000)
    index = index_of(known, limit=limit)
    for start in range(0, 700, 7):
        assert len(list(index.within("#" * start + known[start : start + limit + 1] + "#" * limit))) == 1
        assert not list(index.within("#" * start + known[start : start + limit] + "#" * limit))


def test_texts_of_one_character_end_soon() -> None:
    index = index_of("-" * 100_000)
    (run,) = index.within("-" * 2_000)
    assert (run.start, run.end) == (0, 2_000)


def test_texts_are_taken_out_of_a_prompt_in_their_order_alone() -> None:
    prompt = "## A\n\none\n\ntwo one\n\nthree\n"
    assert (
        without(prompt, [("one", False), ("two one", True), ("three", False)]) == f"## A\n\n{CUT}\n\ntwo one\n\n{CUT}\n"
    )


def test_a_text_that_is_not_found_takes_nothing_out() -> None:
    assert without("one\n", [("two", False), (None, False), ("", False)]) == "one\n"
