"""A text as the credential rules read it: what a reader sees of it, in ASCII, and where each part stands in the text.

Characters that no reader sees (zero-width and soft hyphens, direction marks, control characters, colours of a terminal)
are no part of a name or a value, however they break it up. But they may also part two words that no rule would see if
they stood together, so that a text with such characters is read both ways.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from tasks.credential_blocks import Span
from tasks.credential_values import BARRIER, FOREIGN
from tasks.text import holds_only

if TYPE_CHECKING:
    from collections.abc import Sequence

_MARKER = re.compile(r"\[REDACTED: [\w.\-]{1,120}\]")
_HIDDEN = re.compile(
    "\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[@-Z\\\\-_])"
    "|(?<![\u200d\u2100-\u2bff\ufe0f\U0001f000-\U0001ffff])"  # but for emoji, which stand apart anyway
    "[\x00\x02-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]+"
    "|\x1b|\x01(?!\n)"  # a line of it alone parts texts that are read as one
)
_ODD = re.compile("[^\t-\r -~]+")
_PLAIN_BYTES: Final = bytes((*range(9, 14), *range(32, 127)))
"""What `_ODD` leaves out."""
_MARKED: Final = "[REDACTED: "
_TOGETHER: Final = 64
"""Texts that are looked at as one first: a look costs as much as a few hundred characters."""
_FOREIGN_RUN = re.compile("[^\x00-\x7f]+")
_ENTRY = re.compile(r"[A-Z_][A-Z0-9_]*=")


class _Plain(dict[int, str]):
    """What stands in ASCII for a character, one for one."""

    def __missing__(self, code: int) -> str:
        return chr(code) if code < 0x80 else FOREIGN  # noqa: PLR2004 - ASCII


def _plain() -> _Plain:
    table = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    table |= dict.fromkeys((11, 12, 133, 8232, 8233), "\n")
    table |= dict.fromkeys((160, *range(8192, 8203), 8239, 8287, 12288), " ")
    table |= dict.fromkeys((0x201C, 0x201D, 0x201E, 0x201F, 0xAB, 0xBB), '"') | dict.fromkeys((0x2018, 0x2019), "'")
    for code in range(0xC0, 0x250):
        letter = unicodedata.normalize("NFD", chr(code))[0]
        table[code] = letter if letter.isascii() else "?"
    table |= zip(map(ord, "\u0142\u0141\u00f8\u00d8\u0131\u0111\u0110\u00df"), "lLoOidDs", strict=True)
    return _Plain(table | dict.fromkeys(range(0x300, 0x370), "?"))


_PLAIN: Final = _plain()
_KNOWN: Final = re.compile(f"[{re.escape(''.join(map(chr, sorted(_PLAIN))))}]")
#: What a password is called in other scripts.
_NAMES: Final = (
    "\u043f\u0430\u0440\u043e\u043b\u044c",
    "\u041f\u0430\u0440\u043e\u043b\u044c",
    "\u5bc6\u7801",
    "\u5bc6\u78bc",
    "\u53e3\u4ee4",
    "\u30d1\u30b9\u30ef\u30fc\u30c9",
    "\ube44\ubc00\ubc88\ud638",
    "\u0643\u0644\u0645\u0629 \u0627\u0644\u0645\u0631\u0648\u0631",
    "\u0643\u0644\u0645\u0629 \u0627\u0644\u0633\u0631",
    "\u05e1\u05d9\u05e1\u05de\u05d4",
    "\u092a\u093e\u0938\u0935\u0930\u094d\u0921",
    "\u0e23\u0e2b\u0e31\u0e2a\u0e1c\u0e48\u0e32\u0e19",
    "\u03ba\u03c9\u03b4\u03b9\u03ba\u03cc\u03c2",
    "\u03c3\u03c5\u03bd\u03b8\u03b7\u03bc\u03b1\u03c4\u03b9\u03ba\u03cc",
)


class View(NamedTuple):
    """`text` is what the rules read; `places` and `shifts` lead from offsets in it to those in the text it is of."""

    text: str
    places: tuple[int, ...] = ()
    shifts: tuple[int, ...] = ()

    def in_text(self, span: Span) -> Span:
        """The same span, as offsets into the text that this is a view of."""
        if not self.places:
            return span
        return Span(self._of(span.start), self._of(span.end - 1) + 1, span.rule)

    def _of(self, place: int) -> int:
        index = bisect_right(self.places, place) - 1
        return place + (self.shifts[index] if index >= 0 else 0)


def odd_views(texts: Sequence[str]) -> dict[int, list[View]]:
    """By place the readings of the texts that are not read just as they stand, which of all others is the only one."""
    odd: dict[int, list[View]] = {}
    for start in range(0, len(texts), _TOGETHER):
        together = "".join(texts[start : start + _TOGETHER])
        if holds_only(together, _PLAIN_BYTES) and _MARKED not in together:
            continue
        for place, text in enumerate(texts[start : start + _TOGETHER], start):
            readings = views_of(text)
            if len(readings) > 1 or readings[0].text != text:
                odd[place] = readings
    return odd


def views_of(text: str) -> list[View]:
    """The readings of a text: one, or two if it holds what no reader sees.

    Earlier redactions are blanked out, so that they are found no second time.
    """
    if holds_only(text, _PLAIN_BYTES):
        return [View(_without_markers(text))]
    odd = " ".join(_ODD.findall(text))
    first = int(text.startswith("\ufeff"))  # the mark of its encoding
    if not _HIDDEN.search(odd, first):
        return [View(_without_markers(_in_ascii(text, odd)))]
    if "\0" in odd:
        text = _parted(text)
    hidden = [found.span() for found in _HIDDEN.finditer(text, first)]
    if not hidden:
        return [View(_without_markers(_in_ascii(text, odd)))]
    pieces: list[str] = []
    places: list[int] = []
    shifts: list[int] = []
    done = length = 0
    for start, end in hidden:
        pieces.append(text[done:start])
        length += start - done
        places.append(length)
        shifts.append(end - length)
        done = end
    seen = _without_markers(_in_ascii("".join([*pieces, text[done:]]), odd))
    apart = _HIDDEN.sub(lambda found: FOREIGN * len(found.group()), text)
    return [View(seen, tuple(places), tuple(shifts)), View(_without_markers(_in_ascii(apart, odd)))]


def _in_ascii(text: str, odd: str) -> str:
    for name in _NAMES:
        if name.partition(" ")[0] in odd:
            text = text.replace(name, "pwd".rjust(len(name), "_") if len(name) > 2 else "pw")  # noqa: PLR2004 - as long
    return _FOREIGN_RUN.sub(lambda found: _run_in_ascii(found.group()), text)


@lru_cache(maxsize=4096)
def _run_in_ascii(run: str) -> str:
    return run.translate(_PLAIN) if _KNOWN.search(run) else FOREIGN * len(run)


def _without_markers(view: str) -> str:
    if _MARKED not in view:
        return view
    return _MARKER.sub(lambda found: BARRIER * len(found.group()), view)


def _parted(text: str) -> str:
    """A line break for each NUL between two entries of an environment (`A=1`, NUL, `B=2`): there it does part."""
    entries = text.split("\0")
    pieces = [entries[0]]
    for before, after in pairwise(entries):
        pieces += ["\n" if _ENTRY.match(before) and _ENTRY.match(after) else "\0", after]
    return "".join(pieces)
