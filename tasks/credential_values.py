"""Whether a value looks like a secret: placeholders, words, and evidence that it was generated.

A value is judged by itself; which values are looked at is for `tasks.credential_rules`. The word lists and the table of
letter pairs are data, in `rules/credentials.toml`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from operator import add
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BARRIER: Final = "\x01"
"""Stands for each character of an earlier redaction's marker; no rule reads over it."""
FOREIGN: Final = "\x02"
"""Stands for a character outside ASCII and Latin letters: it ends an unquoted value, and may stand in a quoted one."""

MARGINAL: Final = 3.0
"""Evidence that is enough behind the name of a secret. Measured: 99.9 % of random 16-character values are above it."""
CLEAR: Final = 6.0
"""Evidence that is enough behind a vague name (`key`, `auth`)."""
STRONG: Final = 9.0
"""Evidence that is enough in prose, or with no name at all."""

JUDGED: Final = 96
"""Characters of a value that are judged; a longer one has shown by then what it is."""
_CROWD: Final = 4
_KEY: Final = 8
_CROWDED_HEAD: Final = 32
_LONGEST: Final = 512
_SEGMENT_FLOOR: Final = -2.0
_RUN_FLOOR: Final = -2.0
_PAIR_ZERO: Final = 4
_SHORT_RUN: Final = 4
_SHORTEST_PHRASE: Final = 8

_SEQUENCE = re.compile(r"\.\.\.|\*{4}|[xX]{4}|0{10}|0123456789|1234567890|abcdefghij")
_SEGMENT = re.compile(r"[A-Za-z0-9]+")
_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_RUN = re.compile(r"[A-Za-z]+|[0-9]+")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]")
_SYMBOL = re.compile(r"[~!@#$%^&*+=?|]")
_UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_NUMERIC = re.compile(r"[\d.,:/%+\-\s_]*(?:[kKmMgGtT]?[bB]?|ms|[smhdw]|px|em|rem)")
_DATED = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ].*)?|v?\d{1,4}\.\d{1,4}(?:\.\d{1,6})?(?:[.+\-]?(?:a|b|rc|dev|post|alpha|beta)[\w.]{0,12})?"
)
_MIXED = re.compile(r"[A-Za-z]\d|\d[A-Za-z]")
_LETTERS = re.compile(r"[A-Za-z]+")
_ODD = re.compile(r"[\s(){}\[\]<>,;:/\\]")
_SLUG = re.compile(r"[a-z]+(?:[\-_.]?[a-z]+)*[\-_.]?\d{0,6}|[A-Z]+(?:[\-_][A-Z]+)*[\-_]?\d{0,6}")
_REFERENCE = re.compile(
    r"<.*>|\{.*\}|\[.*\]?|\(.*|%[\w\- ]+%|%\(.*|%[sdr]|@\w+@|__\w+__|\$[\w:]+|\$[{(\[].*|\{\{.*|#\{.*|!\w+.*|@.*\(.*|"
    r"&\#?\w+;.*|&[a-z\[].*|"
    r"(?:application|audio|font|image|message|multipart|text|video)/[\w.+\-]+|(?:[^%]*%[\-.\d]*[sdrfxi]){2}.*|"
    r"(\w{2,8})\1{2,}\w{0,8}|"
    r"[A-Za-z][\w+.\-]*://.*|arn:.*|ENC\[.*|enc:.*|data:.*|ssh-[a-z0-9\-]+.*|sha\d{1,3}[\-:].*|md5[\-:].*|"
    r"(?:process\.env|os\.environ|os\.getenv|import\.meta\.env|env|secrets|vars|settings|config|self|this)\..*",
    re.DOTALL,
)
_EMAIL = re.compile(r"[\w.+\-]+@[\w\-]+(?:\.[\w\-]+)*\.[a-z]{2,6}", re.IGNORECASE)
_PATH = re.compile(r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\][\w.\- ]+(?:[/\\][\w.\- ]+)+[/\\]?|(?:[\w.\-]+/)+[\w\-]+\.[a-z]{1,5}")
_CODE = re.compile(r"[\w)\]]\(|\w\[|\)\.|::")


_DIGEST = re.compile(r"(?:sha-?\d{1,3}|md5)[=:\-]\Z", re.IGNORECASE)


def judged_part(view: str, start: int, end: int, places: Sequence[int], index: int) -> str:
    """As much of a value as is judged. `places[index]` is where what is looked for led to it.

    Where so many such places are in the value itself that it would be read again and again, that is its head alone.
    """
    if index + _CROWD < len(places) and places[index + _CROWD] < min(end, start + JUDGED):
        return view[start : min(end, start + _CROWDED_HEAD)]
    return view[start : min(end, start + _LONGEST)]


def is_cut_short(view: str, end: int) -> bool:
    """Whether three dots say that the rest of the value was left out (`sk-abc...`)."""
    return view.startswith("...", end)


def is_digest(view: str, start: int) -> bool:
    """Whether the value follows the name of a digest (`sha256=`, `sha512-`, `md5:`)."""
    return bool(_DIGEST.search(view, max(0, start - 10), start))


class Surroundings:
    """Knows the surroundings in which nothing was found, so that text that repeats itself is looked at once."""

    def __init__(self, view: str, before: int, behind: int) -> None:
        self._view = view
        self._before, self._behind = before, behind
        self._barren: dict[str, str] = {}

    def are_barren(self, place: int) -> bool:
        """Whether the last place that began alike had the same surroundings, and nothing was found there."""
        if place < self._before:
            return False
        key = self._view[place : place + _KEY]
        around = self._view[place - self._before : place + self._behind]
        if self._barren.get(key) == around:
            return True
        self._barren[key] = around
        return False

    def are_fertile(self, place: int) -> None:
        """Something was found at the place."""
        self._barren.pop(self._view[place : place + _KEY], None)


class Values:
    """Judges values with the word lists and the letter-pair table of `rules/credentials.toml` (`[values]`)."""

    def __init__(self, data: Mapping[str, Sequence[str]]) -> None:
        self._words = frozenset(data["words"])
        self._placeholder = re.compile("|".join(map(re.escape, sorted(data["placeholders"]))))
        self._pairs = {
            chr(97 + first) + chr(97 + second): int(digit) - _PAIR_ZERO
            for first, row in enumerate(data["pairs"])
            for second, digit in enumerate(row)
        }
        self._plain_words = frozenset(data["plain_words"])
        self.evidence = lru_cache(maxsize=8192)(self._evidence)
        self._stands_for_one = lru_cache(maxsize=8192)(self._is_placeholder)

    def is_placeholder(self, value: str) -> bool:
        """Whether the value stands for a secret: `<token>`, `${TOKEN}`, `xxxx`, `your-key`, `null`."""
        return self._stands_for_one(value[:JUDGED])

    def _is_placeholder(self, head: str) -> bool:
        lower = head.lower()
        if (
            not head.strip()
            or BARRIER in head
            or lower.strip("*_<>[]-. ") in self._words
            or head.count(head[0]) == len(head)
        ):
            return True
        if (_REFERENCE.fullmatch(head) and not (head[0] == "$" and self.evidence(head) >= STRONG)) or _SEQUENCE.search(
            head
        ):
            return True
        if lower.endswith(("example", "examplekey")):
            return True
        if not self._placeholder.search(lower) or self.evidence(head) >= CLEAR:
            return False
        return not _MIXED.search(head)  # `your-256-bit-secret` stands for one, `hunter2secretX9` is one

    def is_plain(self, value: str) -> bool:
        """Whether the value has the form of something else: a number, date, version, path, address or expression."""
        head = value[:JUDGED]
        return bool(
            _NUMERIC.fullmatch(head) or _DATED.fullmatch(head) or _EMAIL.fullmatch(head) or _PATH.fullmatch(head)
        )

    @staticmethod
    def is_code(value: str) -> bool:
        """Whether an unquoted value reads as an expression: a call, an index, a scope."""
        return bool(_CODE.search(value[:JUDGED]))

    @staticmethod
    def is_uuid(value: str) -> bool:
        """Whether the value is a UUID."""
        return bool(_UUID.fullmatch(value))

    def looks_generated(self, value: str, least: int, evidence: float) -> bool:
        """Whether a value of at least `least` characters shows at least `evidence` of chance, and is no placeholder."""
        if len(value) < least or self.evidence(value[:JUDGED]) < evidence:
            return False
        return not self.is_plain(value) and not self.is_placeholder(value)

    def looks_chosen(self, value: str) -> bool:
        """Whether a person could have chosen it as a password: a digit or symbol among letters, no term, no path."""
        if len(value) < _SHORT_RUN or self.is_placeholder(value) or self.is_plain(value):
            return False
        letters = any(character.isalpha() for character in value)
        return letters and (any(character.isdigit() for character in value) or bool(_SYMBOL.search(value)))

    def looks_like_a_pass_phrase(self, value: str, *, named: bool, quoted: bool, alone: bool) -> bool:
        """Whether words and digits were put together to be a secret, behind a name that says so.

        `Tr0ub4dor` and `summer-Rain42` are; `app-secrets-v2` names one. Words in one case with a number at their end
        are taken for one where the name leaves no doubt (`named`) or nothing but a value can stand (`alone`); words
        without a number only there, and only four or more.
        """
        if len(value) < _SHORTEST_PHRASE or self.is_placeholder(value) or self.is_plain(value):
            return False
        if _ODD.search(value):  # white space is not in it, a call or a path is no phrase
            return False
        words = [word.lower() for word in _LETTERS.findall(value)]
        if not words or not self._plain_words.isdisjoint(words):
            return False
        if _SLUG.fullmatch(value):
            digits = len(value) - len(value.rstrip("0123456789"))
            return (digits > 0 and (named or alone)) or (digits == 0 and alone and len(words) >= _SHORT_RUN)
        if not (quoted or alone) and len(_RUN.findall(value)) < _SHORT_RUN and not _SYMBOL.search(value):
            return False  # `PKCS7Types` is the name of a type
        return bool(_MIXED.search(value))

    def _evidence(self, value: str) -> float:
        """Evidence, in bits, that the value was drawn at random and not put together from words.

        A change between letters and digits counts two bits, but the first of each segment is free (`utf8`, `2fa`). A
        letter pair counts what the table says. Case that changes too often for words counts one and a half a piece.
        """
        total = STRONG if _UUID.search(value) else 0.0
        pairs = self._pairs.__getitem__
        for segment in _SEGMENT.findall(value.removeprefix("www")):
            runs = _RUN.findall(segment)
            score = 2.0 * max(0, len(runs) - 2)
            for run in runs:
                if run[0].isdigit():
                    continue
                if len(run) == 1:
                    continue
                pieces = (run,) if run[1:].islower() or run.isupper() else _CAMEL.findall(run)
                if len(pieces) > 3 and len(run) <= 3.5 * len(pieces):  # noqa: PLR2004
                    score += 1.5 * len(pieces)
                for piece in pieces:
                    if len(piece) > 1:
                        letters = piece.lower()
                        score += max(_RUN_FLOOR, sum(map(pairs, map(add, letters, letters[1:]))))
            if len(segment) >= _SHORT_RUN and len(runs) > 1 and _HEX.fullmatch(segment):
                score += 2.0
            total += max(score, _SEGMENT_FLOOR)
        return total + min(4, len(_SYMBOL.findall(value)))
