"""The ids of a plan's tasks as texts name them: one by one, in ranges, however they are printed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tasks.sources.plans.spec_kit.forms import ID, NUMBER, WORD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_RANGE = r"[ \t]*+(?:[-–—~〜～]|\.\.+|to\b|through\b)[ \t]*+"
_IDS = re.compile(
    rf"(?P<first>{ID})(?:(?P<on>\+)(?![ \t]*[T\d])|(?P<range>{_RANGE}(?:TASK-?|T-?)|[-–—~〜～])"
    r"(?P<last>\d{1,6}(?:\.\d{1,3})*[a-z]?)(?![A-Za-z0-9_]))?"
)
#: Numbers are ids where they have a point in them or a word before them; alone where a field holds nothing else.
_NUMBER = rf"(?:(?<![\w.])(?:{WORD})[ \t]*\#?(?:{NUMBER})|(?<![\w.§$#-])\d{{1,4}}(?:\.\d{{1,4}})+)(?![\w%]|\.\d)"
_NUMBERS = re.compile(
    rf"(?P<first>{_NUMBER})(?P<on>(?!))?(?:(?P<range>{_RANGE})(?P<last>{NUMBER})(?![\w%]|\.\d))?", re.IGNORECASE
)
_BARE = re.compile(
    rf"(?P<first>(?<![\w.])(?:{NUMBER}))(?P<on>(?!))?(?:(?P<range>{_RANGE})(?P<last>{NUMBER}))?(?![\w%]|\.\d)"
)
_NO_NUMBER = re.compile(r"(?:phases?|fases?|US|stor(?:y|ies)|阶段|階段|フェーズ)[ \t]*#?\d+", re.IGNORECASE)
_PLAIN = re.compile(r"\A(?:TASK-?|T-?|\D+)", re.IGNORECASE)
_COMES_AFTER = (
    r"(?:\b(?:depends?[ \t]+on|blocked[ \t]+by|requires?|after|depende[ \t]+de|dépend[ \t]+de)"
    r"|(?<![不无無])依[赖賴]|依存|前置|의존)"
    r"[ \t]*+[:：]?[ \t]*+(?:tasks?[ \t]+)?"
)


@dataclass
class Ids:
    """The ids of a plan in the order of its tasks; `numbers` where they are mere numbers."""

    names: Sequence[str]
    numbers: bool = False

    def __post_init__(self) -> None:
        self._places: dict[str, int] = {}
        for place, name in enumerate(self.names):
            self._places.setdefault(_plain(name), place)
        one = _NUMBER if self.numbers else ID
        joint = r"[ \t]*+(?:[,、，&+/–~〜～和と-]|and\b|to\b)[ \t]*+"
        #: Where a text says that its own task comes after others, `ids`.
        self.own = re.compile(rf"{_COMES_AFTER}(?P<ids>{one}(?:{joint}{one})*)", re.IGNORECASE)
        self._pattern = _NUMBERS if self.numbers else _IDS

    def any_in(self, text: str) -> bool:
        """Whether a text has anything that looks like an id."""
        return self._pattern.search(text) is not None

    def in_field(self, text: str) -> Iterator[tuple[str, int | None]]:
        """The same as `in_text` for a field that holds ids and little else."""
        if not self.numbers:
            return self.in_text(text)
        return ((name, place) for name, place in self._found(_BARE, _NO_NUMBER.sub(" ", text)) if place is not None)

    def in_text(self, text: str) -> Iterator[tuple[str, int | None]]:
        """The ids in a text, ranges as all that they hold, each with the place of its task."""
        return self._found(self._pattern, text)

    def places(self, text: str) -> list[int]:
        """The places of the tasks that a text names, each once."""
        return list(dict.fromkeys(place for _, place in self.in_text(text) if place is not None))

    def place(self, name: str) -> int | None:
        """The place of the task that a single id names."""
        return self._places.get(_plain(name))

    def _found(self, pattern: re.Pattern[str], text: str) -> Iterator[tuple[str, int | None]]:
        for found in pattern.finditer(text):
            first = self.place(found["first"])
            last = self.place(found["last"]) if found["last"] else None
            if found["on"] and first is not None:
                yield from self._between(first, len(self.names) - 1)
            elif first is not None and last is not None and first <= last:
                yield from self._between(first, last)
            else:
                yield self._one(found["first"], first)
                if found["last"]:
                    yield self._one(self._like(found["first"], found["range"], found["last"]), last)

    def _like(self, first: str, joint: str, last: str) -> str:
        """The last id of a range as its first is printed."""
        if self.numbers:
            return last
        hyphen = "-" if joint.endswith("T-") or first.startswith("T-") else ""
        return f"T{hyphen}{last}"

    def _between(self, first: int, last: int) -> Iterator[tuple[str, int]]:
        return ((self.names[place], place) for place in range(first, last + 1))

    def _one(self, name: str, place: int | None) -> tuple[str, int | None]:
        return (name if place is None else self.names[place]), place


def _plain(name: str) -> str:
    """An id without what stands before its numbers, and these without zeros before them."""
    return re.sub(r"\b0+(?=\d)", "", _PLAIN.sub("", name)).replace("-", ".")
