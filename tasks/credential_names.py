"""Names that tell of a secret: which words make one, and how a text gives it a value."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from tasks.credential_values import FOREIGN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

QUOTE: Final = r"""(?:\\{0,8}["'`]|&quot;|&\#3[49];|%2[27]|\\{1,8}u002[27])"""
"""A quotation mark as it stands in source, in escaped JSON, in HTML and in a URL."""

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NAME_CHARACTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
_NAME_REACH: Final = 64


class Names:
    """Classifies names; `form` finds where one of them is given a value."""

    def __init__(self, data: Mapping[str, list[str]]) -> None:
        self._kinds: dict[tuple[str, ...], str] = {}
        for kind in ("weak", "identifier", "secret", "password"):
            for name in data[kind]:
                self._kinds[tuple(name.split())] = kind
        self._longest = max(map(len, self._kinds))
        self._suffixes = tuple(data["suffixes"])
        self._harmless = tuple(tuple(name.split()) for name in data["harmless"])
        self._before = frozenset(data["unless_before"])
        self._never_before = frozenset(data["never_before"])
        self._after = frozenset(data["unless_after"])
        joined = [f"{first}{gap}{second}" for first, second in self._parted() for gap in ("", " ", "_", "-")]
        single = {name[-1] for name in self._kinds} - {second for _, second in self._parted()}
        everything = sorted({*single, *joined})
        self.stems = tuple(
            word for word in everything if not any(other in word for other in everything if other != word)
        )
        self.form = _form(self.stems)
        self.kind = lru_cache(maxsize=16384)(self._kind)

    def _kind(self, name: str) -> str | None:
        parts = [part.lower() for part in _PART.findall(name)]
        for last in range(len(parts) - 1, -1, -1):
            for length in range(min(self._longest, last + 1), 0, -1):
                kind = self._kinds.get(tuple(parts[last + 1 - length : last + 1]))
                if kind is None and length == 1 and parts[last].endswith(self._suffixes):
                    kind = "password" if parts[last].endswith(("password", "passwd", "passphrase")) else "secret"
                if kind is not None:
                    return None if self._is_excused(parts, last + 1 - length, last + 1, kind) else kind
        return None

    def _is_excused(self, parts: list[str], start: int, end: int, kind: str) -> bool:
        before, after = parts[:start], parts[end:]
        if not self._after.isdisjoint(after) or not self._never_before.isdisjoint(before):
            return True
        if kind == "weak" and not self._before.isdisjoint(before):
            return True
        return any(tuple(parts[max(0, end - len(name)) : end]) == name for name in self._harmless)

    def _parted(self) -> list[tuple[str, str]]:
        """Names of two words whose second (`id`, `string`) is too common to be looked for alone."""
        return sorted({(name[-2], name[-1]) for name in self._kinds if len(name) > 1 and name[-1] != "key"})


def _form(stems: Iterable[str]) -> re.Pattern[str]:
    """A name (its telling word and what follows), and how it is given a value, which starts where the match ends."""
    ordered = sorted(stems, key=lambda word: (-len(word), word))
    short = [word for word in ordered if len(word) <= 4 and word not in ("auth", "pass", "key", "cred")]  # noqa: PLR2004
    names = f"(?:(?i:{'|'.join(word for word in ordered if word not in short)})|(?i:{'|'.join(short)})(?![a-z]))"
    gap = r"[ \t]{0,20}"
    line = r"[ \t]{0,20}\r?\n[ \t]{0,40}"
    ahead = r"(?=[\"'`\\&]|[^\s]{0,24}[0-9]|[^\s]{16})"
    spoken = (
        rf"(?:[ \t]{{1,4}}[A-Za-z'\-]{{1,16}}){{0,4}}?[ \t]{{1,4}}(?:is|was|are|equals|to|as|be)[ \t:]{{1,3}}{ahead}"
    )
    listed = rf"{QUOTE}?{gap},?\s{{0,40}}{QUOTE}?[vV]alue{QUOTE}?{gap}[:=]"
    signs = r"(?:=>|:=|={1,3}|!={1,2}|\?\?=|\|\|=|->|:|%3[ADad]|\|)"
    typed = rf"[ \t]{{1,4}}(?:string|str|&str|String){gap}="
    return re.compile(
        rf"{names}(?P<tail>[A-Za-z0-9_.\-]{{0,48}})(?:"
        rf"(?P<call>\({gap}(?={QUOTE}))"
        rf"|(?P<operator>(?:{listed}|{QUOTE}?{gap}[\])}}]?{gap}\??{signs}|{typed}|>)"
        rf"(?:{gap}[|>][+\-]?{line}|{line}(?=[\"'])|{gap}){FOREIGN}{{0,16}})"
        rf"|(?P<pair>{QUOTE}{gap},{gap}(?=[bBrRuUfF]?{QUOTE}))"
        rf"|(?P<prose>{spoken})"
        rf"|(?P<space>[ \t]{{1,8}}{ahead})"
        r")"
    )


def name_start(view: str, start: int) -> int:
    """Where the name begins that holds the word at `start`; a line break written as an escape is not part of it."""
    floor = max(0, start - _NAME_REACH)
    head = view[floor:start]
    begin = floor + len(head.rstrip(_NAME_CHARACTERS))
    if begin < start and begin and view[begin - 1] == "\\" and view[begin] in "nrt":
        begin += 1
    return begin


def spaced_name(view: str, start: int, match: re.Match[str]) -> str:
    """The name, with the word before it when a single space parts them (`client id`, `api key`)."""
    name = view[start : match.end("tail")]
    if start and view[start - 1] == " ":
        before = name_start(view, start - 1)
        return f"{view[before : start - 1]} {name}"
    return name
