"""Secrets that are blocks of text: PEM private keys, Kubernetes secrets, and base64 that hides another text.

Offsets are those of the view that `tasks.credentials` makes of a text.
"""

from __future__ import annotations

import base64
import binascii
import re
from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_PEM = re.compile(r"-----BEGIN[ A-Z0-9_\-]{0,80}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END[ A-Z0-9_\-]{0,80}PRIVATE KEY(?: BLOCK)?-----")
_PEM_BODY = re.compile(
    r"(?:(?:\n[ \t]{0,8}\d{1,7}[\t|: \x02]|[ \t\r\n>|\"'+,#*\x02]|\\+[nrt])*+"
    r"(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset):[^\n\\]{0,200}"
    r"|[A-Za-z0-9+/=]{4,}))*+"
)
_PEM_LINE = re.compile(r"[A-Za-z0-9+/=]{16}")
_PEM_LINE_ONLY = re.compile(r"[ \t>|\"'+,]*[A-Za-z0-9+/=]{16,}(?:\\n)?[ \t\r\n\"'+,]*")
_SHORTEST_BODY: Final = 16
_PEM_LONGEST: Final = 20_000

_BASE64 = re.compile(
    r"(?<![A-Za-z0-9+/_\-])[A-Za-z0-9+/_\-]{20,}+={0,2}(?:\r?\n[ \t]{0,40}[A-Za-z0-9+/]{4,}+={0,2}(?=\s|\Z))*+"
)
_BASE64_LINE = re.compile(r"[A-Za-z0-9+/_\-]{20,}={0,2}")
_SPACE = re.compile(r"\s+")
_PRINTABLE: Final = bytes((9, 10, 13, *range(32, 127), *range(128, 256)))
_LONGEST_CHARACTER: Final = 4

_SECRET_KIND = re.compile(r"^[ \t]*kind:[ \t]*[\"']?Secret[\"']?[ \t]*\r?$", re.MULTILINE)
_DATA_BLOCK = re.compile(r"^(?P<indent>[ \t]*)(?:data|stringData):[ \t]*\r?\n", re.MULTILINE)
_DATA_ENTRY = re.compile(
    r"(?P<indent>[ \t]+)[\w.\-\"']{1,120}:[ \t]*[\"']?(?P<value>[^\s\"'|>{][^\r\n\"']*)?[^\n]*(?:\n|\Z)"
)
_DOCUMENT = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)


class Span(NamedTuple):
    """`start` (inclusive) and `end` (exclusive) of a secret in the text, and the rule that found it."""

    start: int
    end: int
    rule: str


def private_keys(view: str) -> Iterator[Span]:
    """PEM private keys: from BEGIN to END or as far as the body goes; also a body whose BEGIN is lost."""
    opening = [match.span() for match in _PEM.finditer(view)]
    closing = [match.span() for match in _PEM_END.finditer(view)]
    done = 0
    marks = sorted([*((*span, True) for span in opening), *((*span, False) for span in closing)])
    for index, (start, body, opens) in enumerate(marks):
        if start < done:
            continue
        if opens:
            following = marks[index + 1] if index + 1 < len(marks) else None
            if following and not following[2] and _SHORTEST_BODY <= following[0] - body <= _PEM_LONGEST:
                done = following[1]
            else:
                run = _PEM_BODY.match(view, body, following[0] if following else len(view))
                done = run.end() if run else body
                if not _PEM_LINE.search(view, body, done):
                    continue
            yield Span(start, done, "private-key")
        else:
            tail = _lost_body(view, max(done, start - _PEM_LONGEST), start)
            done = body
            if tail < start:
                yield Span(tail, body, "private-key")


def _lost_body(view: str, floor: int, end: int) -> int:
    """Where the lines of base64 begin that end at `end`."""
    start = end
    while start > floor:
        line = view.rfind("\n", floor, start - 1) + 1
        if not _PEM_LINE_ONLY.fullmatch(view, max(line, floor), start):
            break
        start = max(line, floor)
    return start


def kubernetes_values(view: str) -> Iterator[Span]:
    """Every value under `data` and `stringData` of a Kubernetes manifest whose kind is `Secret`."""
    kinds = [match.start() for match in _SECRET_KIND.finditer(view)]
    if not kinds:
        return
    marks = [0, *(match.end() for match in _DOCUMENT.finditer(view)), len(view)]
    for start, end in pairwise(marks):
        if bisect_left(kinds, start) == bisect_left(kinds, end):
            continue
        done = start
        for block in _DATA_BLOCK.finditer(view, start, end):
            if block.start() < done:
                continue
            for span in _entries(view, block, end):
                done = span.end
                yield span


def _entries(view: str, block: re.Match[str], end: int) -> Iterator[Span]:
    position = block.end()
    while position < end:
        entry = _DATA_ENTRY.match(view, position, end)
        if entry is None or len(entry["indent"]) <= len(block["indent"]):
            return
        value = (entry["value"] or "").rstrip()
        if value:
            yield Span(entry.start("value"), entry.start("value") + len(value), "kubernetes-secret")
        position = entry.end()


def encoded_texts(view: str) -> Iterator[tuple[int, int, str]]:
    """Runs of base64 that decode to printable text: (start, end, decoded)."""
    for match in _BASE64.finditer(view):
        decoded = _decode(match.group())
        if decoded is not None:
            yield match.start(), match.end(), decoded
        elif "\n" in match.group():
            for line in _BASE64_LINE.finditer(view, match.start(), match.end()):
                decoded = _decode(line.group())
                if decoded is not None:
                    yield line.start(), line.end(), decoded


def _decode(run: str) -> str | None:
    """The text that a run of base64 stands for, or None if it stands for none."""
    compact = _SPACE.sub("", run).rstrip("=").replace("-", "+").replace("_", "/")
    if len(compact) % 4 == 1:
        compact = compact[:-1]
    if _text(_raw(compact[:64])) is None:
        return None
    return _text(_raw(compact))


def _raw(compact: str) -> bytes:
    try:
        return base64.b64decode(compact + "=" * (-len(compact) % 4), validate=True)
    except binascii.Error:
        return b""


def _text(data: bytes) -> str | None:
    """Printable text in UTF-8, whose last character may be cut, or in UTF-16 as PowerShell encodes its commands."""
    if data[1:2] == b"\0":
        data = data[: len(data) // 2 * 2].decode("utf-16-le", "replace").encode("utf-8", "replace")
    if not data or data.translate(None, _PRINTABLE):
        return None
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        return data[: error.start].decode() if len(data) - error.start < _LONGEST_CHARACTER else None
