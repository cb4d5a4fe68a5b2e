"""JSON of any shape, read without ever failing: parsing with limits, and values as text."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Self

from tasks.sources.findings import shown
from tasks.text import clean, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasks.sources.findings import Findings

#: Levels of nesting that are read. A fixed limit: the interpreter's own depends on who calls.
DEEPEST = 100

_STRINGS = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_STEPS = dict(zip(b"[{]}", (1, 1, -1, -1), strict=True))
_NO_BRACKETS = bytes(sorted({*range(256)} - _STEPS.keys()))
_DIGITS = 15  # an integer of more digits is kept as printed, as is every decimal fraction


class UnreadableJsonError(ValueError):
    """A text that is no JSON that can be used. `reason` says why, the message also where; neither quotes it."""

    def __init__(self, reason: str, place: str = "") -> None:
        super().__init__(reason + place)
        self.reason = reason


class Printed(float):
    """A number that remembers how it was printed, so that the id `27.10` stays what it is."""

    text: str

    def __new__(cls, text: str) -> Self:
        """The number that a JSON text prints."""
        number = super().__new__(cls, text)
        number.text = text
        return number


@dataclass
class Oddities:
    """What JSON allows or parsers let pass, and yet says something twice or nothing at all."""

    repeated_keys: list[str] = field(default_factory=list)
    not_numbers: int = 0

    def report(self, findings: Findings, place: str = "") -> None:
        """A finding for each key that was given twice, and one for all that is no number."""
        for key in self.repeated_keys:
            message = f"The key {shown(key)} is given more than once; the last counts."
            findings.add("warning", "JSON_REPEATED_KEY", message, place)
        if self.not_numbers:
            message = f"It holds {self.not_numbers} values that are NaN or infinite; they were read as null."
            findings.add("warning", "JSON_NOT_A_NUMBER", message, place)


def parse_json(text: str, oddities: Oddities | None = None) -> Any:  # noqa: ANN401 - JSON may be anything
    """The value of a JSON text. Of a key given twice the last counts, NaN and infinities are null.

    Raises:
        UnreadableJsonError: it is no JSON, or nested more than 100 levels deep.
    """
    if _too_deep(text):
        raise UnreadableJsonError(f"nested more than {DEEPEST} levels deep")
    if oddities is None:
        return _value(text)

    def pairs(entries: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(entries)
        if len(value) != len(entries):
            counts = Counter(key for key, _ in entries)
            oddities.repeated_keys += [key for key in value if counts[key] > 1]
        return value

    def constant(_: str) -> None:
        oddities.not_numbers += 1

    decoder = json.JSONDecoder(
        parse_int=_integer, parse_float=Printed, parse_constant=constant, object_pairs_hook=pairs
    )
    return _decoded(decoder, text)


def _value(text: str) -> Any:  # noqa: ANN401
    """The value of a text without white space around it, as most lines of a log, or whatever `_decoded` makes of it."""
    try:
        value, end = _PLAIN.raw_decode(text)
    except (ValueError, RecursionError):
        return _decoded(_PLAIN, text)
    return value if end == len(text) else _decoded(_PLAIN, text)


def _decoded(decoder: json.JSONDecoder, text: str) -> Any:  # noqa: ANN401
    try:
        return decoder.decode(text)
    except (ValueError, RecursionError) as error:
        place = f" at line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        raise UnreadableJsonError("not valid JSON", place) from None


def _integer(text: str) -> int | Printed:
    return int(text) if len(text) <= _DIGITS else Printed(text)


def _too_deep(text: str) -> bool:
    if text.count("[") + text.count("{") <= DEEPEST:
        return False
    brackets = _STRINGS.sub("", text).encode("utf-8", "surrogatepass").translate(None, _NO_BRACKETS)
    return any(depth > DEEPEST for depth in accumulate(map(_STEPS.__getitem__, brackets)))


def _nothing(_: str) -> None:
    """What NaN and the infinities are read as."""


_PLAIN = json.JSONDecoder(parse_int=_integer, parse_float=Printed, parse_constant=_nothing)


# ---- values as text ---------------------------------------------------------------------------------------------


def scalar(value: object) -> str | None:
    """A string as it is, a number as printed, a truth value as JSON has it; None for null, lists and objects."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Printed):
        return value.text
    return str(value) if isinstance(value, int | float) else None


def name_of(value: object) -> str:
    """A value as an id, a title or another name on one line; empty where it gives none."""
    if value is None:
        return ""
    text = scalar(value)
    return one_line(text) if text is not None else ""


def whole_number(value: object) -> int | None:
    """A whole number, also one that was printed as a string or as `2.0`."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, Printed):
        value = value.text
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,18}(?:\.0{1,9})?\s*", value, re.ASCII):
        return int(value.strip().split(".")[0])
    return None


def prose(value: object) -> str:
    """A value as cleaned Markdown: strings as they are, lists and objects as nested bullets; null is empty."""
    text = scalar(value)
    if text is not None:
        return clean(text).strip("\n").rstrip()
    return "\n".join(_bullets(value, ""))


def _bullets(value: object, indent: str) -> Iterator[str]:
    entries = value.items() if isinstance(value, dict) else ((None, entry) for entry in _entries(value))
    for key, entry in entries:
        label = one_line(str(key)) + ":" if key is not None else ""
        text = scalar(entry)
        if text is not None:
            lines = clean(text).strip("\n").rstrip().split("\n")
            yield f"{indent}- {' '.join(filter(None, (label, lines[0])))}".rstrip()
            yield from (f"{indent}  {line}".rstrip() for line in lines[1:])
        elif isinstance(entry, dict | list) and entry:
            if label:
                yield f"{indent}- {label}"
            yield from _bullets(entry, f"{indent}  " if label else indent)


def _entries(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def flattened(value: object) -> Iterator[Any]:
    """The entries of lists within lists, in order; anything else is one entry, null is none."""
    if isinstance(value, list):
        for entry in value:
            yield from flattened(entry)
    elif value is not None:
        yield value


def compact_json(value: object) -> str:
    """A value as JSON on one line, keys in the order given, numbers as printed."""
    return json.dumps(value, ensure_ascii=False, default=str)
