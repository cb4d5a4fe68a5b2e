"""Values assigned to a name that tells of a secret: where one starts and ends, and whether it is one.

Offsets are those of the view that `tasks.credential_views` makes of a text. What is read for one name is bounded, so
that time grows with the length of the text alone.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from tasks.credential_blocks import Span
from tasks.credential_columns import column_values, inserted_values
from tasks.credential_lists import further_pieces, items
from tasks.credential_names import QUOTE, Names, name_start, spaced_name
from tasks.credential_values import (
    BARRIER,
    CLEAR,
    FOREIGN,
    MARGINAL,
    STRONG,
    Surroundings,
    Values,
    is_cut_short,
    is_digest,
    judged_part,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_OPEN = re.compile(rf"(?:(?:(?:\[\])?[A-Za-z_][\w.:!]{{0,40}}+)?\(\s{{0,40}})?[bBrRuUfFNL@$]{{0,2}}(?P<quote>{QUOTE})")
_ADJOINING = re.compile(r"[A-Za-z0-9$%^*(~{@!]")
_SCHEME = re.compile(r"(?:bearer|basic|token|bot|apikey|api-key|negotiate|ssws|digest)[ \t]{1,4}", re.IGNORECASE)
_BARE = re.compile(rf"[^\s\"'`<>{BARRIER}{FOREIGN}]+")
_NEXT: Final = r"[,;&](?=[A-Za-z_][\w.\-]{1,40}=(?![=\s]))"  # another setting follows
_CUT = re.compile(rf"\\[nrt\"'\\]|{_NEXT}|[,;](?![^\s,;]*$)|&quot;|%2[267]|[,;]$")
_LIST_CUT = re.compile(r";|&quot;|\\[nrt\"'\\]")
_URL_CUT = re.compile(r"[&#,;]|\\[nrt\"'\\]")
_URL_PASSWORD_CUT = re.compile(r"&|\\[nrt\"'\\]")
_ESCAPE = re.compile(rf"\\[nrt\"'\\]|{_NEXT}")
_ANNOTATED = re.compile(r"[ \t]{0,4}[&A-Za-z_][\w.\[\]|&<>? ]{0,60}?[ \t]{0,4}=[ \t]{0,4}(?=[^=])")
_OTHERWISE = re.compile(
    r"[^\n;,\"'`]{0,40}(?:[\"'][^\n\"']{0,60}[\"'][^\n;,\"'`]{0,8})?(?:\bor|\|\||\?\?|\?:)[ \t]{1,4}(?=[\"'`])"
)
_CODE = re.compile(r"\d{4,10}|\d{3,4} \d{3,4}|(?=\S*\d)[A-Za-z0-9]{3,6}(?:-[A-Za-z0-9]{3,6}){1,3}")
_LITTER = re.compile(r"[^\w\s]")
_SETTING = re.compile(r"[A-Za-z][A-Za-z._\-]{1,30}=(?=[^=\s]{8})")
_CAPITAL_SETTING = re.compile(r"[A-Z][A-Z_]{3,40}=(?=[^=\s]{8})")
_IDENTIFIER = re.compile(r"[A-Za-z]+(?:[_.][A-Za-z]+)+")
_VARIABLE = re.compile(r"[a-z]+\d{0,2}(?:_[a-z]+\d{0,2})+")
_GROUPED = re.compile(r"(?:[a-z0-9]{4} ){3}[a-z0-9]{4}")
_TICKET = re.compile(r"[A-Z]{1,8}[\-_]?\d+[a-z]?")
_WORD = re.compile(r"[^\s\"'`]+")
_SPACE = re.compile(r"\s")
_CLOSING = re.compile(r"[.,;:!?)\]}|\\]{0,8}>?</")
_LINE_HEAD = re.compile(r"[ \t>+\-]{0,40}(?:export |set |ENV |ARG |- |\$env:)?[ \t]*")
_DECLARED = re.compile(r"(?:ENV|ARG|define|set|setx|setenv)[ \t]+\Z")
_TRAILING: Final = ".,;:)]}|\\"
_TRAILING_IN_PROSE: Final = _TRAILING + "!?"
_REACH: Final = 512
"""Characters behind a name within which what delimits the value, or makes it one, is looked for."""
_NAME_REACH: Final = 160
_VALUE_REACH: Final = 1200
_LABELS: Final = {
    "password": "password",
    "guarded": "password",
    "secret": "secret",
    "weak": "secret",
    "code": "access-code",
    "identifier": "client-id",
}
_SHORTEST_PASSWORD: Final = 4
_LINE_REACH: Final = 64
_LONGEST_NUMBER: Final = 15
_INNER_QUOTES: Final = 6
_UNWORDLY: Final = -1.0
"""Evidence that a run of letters is at least no common word; enough for what is called a password."""


class Assignments:
    """Finds the values of telling names."""

    def __init__(self, names: Names, values: Values) -> None:
        self._names = names
        self._values = values
        self._judge = lru_cache(maxsize=4096)(self._is_secret)

    def spans(self, view: str, telling: Sequence[int]) -> Iterator[Span]:
        """Every secret that is given to a name; `telling` are the places of telling words, in order, one at least."""
        yield from self._assigned(view, telling)
        cells = list(column_values(view, telling, self._names.kind))
        if "VALUES" in view or "values" in view:
            cells.extend(inserted_values(view, self._names.kind))
        for kind, start, end in cells:
            if self._judge(view[start:end], kind, _IN_COLUMN, quoted=False, called=True):
                yield Span(start, end, _LABELS[kind])

    def _assigned(self, view: str, telling: Sequence[int]) -> Iterator[Span]:
        done = listed = 0
        names, runs, surroundings = self._names, _Runs(view), Surroundings(view, _NAME_REACH, _VALUE_REACH)
        for index, place in enumerate(telling):
            if place < done:
                continue
            given = names.given.match(view, place)
            if given is None:
                continue
            done = max(given.end("name"), place + 1)
            if BARRIER in view[given.end() : given.end() + 2]:
                continue  # the value is gone already
            start = name_start(view, place)
            kind = names.kind(spaced_name(view, start, given.end("name")))
            if kind is None or view.startswith("://", start - 3) or surroundings.are_barren(place):
                continue
            where = _Place.of(view, start, given, names.ends_in_one(view[start : given.end("name")]))
            for value_start, called in _value_starts(view, start, given):
                span = self._value(runs, value_start, kind, where, (telling, index), called=called)
                if span is not None:
                    done = max(done, span.end)
                    surroundings.are_fertile(place)
                    yield span
                    yield from (Span(*piece, span.rule) for piece in further_pieces(view, span.end))
                    break
            else:
                if given.lastgroup == "operator" and given["name"].endswith("s") and given.end() >= listed:
                    several, listed = items(view, given.end())
                    each = "password" if given["name"].lower().endswith(("passwords", "passphrases")) else kind
                    for item in several:
                        if self._judge(view[slice(*item)], each, _IN_COLUMN, quoted=False, called=True):
                            surroundings.are_fertile(place)
                            yield Span(*item, _LABELS[each])

    def _value(
        self, runs: _Runs, start: int, kind: str, place: _Place, telling: tuple[Sequence[int], int], *, called: bool
    ) -> Span | None:
        view = runs.view
        opened = _OPEN.match(view, start)
        if opened is not None:
            begin, end, closed = _quoted(view, opened)
            if not closed:
                end = _cut(view, begin, end, kind, place)
            callee = view[opened.start() : opened.start("quote")].rstrip("( \t")
            if len(callee) > 2:  # noqa: PLR2004 - longer than the prefix of a string literal
                called = True
                if "." in callee and not callee.endswith((".from", ".of")):
                    return None
        else:
            if place.form in ("call", "pair"):
                return None
            begin, end = start, _cut(view, start, runs.end(start), kind, place)
            if "|" in view[start - 2 : start]:  # `| name | value |`; `name|value|` lists alternatives
                end = start + len(view[start:end].partition("|")[0])
        if opened is None and view[start - 1] == ">" and view[start - 2] not in "=-" and not _CLOSING.match(view, end):
            return None
        inner = _SCHEME.match(view, begin, end)
        if inner is None and kind != "password":  # `Cookie: session=...`, `secret: NAME=...`
            inner = (_SETTING if kind == "weak" else _CAPITAL_SETTING).match(view, begin, end)
        if inner is not None:
            begin = inner.end()
            if opened is None:
                end = _cut(view, begin, runs.end(begin), kind, place)
        value = judged_part(view, begin, end, *telling)
        if place.form == "space" and place.whole_line and view[end : end + 1] not in ("", "\n", "\r"):
            place = place._replace(whole_line=False)
        if kind == "guarded" and opened is None and view[start - 1] != "=" and not place.flag:  # `PASS: FR-007`
            kind = "secret"
        if not value or not self._judge(value, kind, place, quoted=opened is not None, called=called):
            return None
        if is_cut_short(view, end) or is_digest(view, begin):
            return None
        return Span(begin, end, _LABELS[kind])

    def _is_secret(self, value: str, kind: str, place: _Place, *, quoted: bool, called: bool) -> bool:
        values = self._values
        if _SPACE.search(value):
            if kind == "code":
                return bool(_CODE.fullmatch(value))
            if kind != "password":
                return quoted and _is_litter(value) and values.looks_generated(value, 48, STRONG)
            if not quoted or len(value) >= 100:  # noqa: PLR2004
                return False
            return bool(_GROUPED.fullmatch(value)) or _has_chosen_word(values, value)
        if not quoted and not place.environment and values.is_code(value):
            return False
        if kind == "guarded":
            told = len(value) >= 6 and (place.form == "operator" or place.flag) and not _TICKET.fullmatch(value)  # noqa: PLR2004
            return told and any(map(str.isdigit, value)) and values.looks_chosen(value)
        if kind == "code" and not values.looks_generated(value, 8, CLEAR):
            return bool(_CODE.fullmatch(value)) and (place.form == "operator" or place.flag)
        if kind == "weak" and (called or place.form in ("prose", "space")) and not place.flag:
            if place.form == "space" and not quoted:
                return False
            return values.looks_generated(value, 16, STRONG) and not values.is_uuid(value) and not _is_hex(value)
        if place.form == "prose" and not quoted:
            if kind == "password":
                return len(value) >= 6 and (values.looks_chosen(value) or values.looks_generated(value, 8, MARGINAL))  # noqa: PLR2004
            return self._is_identifier(value) if kind == "identifier" else values.looks_generated(value, 8, CLEAR)
        if place.form == "space" and not place.flag:
            if kind == "password" and (quoted or place.whole_line):
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
        if value.isdigit():
            spoken_for = quoted or place.environment or place.flag or place.whole_line
            return spoken_for and len(value) >= _LONGEST_NUMBER and not values.is_placeholder(value)
        if values.looks_generated(value, 8, MARGINAL):
            return True
        if not place.plain or (place.form != "operator" and not place.flag):
            return False
        alone = place.environment or place.flag
        if not alone and (called or not (quoted or place.whole_line)):
            return False
        return values.looks_like_a_pass_phrase(value, named=place.compound, quoted=quoted, alone=alone)

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
        if quoted or place.environment or place.before:
            return True
        if not (place.flag or place.whole_line) and _VARIABLE.fullmatch(value):
            return False
        if values.looks_chosen(value) or values.looks_generated(value, 8, MARGINAL):
            return True
        return values.looks_generated(value, 8, _UNWORDLY) or value.isdigit()


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

    form: str  # "operator", "block", "space", "prose", "call" or "pair"
    environment: bool  # NAME=value, alone on its line or before a command
    before: str  # what parts it from the setting before: `?`, `&`, `#` or `;`
    flag: bool  # a command-line option
    upper: bool  # the name is all capitals
    whole_line: bool  # the value ends its line
    plain: bool  # the name says what the value is, and nothing more
    compound: bool  # the name has more than one word, and none that a program gives to what it reads or counts

    @classmethod
    def of(cls, view: str, start: int, given: re.Match[str], plain: bool) -> _Place:
        form = given.lastgroup or "operator"
        name = view[start : given.end("name")]
        before = view[start - 1] if start else "\n"
        upper = name.isupper()
        head = view[max(0, start - _LINE_REACH) : start]
        line = head.rfind("\n") + 1
        opens_line = (
            bool((line or start < _LINE_REACH) and _LINE_HEAD.fullmatch(head, line))
            or before in "\n`"
            or head.endswith("\\n")
        )
        declared = before in " \t" and bool(_DECLARED.search(head))
        tight = form == "operator" and view[given.end("name") : given.end()] == "="
        return cls(
            form=form,
            environment=(tight and upper and before not in "?&#;") or (upper and form == "space" and declared),
            before=before if before in "?&;#" and tight else "",
            flag=name.startswith("-") or declared,
            upper=upper,
            whole_line=opens_line,
            plain=plain,
            compound=(upper or not name.lower().endswith("token"))
            and (not name.strip("-_.").isalpha() or not (name.islower() or name.istitle() or upper)),
        )


_IN_COLUMN: Final = _Place(
    "operator", environment=False, before="", flag=False, upper=False, whole_line=True, plain=True, compound=True
)


def _is_hex(value: str) -> bool:
    return not value.strip("0123456789abcdefABCDEF")


def _value_starts(view: str, start: int, given: re.Match[str]) -> Iterator[tuple[int, bool]]:
    """Where the value may start, and whether it is only what else is taken when there is none.

    That is behind the operator, behind a type that stands between (`token: str = ...`), or behind an `or`.
    """
    place = given.end()
    if view.startswith("${", start - 2):  # `${NAME:-value}`; `${name:value}` too; behind `:?` and `:+` stands none
        if view[place : place + 1] not in ("?", "+"):
            yield place + (view[place : place + 1] in ("-", "=")), True
        return
    yield place, given.lastgroup == "block" or view[given.end("name") : place].rstrip().endswith(("||", "??"))
    if given.lastgroup == "operator" and view[place : place + 1] not in ("", '"', "'", "`"):
        annotated = _ANNOTATED.match(view, place) if ":" in view[given.end("name") : place] else None
        if annotated is not None:
            yield annotated.end(), False
        near = view[place : place + _LINE_REACH]
        otherwise = (
            _OTHERWISE.match(view, place) if "or " in near or "||" in near or "??" in near or "?:" in near else None
        )
        if otherwise is not None:
            yield otherwise.end(), True


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
        if closing - begin > 4 and view.startswith('\\"', begin) and view.startswith('\\"', closing - 2):  # noqa: PLR2004
            return begin + 2, closing - 2, True  # a literal that holds a literal
        return begin, closing, True
    word = _WORD.match(view, begin)
    return begin, word.end() if word else begin, False


def _is_escaped(view: str, begin: int, end: int) -> bool:
    head = view[max(begin, end - _REACH) : end]
    return (len(head) - len(head.rstrip("\\"))) % 2 == 1


def _cut(view: str, start: int, end: int, kind: str, place: _Place) -> int:
    """Where an unquoted run ends as a value: at what parts one setting from the next, less closing punctuation."""
    if end - start > _REACH:
        return end
    if place.environment:
        pattern = _ESCAPE
    elif place.before == ";":
        pattern = _LIST_CUT
    elif place.before:
        pattern = _URL_PASSWORD_CUT if kind == "password" else _URL_CUT
    else:
        pattern = _CUT
    found = pattern.search(view, start, end)
    if place.environment:
        return found.start() if found else end
    trailing = _TRAILING_IN_PROSE if place.form == "prose" else _TRAILING
    return start + len(view[start : found.start() if found else end].rstrip(trailing))


def _is_litter(value: str) -> bool:
    """Whether a value with blanks is a string of any characters at all, such as the keys of a WordPress site."""
    return 5 * len(_LITTER.findall(value)) >= len(value) >= 8 * value.count(" ")


def _has_chosen_word(values: Values, value: str) -> bool:
    words = value.split()
    return len(words) <= 8 and any(values.looks_chosen(word) and len(word) >= 6 for word in words)  # noqa: PLR2004
