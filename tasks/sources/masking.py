"""Credentials are masked once, in whole texts, before anything is cut, hashed, counted or named after them."""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from tasks.sources.findings import Row, finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tasks.credentials import Redaction

# Too short and too plain to hold a credential: most ids of events are, and each text that is scanned costs time.
_LONGEST_PLAIN = 15
_PLAIN = re.compile(rf"[A-Za-z0-9_.-]{{0,{_LONGEST_PLAIN}}}")

#: What stands in place of a credential; the group is the rule that found it.
MARKER = re.compile(r"\[REDACTED: ([^\]\n]{1,120})\]")

#: Where a row keeps what was masked in it: how many credentials, by rule.
MASKED = "masked"


class Masks:
    """What remains of each text without its credentials. All distinct texts are scanned in one call."""

    def __init__(self, texts: Iterable[str]) -> None:
        from tasks.credentials import Redaction, redactions  # slow to load, and a build that is found has no use for it

        self._unchanged = Redaction
        self._changed = redactions(
            text for text in dict.fromkeys(texts) if len(text) > _LONGEST_PLAIN or not _PLAIN.fullmatch(text)
        )

    def of(self, text: str) -> Redaction:
        """A text without its credentials, and how many there were, by rule."""
        return self._changed.get(text) or self._unchanged(text, {})

    def among(self, texts: Iterable[str]) -> dict[str, str]:
        """Those of the texts that hold credentials, and what remains of each."""
        return {text: self._changed[text].text for text in texts if text in self._changed}

    def rows(self, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> list[dict[str, Any]]:
        """Each row as `row` gives it. Nearly all hold no credential, which is found out with less."""
        changed = self._changed.keys()
        return [
            self.row(row, columns)
            if changed and not changed.isdisjoint(strings_of((row,), columns))
            else {**row, MASKED: {}}
            for row in rows
        ]

    def row(self, row: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
        """A row whose strings and lists of strings in these columns are masked. Counts go to its `masked`."""
        counts: Counter[str] = Counter()
        masked = {name: self._value(row[name], counts) for name in columns}
        return {**row, **masked, MASKED: dict(sorted(counts.items()))}

    def _value(self, value: object, counts: Counter[str]) -> object:
        if isinstance(value, str):
            redaction = self._changed.get(value)
            if redaction is None:
                return value
            counts.update(redaction.counts)
            return redaction.text
        if isinstance(value, list):
            return [self._value(entry, counts) for entry in value]
        return value


def strings_of(rows: Sequence[Mapping[str, Any]], columns: Iterable[str]) -> list[str]:
    """Every string in these columns of rows, and in their lists."""
    found: list[str] = []
    for name in columns:
        values = list(map(itemgetter(name), rows))
        types = set(map(type, values))
        if types <= {str}:
            found += values
            continue
        found += [value for value in values if isinstance(value, str)]
        if list in types:
            found += chain.from_iterable(value for value in values if isinstance(value, list))
    return found


def count_masked(text: str) -> int:
    """How many credentials were masked in a text."""
    return len(MARKER.findall(text))


def credential_finding(where: str, counts: Mapping[str, int]) -> Row:
    """What was masked, by rule; never a value."""
    listed = ", ".join(f"{rule} ({count})" for rule, count in sorted(counts.items()))
    return finding("info", "CREDENTIAL_REDACTED", where, f"Credentials were masked: {listed}.")
