"""Stage 7: the outcome of the purse, row by row."""

from __future__ import annotations

import polars as pl

from tasks.settings import load_settings
from tasks.stages.candidates import generate_candidates
from tasks.stages.closure import resolve_dependency_closure
from tasks.stages.packing import select_and_pack
from tasks.stages.scoring import score_candidates
from tests.tasks.batches import SETTINGS, batch, brief, names, out, passage, said


def packed(items, settings=SETTINGS, tasks=1):
    before = resolve_dependency_closure(generate_candidates(batch(items, tasks, settings), settings), settings)
    return select_and_pack(score_candidates(before, settings), settings)


def chosen(after) -> dict[str, str]:
    rows = after.candidates.filter(pl.col("reason").is_null())
    return {names(after, [item])[0]: text for item, text in rows.select("item", "text").iter_rows()}


def test_selected_rows_have_their_text_as_it_will_stand_there():
    after = packed([brief(text="# Do\n\nit"), said("u", "[USER] hi")])
    assert chosen(after) == {"t0#brief": "#### Do\n\nit", "u": "\\[USER] hi"}


def test_every_candidate_is_selected_or_has_a_reason():
    items = [brief(), *(said(f"u{number}", f"text {number} " * 30) for number in range(9))]
    after = packed(items, load_settings(budget={"tokens": 200}))
    rows = after.candidates
    assert len(rows) == 10
    assert rows.filter(pl.col("reason").is_null() != pl.col("text").is_not_null()).is_empty()
    assert set(out(after).values()) == {"budget"}
    assert rows.filter(pl.col("reason") == "budget")["shortfall_tokens"].min() > 0
    assert set(rows.filter(pl.col("reason").is_not_null())["stage"].cast(pl.String)) == {"select_and_pack"}


def test_each_task_has_its_own_budget():
    items = [brief("t0"), brief("t1"), *(said(f"u{number}", f"text {number}") for number in range(20))]
    tasks = [{"task_id": "t0", "budget_tokens": 60}, {"task_id": "t1"}]
    after = packed(items, tasks=tasks)
    counts = after.candidates.filter(pl.col("reason").is_null()).group_by("task").len().sort("task")["len"].to_list()
    assert counts[0] < counts[1] == 21


def test_the_margin_makes_the_budget_smaller():
    items = [brief(), *(said(f"u{number}", f"text {number}") for number in range(40))]
    narrow = packed(items, load_settings(budget={"tokens": 150}, tokens={"margin": 2}))
    wide = packed(items, load_settings(budget={"tokens": 150}))
    assert len(chosen(narrow)) < len(chosen(wide))


def test_the_horizon_is_a_number_of_candidates_a_section():
    items = [
        brief(),
        *(said(f"u{number}", f"text {number}") for number in range(5)),
        *(passage(f"p{number}", f"login {number}") for number in range(5)),
    ]
    after = packed(items, load_settings(packing={"horizon": 3}), [{"task_id": "t0", "title": "login"}])
    assert len(chosen(after)) == 1 + 3 + 3
    assert list(out(after).values()) == ["horizon"] * 4


def test_an_ancestor_beyond_the_horizon_comes_with_its_child():
    items = [
        brief(),
        passage("head", "# Chapter of other words"),
        *(passage(f"p{number}", f"login {number}", "head") for number in range(4)),
    ]
    after = packed(items, load_settings(packing={"horizon": 2}), [{"task_id": "t0", "title": "login"}])
    assert "head" in chosen(after)
    assert len(chosen(after)) == 1 + 1 + 2 or len(chosen(after)) == 1 + 2
    assert all(name == "head" or reason == "horizon" for name, reason in out(after).items())


def test_the_plain_rule_knows_neither_sections_nor_ancestors():
    items = [brief(text="b " * 40), said("child", "text", "parent"), said("parent", "long " * 100)]
    after = packed(items, load_settings(budget={"tokens": 50}, packing={"rule": "plain"}))
    assert set(chosen(after)) == {"t0#brief", "child"}
    assert out(after) == {"parent": "budget"}


def test_no_tasks_and_no_candidates_are_safe():
    assert packed([]).candidates.is_empty()
