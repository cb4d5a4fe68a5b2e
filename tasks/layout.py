"""How items look in a prompt: section titles, labels and blocks. What is packed is what is rendered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tasks.markdown import embed_all
from tasks.terms import SECTION_TITLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from tasks.settings import RenderSettings

SEPARATOR = "\n\n"
END = "\n"
TRUNCATED = "[... truncated for context limits ...]"

#: The first byte count that no longer fits one argument of a Linux process.
PROMPT_BYTES = 131_072

_SPEAKERS = {
    "user_turn": "User",
    "agent_msg": "Assistant",
    "tool_call": "Tool call",
    "tool_result": "Tool result",
    "doc_snippet": "Document",
    "retrieved_doc": "Retrieved",
    "memory_fact": "Fact",
    "plan_state": "Plan",
    "policy": "Policy",
}
#: What stands before all sections: the schema of a tool that a prompt is made to call.
LEAD = "lead"
#: Section and kind of the items that do. Of the brief, so that they are pinned; a plan's own brief has another kind.
LEADING = ("brief", "tool_call")
#: What a prompt is nothing without.
PINNED = (LEAD, "brief")

_LABELLED_SECTIONS = ("reference", "history")
_UNLABELLED_KINDS = {"reference": ("doc_snippet",)}


def title(section: str, settings: RenderSettings) -> str:
    """The line that opens a section; empty where it has none."""
    return f"## {SECTION_TITLES[section]}" if settings.style == "markdown" and section != LEAD else ""


def label(section: str, kind: str, settings: RenderSettings) -> str:
    """The line that says whose words an item holds; empty where its section says it."""
    if (section, kind) == LEADING:
        return "[TOOL SCHEMA]"
    if settings.style == "labelled":
        return "[TASK]" if section == "brief" else f"[{_SPEAKERS[kind].upper()}]"
    if section not in _LABELLED_SECTIONS or kind in _UNLABELLED_KINDS.get(section, ()):
        return ""
    return f"### {_SPEAKERS[kind]}"


def labelled(body: str, heading: str, settings: RenderSettings) -> str:
    """A body under its label."""
    if not heading:
        return body
    return f"{heading}\n{body}" if settings.style == "labelled" else heading + SEPARATOR + body


def blocks(items: pl.DataFrame, settings: RenderSettings) -> pl.DataFrame:
    """The body and the block of items; each distinct text is made safe once.

    Args:
        items: `item, text, section, kind`.
        settings: the style.

    Returns:
        `item, body, block`, in the order of `items`.
    """
    texts = items["text"].unique(maintain_order=True)
    safe = pl.DataFrame({"text": texts, "body": embed_all(texts)})
    drawn = items.join(safe, on="text", how="left", maintain_order="left")
    whole = labelled_texts(drawn.select("section", "kind", text="body"), settings)
    return drawn.select("item", "body", whole.alias("block"))


def labelled_texts(rows: pl.DataFrame, settings: RenderSettings) -> pl.Series:
    """The blocks of bodies.

    Args:
        rows: `text, section, kind`, where a text is a body.
        settings: the style.
    """
    heads = rows.select("section", "kind").unique(maintain_order=True)
    headed = heads.with_columns(
        pl.Series("label", [label(section, kind, settings) for section, kind in heads.rows()], dtype=pl.String)
    )
    gap = "\n" if settings.style == "labelled" else SEPARATOR
    whole = pl.when(pl.col("label") == "").then("text").otherwise(pl.col("label") + gap + pl.col("text"))
    joined = rows.join(headed, on=["section", "kind"], how="left", maintain_order="left")
    return joined.select(whole.alias("block")).to_series()


def distinct_blocks(rows: pl.DataFrame, settings: RenderSettings) -> tuple[list[str], NDArray[np.intp]]:
    """The blocks of bodies, each that texts, sections and kinds tell apart made once, and which of them each row's is.

    Args:
        rows: `text, section, kind`, where a text is a body; others are not looked at.
        settings: the style.
    """
    text = rows["text"].cast(pl.Categorical(pl.Categories.random())).to_physical().to_numpy().astype(np.uint64)
    section, kind = (rows[name].to_physical().to_numpy() for name in ("section", "kind"))
    _, first, number = np.unique((text << 8 | section) << 8 | kind, return_index=True, return_inverse=True)
    return labelled_texts(rows.select("text", "section", "kind")[first], settings).to_list(), number


def units(sections: Iterable[tuple[str, Sequence[str]]], settings: RenderSettings) -> list[str]:
    """The titles and blocks of a prompt in their order, which blank lines join."""
    parts: list[str] = []
    for section, section_blocks in sections:
        if section_blocks:
            head = title(section, settings)
            parts += [head, *section_blocks] if head else section_blocks
    return parts


def compose(sections: Iterable[tuple[str, Sequence[str]]], settings: RenderSettings) -> str:
    """The prompt of sections with their blocks, in order; ends with one newline, empty without blocks."""
    parts = units(sections, settings)
    return SEPARATOR.join(parts) + END if parts else ""
