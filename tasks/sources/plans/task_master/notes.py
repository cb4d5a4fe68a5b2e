"""Notes of past work that Task Master glues to the texts of a task: `<info added on TIME> … </info added on TIME>`."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from tasks.sources.times import microseconds

if TYPE_CHECKING:
    from collections.abc import Iterable

_NOTE = re.compile(r"<(/?)info[ \t]+added[ \t]+on\b[ \t]*([^<>\n]{0,100})>", re.IGNORECASE)


def without_notes(text: str) -> tuple[str, list[tuple[str, int | None]]]:
    """A text without the notes of past work that the tool glues to it, and those notes with their times, in order.

    A note ends at the mark with its time, else at the next end; one without an end goes on to the end of the text.
    """
    if "<" not in text or not _NOTE.search(text):
        return text, []
    outside: list[str] = []
    notes: list[tuple[str, list[str]]] = []
    inside: list[int] = []  # the notes that are open, the innermost last
    stamps: Counter[str] = Counter()
    end = 0
    for mark in _NOTE.finditer(text):
        (notes[inside[-1]][1] if inside else outside).append(text[end : mark.start()])
        end = mark.end()
        stamp = mark[2].strip()
        if not mark[1]:
            notes.append((stamp, []))
            inside.append(len(notes) - 1)
            stamps[stamp] += 1
            continue
        while inside:
            ended = notes[inside.pop()][0]
            stamps[ended] -= 1
            if ended == stamp or stamps[stamp] <= 0:
                break
    (notes[inside[-1]][1] if inside else outside).append(text[end:])
    return _joined(outside), [note for stamp, parts in notes if (note := _note(stamp, _joined(parts)))]


def _joined(parts: Iterable[str]) -> str:
    """What is left around what was taken out, as paragraphs of their own."""
    return "\n\n".join(part.strip("\n").rstrip() for part in parts if part.strip())


def _note(stamp: str, text: str) -> tuple[str, int | None] | None:
    if not text:
        return None
    time = microseconds(stamp)
    return (text if time is not None or not stamp else f"{stamp}:\n\n{text}"), time
