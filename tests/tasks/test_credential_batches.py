"""Texts are looked through in batches first: what no batch shows must not be there."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.credential_rules import _FAR, own_rules
from tasks.credential_scanner import scanner
from tasks.credential_views import _ODD, _PLAIN_BYTES
from tasks.credentials import _BETWEEN, redact, redact_all, warm
from tests.tasks.vendor_patterns import Automaton


@pytest.fixture(scope="module", autouse=True)
def _vendor_rules(tmp_path_factory: pytest.TempPathFactory) -> None:
    warm(tmp_path_factory.mktemp("vendor-rules"))


@cache
def vendor_rules() -> list[dict[str, Any]]:
    rules = scanner().rules
    return [rules.detail(row["id"]) for row in rules.metadata()]


# ---- what the vendor rules must be like, that a text be found among others ---------------------------------------


def test_an_automaton_knows_what_crosses_and_what_is_held():
    assert Automaton(r"(?i:key)[^}]+x").crosses("\n\n")
    assert Automaton(r"key(?:a|.){3,9}?x").crosses("\n" * 9)
    assert not Automaton(r"key(?:a|.){3,9}?x").crosses("\n" * 10)
    assert not Automaton(r"\bkey[\w\s]+x").crosses("\n\x01\n")
    assert Automaton(r"(?:kEy:a|b+kkey:)").always_holds("key:")
    assert not Automaton(r"(?:key:a|b+key)").always_holds("key:")
    assert not Automaton(r"(?:key:)?a").always_holds("key:")


@pytest.mark.parametrize(
    ("pattern", "asks"),
    [(r"a(?:[\s;]|$)", False), (r"(?:^|[^a])b", False), (r"a(?:;|$)", True), (r"^a", True), (r"a\z", True)],
)
def test_an_automaton_knows_where_a_newline_is_no_end(pattern: str, asks: bool):
    assert Automaton(pattern).asks_for_an_end == asks


def test_a_rule_reads_a_text_among_others_as_alone_or_asks_for_what_makes_it_a_suspect():
    """What begins in one text and ends in another might take the place of what stands in the second alone.

    Ends of a text are newlines where it stands among others.
    """
    assert len(vendor_rules()) > 400
    far = {
        rule["id"]: [word for word in _FAR if automaton.always_holds(word)]
        for rule, automaton in zip(vendor_rules(), automata(), strict=True)
        if automaton.crosses(_BETWEEN) or automaton.asks_for_an_end
    }
    assert far
    assert [name for name, words in far.items() if not words] == []


def test_no_filter_of_a_rule_looks_beyond_the_line():
    """A filter that reads the whole text is asked for a piece of one line."""

    def whole_texts(node: Any, *, inside: bool) -> int:
        if isinstance(node, list):
            return sum(whole_texts(entry, inside=inside) for entry in node)
        if not isinstance(node, dict):
            return node == "fragment_raw" and not inside
        piece = node.get("kind") == "slice" and "match_line_start_idx" in str(node["from"])
        return sum(whole_texts(value, inside=inside or piece) for value in node.values())

    assert [rule["id"] for rule in vendor_rules() if whole_texts(rule["betterleaks_filter"], inside=False)] == []


# ---- batches against single texts --------------------------------------------------------------------------------


@cache
def automata() -> list[Automaton]:
    return [Automaton(rule["detection_regex"]) for rule in vendor_rules()]


def credentials(seed: int) -> list[str]:
    """A text for each vendor rule, and as many halves of such texts, which may begin what another ends."""
    rng = random.Random(seed)
    texts = [f"{automaton.example(rng)} " for automaton in automata()]
    cuts = [(text, rng.randrange(len(text))) for text in texts]
    texts += [half for text, cut in cuts for half in (text[:cut], text[cut:])]
    rng.shuffle(texts)
    return texts


def found(text: str, start: int = 0, end: int | None = None) -> set[tuple[str, int]]:
    """What the vendor rules find between two places of a text, by where it begins, as offsets from the first."""
    places = [(finding.rule_id, finding.location["start_offset"]) for finding in scanner().scan(text.encode("ascii"))]
    return {(rule, place - start) for rule, place in places if start <= place < (len(text) if end is None else end)}


@pytest.mark.parametrize("seed", range(6))
def test_what_vendor_rules_find_in_a_text_they_find_among_others(seed: int):
    texts = [text for text in credentials(seed) if not any(word in text.lower() for word in _FAR)]
    found_at_all = 0
    for left, text, right in zip(texts, texts[1:], texts[2:], strict=False):
        start = len(left) + len(_BETWEEN)
        alone = found(text)
        found_at_all += bool(alone)
        assert alone <= found(_BETWEEN.join((left, text, right)), start, start + len(text)), (left, text, right)
    assert found_at_all > 250


def test_a_batch_of_credentials_gives_what_they_give_alone():
    texts = credentials(0)[:400]
    assert redact_all(texts) == [redact(text) for text in texts]


STEMS = own_rules()._names.stems
ANCHORS = own_rules()._shapes.anchors
PIECES = st.one_of(st.sampled_from([*STEMS, *ANCHORS, *_FAR]), st.text("aB1 \n=:/+", max_size=30))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(PIECES, max_size=6).map("".join), max_size=8))
def test_landmarks_of_a_batch_are_those_of_its_texts(texts: list[str]):
    texts += [text.upper() for text in texts]
    rules = own_rules()
    together = rules.landmarks([*texts, "-" * 2_000])
    for found, text in zip(together, texts, strict=False):
        alone = rules._in_short(text)
        assert (list(found.names), list(found.anchors), found.runs, found.far) == (
            list(alone.names),
            list(alone.anchors),
            alone.runs,
            alone.far,
        )


def test_the_two_ways_to_tell_plain_characters_are_one():
    assert [code for code in range(128) if not _ODD.fullmatch(chr(code))] == list(_PLAIN_BYTES)
