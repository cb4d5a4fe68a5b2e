"""Whether a value looks like a secret: placeholders, words, and evidence that it was generated.

A value is judged by itself; which values are looked at is for `tasks.credential_rules`. The word lists and the table of
letter pairs are data, in `rules/credentials.toml`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
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

_JUDGED: Final = 160
"""Characters of a value that are judged; a longer one has shown by then what it is."""
_SEGMENT_FLOOR: Final = -2.0
_RUN_FLOOR: Final = -2.0
_PAIR_ZERO: Final = 4
_SEQUENCES: Final = ("0123456789", "1234567890", "abcdefghij", "xxxx", "XXXX", "****", "....", "0000000000")
_SHORT_RUN: Final = 4

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


class Values:
    """Judges values with the word lists and the letter-pair table of `rules/credentials.toml` (`[values]`)."""

    def __init__(self, data: Mapping[str, Sequence[str]]) -> None:
        self._words = frozenset(data["words"])
        self._placeholder = re.compile("|".join(map(re.escape, data["placeholders"])), re.IGNORECASE)
        self._pairs = tuple(tuple(int(digit) - _PAIR_ZERO for digit in row) for row in data["pairs"])
        self.evidence = lru_cache(maxsize=8192)(self._evidence)

    def is_placeholder(self, value: str) -> bool:
        """Whether the value stands for a secret: `<token>`, `${TOKEN}`, `xxxx`, `your-key`, `null`."""
        head = value[:_JUDGED]
        if not head.strip() or BARRIER in head or head.lower() in self._words or len(set(head)) == 1:
            return True
        if (
            (_REFERENCE.fullmatch(head) and not (head[0] == "$" and self.evidence(head) >= STRONG))
            or "..." in head
            or any(run in head for run in _SEQUENCES)
        ):
            return True
        if head.upper().endswith(("EXAMPLE", "EXAMPLEKEY")):
            return True
        if not self._placeholder.search(head) or self.evidence(head) >= CLEAR:
            return False
        return not _MIXED.search(head)  # `your-256-bit-secret` stands for one, `hunter2secretX9` is one

    def is_plain(self, value: str) -> bool:
        """Whether the value has the form of something else: a number, date, version, path, address or expression."""
        head = value[:_JUDGED]
        return bool(
            _NUMERIC.fullmatch(head) or _DATED.fullmatch(head) or _EMAIL.fullmatch(head) or _PATH.fullmatch(head)
        )

    @staticmethod
    def is_code(value: str) -> bool:
        """Whether an unquoted value reads as an expression: a call, an index, a scope."""
        return bool(_CODE.search(value[:_JUDGED]))

    @staticmethod
    def is_uuid(value: str) -> bool:
        """Whether the value is a UUID."""
        return bool(_UUID.fullmatch(value))

    def looks_generated(self, value: str, least: int, evidence: float) -> bool:
        """Whether a value of at least `least` characters shows at least `evidence` of chance, and is no placeholder."""
        if len(value) < least or self.is_plain(value) or self.is_placeholder(value):
            return False
        return self.evidence(value[:_JUDGED]) >= evidence

    def looks_chosen(self, value: str) -> bool:
        """Whether a person could have chosen it as a password: a digit or symbol among letters, no term, no path."""
        if len(value) < _SHORT_RUN or self.is_placeholder(value) or self.is_plain(value):
            return False
        letters = any(character.isalpha() for character in value)
        return letters and (any(character.isdigit() for character in value) or bool(_SYMBOL.search(value)))

    def _evidence(self, value: str) -> float:
        """Evidence, in bits, that the value was drawn at random and not put together from words.

        A change between letters and digits counts two bits, but the first of each segment is free (`utf8`, `2fa`). A
        letter pair counts what the table says. Case that changes too often for words counts one and a half a piece.
        """
        total = STRONG if _UUID.search(value) else 0.0
        for segment in _SEGMENT.findall(value.removeprefix("www")):
            runs = _RUN.findall(segment)
            score = 2.0 * max(0, len(runs) - 2)
            for run in runs:
                if run[0].isdigit():
                    continue
                pieces = _CAMEL.findall(run)
                if len(pieces) > 3 and len(run) <= 3.5 * len(pieces):  # noqa: PLR2004
                    score += 1.5 * len(pieces)
                for piece in pieces:
                    codes = [ord(letter) - 97 for letter in piece.lower()]
                    score += max(_RUN_FLOOR, sum(self._pairs[a][b] for a, b in pairwise(codes)))
            if len(segment) >= _SHORT_RUN and len(runs) > 1 and _HEX.fullmatch(segment):
                score += 2.0
            total += max(score, _SEGMENT_FLOOR)
        return total + min(4, len(_SYMBOL.findall(value)))
