"""Stage 1: which items are candidates of which tasks. Tasks that see the same items share a pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from tasks.batch import REASON, STAGE, Batch
from tasks.passages import headings, is_document, words_with_headings
from tasks.reach import bits_of, reached
from tasks.scopes import EVERY_TASK, in_glob_scope, is_glob_scope, scopes_of
from tasks.terms import PRIORITY
from tasks.text import keywords

if TYPE_CHECKING:
    from tasks.settings import Settings

NAME = "generate_candidates"

_DIALOGUE = ("user_turn", "plan_state", "policy")
_CALLING = (*_DIALOGUE, "agent_msg", "tool_call")
_ALL = (*_CALLING, "tool_result", "doc_snippet", "retrieved_doc", "memory_fact")

#: The kinds of items that each phase admits.
PHASE_KINDS: dict[str, tuple[str, ...]] = {"route": _DIALOGUE, "call": _CALLING, "interpret": _ALL, "answer": _ALL}


def generate_candidates(batch: Batch, settings: Settings) -> Batch:
    """Groups the items into pools, gives each task its pools, and marks what is out from the start.

    A task sees the rules of its files' scopes, its own brief, the history that belongs to no task, to itself or to one
    it depends on, and the documents of its graph. A kind that the phase leaves out goes with reason `phase`; a
    document passage in which none of the task's keywords stands goes as `irrelevant`.

    Cost: one row an item of a shared pool, however many tasks share it, and one a (task, document passage).
    """
    shared = _shared_pools(batch)
    documents = _documents(batch, settings)
    own = documents.select("task").unique().with_columns(name=pl.format("documents\x1f{}", "task"))
    names = pl.concat([shared.select("name"), own.select("name")]).unique().sort("name").with_row_index("pool")
    kind = pl.col("kind").cast(pl.String)
    left_out = batch.items.filter(~kind.is_in(list(PHASE_KINDS[settings.policy.phase])))["item"]
    pools = (
        pl.concat(
            [
                shared.join(names, on="name").select("pool", "item", reason=pl.lit(None, REASON)),
                documents.join(own.join(names, on="name"), on="task").select("pool", "item", "reason"),
            ]
        )
        .with_columns(
            reason=pl.when(pl.col("item").is_in(left_out.implode())).then(pl.lit("phase", REASON)).otherwise("reason")
        )
        .with_columns(stage=pl.when(pl.col("reason").is_not_null()).then(pl.lit(NAME, STAGE)))
        .select("pool", "item", "stage", "reason")
        .sort(pl.col("pool").cast(pl.UInt64) * 2**32 + pl.col("item"))  # as by both, in a third of the time
    )
    memberships = _memberships(batch).join(names, on="name").select("task", "pool").unique().sort("task", "pool")
    return batch.with_frames(pools=pools, memberships=memberships)


def _shared_pools(batch: Batch) -> pl.DataFrame:
    """`name, item` of everything but documents: rules by scope, one's own by task, the rest by whom it belongs to."""
    owner = pl.format("{}\x1f{}", pl.col("graph").fill_null(""), pl.col("task_id").fill_null(""))
    rules = batch.items.filter(pl.col("source") == "rules").explode("tags", empty_as_null=False, keep_nulls=False)
    others = batch.items.filter(~is_document() & (pl.col("source") != "rules"))
    own = pl.col("section").cast(pl.String) != "history"
    return pl.concat(
        [
            rules.filter(~pl.col("tags").str.starts_with(PRIORITY))
            .select(pl.format("rules\x1f{}", "tags").alias("name"), "item")
            .unique(),
            others.select(
                pl.format("{}\x1f{}", pl.when(own).then(pl.lit("own")).otherwise(pl.lit("history")), owner).alias(
                    "name"
                ),
                "item",
            ),
        ]
    )


def _memberships(batch: Batch) -> pl.DataFrame:
    """`task, name` of every pool that a task may draw from, whether or not it exists."""
    tasks = batch.tasks.select("task", "graph", "task_id")
    visible = pl.concat([tasks.select("task", "graph", "task_id"), _earlier_tasks(batch)])
    nobody = pl.lit("").alias("task_id")
    anywhere = pl.lit("").alias("graph")
    owners = pl.concat(
        [
            visible,
            visible.select("task", anywhere, "task_id"),
            tasks.select("task", "graph", nobody),
            tasks.select("task", anywhere, nobody),
        ]
    )
    mine = pl.concat(
        [
            tasks,
            tasks.select("task", anywhere, "task_id"),
            tasks.select("task", "graph", nobody),
            tasks.select("task", anywhere, nobody),
        ]
    )
    return pl.concat(
        [
            owners.select("task", pl.format("history\x1f{}\x1f{}", "graph", "task_id").alias("name")),
            mine.select("task", pl.format("own\x1f{}\x1f{}", "graph", "task_id").alias("name")),
            _scopes(batch).select("task", pl.format("rules\x1f{}", "scope").alias("name")),
            tasks.select("task", pl.format("documents\x1f{}", "task").alias("name")),
        ]
    )


def _scopes(batch: Batch) -> pl.DataFrame:
    """`task, scope`: the rule scopes of the files that a task creates or changes; the core always.

    Rules with globs have scopes of their own: those for every task, and those of which a glob matches a file.
    """
    files = (
        batch.tasks.select("task", path=pl.concat_list("files_create", "files_modify"))
        .explode("path", empty_as_null=False, keep_nulls=False)
        .unique()
    )
    paths = files["path"].unique().sort()
    rules = batch.items.filter(pl.col("source") == "rules")
    globs = [tag for tag in rules["tags"].explode().drop_nulls().unique().sort() if is_glob_scope(tag)]
    found = [
        (path, scope)
        for path in paths.to_list()
        for scope in (*scopes_of(path), *(glob for glob in globs if in_glob_scope(path, glob)))
    ]
    scopes = pl.DataFrame(found, schema={"path": pl.String, "scope": pl.String}, orient="row")
    return pl.concat(
        [
            batch.tasks.select("task", scope=pl.lit("core")),
            batch.tasks.select("task", scope=pl.lit(EVERY_TASK)),
            files.join(scopes, on="path").select("task", "scope").unique(),
        ]
    )


def _earlier_tasks(batch: Batch) -> pl.DataFrame:
    """`task, graph, task_id` of every task with a history that a task comes after, directly or not; cycles are safe.

    The batch knows of tasks that are not built by it, too: what they did is there to build on. Only tasks to which
    something belongs are listed: in a long chain all others would be rows without a use, by the square of its length.
    """
    links = batch.earlier.rows()  # graph, task, earlier, part
    names = sorted({(graph, name) for graph, *both, _ in links for name in both})
    nodes = {name: node for node, name in enumerate(names)}
    steps: dict[int, set[int]] = {}
    parts: dict[int, set[int]] = {}
    for graph, name, earlier, part in links:
        later, other = nodes[graph, name], nodes[graph, earlier]
        steps.setdefault(later, set()).add(other)
        if part:
            parts.setdefault(other, set()).add(later)
    leads_to, below = (reached({node: sorted(others[node]) for node in sorted(others)}) for others in (steps, parts))
    history = batch.items.filter(pl.col("section").cast(pl.String) == "history").select("graph", "task_id").unique()
    owners = set(history.iter_rows())
    wanted = sum(1 << node for name, node in nodes.items() if not owners.isdisjoint((name, (None, name[1]))))
    rows = []
    for task, graph, task_id in batch.tasks.select("task", "graph", "task_id").iter_rows():
        node = nodes.get((graph, task_id))
        if node is None:
            continue
        seen = leads_to.get(node, 0)
        for part in bits_of(below.get(node, 0)):  # who has a whole to do sees what its parts did
            seen |= 1 << part | leads_to.get(part, 0)
        rows += [(task, other) for other in bits_of(seen & wanted & ~(1 << node))]
    found = pl.DataFrame(rows, schema={"task": pl.UInt32, "node": pl.UInt32}, orient="row")
    named = pl.DataFrame(names, schema={"graph": pl.String, "task_id": pl.String}, orient="row").with_row_index("node")
    return found.join(named, on="node").select("task", "graph", "task_id")


def _documents(batch: Batch, settings: Settings) -> pl.DataFrame:
    """`task, item, reason` of the passages that a task's documents hold, those that match none of its words marked.

    A passage is matched by its own words and those of the heading right above it. A heading by itself says nothing: it
    comes in with its passages.
    """
    passages = batch.items.filter(is_document())
    pairs = pl.concat(
        [
            batch.tasks.select("task", "graph").join(passages.select("graph", "item", "path", "position"), on="graph"),
            batch.tasks.select("task", "graph").join(
                passages.filter(pl.col("graph").is_null()).select("item", "path", "position"), how="cross"
            ),
        ]
    )
    searched = words_with_headings(passages, "unicode").join(headings(passages), on="item", how="anti")
    wanted = _keywords(batch)
    matches = wanted.join(searched, on="token").group_by("task", "item").agg(pl.len().alias("matches"))
    ranked = pairs.join(matches, on=["task", "item"], how="left")
    relevant = pl.col("matches").is_not_null()
    if settings.spec.top is not None:
        worth = pl.col("matches").cast(pl.Int64).fill_null(0)
        place = pl.struct(-worth, "position").rank("ordinal").over("task", "path")
        relevant &= place <= settings.spec.top
    return ranked.select("task", "item", reason=pl.when(~relevant).then(pl.lit("irrelevant", REASON)))


def _keywords(batch: Batch) -> pl.DataFrame:
    """`task, token`: the words by which each task picks its passages."""
    paths = pl.concat_list("files_create", "files_modify", "files_read", "files_delete")
    rows = batch.tasks.select("task", "title", "description", paths.alias("paths")).iter_rows()
    found = [(task, keywords(f"{title}\n{description}", paths)) for task, title, description, paths in rows]
    return pl.DataFrame(
        {
            "task": [task for task, tokens in found for _ in tokens],
            "token": [token for _, tokens in found for token in tokens],
        },
        schema={"task": pl.UInt32, "token": pl.String},
    )
