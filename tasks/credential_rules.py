"""prebrief's own credential rules: where in a text a secret may stand, beyond the known vendor shapes.

Everything here reads a *view*: text of the same length, all ASCII, with `BARRIER` for what no rule may
read over and `FOREIGN` for other scripts. Spans are
offsets into it. Every search is bounded, so that time grows with the length of the text alone.
"""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import polars as pl

from tasks.credential_blocks import Span, kubernetes_values, private_keys
from tasks.credential_names import QUOTE, Names, name_start, spaced_name
from tasks.credential_values import BARRIER, CLEAR, FOREIGN, MARGINAL, STRONG, Values
from tasks.resources import bundled_rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_OPEN = re.compile(rf"(?:[A-Za-z_][\w.:!]{{0,40}}\([ \t]{{0,4}})?[bBrRuUfF]{{0,2}}(?P<quote>{QUOTE})")
_ADJOINING = re.compile(r"[A-Za-z0-9$%^*(~{@!]")
_SCHEME = re.compile(r"(?:bearer|basic|token|bot|apikey|api-key|negotiate|ssws|digest)[ \t]{1,4}", re.IGNORECASE)
_BARE = re.compile(rf"[^\s\"'`<>{BARRIER}{FOREIGN}]+")
_CUT = re.compile(r"\\[nrt\"'\\]|[,;](?![^\s,;]*$)|&quot;|%2[27]|[,;]$")
_URL_CUT = re.compile(r"[&#,;]|\\[nrt\"'\\]")
_ANNOTATED = re.compile(r"[ \t]{0,4}[&A-Za-z_][\w.\[\]|&<>? ]{0,60}?[ \t]{0,4}=[ \t]{0,4}(?=[^=])")
_IDENTIFIER = re.compile(r"[A-Za-z]+(?:[_.][A-Za-z]+)+")
_WORD = re.compile(r"[^\s\"'`]+")
_SPACE = re.compile(r"\s")
_ESCAPE = re.compile(r"\\[nrt\"'\\]")
_CLOSING = re.compile(r"[.,;:!?)\]}|\\]{0,8}</")
_DIGEST = re.compile(r"(?:sha-?\d{1,3}|md5)[=:\-]\Z", re.IGNORECASE)
_LINE_HEAD = re.compile(r"[ \t>+\-]{0,40}(?:export |set |ENV |ARG |- |\$env:)?[ \t]*")
_DECLARED = re.compile(r"(?:ENV|ARG|define|set|setx)[ \t]+\Z")
_TRAILING: Final = ".,;:!?)]}|\\"
_HEAD: Final = 3
"""Characters of an anchor by which its shapes are looked up; no anchor is shorter, or its pattern checks for itself."""
_REACH: Final = 512
"""Characters behind a name or an anchor within which what delimits the value, or makes it one, is looked for."""
_JUDGED: Final = 1024
_LABELS: Final = {"password": "password", "secret": "secret", "weak": "secret", "identifier": "client-id"}
_SHORTEST_PASSWORD: Final = 4
_INNER_QUOTES: Final = 12
_UNWORDLY: Final = -1.0
"""Evidence that a run of letters is at least no common word; enough for what is called a password."""


class _Shape(NamedTuple):
    rule: str
    anchors: tuple[str, ...]
    needs: tuple[str, ...]
    pattern: re.Pattern[str]
    check: str


class Landmarks(NamedTuple):
    """Where a text may hold a secret: offsets of telling names and of shapes' anchors, and whether it has long runs."""

    names: Sequence[int]
    anchors: Sequence[int]
    runs: bool


class CredentialRules:
    """The rules of one `credentials.toml`, compiled."""

    def __init__(self, path: Path) -> None:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        self._values = Values(data["values"])
        self._names = Names(data["names"])
        self._judge = lru_cache(maxsize=4096)(self._is_secret)
        shapes = [
            _Shape(
                row["id"], tuple(row["anchors"]), tuple(row.get("needs", ())), re.compile(row["pattern"]), row["check"]
            )
            for row in data["shape"]
        ]
        self._anchors = sorted({anchor for shape in shapes for anchor in shape.anchors})
        self._shapes: dict[str, list[_Shape]] = {}
        for shape in shapes:
            for head in sorted({anchor[:_HEAD] for anchor in shape.anchors}):
                self._shapes.setdefault(head, []).append(shape)

    def landmarks(self, views: Sequence[str]) -> list[Landmarks]:
        """Where the rules have something to look at, for each view; one pass over the whole batch."""
        texts = pl.Series(views, dtype=pl.String)
        names, anchors = (
            texts.str.find_many(list(words), ascii_case_insensitive=True, overlapping=True)
            .list.unique()
            .list.sort()
            .to_list()
            for words in (self._names.stems, self._anchors)
        )
        return list(map(Landmarks, names, anchors, texts.str.contains(r"[A-Za-z0-9+/_\-]{20}").to_list()))

    def spans(self, view: str, landmarks: Landmarks) -> list[Span]:
        """Every secret that the own rules see in the view; unordered, may overlap."""
        found = [*self._assigned(view, landmarks.names), *self._shaped(view, landmarks.anchors)]
        if "PRIVATE KEY" in view:
            found.extend(private_keys(view))
        if "kind:" in view:
            found.extend(
                span for span in kubernetes_values(view) if not self._values.is_placeholder(view[span.start : span.end])
            )
        return found

    def is_telling(self, value: str) -> bool:
        """Whether a value is so clearly generated that it is a secret wherever else in the text it stands."""
        return not _SPACE.search(value) and self._values.looks_generated(value, 12, STRONG)

    def is_known_harmless(self, value: str) -> bool:
        """Whether a value that a vendor shape found is a placeholder after all."""
        return self._values.is_placeholder(value)

    def _shaped(self, view: str, anchors: Sequence[int]) -> Iterator[Span]:
        done = 0
        ahead = _Ahead(view)
        for place in anchors:
            if place < done:
                continue
            for shape in self._shapes.get(view[place : place + _HEAD].lower(), ()):
                if shape.needs and not any(ahead.has(need, place) for need in shape.needs):
                    continue
                match = shape.pattern.match(view, place)
                if match is None:
                    continue
                value = match["value"].rstrip(".,;:)") or match["value"]
                start = match.start("value")
                end = start + len(value)
                if self._passes(value, shape.check) and not _is_cut_short(view, end) and not _is_digest(view, start):
                    done = max(done, end)
                    yield Span(start, end, shape.rule)

    def _passes(self, value: str, check: str) -> bool:
        values = self._values
        match check:
            case "always":
                return not values.is_placeholder(value)
            case "any":
                return len(value) > 1 and not values.is_placeholder(value)
            case "chosen":
                return values.looks_chosen(value) or values.looks_generated(value, 6, MARGINAL)
            case "generated":
                return values.looks_generated(value, 12, CLEAR)
            case _:
                return values.looks_generated(value, 16, STRONG)

    def _assigned(self, view: str, telling: Sequence[int]) -> Iterator[Span]:
        done = seen = 0
        runs = _Runs(view)
        for place in telling:
            match = self._names.form.match(view, place) if place >= done else None
            if match is None or match.end("tail") == seen:
                continue
            start = name_start(view, place)
            kind = self._names.kind(spaced_name(view, start, match))
            if kind is None:
                continue
            seen = match.end("tail")
            where = _Place.of(view, start, match)
            for value_start in _value_starts(view, match):
                span = self._value(runs, value_start, kind, where)
                if span is not None:
                    done = span.end
                    yield span
                    break

    def _value(self, runs: _Runs, start: int, kind: str, place: _Place) -> Span | None:
        view = runs.view
        opened = _OPEN.match(view, start)
        if opened is not None:
            begin, end, closed = _quoted(view, opened)
            if not closed:
                end = _cut(view, begin, end, place)
            callee = view[opened.start() : opened.start("quote")].rstrip("( \t")
            called = len(callee) > 2  # noqa: PLR2004 - longer than the prefix of a string literal
            if called and "." in callee and not callee.endswith((".from", ".of")):
                return None
        else:
            if place.form in ("call", "pair"):
                return None
            begin, end, called = start, _cut(view, start, runs.end(start), place), False
        if opened is None and view[start - 1] == ">" and view[start - 2] not in "=-" and not _CLOSING.match(view, end):
            return None
        scheme = _SCHEME.match(view, begin, end)
        if scheme is not None:
            begin = scheme.end()
            if opened is None:
                end = _cut(view, begin, runs.end(begin), place)
        value = view[begin : min(end, begin + _JUDGED)]
        if not value or _is_cut_short(view, end) or _is_digest(view, begin):
            return None
        if not self._judge(value, kind, place, quoted=opened is not None, called=called):
            return None
        return Span(begin, end, _LABELS[kind])

    def _is_secret(self, value: str, kind: str, place: _Place, *, quoted: bool, called: bool) -> bool:
        values = self._values
        if _SPACE.search(value):
            return kind == "password" and quoted and len(value) < 100 and _has_chosen_word(values, value)  # noqa: PLR2004
        if not quoted and not place.environment and values.is_code(value):
            return False
        if kind == "weak" and (called or place.form in ("prose", "space")) and not place.flag:
            if place.form == "space" and not quoted:
                return False
            return values.looks_generated(value, 16, STRONG) and not values.is_uuid(value) and not _is_hex(value)
        if place.form == "prose" and not quoted:
            if kind == "password":
                return len(value) >= 6 and (values.looks_chosen(value) or values.looks_generated(value, 8, MARGINAL))  # noqa: PLR2004
            return self._is_identifier(value) if kind == "identifier" else values.looks_generated(value, 8, CLEAR)
        if place.form == "space" and not place.flag:
            if kind == "password" and quoted:
                return values.looks_chosen(value) or values.looks_generated(value, 8, MARGINAL)
            if kind == "identifier" and quoted:
                return self._is_identifier(value)
            return values.looks_generated(value, 12 if quoted else 16, STRONG)
        if kind == "password":
            return self._is_password(value, place, quoted=quoted, called=called)
        if kind == "identifier":
            return self._is_identifier(value)
        if kind == "weak":
            if values.is_uuid(value) and not place.upper:
                return False
            return values.looks_generated(value, 12, CLEAR)
        return values.looks_generated(value, 8, MARGINAL)

    def _is_identifier(self, value: str) -> bool:
        if value.isdigit() and len(value) >= 12:  # noqa: PLR2004
            return not self._values.is_placeholder(value)
        return self._values.looks_generated(value, 10, MARGINAL)

    def _is_password(self, value: str, place: _Place, *, quoted: bool, called: bool) -> bool:
        values = self._values
        if len(value) < _SHORTEST_PASSWORD or values.is_placeholder(value):
            return False
        if values.is_plain(value) and not (value.isdigit() and len(value) >= 6):  # noqa: PLR2004
            return False
        if called or place.form == "pair":
            return values.looks_chosen(value) or values.looks_generated(value, 8, MARGINAL)
        if _IDENTIFIER.fullmatch(value) and not values.looks_generated(value, 8, CLEAR):
            return False
        if quoted or place.environment or place.query:
            return True
        if values.looks_chosen(value) or values.looks_generated(value, 8, MARGINAL):
            return True
        return values.looks_generated(value, 8, _UNWORDLY) or (place.whole_line and value.isdigit())


class _Ahead:
    """Finds what follows within reach. Remembers the last place of each text, so that all looks cost one pass."""

    def __init__(self, view: str) -> None:
        self._view = view
        self._next: dict[str, int] = {}

    def has(self, text: str, place: int) -> bool:
        """Whether the text stands within `_REACH` characters behind the place; places must come in order."""
        known = self._next.get(text, -1)
        if known < place:
            found = self._view.find(text, place)
            known = found if found >= 0 else len(self._view) + _REACH
            self._next[text] = known
        return known < place + _REACH


class _Runs:
    """Ends of unquoted runs in a view. Remembers the last, so that many names in one long run read it once."""

    def __init__(self, view: str) -> None:
        self.view = view
        self._start = self._end = 0

    def end(self, start: int) -> int:
        """Where the run at `start` ends; `start` itself if there is none."""
        if not self._start <= start < self._end:
            run = _BARE.match(self.view, start)
            self._start, self._end = start, run.end() if run else start
        return self._end


class _Place(NamedTuple):
    """How an assignment stands in the text."""

    form: str  # "operator", "space", "prose", "call" or "pair"
    environment: bool  # NAME=value, alone on its line or before a command
    query: bool  # in the query of a URL, or one of `;`-separated settings
    flag: bool  # a command-line option
    upper: bool  # the name is all capitals
    whole_line: bool  # the value ends its line

    @classmethod
    def of(cls, view: str, start: int, match: re.Match[str]) -> _Place:
        form = match.lastgroup or "operator"
        name = view[start : match.end("tail")]
        before = view[start - 1] if start else "\n"
        upper = name.isupper()
        line = view.rfind("\n", max(0, start - 200), start) + 1
        opens_line = (
            bool(_LINE_HEAD.fullmatch(view, line, start)) or before in "\n`" or view[max(0, start - 2) : start] == "\\n"
        )
        declared = _DECLARED.search(view, max(0, start - 12), start)
        tight = form == "operator" and view[match.end("tail") : match.end()] == "="
        return cls(
            form=form,
            environment=(tight and upper and before not in "?&#") or (upper and form == "space" and bool(declared)),
            query=before in "?&;#" and tight,
            flag=name.startswith("-") or bool(declared),
            upper=upper,
            whole_line=opens_line,
        )


def _is_hex(value: str) -> bool:
    return not value.strip("0123456789abcdefABCDEF")


def _is_cut_short(view: str, end: int) -> bool:
    """Whether three dots say that the rest of the value was left out (`sk-abc...`)."""
    return view.startswith("...", end)


def _is_digest(view: str, start: int) -> bool:
    """Whether the value follows the name of a digest (`sha256=`, `sha512-`, `md5:`)."""
    return bool(_DIGEST.search(view, max(0, start - 10), start))


def _value_starts(view: str, match: re.Match[str]) -> Iterator[int]:
    """Where the value may start: behind the operator, or behind a type that stands between (`token: str = ...`)."""
    yield match.end()
    if match.lastgroup == "operator":
        annotated = _ANNOTATED.match(view, match.end())
        if annotated is not None:
            yield annotated.end()


def _quoted(view: str, opened: re.Match[str]) -> tuple[int, int, bool]:
    """Start and end of what stands between quotes, and whether the closing one is there (on the same line).

    A quote that text adjoins (`"ab"c"`) stands inside the value; so does one behind an odd number of backslashes.
    """
    quote = opened["quote"]
    begin = end = opened.end()
    closing = -1
    for _ in range(_INNER_QUOTES):
        end = view.find(quote, end)
        if end < 0 or view.find("\n", begin, end) >= 0:
            break
        if len(quote) > 1 or not _is_escaped(view, begin, end):
            closing = end
            if not _ADJOINING.match(view, end + len(quote)):
                break
        end += 1
    if closing >= 0:
        return begin, closing, True
    word = _WORD.match(view, begin)
    return begin, word.end() if word else begin, False


def _is_escaped(view: str, begin: int, end: int) -> bool:
    head = view[max(begin, end - _REACH) : end]
    return (len(head) - len(head.rstrip("\\"))) % 2 == 1


def _cut(view: str, start: int, end: int, place: _Place) -> int:
    """Where an unquoted run ends as a value: at what parts one setting from the next, less closing punctuation."""
    if end - start > _REACH:
        return end
    pattern = _ESCAPE if place.environment else _URL_CUT if place.query else _CUT
    found = pattern.search(view, start, end)
    if place.environment:
        return found.start() if found else end
    return start + len(view[start : found.start() if found else end].rstrip(_TRAILING))


def _has_chosen_word(values: Values, value: str) -> bool:
    words = value.split()
    return len(words) <= 8 and any(values.looks_chosen(word) and len(word) >= 6 for word in words)  # noqa: PLR2004


@lru_cache(maxsize=1)
def own_rules() -> CredentialRules:
    """The bundled rules, read and compiled on first use."""
    return CredentialRules(bundled_rules() / "credentials.toml")
