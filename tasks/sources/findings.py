"""What is odd in an input, as rows for the findings frame."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from tasks.text import one_line

Severity = Literal["info", "warning", "error"]
Row = dict[str, str]

_LONGEST_NAME = 80
_MOST_OF_A_CODE = 100


def finding(severity: Severity, code: str, where: str, message: str) -> Row:
    """One row: `info` nothing lost, `warning` read otherwise than written, `error` left out."""
    return {"severity": severity, "code": code, "where": one_line(where), "message": one_line(message)}


def shown(name: object) -> str:
    """A name from an input as a message quotes it: on one line, cut where it is very long."""
    text = one_line(str(name))
    return f"'{text}'" if len(text) <= _LONGEST_NAME else f"'{text[:_LONGEST_NAME]}…'"


@dataclass
class Findings:
    """Collects the findings of one input. Of one code it keeps a hundred, then says how many more there are."""

    where: str
    _rows: list[Row] = field(default_factory=list)
    _counts: Counter[tuple[Severity, str]] = field(default_factory=Counter)

    def add(self, severity: Severity, code: str, message: str, place: str = "") -> None:
        """One more finding, at a place within the input such as `line 3`."""
        self._counts[severity, code] += 1
        if self._counts[severity, code] <= _MOST_OF_A_CODE:
            self._rows.append(finding(severity, code, f"{self.where}, {place}" if place else self.where, message))

    @property
    def rows(self) -> list[Row]:
        """All of them, in the order in which they were found."""
        unlisted = [
            finding(severity, code, self.where, f"{count - _MOST_OF_A_CODE} more of this kind are not listed.")
            for (severity, code), count in self._counts.items()
            if count > _MOST_OF_A_CODE
        ]
        return self._rows + unlisted
