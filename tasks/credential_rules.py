"""prebrief's own credential rules: where in a text a secret may stand, beyond the known vendor shapes.

Everything here reads a view of the text (`tasks.credential_views`), and every search is bounded, so that time grows
with the length of the text alone.
"""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import polars as pl

from tasks.credential_assignments import Assignments
from tasks.credential_blocks import Span, kubernetes_values, private_keys
from tasks.credential_names import Names
from tasks.credential_shapes import Shapes
from tasks.credential_values import STRONG, Values
from tasks.resources import bundled_rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

_RUN = re.compile(r"[A-Za-z0-9+/_\-]{20}")
_SPACE = re.compile(r"\s")
_SHORT: Final = 2_000
"""Characters of texts for which looking for each word costs less than building an automaton."""
_FAR: Final = (
    "private key",
    "kind:",
    "curl",
    "client_secret",
    "auth_provider_x509",
    "<add key",
    "codecatalyst",
    "contribsys",
    "\0",
)
"""What those rules ask for, in lower case, that read a text among others not as they read it alone.

They go on over any characters, or ask for the end of the text. A NUL may be a sign of UTF-16, which whole texts are.
"""


class Landmarks(NamedTuple):
    """Where a text may hold a secret. There is none in one that has none of these and that no vendor's shape fits.

    `names` and `anchors` are the offsets of telling names and of shapes' anchors; `runs` says whether there are long
    runs of base64, `far` whether there is what rules ask for that have to see the text alone.
    """

    names: Sequence[int]
    anchors: Sequence[int]
    runs: bool
    far: bool


_NOTHING: Final = Landmarks((), (), runs=False, far=False)


class CredentialRules:
    """The rules of one `credentials.toml`, compiled."""

    def __init__(self, path: Path) -> None:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        self._values = Values(data["values"])
        self._names = Names(data["names"])
        self._shapes = Shapes(data["shape"], self._values)
        self._assignments = Assignments(self._names, self._values)

    def landmarks(self, views: Sequence[str]) -> list[Landmarks]:
        """Where the rules have something to look at, for each view; one pass over the whole batch."""
        if sum(map(len, views)) < _SHORT:
            return [self._in_short(view) for view in views]
        texts = pl.Series(views, dtype=pl.String)
        lower = texts.str.to_lowercase()
        names, anchors = _all_places(lower, self._names.stems), _all_places(lower, self._shapes.anchors)
        runs, far = set(texts.str.contains(_RUN.pattern).arg_true()), set(_holding(lower, _FAR))
        found = [_NOTHING] * len(views)
        for text in {*names, *anchors, *runs, *far}:
            found[text] = Landmarks(names.get(text, ()), anchors.get(text, ()), runs=text in runs, far=text in far)
        return found

    def _in_short(self, view: str) -> Landmarks:
        """The landmarks of a short text, for which no automaton has to be built."""
        lower = view.lower()
        names, anchors = _places(lower, self._names.stems), _places(lower, self._shapes.anchors)
        return Landmarks(names, anchors, runs=bool(_RUN.search(view)), far=any(word in lower for word in _FAR))

    def spans(self, view: str, landmarks: Landmarks) -> list[Span]:
        """Every secret that the own rules see in the view; unordered, may overlap."""
        found: list[Span] = []
        if landmarks.names:
            found.extend(self._assignments.spans(view, landmarks.names))
        if landmarks.anchors:
            found.extend(self._shapes.spans(view, landmarks.anchors))
        if not landmarks.far:
            return found
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


def _holding(texts: pl.Series, words: Iterable[str]) -> pl.Series:
    """The texts that hold one of the words, by their place."""
    return texts.str.contains("|".join(map(pl.escape_regex, words))).arg_true()


def _all_places(texts: pl.Series, words: Sequence[str]) -> dict[int, Sequence[int]]:
    """Where one of the words stands in each text that holds one, in order. That most do not is found out with less."""
    holding = _holding(texts, words)
    places = texts.gather(holding).str.find_many(list(words), overlapping=True)
    return {text: sorted({*found}) for text, found in zip(holding.to_list(), places.to_list(), strict=True)}


def _places(text: str, words: Iterable[str]) -> list[int]:
    """Where one of the words stands, in order."""
    places = set()
    for word in words:
        place = text.find(word)
        while place >= 0:
            places.add(place)
            place = text.find(word, place + 1)
    return sorted(places)


@lru_cache(maxsize=1)
def own_rules() -> CredentialRules:
    """The bundled rules, read and compiled on first use."""
    return CredentialRules(bundled_rules() / "credentials.toml")
