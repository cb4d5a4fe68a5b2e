from __future__ import annotations

import hashlib
import re
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.outputs.names import file_places, file_stem

ids = st.text(st.characters(exclude_categories=()), max_size=300)


@pytest.mark.parametrize("identifier", ["T-1", "TASK-001", "_x_", "a" * 100, "0-0"])
def test_a_plain_id_is_its_own_file_name(identifier: str) -> None:
    assert file_stem(identifier) == identifier


@pytest.mark.parametrize(
    "identifier", ["", "a", "T1", "-T1", "a" * 101, "a.b", "a/b", "..", "a~b", "a b", "é12", "T-1\n"]
)
def test_any_other_id_is_encoded_and_hashed(identifier: str) -> None:
    encoded, mark, digest = file_stem(identifier).partition("~")
    assert mark == "~"
    assert digest == hashlib.sha256(identifier.encode()).hexdigest()[:12]
    assert identifier.startswith(unquote(encoded))


def test_what_an_encoded_id_looks_like() -> None:
    assert file_stem("Level 1/é").startswith("Level%201%2F%C3%A9~")


@given(ids)
def test_no_name_leads_anywhere_or_is_too_long(identifier: str) -> None:
    stem = file_stem(identifier)
    assert re.fullmatch(r"(?:[A-Za-z0-9_-]|%[0-9A-F]{2})*(?:~[0-9a-f]{12})?", stem)
    assert 0 < len(stem) <= 100


@given(ids)
def test_the_encoded_part_is_short_and_never_cut_inside_an_escape(identifier: str) -> None:
    encoded, _, digest = file_stem(identifier).partition("~")
    if digest:
        assert len(encoded) <= 60
        assert re.fullmatch(r"(?:[A-Za-z0-9_-]|%[0-9A-F]{2})*", encoded)


@given(st.lists(st.tuples(ids, ids), max_size=20))
def test_no_two_keys_share_a_place_on_any_file_system(keys: list[tuple[str, str]]) -> None:
    places = file_places(keys)
    assert places.keys() == set(keys)
    assert len({place.casefold() for place in places.values()}) == len(places)


def test_keys_that_differ_by_case_alone_are_hashed_whole() -> None:
    places = file_places([("Shop", "T-1"), ("shop", "T-1"), ("shop", "T-2"), ("shop", "t-3"), ("shop", "T-3")])
    assert places["shop", "T-2"] == "shop/T-2"
    assert places["Shop", "T-1"].startswith("Shop~")
    assert "/T-1~" in places["shop", "T-1"]
    assert places["shop", "t-3"] != places["shop", "T-3"]


def test_graphs_that_differ_by_case_keep_their_names_while_their_tasks_differ() -> None:
    places = file_places([("Shop", "T-1"), ("shop", "T-2")])
    assert list(places.values()) == ["Shop/T-1", "shop/T-2"]


@given(st.lists(st.tuples(ids, ids), max_size=12), st.randoms())
def test_the_order_of_keys_does_not_matter(keys: list[tuple[str, str]], order) -> None:
    shuffled = list(keys)
    order.shuffle(shuffled)
    assert list(file_places(shuffled).items()) == list(file_places(keys).items())
