"""Stage 8: the prompt."""

from __future__ import annotations

import polars as pl
import pytest

from tasks.pipeline import STAGES
from tasks.prefixes import with_shared_prefixes
from tasks.settings import load_settings
from tasks.tokens import token_counter
from tests.tasks.batches import SETTINGS, batch, brief, names, out, passage, rule, said

TASK = [{"task_id": "t0", "title": "login"}]
ITEMS = [
    brief(text="**t0: login**"),
    said("r", "an answer", "c", kind="tool_call", position=1),
    said("c", "a call", kind="tool_call", position=2),
    said("u", "latest", position=9),
    passage("d2", "design login two", position=6),
    passage("d1", "design login one", position=5),
    passage("q", "login wanted", section="requirements", position=8),
    rule("p", "#### Be safe"),
]


def tenths(text: str) -> int:
    """Counts floors, so that parts count less than the whole."""
    return len(text) // 10


def rendered(items=ITEMS, settings=SETTINGS, tasks=TASK):
    after = batch(items, tasks, settings)
    for stage in STAGES:
        after = stage(after, settings)
    return after


def prompt(after, task=0) -> str:
    return after.prompts.filter(pl.col("task") == task)["prompt"][0]


def test_sections_stand_in_their_order_documents_as_they_run_history_in_time():
    assert prompt(rendered()) == (
        "## Security rules\n\n##### Be safe\n\n## Requirements\n\nlogin wanted\n\n## Design\n\ndesign login one\n\ndesign login two\n\n"
        "## History\n\n### Tool call\n\na call\n\n### Tool call\n\nan answer\n\n### User\n\nlatest\n\n## Task\n\n**t0: login**\n"
    ).replace("##### Be safe", "###### Be safe")


def test_labelled_style_has_labels_in_place_of_titles():
    text = prompt(rendered(settings=load_settings(render={"style": "labelled"})))
    assert text.startswith("[POLICY]\n")
    assert text.endswith("\n\n[TASK]\n**t0: login**\n")
    assert "## " not in text.replace("###### ", "")


def test_the_order_in_the_prompt_stands_in_the_rows():
    after = rendered()
    rows = after.candidates.filter(pl.col("reason").is_null()).sort("prompt_order")
    assert rows["prompt_order"].to_list() == list(range(8))
    assert names(after, rows["item"].to_list()) == ["p", "q", "d1", "d2", "c", "r", "u", "t0#brief"]


def test_tokens_are_those_of_the_whole_prompt():
    row = rendered().prompts.row(0, named=True)
    assert row["prompt_tokens"] == token_counter(SETTINGS.tokens).count([row["prompt"]])[0]
    by_section = sum(part["tokens"] for part in row["tokens_by_section"])
    assert by_section == pytest.approx(row["prompt_tokens"], abs=2)


class TestSqueezing:
    """A counter may find the whole larger than its parts; then the least go until it fits."""

    def squeezed(self, items, budget=12):
        chosen = load_settings(budget={"tokens": budget}, tokens={"counter": f"{__name__}:tenths"})
        return rendered(items, chosen), chosen

    def test_the_prompt_fits_after_all(self):
        items = [brief(text="do it"), *(said(f"u{number}", f"abc{number}") for number in range(9))]
        after, _chosen = self.squeezed(items)
        assert tenths(prompt(after)) <= 12
        assert set(out(after).values()) == {"budget"}
        assert "render_context" in after.candidates["stage"].cast(pl.String).to_list()
        rows = after.candidates
        assert rows.filter(pl.col("reason").is_null())["text"].null_count() == 0
        assert rows.filter(pl.col("reason").is_not_null())["text"].null_count() == len(out(after))

    def test_children_go_before_their_parents(self):
        items = [
            brief(text="do it"),
            *(said(f"u{number}", f"abc{number}", f"u{number - 1}" if number % 3 else None) for number in range(9)),
        ]
        after, _ = self.squeezed(items)
        kept = {item["item_id"] for item in items} - set(out(after))
        parents = {item["item_id"]: item.get("parent_id") for item in items}
        assert all(parents[name] is None or parents[name] in kept for name in kept)

    def test_a_ring_goes_together(self):
        items = [
            brief(text="do it"),
            *(said(f"u{number}", f"abc{number}", f"u{(number + 1) % 3}") for number in range(3)),
        ]
        after, _ = self.squeezed(items, budget=5)
        assert set(out(after)) == {"u0", "u1", "u2"}
        assert tenths(prompt(after)) <= 5


class TestWithoutRoom:
    def test_a_task_whose_brief_does_not_fit_has_no_prompt_but_a_reason(self):
        after = rendered([brief(text="word " * 100), said("u")], load_settings(budget={"tokens": 50}))
        row = after.prompts.row(0, named=True)
        assert (row["status"], row["prompt"], row["prompt_tokens"]) == ("over_budget", None, None)
        short = after.candidates["shortfall_tokens"].max()
        assert f"needs {short} tokens more than the 50" in row["message"]

    def test_a_task_of_which_nothing_may_be_shown_says_so(self):
        after = rendered(ITEMS, load_settings(policy={"sensitivity_floor": "public"}))
        row = after.prompts.row(0, named=True)
        assert row["prompt"] is None
        assert "see the reason of each" in row["message"]

    def test_a_very_long_prompt_stays_below_the_limit_of_one_argument(self):
        items = [brief(), *(said(f"u{number}", f"{number} " + "é" * 5000) for number in range(45))]
        after = rendered(items, load_settings(budget={"tokens": 10_000_000}))
        assert len(prompt(after).encode()) < 131_072
        assert len(prompt(after).encode()) > 110_000


class TestSharedPrefix:
    def shared(self, items, tasks):
        return with_shared_prefixes(rendered(items, tasks=tasks), SETTINGS).prompts["shared_prefix_tokens"].to_list()

    def test_is_what_at_least_half_of_the_prompts_begin_with(self):
        items = [rule("p", "Be safe"), brief("t0", "one"), brief("t1", "two"), brief("t2", "three")]
        counts = self.shared(items, 3)
        expected = token_counter(SETTINGS.tokens).count(["## Security rules\n\nBe safe\n\n## Task\n\n"])[0]
        assert counts == [expected] * 3

    def test_is_nothing_for_a_task_alone(self):
        assert self.shared([rule("p", "Be safe"), brief()], 1) == [0]

    def test_counts_whole_blocks_that_are_byte_identical(self):
        items = [rule("p", "Be safe"), said("own", "x", task_id="t0"), brief("t0"), brief("t1"), brief("t2")]
        first, second, third = self.shared(items, 3)
        assert second == third > first > 0
