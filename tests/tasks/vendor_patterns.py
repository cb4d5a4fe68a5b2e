"""What can be proved of the vendor rules' expressions: over what a match may reach, and what each match holds.

An expression becomes an automaton without memory for what was read. Word boundaries and ends of the text count as given
and letters as the same in both cases, so that it takes whatever the expression takes, and more.
"""

from __future__ import annotations

import re
import string
import warnings
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import random

_FLAGS = re.compile(r"\(\?[imx]+(?::(?P<group>)|\))")
_ASCII: Final = range(128)
_WORDLY: Final = frozenset(map(ord, string.ascii_letters + string.digits))
_ENDS: Final = (op.AT_BEGINNING, op.AT_BEGINNING_STRING, op.AT_END, op.AT_END_STRING)
_CATEGORIES: Final = {
    op.CATEGORY_SPACE: str.isspace,
    op.CATEGORY_DIGIT: str.isdigit,
    op.CATEGORY_WORD: lambda character: character.isalnum() or character == "_",
}
_OPPOSITES: Final = {
    op.CATEGORY_NOT_SPACE: op.CATEGORY_SPACE,
    op.CATEGORY_NOT_DIGIT: op.CATEGORY_DIGIT,
    op.CATEGORY_NOT_WORD: op.CATEGORY_WORD,
}


class Automaton:
    """The ASCII texts that an expression matches: states with free steps, and steps that take a character."""

    def __init__(self, pattern: str) -> None:
        plain = _FLAGS.sub(lambda found: "" if found["group"] is None else "(?:", pattern).replace(r"\z", r"\Z")
        #: Whether it asks for the beginning or the end of a text in a place where a newline does not do as well.
        self.asks_for_an_end = False
        self._free: list[list[int]] = []
        self._taking: list[tuple[frozenset[int], int] | None] = []
        self._start = self._state()
        with warnings.catch_warnings(action="ignore", category=FutureWarning):  # `[[`, which means a set to others
            parsed = parser.parse(plain)
        self._end = self._sequence(parsed, self._start)

    def example(self, rng: random.Random) -> str:
        """A text that matches, but for word boundaries and ends, drawn at random."""
        text: list[str] = []
        state = self._start
        while state != self._end:
            if (step := self._taking[state]) is not None:
                text.append(chr(rng.choice(sorted(step[0] & _WORDLY or step[0]))))
                state = step[1]
            else:
                state = rng.choice(self._free[state])
        return "".join(text)

    def crosses(self, text: str) -> bool:
        """Whether a match may begin before the text and end behind it."""
        states = set(range(len(self._free)))
        for code in map(ord, text):
            states = self._closure(step[1] for state in states if (step := self._taking[state]) and code in step[0])
        return bool(states)

    def always_holds(self, word: str) -> bool:
        """Whether each match holds the word, in capitals or not."""
        length = len(word)
        after = [
            {
                code: next(
                    size
                    for size in range(min(length, known + 1), -1, -1)
                    if (word[:known] + chr(code).lower()).endswith(word[:size])
                )
                for code in _ASCII
            }
            for known in range(length)
        ]
        pending = [(state, 0) for state in self._closure([self._start])]
        seen = set(pending)
        while pending:
            state, known = pending.pop()
            if state == self._end:
                return False
            if (step := self._taking[state]) is None:
                continue
            for size in {after[known][code] for code in step[0]} - {length}:
                for reached in self._closure([step[1]]):
                    if (reached, size) not in seen:
                        seen.add((reached, size))
                        pending.append((reached, size))
        return True

    def _state(self) -> int:
        self._free.append([])
        self._taking.append(None)
        return len(self._free) - 1

    def _closure(self, states: Any) -> set[int]:
        found = set(states)
        pending = list(found)
        while pending:
            new = set(self._free[pending.pop()]) - found
            found |= new
            pending += new
        return found

    def _sequence(self, parsed: Any, start: int) -> int:
        for code, argument in parsed:
            start = self._part(code, argument, start)
        return start

    def _part(self, code: Any, argument: Any, start: int) -> int:
        if code is op.SUBPATTERN:
            return self._sequence(argument[3], start)
        if code in (op.MAX_REPEAT, op.MIN_REPEAT):
            return self._repeated(*argument, start)
        end = self._state()
        if code is op.AT:
            self.asks_for_an_end |= argument in _ENDS
            self._free[start].append(end)
        elif code is op.BRANCH:
            newline = any(len(branch) == 1 and ord("\n") in _characters(*branch[0]) for branch in argument[1])
            for branch in argument[1]:
                if newline and len(branch) == 1 and branch[0][0] is op.AT:
                    branch = ()  # noqa: PLW2901 - the newline does as well
                first = self._state()
                self._free[start].append(first)
                self._free[self._sequence(branch, first)].append(end)
        else:
            first = self._state()
            self._free[start].append(first)
            self._taking[first] = _characters(code, argument), end
        return end

    def _repeated(self, least: int, most: Any, parsed: Any, start: int) -> int:
        for _ in range(least):
            start = self._sequence(parsed, start)
        end = self._state()
        self._free[start].append(end)
        if most is op.MAXREPEAT:
            self._free[self._sequence(parsed, end)].append(end)
            return end
        for _ in range(most - least):
            start = self._sequence(parsed, start)
            self._free[start].append(end)
        return end


def _characters(code: Any, argument: Any) -> frozenset[int]:
    """The ASCII characters that one place of an expression takes."""
    if code not in (op.ANY, op.NOT_LITERAL, op.LITERAL, op.RANGE, op.CATEGORY, op.IN):
        return frozenset()
    if code is op.ANY:  # also a newline, since it may do so
        return frozenset(_ASCII)
    if code is op.NOT_LITERAL:
        return frozenset(_ASCII) - {argument}
    if code is op.LITERAL:
        return frozenset({argument})
    if code is op.RANGE:
        return frozenset(range(argument[0], argument[1] + 1)) & frozenset(_ASCII)
    if code is op.CATEGORY and argument in _OPPOSITES:
        return frozenset(_ASCII) - _characters(op.CATEGORY, _OPPOSITES[argument])
    if code is op.CATEGORY:
        return frozenset(number for number in _ASCII if _CATEGORIES[argument](chr(number)))
    negated = argument[0][0] is op.NEGATE
    found = frozenset().union(*(_characters(*entry) for entry in argument[negated:]))
    return frozenset(_ASCII) - found if negated else found
