"""What is listed, ranked and counted is what a plain computation over all pairs gives."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks import ranking, shards
from tasks.accounting import record
from tasks.pipeline import STAGES, Run
from tasks.settings import load_settings
from tasks.shards import trimmed
from tasks.stages.scoring import KIND_PRIORITY, score_candidates
from tasks.text import tokenize
from tests.tasks.batches import batch, brief, passage, rule, said

WORDS = ("login", "page", "session", "cookie", "store", "audit", "token", "cache", "not", "3", "4")
KINDS = ("user_turn", "agent_msg", "tool_call", "tool_result", "memory_fact", "policy")
SIMILARITIES = ("jaccard", "bm25", "tfidf", "tags")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)


@st.composite
def swarms(draw):
    """Items and tasks: few words, so that texts repeat and scores tie; some without text, parent or owner."""
    count = draw(st.integers(1, 3))
    tasks = [
        {
            "task_id": f"t{number}",
            "title": draw(TEXTS),
            "dependencies": [f"t{draw(st.integers(0, count - 1))}"] if draw(st.booleans()) else [],
        }
        for number in range(count)
    ]
    events = draw(st.integers(0, 24))
    owner = st.one_of(st.none(), st.integers(0, count - 1).map("t{}".format))
    items = [brief(f"t{number}", draw(TEXTS) or "do it") for number in range(count)]
    for number in range(events):
        parent = draw(st.one_of(st.none(), st.integers(0, events - 1)))
        items.append(
            said(
                f"e{number}",
                parent=None if parent is None else f"e{parent}",
                kind=draw(st.sampled_from(KINDS)),
                task_id=draw(owner),
                graph="g",
                position=100 + number,
                tags=draw(st.lists(st.sampled_from(WORDS), max_size=2)),
                sensitivity=draw(st.sampled_from(["public"] * 9 + ["restricted"])),
            )
            | {"text": draw(TEXTS)}
        )
    items += [passage("head", "# Pages")]
    items += [passage(f"p{number}", draw(TEXTS), "head") for number in range(draw(st.integers(0, 5)))]
    items += [rule("r0", "Always check the token"), rule("r1", draw(TEXTS))]
    return items, tasks


@st.composite
def choices(draw):
    """Settings under which little is listed."""
    return load_settings(
        scoring={
            "similarity": draw(st.sampled_from(SIMILARITIES)),
            "weights": {"recency": draw(st.sampled_from([0.0, 0.3])), "penalty": draw(st.sampled_from([0.0, 0.1]))},
        },
        policy={"phase": draw(st.sampled_from(["route", "call", "interpret", "answer"]))},
        budget={"tokens": draw(st.sampled_from([30, 60, 200, None]))},
        packing={"horizon": draw(st.integers(1, 6))},
        audit={"max_rows_per_task": draw(st.integers(1, 6))},
        dedup={"guards": draw(st.booleans()), "threshold": draw(st.sampled_from([0.4, 0.85, 1.1]))},
        run={"shard_pairs": draw(st.sampled_from([1, 8, 1000]))},
    )


def plain_similarity(query: frozenset[str], words: dict[int, frozenset[str]], measure: str) -> dict[int, float]:
    """The measures as textbooks have them, an item at a time."""
    having = {item: own for item, own in words.items() if own}
    count = len(having)
    df = {word: sum(word in own for own in having.values()) for word in query.union(*having.values())}
    shared = {item: query & own for item, own in having.items() if query & own}
    if measure in ("jaccard", "tags"):
        return {item: len(both) / len(query | having[item]) for item, both in shared.items()}
    if measure == "tfidf":
        idf = {word: math.log((1 + count) / (1 + df[word])) + 1 for word in df}
        norm = {item: sum(idf[word] ** 2 for word in having[item]) for item in shared}
        own = sum(idf[word] ** 2 for word in query)
        return {
            item: sum(idf[word] ** 2 for word in both) / math.sqrt(own * norm[item]) for item, both in shared.items()
        }
    average = sum(map(len, having.values())) / max(count, 1)
    idf = {word: math.log(1 + (count - df[word] + 0.5) / (df[word] + 0.5)) for word in df}
    values = {
        item: sum(idf[word] for word in both) * 2.2 / (1 + 1.2 * (0.25 + 0.75 * len(having[item]) / average))
        for item, both in shared.items()
    }
    return {item: value / max(values.values()) for item, value in values.items()}


def plain_order(before, chosen, task) -> list[tuple[float, int, float, float]]:
    """`score, item, recency, similarity` of all candidates of a task, best first, a pair at a time."""
    items = {row["item"]: row for row in before.items.to_dicts()}
    pools = before.memberships.filter(pl.col("task") == task)["pool"].to_list()
    alive = before.pools.filter(pl.col("reason").is_null() & pl.col("pool").is_in(pools))["item"].to_list()
    alive += before.added.filter(pl.col("reason").is_null() & (pl.col("task") == task))["item"].to_list()
    row = before.tasks.row(task, named=True)
    query = tokenize(f"{row['title']}\n{row['description']}")
    heading = tokenize("# Pages")
    words = {}
    for item, facts in items.items():
        tagged = chosen.scoring.similarity == "tags" and facts["tags"]
        words[item] = tokenize(" ".join(facts["tags"]) if tagged else facts["text"])
        if facts["section"] == "design" and facts["parent_id"] == "head":
            words[item] |= heading
    similarity = plain_similarity(query, words, chosen.scoring.similarity)
    history = sorted(
        (item for item in alive if items[item]["section"] == "history"), key=lambda i: items[i]["position"]
    )
    recency = {item: (place + 1) / len(history) for place, item in enumerate(history)}
    weights = chosen.scoring.weights
    scored = []
    for item in alive:
        near = round(similarity.get(item, 0.0), 9) if chosen.scoring.similarity in ("bm25", "tfidf") else similarity.get(item, 0.0)  # fmt: skip
        late = recency.get(item, 1.0)
        kind, short = KIND_PRIORITY[items[item]["kind"]], 1 / (1 + items[item]["tokens"] / 500)
        score = weights.recency * late + weights.similarity * near + weights.kind * kind + weights.penalty * short
        scored.append((score, item, late, near))
    return sorted(scored, key=lambda pair: (-pair[0], pair[1]))


@settings(max_examples=80, deadline=None)
@given(swarms(), choices())
def test_listed_rows_are_those_of_a_plain_ranking_and_the_rest_is_counted(swarm, chosen):
    before = batch(*swarm, chosen)
    for stage in STAGES[:4]:
        before = stage(before, chosen)
    after = score_candidates(before, chosen)
    tokens = dict(before.items.select("item", "tokens").iter_rows())
    events = set(before.items.filter(pl.col("section").cast(pl.String) == "history")["item"])
    beyond = {task: (count, cost) for task, count, cost, *_ in after.beyond.iter_rows()}
    for task in range(len(swarm[1])):
        plain = plain_order(before, chosen, task)
        rows = after.candidates.filter(pl.col("task") == task)
        assert rows["rank"].is_sorted()
        listed = [plain[rank - 1] for rank in rows["rank"]]
        assert rows["item"].to_list() == [item for _, item, *_ in listed]
        assert rows["score"].to_list() == pytest.approx([score for score, *_ in listed], abs=1e-8)
        assert rows["recency"].to_list() == [late for _, _, late, _ in listed]
        assert rows["similarity"].to_list() == pytest.approx([near for *_, near in listed], abs=2e-9)
        cut = {item for _, item, *_ in plain} - set(rows["item"])
        assert cut <= events
        assert beyond.get(task, (0, 0)) == (len(cut), sum(tokens[item] for item in cut))
        best = [item for _, item, *_ in plain if item in events][: ranking.listed(chosen)]
        assert not cut & set(best)


@settings(max_examples=40, deadline=None)
@given(swarms(), choices())
def test_a_build_is_the_same_as_if_every_pair_were_listed(swarm, chosen):
    """All eight stages on what is listed, shard by shard, against all of them on all pairs at once."""
    start = batch(*swarm, chosen)
    quick = Run(chosen)(start)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "listed", lambda _: None)
        patch.setattr(shards, "listed", lambda _: None)
        whole = start
        for stage in STAGES:
            whole = record(whole, stage(whole, chosen), stage.__name__)
    assert whole.beyond.is_empty()
    assert quick.stages.equals(whole.stages.sort("task", "stage"))
    assert quick.prompts.drop("shared_prefix_tokens").equals(whole.prompts.drop("shared_prefix_tokens"))
    assert quick.candidates.equals(trimmed(whole, chosen).candidates)


def test_ancestors_of_what_is_listed_are_listed_however_far_up():
    """A chain of ten, of which the last one ranks best and all others beyond the horizon."""
    chosen = load_settings(
        packing={"horizon": 1},
        audit={"max_rows_per_task": 1},
        scoring={"weights": {"recency": 1, "similarity": 0, "kind": 0, "penalty": 0}},
    )
    chain = [said(f"c{n}", f"word {n}", f"c{n - 1}" if n else None, position=n) for n in range(10)]
    others = [said(f"o{n}", f"thing {n}", position=n + 20) for n in range(5)]
    best = [said("last", "the end", "c9", position=90)]
    before = batch([*chain, *others, *best])
    for stage in STAGES[:4]:
        before = stage(before, chosen)
    after = score_candidates(before, chosen)
    known = dict(before.items.select("item", "item_id").iter_rows())
    assert {known[item] for item in after.candidates["item"]} == {"last", *(f"c{n}" for n in range(10))}
    assert after.beyond["candidates"].to_list() == [5]
