"""The last look at a summary: no long run of the source stands in it, nor the whole of the source."""

from __future__ import annotations

from tasks.summaries.pieces import GAP

BLOCK = 60
OCCURRENCES = 24  # places in the source at which a block is compared; beyond, a run is taken for granted


def without_runs(source: str, lines: list[str], last: str, limit: int) -> list[str]:
    """The lines, with marks or withheld lines wherever a run of the source of more than `limit` characters stood.

    `last` is the line that will follow them. A run is broken at a line end where it has one; a line that is itself
    such a run is replaced by its length. Where nothing helps, no line is kept.
    """
    for _ in range(64):
        text = "\n".join([*lines, last])
        run = longest_excess(source, text, limit) or whole(source, text)
        if run is None:
            return lines
        lines = broken(lines, *run)
    return []


def whole(source: str, text: str) -> tuple[int, int] | None:
    """Where the whole source stands in a text."""
    inner = source.strip()
    start = text.find(inner) if inner else -1
    return (start, start + len(inner)) if start >= 0 else None


def broken(lines: list[str], start: int, end: int) -> list[str]:
    """The lines with a mark put between the two that meet nearest to the middle of the run."""
    ends: list[int] = []
    position = 0
    for line in lines:
        position += len(line)
        ends.append(position)
        position += 1
    inside = [index for index, place in enumerate(ends[:-1]) if start < place < end - 1]
    if inside:
        middle = (start + end) / 2
        at = min(inside, key=lambda index: (abs(ends[index] - middle), index))
        if lines[at] != GAP and lines[at + 1] != GAP:
            return [*lines[: at + 1], GAP, *lines[at + 1 :]]
    # One line alone, or a source that has such marks itself: the longest line of the run goes.
    touched = [index for index, place in enumerate(ends) if place > start and place - len(lines[index]) < end]
    longest = max(touched, key=lambda index: (len(lines[index]), -index), default=len(lines) - 1)
    withheld = f"<line, {len(lines[longest])} characters>"
    kept = [withheld] if len(withheld) < len(lines[longest]) else []
    return [*lines[:longest], *kept, *lines[longest + 1 :]]


def longest_excess(source: str, text: str, limit: int) -> tuple[int, int] | None:
    """Where a run of the source of more than `limit` characters stands in the text, if one does.

    Such a run holds several whole blocks of the text side by side, so only rows of blocks that the source has are
    looked at. Costs one search of the source a block, and a few comparisons.
    """
    if len(text) <= limit:
        return None
    needed = (limit + 1 - 2 * (BLOCK - 1)) // BLOCK
    row = 0
    for start in range(0, len(text) - BLOCK + 1, BLOCK):
        row = row + 1 if text[start : start + BLOCK] in source else 0
        if row >= needed:
            run = widest(source, text, start, limit)
            if run[1] - run[0] > limit:
                return run
    return None


def widest(source: str, text: str, start: int, limit: int) -> tuple[int, int]:
    """The longest run around the block at `start`, among its first places in the source."""
    block = text[start : start + BLOCK]
    best = (start, start + BLOCK)
    place = source.find(block)
    for _ in range(OCCURRENCES):
        if place < 0:
            return best
        left = 0
        while start - left > 0 and place - left > 0 and text[start - left - 1] == source[place - left - 1]:
            left += 1
        right = BLOCK
        while (
            start + right < len(text) and place + right < len(source) and text[start + right] == source[place + right]
        ):
            right += 1
        if left + right > best[1] - best[0]:
            best = (start - left, start + right)
        place = source.find(block, place + 1)
    return best if place < 0 else (max(0, start + BLOCK - limit - 1), start + BLOCK)
