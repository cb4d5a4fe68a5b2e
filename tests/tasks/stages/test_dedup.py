"""Stage 6: what says the same twice goes, greedy in score order."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.settings import load_settings
from tasks.stages import dedup
from tasks.stages.candidates import generate_candidates
from tasks.stages.closure import resolve_dependency_closure
from tasks.stages.dedup import deduplicate_candidates
from tasks.stages.scoring import score_candidates
from tasks.text import difference_marks, tokenize
from tests.tasks.batches import SETTINGS, batch, brief, names, passage, rule, said

WORDS = [first + second for first in ("ba", "ke", "li", "mo", "nu") for second in ("ra", "se", "ti", "vo", "zu")]
SAID = "Every login writes one audit line with user, time and outcome to the store"


def deduplicated(items, settings=SETTINGS, tasks=1):
    before = resolve_dependency_closure(generate_candidates(batch(items, tasks), settings), settings)
    return deduplicate_candidates(score_candidates(before, settings), settings)


def lost(after) -> dict[str, str]:
    """What went, and in favour of what."""
    rows = after.candidates.filter(pl.col("reason") == "duplicate")
    return {
        names(after, [item])[0]: names(after, [kept])[0]
        for item, kept in rows.select("item", "duplicate_of").iter_rows()
    }


def test_the_better_of_two_stays():
    after = deduplicated([said("old", SAID), said("new", SAID + "!")])
    assert lost(after) == {"old": "new"}


def test_it_is_compared_with_kept_ones_only():
    """b is like a and like c, but a and c are not alike: b goes for c, and a stays."""
    words = WORDS[:24]
    a, b, c = " ".join(words[:20]), " ".join(words[1:21]), " ".join(words[2:22])
    after = deduplicated([said("a", a), said("b", b), said("c", c)])
    assert lost(after) == {"b": "c"}


@pytest.mark.parametrize(("threshold", "gone"), [(0.85, True), (0.96, False), (1.0, False), (1.1, False), (0.9, True)])
def test_the_threshold_is_a_setting(threshold, gone):
    words = WORDS[:21]
    items = [said("a", " ".join(words)), said("b", " ".join(words[:20]))]  # 20 of 21 words
    assert bool(lost(deduplicated(items, load_settings(dedup={"threshold": threshold})))) is gone


class TestGuards:
    def test_relatives_are_no_duplicates(self):
        items = [said("c", SAID, kind="tool_call"), said("r", SAID, "c", kind="tool_result")]
        assert lost(deduplicated(items)) == {}
        assert lost(deduplicated(items, load_settings(dedup={"guards": False}))) == {"c": "r"}

    def test_but_both_may_be_duplicates_of_something_else(self):
        items = [
            said("c", SAID, kind="tool_call"),
            said("r", SAID, "c", kind="tool_result"),
            said("u", SAID, kind="user_turn"),
        ]
        assert lost(deduplicated(items)) == {"c": "u", "r": "u"}

    def test_an_ancestor_of_what_stays_stays(self):
        items = [
            said("c1", SAID, kind="tool_call"),
            said("c2", SAID, kind="tool_call"),
            said("r1", "result one", "c1"),
            said("r2", "result other", "c2"),
        ]
        assert lost(deduplicated(items)) == {}

    def test_a_whole_branch_may_go(self):
        items = [
            said(f"{name}{number}", text, None if name == "c" else f"c{number}")
            for number in (1, 2)
            for name, text in (("c", SAID), ("r", "the same result again"))
        ]
        assert lost(deduplicated(items)) == {"c1": "c2", "r1": "r2"}

    def test_the_brief_never_goes_and_nothing_goes_for_it(self):
        assert lost(deduplicated([brief(text=SAID), said("u", SAID)])) == {}

    def test_a_policy_goes_for_a_policy_only(self):
        assert lost(deduplicated([said("u", SAID), said("p", SAID, kind="policy")])) == {}
        assert lost(deduplicated([rule("r", SAID), said("p", SAID, kind="policy")])) != {}

    def test_history_goes_for_a_document_and_not_the_reverse(self):
        task = [{"task_id": "t0", "title": SAID}]
        assert lost(deduplicated([passage("d", SAID), said("u", SAID, kind="memory_fact")], tasks=task)) in (
            {"u": "d"},
            {},
        )
        assert "d" not in lost(deduplicated([passage("d", SAID), said("u", SAID, kind="plan_state")], tasks=task))

    @pytest.mark.parametrize(
        ("one", "other"), [("Delete it now please", "Do not delete it now please"), ("Step 1 passed", "Step 2 passed")]
    )
    def test_a_negation_or_a_number_makes_a_difference(self, one, other):
        items = [said("a", one), said("b", other)]
        assert lost(deduplicated(items)) == {}
        assert lost(deduplicated(items, load_settings(dedup={"guards": False}))) == {"a": "b"}

    def test_texts_without_words_are_alike_when_they_are_the_same(self):
        assert lost(deduplicated([said("a", "!!!"), said("b", "!!!"), said("c", "???")])) == {"a": "b"}


def test_tasks_do_not_touch_each_other():
    items = [said("a", SAID, task_id="t0"), said("b", SAID, task_id="t1")]
    assert lost(deduplicated(items, tasks=2)) == {}


def test_nothing_to_compare_changes_nothing():
    assert lost(deduplicated([])) == {}
    assert lost(deduplicated([said("a", "one"), said("b", "two")])) == {}


def plainly(items: list[dict], threshold: float, *, guards: bool) -> dict[str, str]:
    """The rule as it reads, item by item."""
    after = score_candidates(
        resolve_dependency_closure(generate_candidates(batch(items), SETTINGS), SETTINGS), SETTINGS
    )
    ranked = names(after, after.candidates.sort("rank")["item"].to_list())
    texts = {item["item_id"]: item["text"] for item in items}
    words = {name: tokenize(text) for name, text in texts.items()}
    marks = (
        dict(
            zip(
                texts,
                pl.DataFrame({"t": list(texts.values())}).select(difference_marks(pl.col("t"))).to_series(),
                strict=True,
            )
        )
        if texts
        else {}
    )
    kept: list[str] = []
    gone: dict[str, str] = {}
    for name in ranked:
        for other in kept:
            union = words[name] | words[other]
            alike = bool(union) and len(words[name] & words[other]) / len(union) >= threshold
            if guards and not union:
                alike = texts[name].strip() == texts[other].strip()
            if alike and not (guards and marks[name] != marks[other]):
                gone[name] = other
                break
        else:
            kept.append(name)
    return gone


VOCABULARY = st.sampled_from(["alpha", "beta", "gamma", "delta", "1", "2", "not", "x", "!"])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(VOCABULARY, min_size=1, max_size=6).map(" ".join), max_size=9),
    st.sampled_from([0.3, 0.5, 0.75, 0.85, 1.0]),
    st.booleans(),
    st.sampled_from([0, 5_000_000]),
)
def test_it_is_the_plain_rule(texts, threshold, guards, most_joined):
    """However many there are: a task at a time, and for all at once."""
    items = [said(f"i{place}", text) for place, text in enumerate(texts)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dedup, "_MOST_JOINED", most_joined)
        after = deduplicated(items, load_settings(dedup={"threshold": threshold, "guards": guards}))
    assert lost(after) == plainly(items, threshold, guards=guards)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["alpha beta", "alpha beta gamma", "alpha", "delta"]),
            st.one_of(st.none(), st.integers(0, 7)),
        ),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from([0.5, 0.85]),
)
def test_whatever_the_links_ancestors_stay_and_relatives_are_no_duplicates(rows, threshold):
    items = [
        said(f"i{place}", text, None if parent is None else f"i{parent}") for place, (text, parent) in enumerate(rows)
    ]
    gone = lost(deduplicated(items, load_settings(dedup={"threshold": threshold})))
    parents = {item["item_id"]: item["parent_id"] for item in items}

    def above(name):
        met = []
        while (name := parents.get(name)) is not None and name in parents and name not in met:
            met.append(name)
        return met

    for name in parents:
        if name not in gone:
            assert not [ancestor for ancestor in above(name) if ancestor in gone and ancestor != name]
    for name, kept in gone.items():
        assert kept not in gone
        assert kept not in above(name) or kept in above(kept), "one item of a ring counts as the root of the others"
        assert name not in above(kept) or name in above(name)
