"""When events happened, by whatever a log gives for it."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import TYPE_CHECKING

from tasks.sources.values import Printed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LATEST = 253_402_300_800_000_000  # the first microsecond after the year 9999
# Epoch numbers by their size: nobody logs seconds of the year 5138, nor milliseconds of 1973.
_UNITS = ((1e11, 1_000_000.0), (1e14, 1_000.0), (1e17, 1.0), (1e20, 0.001))


def microseconds(value: object) -> int | None:
    """A moment as microseconds since 1970, UTC: ISO 8601 in any form, or a number of s, ms, µs or ns by its size.

    A time without a zone counts as UTC. None for anything else.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, Printed):
        value = float(value)
    if isinstance(value, int | float):
        return _from_number(float(value))
    return _from_text(value.strip()) if isinstance(value, str) else None


def _from_number(number: float) -> int | None:
    if not math.isfinite(number) or number < 0:
        return None
    for limit, factor in _UNITS:
        if number < limit:
            moment = round(number * factor)
            return moment if moment < _LATEST else None
    return None


def _from_text(text: str) -> int | None:
    if not text or len(text) > 64:  # noqa: PLR2004 - no form of a time is that long
        return None
    try:
        moment = datetime.fromisoformat(text.upper())
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return (moment - _EPOCH) // _MICROSECOND
    except (ValueError, OverflowError):
        pass
    try:
        return _from_number(float(text))
    except ValueError:
        return None


def effective_times(times: Iterable[int | None]) -> list[int | None]:
    """Times that never go back: each the latest so far, those before the first known one equal to it.

    All None where the log tells no time at all.
    """
    given = list(times)
    first = next((time for time in given if time is not None), None)
    if first is None:
        return given
    return list(_latest(first, given))


def _latest(first: int, times: Iterable[int | None]) -> Iterator[int]:
    return accumulate((first if time is None else time for time in times), max)
