from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.sources.values import Oddities, UnreadableJsonError, name_of, parse_json, prose, whole_number

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def test_numbers_keep_the_form_in_which_they_were_printed():
    value = parse_json('{"a": 27.10, "b": 7, "c": 1e3}')
    assert [name_of(value[key]) for key in "abc"] == ["27.10", "7", "1e3"]
    assert name_of(parse_json("9" * 5000)) == "9" * 5000


def test_oddities_are_counted():
    oddities = Oddities()
    value = parse_json('{"a": 1, "a": {"b": NaN, "b": -Infinity}}', oddities)
    assert value == {"a": {"b": None}}
    assert (sorted(oddities.repeated_keys), oddities.not_numbers) == (["a", "b"], 2)


@pytest.mark.parametrize("text", ["", "{", "[1,]", "nul", '{"a":"\n"}', "[" * 200 + "]" * 200, '{"a":' * 99999])
def test_what_cannot_be_read_says_why_and_quotes_nothing(text):
    with pytest.raises(UnreadableJsonError, match=r"^(not valid JSON( at line \d+, column \d+)?|nested more than .*)$"):
        parse_json(text)


def test_brackets_within_strings_do_not_nest():
    assert parse_json(json.dumps(["[{" * 500])) == ["[{" * 500]
    assert parse_json("[" * 100 + "]" * 100)


@settings(deadline=None)
@given(ANY_JSON)
def test_any_value_has_a_name_and_prose(value):
    assert "\n" not in name_of(value)
    assert "\r" not in prose(value)
    assert "\0" not in prose(value)


def test_objects_become_nested_bullets():
    value = {"goal": "fast", "steps": ["one", {"why": "two\nlines"}], "none": None, "n": 3}
    assert prose(value) == "- goal: fast\n- steps:\n  - one\n  - why: two\n    lines\n- n: 3"


@pytest.mark.parametrize(("value", "number"), [(3, 3), ("4", 4), (" 5 ", 5), ("-2", -2), ("2.0", 2), ("x", None)])
def test_whole_numbers_may_be_written_as_text(value, number):
    assert whole_number(value) == number
    assert whole_number(True) is None
    assert whole_number(parse_json("2.0")) == 2
    assert whole_number(parse_json("2.5")) is None
