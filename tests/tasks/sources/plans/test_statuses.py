from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.errors import InputError
from tasks.sources.plans.statuses import status_of, wanted_statuses
from tasks.terms import PROGRESS


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("pending todo open pinned", "pending"),
        ("in-progress in_progress In*Progress IN-PROGRESS hooked", "in-progress"),
        ("review", "review"),
        ("blocked", "blocked"),
        ("done completed closed Done", "done"),
        ("deferred", "deferred"),
        ("cancelled canceled", "cancelled"),
        ("deleted tombstone", "deleted"),
    ],
)
def test_the_words_of_all_tools_mean_one_of_ours(words, status):
    assert {status_of(f" {word.replace('*', ' ')} ") for word in words.split()} == {status}


@pytest.mark.parametrize("word", ["", "almost", "donee", "in progress, mostly"])
def test_other_words_mean_nothing(word):
    assert status_of(word) is None


@given(st.text())
def test_any_word_is_a_status_deleted_or_unknown(word):
    assert status_of(word) in {*PROGRESS, "deleted", None}


def test_every_status_is_a_word_of_its_own():
    assert [status_of(status) for status in PROGRESS] == list(PROGRESS)


def test_by_default_only_what_is_to_do_gets_a_context():
    assert wanted_statuses([]) == ("pending", "in-progress", "review", "blocked")


def test_statuses_can_be_chosen_in_the_words_of_any_tool():
    assert wanted_statuses(["closed", " in_progress", "done"]) == ("in-progress", "done")
    assert wanted_statuses(["done", "all"]) == PROGRESS


@pytest.mark.parametrize("word", ["almost", "", "tombstone"])
def test_a_status_that_no_tool_has_is_refused(word):
    with pytest.raises(InputError):
        wanted_statuses(["done", word])
