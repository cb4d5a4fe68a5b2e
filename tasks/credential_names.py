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
    """Classifies names; `given` finds where one of them is given a value."""

    def __init__(self, data: Mapping[str, list[str]]) -> None:
        self._kinds: dict[tuple[str, ...], str] = {}
        for kind in ("weak", "code", "guarded", "identifier", "secret", "password"):
            for name in data[kind]:
                self._kinds[tuple(name.split())] = kind
        self._longest = max(map(len, self._kinds))
        self._suffixes = tuple(data["suffixes"])
        self._harmless = frozenset(tuple(name.split()) for name in data["harmless"])
        self._harmless_lengths = sorted({len(name) for name in self._harmless})
        self._before = frozenset(data["unless_before"])
        self._never_before = frozenset(data["never_before"])
        self._after = frozenset(data["unless_after"])
        joined = [f"{first}{gap}{second}" for first, second in self._parted() for gap in ("", " ", "_", "-")]
        single = {name[-1] for name in self._kinds} - {second for _, second in self._parted()}
        single |= {name[0] for name in self._kinds if len(name) == 1}
        everything = sorted({*single, *joined})
        self.stems = tuple(
            word for word in everything if not any(other in word for other in everything if other != word)
        )
        self.given = _given([word for word in self.stems if " " in word])
        self.kind = lru_cache(maxsize=16384)(self._kind)
        self.ends_in_one = lru_cache(maxsize=4096)(self._ends_in_one)

    def _kind(self, name: str) -> str | None:
        parts = [part.lower() for part in _PART.findall(name)]
        for last in range(len(parts) - 1, -1, -1):
            for length in range(min(self._longest, last + 1), 0, -1):
                words = tuple(parts[last + 1 - length : last + 1])
                kind = self._kinds.get(words)
                if kind is None and length > 1:  # `api keys`
                    kind = self._kinds.get((*words[:-1], words[-1].removesuffix("s")))
                if kind is None and length == 1 and parts[last].endswith(self._suffixes):
                    kind = "password" if parts[last].endswith(("password", "passwd", "passphrase")) else "secret"
                if kind is not None:
                    return None if self._is_excused(parts, last + 1 - length, last + 1, kind) else kind
        return None

    def _ends_in_one(self, name: str) -> bool:
        parts = [part.lower() for part in _PART.findall(name)]
        lengths = range(1, min(self._longest, len(parts)) + 1)
        return bool(parts) and (
            any(tuple(parts[-length:]) in self._kinds for length in lengths) or parts[-1].endswith(self._suffixes)
        )

    def _is_excused(self, parts: list[str], start: int, end: int, kind: str) -> bool:
        before, after = parts[:start], parts[end:]
        if not self._after.isdisjoint(after) or not self._never_before.isdisjoint(before):
            return True
        if kind in ("weak", "guarded") and not self._before.isdisjoint(before):
            return True
        return any(tuple(parts[max(0, end - length) : end]) in self._harmless for length in self._harmless_lengths)

    def _parted(self) -> list[tuple[str, str]]:
        """Names of two words whose second (`id`, `string`) is too common to be looked for alone."""
        return sorted({(name[-2], name[-1]) for name in self._kinds if len(name) > 1 and name[-1] != "key"})


def _given(spaced: Iterable[str]) -> re.Pattern[str]:
    """The rest of a name from its telling word on (`name`), and how it is given a value, which starts where that ends.

    `block` is a value inside what the name opens: `variable "db_password" { default = ... }`.
    """
    words = "|".join(sorted(spaced, key=lambda word: (-len(word), word)))
    gap = r"[ \t]{0,20}+"
    line = r"[ \t]{0,20}\r?\n[ \t]{0,40}"
    ahead = r"(?=[\"'`\\&]|[^\s0-9]{0,24}+[0-9]|[^\s]{16})"
    verb = "(?:is|was|are|equals|to|as|be|ist|lautet|est)"
    spoken = rf"(?:[ \t]{{1,4}}+[A-Za-z'\-]{{1,16}}+){{0,4}}?[ \t]{{1,4}}+{verb}[ \t:]{{1,3}}{ahead}"
    listed = rf"{QUOTE}?{gap},?\s{{0,40}}{QUOTE}?[vV]alue{QUOTE}?{gap}[:=]"
    settings = r"(?:[^\n{}]{0,120}\n){0,4}?"  # what a block says before the value: its type, a description
    block = (
        rf"{QUOTE}?{gap}[:=]?{gap}\{{\s{{0,40}}{settings}[ \t]{{0,40}}{QUOTE}?(?:value|default){QUOTE}?{gap}[:=]{gap}"
    )
    signs = r"(?:=>|:=|={1,3}|!={1,2}|\?\?=?|\|\|=?|->|<-|:|%3[ADad]|\|)"
    typed = rf"[ \t]{{1,4}}(?:string|str|&str|String){gap}="
    yaml_type = r"(?:!{1,2}\w{0,12}[ \t]{1,4}(?=[\"']))?"
    item = r"\[[\w\"'.\-]{1,40}\]"
    sign = rf"{QUOTE}?\*{{0,3}}{gap}(?:[\])}}]|{item})?{gap}\??{signs}\*{{0,3}}"
    attributes = r"(?:[ \t]{1,4}+[\w:.\-]{1,40}+=[\"'][^\"'<>\n]{0,100}[\"']){0,4}"
    tag = rf"{QUOTE}?{attributes}>(?:<!\[CDATA\[|\s{{0,40}}<(?i:value|string)>)?"
    tags = r"</\w{1,20}>\s{0,40}<\w{1,20}>"
    flagged = rf"{QUOTE}?[ \t]{{1,8}}--(?:value|body|secret-string)[ =]"
    return re.compile(
        rf"(?P<name>(?:(?i:{words}))?+[A-Za-z0-9_.\-]{{0,80}}+)(?:"
        rf"(?P<call>\({gap}(?={QUOTE}))"
        rf"|(?P<block>{block})"
        rf"|(?P<operator>(?:{listed}|{sign}|{typed}|{flagged}|{tags}|{tag})"
        rf"(?:{gap}(?:[|>][+\-]?|\\|\"{{3}}\\?|'{{3}}\\?){line}|{line}(?=[\"'])|{gap}){yaml_type}{FOREIGN}{{0,16}})"
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


def spaced_name(view: str, start: int, end: int) -> str:
    """The name, with the word before it when a single space parts them (`client id`, `api key`)."""
    name = view[start:end]
    if start > 1 and view[start - 1] == " " and view[start - 2].isalpha():
        before = name_start(view, start - 1)
        return f"{view[before : start - 1]} {name}"
    return name
