"""Stage 5: what each candidate is worth."""

from __future__ import annotations

import polars as pl
import pytest

from tasks.settings import load_settings
from tasks.stages.candidates import generate_candidates
from tasks.stages.closure import resolve_dependency_closure
from tasks.stages.scoring import KIND_PRIORITY, score_candidates
from tasks.text import TfIdfScorer, jaccard, tokenize
from tests.tasks.batches import SETTINGS, batch, names, passage, said

TASK = [{"task_id": "t", "title": "Login page", "description": "session cookie", "files_create": ["app/login.py"]}]
QUERY = tokenize("Login page\nsession cookie\napp/login.py")


def scored(items, tasks=TASK, settings=SETTINGS):
    before = resolve_dependency_closure(generate_candidates(batch(items, tasks), settings), settings)
    return score_candidates(before, settings)


def by_name(after) -> dict[str, dict]:
    known = dict(after.items.select("item", "item_id").iter_rows())
    return {known[row["item"]]: row for row in after.candidates.to_dicts()}


def test_the_score_is_the_weighted_sum_of_four_parts():
    rows = by_name(scored([said("a", "login words"), said("b", "nothing", kind="tool_call", tokens=500)]))
    b = rows["b"]
    assert (b["recency"], b["similarity"], b["kind_priority"], b["token_penalty"]) == (1.0, 0.0, 0.6, 0.5)
    assert b["score"] == pytest.approx(0.30 * 1 + 0.25 * 0 + 0.35 * 0.6 + 0.10 * 0.5)
    assert rows["a"]["recency"] == 0.5
    assert rows["a"]["similarity"] == pytest.approx(jaccard(QUERY, tokenize("login words")))


def test_kinds_have_their_worth():
    expected = {"policy": 1.0, "plan_state": 0.9, "user_turn": 0.85, "agent_msg": 0.7, "tool_call": 0.6, "tool_result": 0.55, "memory_fact": 0.5, "retrieved_doc": 0.45, "doc_snippet": 0.4}  # fmt: skip
    assert expected == KIND_PRIORITY
    rows = by_name(scored([said(kind, kind=kind) for kind in expected]))
    assert {name: row["kind_priority"] for name, row in rows.items()} == expected


def test_recency_is_the_place_among_the_tasks_own_history_and_one_for_documents():
    items = [said("a"), said("of-other", task_id="x"), said("b"), passage("p", "login", position=9)]
    rows = by_name(scored(items))
    assert {name: row["recency"] for name, row in rows.items()} == {"a": 0.5, "b": 1.0, "p": 1.0}


def test_ranks_are_by_score_and_ties_by_item_id():
    same = {"text": "same", "position": 0}
    after = scored([passage(name, "login") | same | {"text": "login"} for name in ("c", "a", "b")])
    assert names(after, after.candidates.sort("rank")["item"].to_list()) == ["a", "b", "c"]
    assert after.candidates["rank"].to_list() == [1, 2, 3]


def test_weights_are_settings():
    chosen = load_settings(scoring={"weights": {"recency": 0, "similarity": 1, "kind": 0, "penalty": 0}})
    rows = by_name(scored([said("a", "login"), said("b", "none")], settings=chosen))
    assert rows["a"]["score"] == rows["a"]["similarity"] > rows["b"]["score"] == 0


@pytest.mark.parametrize("similarity", ["jaccard", "bm25", "tfidf", "tags"])
def test_every_measure_lies_between_nothing_and_one_and_prefers_what_is_alike(similarity):
    items = [
        said("near", "login page session"),
        said("far", "login " + "other words entirely here"),
        said("none", "unrelated"),
    ]
    rows = by_name(scored(items, settings=load_settings(scoring={"similarity": similarity})))
    assert 1 >= rows["near"]["similarity"] > rows["far"]["similarity"] > rows["none"]["similarity"] == 0


def test_tfidf_is_the_cosine_of_the_textbook():
    texts = {"a": "login page", "b": "login cookie rare", "c": "page words"}
    rows = by_name(
        scored(
            [said(name, text) for name, text in texts.items()], settings=load_settings(scoring={"similarity": "tfidf"})
        )
    )
    scorer = TfIdfScorer([tokenize(text) for text in texts.values()])
    for name, text in texts.items():
        assert rows[name]["similarity"] == pytest.approx(scorer.score(QUERY, tokenize(text)), abs=1e-6)


def test_tags_stand_for_the_text_of_those_that_have_any():
    items = [said("tagged", "login page session", tags=["weather"]), said("plain", "login page session")]
    rows = by_name(scored(items, settings=load_settings(scoring={"similarity": "tags"})))
    assert rows["tagged"]["similarity"] == 0 < rows["plain"]["similarity"]


@pytest.mark.parametrize("similarity", ["jaccard", "bm25", "tfidf", "tags"])
def test_a_task_is_ranked_the_same_whichever_others_are_ranked_with_it(similarity):
    tasks = [{"task_id": f"t{number}", "title": f"login page {number} session"} for number in range(7)]
    items = [said(f"i{number}", f"login {number} page session cookie") for number in range(9)]
    chosen = load_settings(scoring={"similarity": similarity})
    before = resolve_dependency_closure(generate_candidates(batch(items, tasks), chosen), chosen)
    parts = [score_candidates(before.only([task]), chosen).candidates for task in range(7)]
    assert pl.concat(parts).equals(score_candidates(before, chosen).candidates)


def test_tasks_without_words_or_candidates_are_safe():
    after = scored([said("a", "!!!")], [{"task_id": "t"}, {"task_id": "u"}])
    assert after.candidates["similarity"].to_list() == [0.0, 0.0]
    assert scored([]).candidates.is_empty()
    assert scored([]).candidates.schema["score"] == pl.Float64
