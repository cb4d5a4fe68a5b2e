"""A raw tool result, split once for all shapes, and the room that its summary has."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tasks.text import is_plain

ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
LINE_END = re.compile(r"\r\n|[\n\r\v\f\x85\u2028\u2029]")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
TOKEN = re.compile(r"\s?(?:[A-Z]?[a-z]{1,9}|[A-Z]{1,4}|[^\W\d_]{1,2})|\d{1,3}|([^\w\s])\1+|[^\w\s]{1,2}|\s+|_")

SMALL = 2_000  # characters; above, a summary aims at a quarter of the tokens
MIDDLE = 20_000  # characters; up to here the characters of a summary are capped evenly
CAP = 1_560  # characters of a summary, up to MIDDLE
TOKENS_COUNTED = 24_000  # a longer source is bound by characters alone


@dataclass(frozen=True, slots=True)
class Room:
    """What a summary may cost: `tokens` as `tokens_in` estimates them, and `characters`."""

    tokens: float
    characters: int

    def less(self, text: str) -> Room:
        """The room that is left beside this text and its line end."""
        return Room(self.tokens - tokens_in(text) - 1, self.characters - len(text) - 1)


def tokens_in(text: str) -> int:
    """An estimate of the tokens in a text; linear, within some 15 % of o200k, and used for ratios only."""
    return len(TOKEN.findall(text))


def room_for(text: str) -> Room:
    """How long the summary of this text may be, its last line included.

    Up to 2,000 characters some 55 % of the tokens (a little more where that would leave next to nothing beside
    the last line); above, under a quarter, and never more than about 2,200 characters however long the source is.
    """
    size = len(text)
    tokens = tokens_in(text) if size <= TOKENS_COUNTED else size / 3
    if size <= SMALL:
        return Room(max(0.57 * tokens, min(0.85 * tokens, 110)), int(max(0.64 * size, min(0.88 * size, 400))))
    if size <= MIDDLE:
        return Room(0.228 * tokens, CAP)
    return Room(0.228 * tokens, min(2_200, int(CAP + 400 * math.log10(size / MIDDLE))))


@dataclass(frozen=True)
class Source:
    """A tool result without colour escapes; `media_type` is what its sender called it, and only a hint."""

    text: str
    media_type: str = ""
    found: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)  # what telling a shape worked out

    @classmethod
    def of(cls, text: str, media_type: str | None = None) -> Source:
        """A source from raw text: colour escapes off, every kind of line end made one."""
        if "\x1b" in text:
            text = ESCAPE.sub("", text)
        if not is_plain(text):
            text = CONTROL.sub("\ufffd", LINE_END.sub("\n", text))
        return cls(text, (media_type or "").partition(";")[0].strip().lower())

    @cached_property
    def lines(self) -> list[str]:
        """The lines, without the space at their ends."""
        return [line.rstrip() for line in self.text.split("\n")]

    @cached_property
    def filled(self) -> list[int]:
        """Places of the lines that are not blank."""
        return [place for place, line in enumerate(self.lines) if line]

    @cached_property
    def sample(self) -> list[str]:
        """Up to 400 lines that are not blank, from the whole length, for telling the shape."""
        step = max(1, len(self.filled) // 300)
        return [self.lines[place][:2_000] for place in [*self.filled[:100], *self.filled[100::step]]]

    def share(self, pattern: re.Pattern[str]) -> float:
        """The part of the sampled lines in which the pattern is found at the start."""
        return sum(1 for line in self.sample if pattern.match(line)) / max(1, len(self.sample))


def byte_length(text: str) -> int:
    """Bytes of a text in UTF-8; half a surrogate pair counts as the three bytes it would take."""
    return len(text.encode("utf-8", "surrogatepass"))


def line_count(text: str) -> int:
    r"""Lines of a text: only `\n` ends one, and a last one without it counts."""
    return text.count("\n") + (not text.endswith("\n"))
