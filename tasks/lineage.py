"""Who descends from whom among items, safe against cycles, self-parents and parents that are missing."""

from __future__ import annotations

import polars as pl


def closed_items(items: pl.DataFrame, floor: int) -> pl.DataFrame:
    """The items at or above the floor and all that descend from them, each with the highest rank above it.

    Args:
        items: `item, item_id, parent_id, position, sensitivity`.
        floor: the place of the floor in `LEVELS`.

    Returns:
        `item, rank`, by item.
    """
    ranks = items.select("item", rank=pl.col("sensitivity").to_physical().cast(pl.UInt8))
    closed = dict(ranks.filter(pl.col("rank") >= floor).iter_rows())
    if closed:
        families = lineage(items).drop_nulls("parent").sort("enter").select("item", "parent")
        for _ in range(2):  # the second round takes a label around a cycle, where the walk began in its midst
            for item, parent in families.iter_rows():
                if (above := closed.get(parent)) is not None:
                    closed[item] = max(above, closed.get(item, above))
    return pl.DataFrame(sorted(closed.items()), schema={"item": pl.UInt32, "rank": pl.UInt8}, orient="row")


def parents(items: pl.DataFrame) -> pl.DataFrame:
    """The parent of each item that has one in the build, itself excluded.

    Args:
        items: `item, item_id, parent_id`.

    Returns:
        `item, parent`, both places of items.
    """
    named = items.select(pl.col("item").alias("parent"), pl.col("item_id").alias("parent_id"))
    return (
        items.filter(pl.col("parent_id").is_not_null())
        .select("item", "parent_id")
        .join(named, on="parent_id", how="inner", maintain_order="left")
        .filter(pl.col("parent") != pl.col("item"))
        .select("item", "parent")
    )


def with_ancestors(items: pl.DataFrame, wanted: pl.Series) -> pl.DataFrame:
    """The rows of the wanted items and of all that they descend from. One step an ancestor, however deep a chain is.

    Args:
        items: `item, item_id, parent_id`.
        wanted: places of items.
    """
    parent_of = dict(parents(items).iter_rows())
    known: set[int] = set()
    for item in wanted:
        walked: int | None = item
        while walked is not None and walked not in known:
            known.add(walked)
            walked = parent_of.get(walked)
    places = pl.DataFrame({"item": sorted(known)}, schema={"item": pl.UInt32})
    return items.join(places, on="item", how="semi", maintain_order="left")


def lineage(items: pl.DataFrame) -> pl.DataFrame:
    """Each item's place in its family. One walk over the items that have relatives; the rest is filled in.

    Args:
        items: `item, item_id, parent_id, position`.

    Returns:
        `item, parent, root, depth, enter, leave, order`, a row an item: `a` is an ancestor of `b`, or `b` itself, iff
        `a.enter <= b.enter < a.leave`. `order` is the item's place in reading order: by position, yet never before its
        parent. In a cycle the item with the lowest place counts as the root.
    """
    links = parents(items)
    parent_of = dict(links.sort("item").iter_rows())
    children: dict[int, list[int]] = {}
    for child, parent in parent_of.items():
        children.setdefault(parent, []).append(child)
    position = dict(items.select("item", "position").iter_rows())
    relatives = sorted(parent_of.keys() | children.keys())
    roots = [item for item in relatives if item not in parent_of]
    rows: dict[int, tuple[int, int, int, int, int]] = {}
    clock = 0
    for root in (*roots, *relatives):  # after the true roots, whatever is left hangs on a cycle
        if root not in rows:
            clock = _walk(root, children, position, rows, clock)
    ordered = [(item, parent_of.get(item), *row) for item, row in rows.items()]
    known = pl.DataFrame(
        [row[:6] for row in ordered],
        schema=dict.fromkeys(("item", "parent", "root", "depth", "enter", "leave"), pl.UInt32),
        orient="row",
    ).with_columns(pl.Series("key", [row[6] for row in ordered], dtype=pl.UInt32))
    alone = pl.int_range(pl.len(), dtype=pl.UInt32) + clock
    return (
        items.select("item", "position")
        .join(known, on="item", how="left", maintain_order="left")
        .with_columns(
            pl.col("root").fill_null(pl.col("item")),
            pl.col("depth").fill_null(0),
            pl.col("enter").fill_null(alone),
            pl.col("leave").fill_null(alone + 1),
            pl.col("key").fill_null(pl.col("position")),
        )
        .sort("key", "depth", "position", "item")
        .with_row_index("order")
        .sort("item")
        .select("item", "parent", "root", "depth", "enter", "leave", "order")
    )


def _walk(
    root: int,
    children: dict[int, list[int]],
    position: dict[int, int],
    rows: dict[int, tuple[int, int, int, int, int]],
    clock: int,
) -> int:
    """Numbers a family depth first, without recursion; returns the next free number."""
    stack: list[tuple[int, int, int, bool]] = [(root, 0, 0, False)]
    entered: dict[int, tuple[int, int, int]] = {}
    while stack:
        item, depth, key, done = stack.pop()
        if done:
            start, at, latest = entered[item]
            rows[item] = (root, at, start, clock, latest)
            continue
        if item in entered:
            continue
        latest = max(position[item], key)
        entered[item] = (clock, depth, latest)
        clock += 1
        stack.append((item, depth, key, True))
        stack += [(child, depth + 1, latest, False) for child in children.get(item, ())]
    return clock
