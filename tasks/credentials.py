"""Redacts credentials: `[REDACTED: <rule>]` in place of each secret value, and nothing else changed.

Two sources of rules. kingfisher knows the shapes of some 500 vendors' credentials; it runs in this process and never
reaches the network (https://github.com/mongodb/kingfisher, docs/PYPI.md). `tasks.credential_rules` finds what it
leaves: values assigned to a telling name, headers, URLs, key blocks, encoded text.

Each text is judged by itself, so a batch gives what its texts give one by one. Time grows with the length of a text:
a megabyte takes 0.2 s when it is clean, about 1 s when it repeats what makes rules slow, and some 10 s when it is
nothing but telling names and secrets. Compiling the vendor rules takes some 5 s once a machine, 0.5 s with a cache
folder (`warm`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, Final, NamedTuple

import polars as pl

from tasks.credential_blocks import Span, encoded_texts
from tasks.credential_rules import Landmarks, own_rules
from tasks.credential_scanner import compiling, scanner
from tasks.credential_values import BARRIER
from tasks.credential_views import View, odd_views, views_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

_TOKEN = re.compile(r"[A-Za-z0-9_+/=.~\-]{8}")
_REST = re.compile(r"\w*")
_QUOTES: Final = "\"'`"
_ROUNDS: Final = 8
_DEPTH: Final = 2
_REPEAT_HEAD: Final = 12
_LONGEST_REPEAT: Final = 256
"""Characters of a value by which its other places are found; a longer one goes on where they stand."""
_BETWEEN: Final = f"\n{BARRIER * 64}\n"
"""Parts texts that are scanned as one; longer than what a rule reads over."""
_CHUNK: Final = 8_000
"""Characters that are scanned in one call. A call by itself costs as much as half as many."""


class Redaction(NamedTuple):
    """A text without its secrets, and how many values each rule replaced (sorted by rule id)."""

    text: str
    counts: dict[str, int]


def redact(text: str) -> Redaction:
    """The text with each secret value replaced by `[REDACTED: <rule>]`. A second time changes nothing."""
    return redact_all([text])[0]


def redact_all(texts: Sequence[str]) -> list[Redaction]:
    """`redact` for each text, in order; equal texts are scanned once."""
    found = redactions(texts)
    return [
        Redaction(found[text].text, dict(found[text].counts)) if text in found else Redaction(text, {})
        for text in texts
    ]


def redactions(texts: Iterable[str]) -> dict[str, Redaction]:
    """Those of the texts that hold secrets, and what remains of each."""
    unique = list(dict.fromkeys(texts))
    odd = odd_views(unique)
    heads = [odd[place][0].text if place in odd else text for place, text in enumerate(unique)] if odd else unique
    first = own_rules().landmarks(heads)
    looked_at = (
        (text, _redacted(text, odd.get(place) or (View(text),), landmarks, vendors=vendors))
        for place, (text, landmarks, vendors) in enumerate(zip(unique, first, _suspects(heads, first), strict=True))
        if vendors or any(landmarks) or len(odd.get(place, ())) > 1
    )
    return {text: redaction for text, redaction in looked_at if redaction.counts}


def contains_credential(text: str) -> bool:
    """Whether `redact` would replace anything in the text."""
    return bool(_found(views_of(text)))


def warm(cache_dir: Path | None = None) -> None:
    """Compile the vendor rules now, kept in `cache_dir` for the next process; without one, nothing is written."""
    compiling(cache_dir).result()
    own_rules()


def _redacted(text: str, readings: Sequence[View], landmarks: Landmarks, *, vendors: bool) -> Redaction:
    """Rounds until nothing is found any more, since a value that is gone may uncover another; two are the rule."""
    counts: dict[str, int] = {}
    spans = _found(readings, landmarks, vendors=vendors)
    for _ in range(_ROUNDS):
        if not spans:
            break
        text = _replaced(text, spans)
        for span in spans:
            counts[span.rule] = counts.get(span.rule, 0) + 1
        spans = _found(views_of(text))
    return Redaction(text, dict(sorted(counts.items())))


def _found(readings: Sequence[View], landmarks: Landmarks | None = None, *, vendors: bool = True) -> list[Span]:
    """The secrets in a text, by all readings of it: disjoint, in order, as offsets into the text.

    `landmarks` are those of the first reading, and `vendors` says whether their rules may find something in that.
    """
    found = []
    for view in readings:
        if landmarks is None:
            landmarks = own_rules().landmarks([view.text])[0]
        spans = _spans(view.text, landmarks, _DEPTH, vendors=vendors)
        if spans:
            spans = _merged([*spans, *_repeats(spans, view.text)])
            found.append([view.in_text(span) for span in spans])
        landmarks, vendors = None, True
    if not found:
        return []
    return found[0] if len(found) == 1 else _merged([span for spans in found for span in spans])


def _spans(view: str, landmarks: Landmarks, depth: int, *, vendors: bool = True) -> list[Span]:
    found = own_rules().spans(view, landmarks)
    if vendors:
        found.extend(_vendor_spans(view))
    if depth and landmarks.runs:
        found.extend(_encoded_spans(view, depth - 1))
    return found


def _encoded_spans(view: str, depth: int) -> list[Span]:
    """Runs of base64 that hold a secret. All are scanned as one text, or many short ones would take long."""
    encoded = [
        (start, end, reading.text) for start, end, decoded in encoded_texts(view) for reading in views_of(decoded)
    ]
    if not encoded:
        return []
    starts, size = [], 0
    for _, _, text in encoded:
        starts.append(size)
        size += len(text) + len(_BETWEEN)
    whole = _BETWEEN.join(text for _, _, text in encoded)
    hits = _spans(whole, own_rules().landmarks([whole])[0], depth)
    places = {bisect_right(starts, hit.start) - 1 for hit in hits}
    return [Span(*encoded[place][:2], "base64-encoded") for place in sorted(places)]


def _suspects(views: Sequence[str], landmarks: Sequence[Landmarks]) -> list[bool]:
    """Whether the vendor rules may find something in each view. Short texts are scanned many at once.

    What is found in a text is found where it stands among others too, since no match goes from one on into the next and
    a newline is as good as an end. Where rules ask for more than that, a text with what they ask for is suspect anyway.
    """
    suspects = [marks.far for marks in landmarks]
    near = [place for place, far in enumerate(suspects) if not far]
    ends = accumulate(len(views[place]) for place in near)
    for _, chunk in groupby(zip(near, ends, strict=True), key=lambda pair: pair[1] // _CHUNK):
        places = [place for place, _ in chunk]
        if len(places) == 1 or scanner().scan(_BETWEEN.join(views[place] for place in places).encode("ascii")):
            for place in places:
                suspects[place] = True
    return suspects


def _vendor_spans(view: str) -> Iterable[Span]:
    if not _TOKEN.search(view):
        return
    rules = own_rules()
    view = view.replace("PRIVATE KEY", "PRIVATE_KEY")  # key blocks are found by the own rules, and in less time
    for finding in scanner().scan(view.encode("ascii")):
        place = finding.location
        start, end = place["start_offset"], place["end_offset"]
        rest = _REST.match(view, end)  # some rules capture no more than the head of a token
        end = rest.end() if rest else end
        if end - start > 2 and view[start] in _QUOTES and view[end - 1] == view[start]:  # noqa: PLR2004 - and others the quotes
            start, end = start + 1, end - 1
        if finding.visible and end > start and not rules.is_known_harmless(view[start:end]):
            yield Span(start, end, finding.rule_id.rpartition("/")[2].removeprefix("betterleaks."))


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Disjoint spans in text order, each the union of those that overlap or touch, under the rule of the widest one."""
    merged: list[Span] = []
    start = end = widest = 0
    rule = ""
    for span in sorted(set(spans), key=lambda span: (span[0], -span[1], span[2])):
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
        view[span.start : min(span.end, span.start + _LONGEST_REPEAT)]: span.rule
        for span in sorted(spans, key=lambda span: (span.rule, span.start))
    }
    telling = sorted(value for value in values if rules.is_telling(value))
    if not telling:
        return []
    known = {span.start for span in spans}
    by_head: dict[str, list[str]] = {}
    for value in telling:
        by_head.setdefault(value[:_REPEAT_HEAD], []).append(value)
    starts = pl.Series([view]).str.find_many(sorted(by_head), overlapping=True).explode().drop_nulls()
    found: list[Span] = []
    done = 0
    for start in starts.unique().sort():
        if start < done or start in known:
            continue
        for value in by_head[view[start : start + _REPEAT_HEAD]]:
            if view.startswith(value, start):
                end = start + len(value)
                if len(value) == _LONGEST_REPEAT:
                    rest = _REST.match(view, end)
                    done = end = rest.end() if rest else end
                found.append(Span(start, end, values[value]))
    return found


def _replaced(text: str, spans: Iterable[Span]) -> str:
    pieces: list[str] = []
    done = 0
    for span in spans:
        pieces += [text[done : span.start], f"[REDACTED: {span.rule}]"]
        done = span.end
    return "".join([*pieces, text[done:]])
