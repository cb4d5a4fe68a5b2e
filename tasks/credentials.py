"""Redacts credentials: `[REDACTED: <rule>]` in place of each secret value, and nothing else changed.

Two sources of rules. kingfisher knows the shapes of some 500 vendors' credentials; it runs in this process and never
reaches the network (https://github.com/mongodb/kingfisher, docs/PYPI.md). `tasks.credential_rules` finds what it
leaves: values assigned to a telling name, headers, URLs, key blocks, encoded text.

Each text is judged by itself, so a batch gives what its texts give one by one. Clean text costs about 0.1 ms per 500
characters. Compiling the vendor rules takes some 5 s once a machine, 0.5 s with a cache folder (`warm`).
"""

from __future__ import annotations

import re
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

import polars as pl

from tasks.credential_blocks import Span, encoded_texts
from tasks.credential_rules import Landmarks, own_rules
from tasks.credential_values import BARRIER, FOREIGN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from kingfisher_sdk import Scanner

_MARKER = re.compile(r"\[REDACTED: [^\]\n]{1,120}\]")
_CONTROL = re.compile(r"\x1b\[[0-9;]{0,16}m|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_LATIN = re.compile("[\u00c0-\u024f]")
_OTHER = re.compile("[^\x00-\x7f]")
_STRAIGHT: Final = (
    ("\u201c", '"'),
    ("\u201d", '"'),
    ("\u2018", "'"),
    ("\u2019", "'"),
    ("\u00a0", " "),
    ("\uff1a", ":"),
    ("\uff1d", "="),
)
_TOKEN = re.compile(r"[A-Za-z0-9_+/=.~\-]{8}")
_REST = re.compile(r"\w*")
_ROUNDS: Final = 8
_DEPTH: Final = 2


class Redaction(NamedTuple):
    """A text without its secrets, and how many values each rule replaced (sorted by rule id)."""

    text: str
    counts: dict[str, int]


def redact(text: str) -> Redaction:
    """The text with each secret value replaced by `[REDACTED: <rule>]`. A second time changes nothing."""
    return redact_all([text])[0]


def redact_all(texts: Sequence[str]) -> list[Redaction]:
    """`redact` for each text, in order; equal texts are scanned once."""
    unique = list(dict.fromkeys(texts))
    views = [_view(text) for text in unique]
    known = {
        text: _redacted(text, view, landmarks)
        for text, view, landmarks in zip(unique, views, own_rules().landmarks(views), strict=True)
    }
    return [Redaction(known[text].text, dict(known[text].counts)) for text in texts]


def contains_credential(text: str) -> bool:
    """Whether `redact` would replace anything in the text."""
    view = _view(text)
    return bool(_spans(view, own_rules().landmarks([view])[0], _DEPTH))


def warm(cache_dir: Path | None = None) -> None:
    """Compile the vendor rules now, kept in `cache_dir` for the next process; without one, nothing is written."""
    _scanner(cache_dir)
    own_rules()


_lock = Lock()
_compiled: list[Scanner] = []


def _scanner(cache_dir: Path | None = None) -> Scanner:
    """The vendor rules, compiled on first use and shared by all threads."""
    with _lock:
        if not _compiled:
            from kingfisher_sdk import Rules, Scanner

            rules = Rules(confidence="low", cache=cache_dir is not None, cache_dir=cache_dir)
            _compiled.append(Scanner(rules, base64=True))
        return _compiled[0]


def _redacted(text: str, view: str, landmarks: Landmarks) -> Redaction:
    """Rounds until nothing is found any more, since a value that is gone may uncover another; two are the rule."""
    counts: dict[str, int] = {}
    for _ in range(_ROUNDS):
        spans = _merged(_spans(view, landmarks, _DEPTH), view)
        if not spans:
            break
        text = _replaced(text, spans)
        for span in spans:
            counts[span.rule] = counts.get(span.rule, 0) + 1
        view = _view(text)
        landmarks = own_rules().landmarks([view])[0]
    return Redaction(text, dict(sorted(counts.items())))


def _view(text: str) -> str:
    """The text as the rules read it: as long as the text, ASCII only, markers of earlier redactions blanked out."""
    view = _CONTROL.sub(lambda found: FOREIGN * len(found.group()), text)
    if not view.isascii():
        for typeset, plain in _STRAIGHT:
            view = view.replace(typeset, plain)
        view = _OTHER.sub(FOREIGN, _LATIN.sub("?", view))
    if "[REDACTED: " in view:
        view = _MARKER.sub(lambda found: BARRIER * len(found.group()), view)
    return view


def _spans(view: str, landmarks: Landmarks, depth: int) -> list[Span]:
    rules = own_rules()
    found = rules.spans(view, landmarks)
    found.extend(_vendor_spans(view))
    if depth and landmarks.runs:
        for start, end, decoded in encoded_texts(view):
            inner = _view(decoded)
            if _spans(inner, rules.landmarks([inner])[0], depth - 1):
                found.append(Span(start, end, "base64-encoded"))
    return found


def _vendor_spans(view: str) -> Iterable[Span]:
    if not _TOKEN.search(view):
        return
    rules = own_rules()
    for finding in _scanner().scan(view.encode("ascii")):
        place = finding.location
        start, end = place["start_offset"], place["end_offset"]
        rest = _REST.match(view, end)  # some rules capture no more than the head of a token
        end = rest.end() if rest else end
        if finding.visible and end > start and not rules.is_known_harmless(view[start:end]):
            yield Span(start, end, finding.rule_id.rpartition("/")[2].removeprefix("betterleaks."))


def _merged(spans: list[Span], view: str) -> list[Span]:
    """Disjoint spans in text order, each the union of those that overlap or touch, under the rule of the widest one."""
    merged: list[Span] = []
    start = end = widest = 0
    rule = ""
    for span in sorted({*spans, *_repeats(spans, view)}, key=lambda span: (span[0], -span[1], span[2])):
        width = span[1] - span[0]
        if end and span[0] <= end:
            end = max(end, span[1])
            widest, rule = max((widest, rule), (width, span[2]), key=lambda pair: pair[0])
        else:
            if end:
                merged.append(Span(start, end, rule))
            (start, end, rule), widest = span, width
    return [*merged, Span(start, end, rule)] if end else merged


def _repeats(spans: list[Span], view: str) -> list[Span]:
    """The other places where a value that was found stands, such as the log line that echoes a setting."""
    rules = own_rules()
    values = {
        view[span.start : span.end]: span.rule for span in sorted(spans, key=lambda span: (span.rule, span.start))
    }
    telling = sorted(value for value in values if rules.is_telling(value))
    if not telling:
        return []
    frame = pl.select(
        start=pl.lit(view).str.find_many(pl.lit(pl.Series(telling)).implode(), overlapping=True).explode(),
        value=pl.lit(view).str.extract_many(pl.lit(pl.Series(telling)).implode(), overlapping=True).explode(),
    ).drop_nulls()
    return [Span(start, start + len(value), values[value]) for start, value in frame.iter_rows()]


def _replaced(text: str, spans: Iterable[Span]) -> str:
    pieces: list[str] = []
    done = 0
    for span in spans:
        pieces += [text[done : span.start], f"[REDACTED: {span.rule}]"]
        done = span.end
    return "".join([*pieces, text[done:]])
