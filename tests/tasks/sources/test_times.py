from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.sources.times import effective_times, microseconds
from tasks.sources.values import parse_json

MOMENT = 1_768_899_600_000_000  # 2026-01-20 09:00 UTC


@pytest.mark.parametrize(
    "value",
    [
        "2026-01-20T09:00:00Z",
        "2026-01-20T09:00:00+00:00",
        "2026-01-20T10:00:00+01:00",
        "2026-01-20 09:00:00",
        " 2026-01-20t09:00:00.000z ",
        "20260120T090000Z",
        "2026-W04-2T09:00",
        1_768_899_600,
        1_768_899_600.0,
        "1768899600",
        1_768_899_600_000,
        1_768_899_600_000_000,
        parse_json("1768899600000000000"),
    ],
)
def test_every_form_of_a_moment_is_read(value):
    assert microseconds(value) == MOMENT


@pytest.mark.parametrize(
    "value",
    [None, "", "yesterday", True, [], {}, -1, 1e300, float("nan"), float("inf"), "9" * 30, "2026-13-45", "x" * 10**6],
)
def test_what_is_no_moment_is_none(value):
    assert microseconds(value) is None


def test_a_date_alone_is_its_first_moment():
    assert microseconds("2026-01-20") == MOMENT - 9 * 3600 * 1_000_000


def test_times_never_go_back_and_gaps_are_filled():
    assert effective_times([None, 5, None, 3, 8, None]) == [5, 5, 5, 5, 8, 8]
    assert effective_times([None, None]) == [None, None]
    assert effective_times([]) == []


@settings(deadline=None)
@given(st.text(max_size=40) | st.floats() | st.integers())
def test_anything_is_a_moment_of_a_known_year_or_none(value):
    moment = microseconds(value)
    assert moment is None or -62_135_769_600_000_000 <= moment < 253_402_387_200_000_000
