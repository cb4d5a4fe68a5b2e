# ruff: noqa: PLR2004 - thresholds are tuned and read best where they are used
"""Everything else: plain text, Markdown, HTML, `key: value` lines, the output of tools without a shape of their own."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

from tasks.summaries.pieces import BREAKS, FENCE, LINE_LIMIT, Digest, Piece, clauses, fit, graded, line_piece, note
from tasks.summaries.signals import (
    EDGE,
    FACT,
    FAILURE,
    KEYED,
    NOISE,
    REST,
    names_something,
    rank_of,
    severity,
    template,
)
from tasks.summaries.source import Source, byte_length

SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-ZА-ЯЁ\d])|(?<=[。！？])")
TAG = re.compile(r"<[^<>]{0,2000}>")
HIDDEN = re.compile(r"<(script|style|svg|noscript|template)\b|<(!--)", re.IGNORECASE)
BLOCK = re.compile(
    r"</?(?:p|div|h[1-6]|li|tr|ul|ol|table|section|article|header|footer|nav|br|title|head|body|main|form|option"
    r"|dt|dd|pre|thead|tbody)\b[^>]*>",
    re.IGNORECASE,
)
CELL = re.compile(r"</t[dh]>\s*<t[dh]\b[^>]*>", re.IGNORECASE)
# XML whose root is no page says what it has to say in its tags.
PAGE = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?(?:<!doctype html|<html|<head|<body)", re.IGNORECASE)
HEADING = re.compile(r"\s{0,3}#{1,6}\s+\S|[A-Z][A-Z0-9 ,/&-]{2,40}$|\s{0,4}\d+(?:\.\d+)*\.? [A-ZА-Я]\S.{0,70}$")
SAYS = re.compile(
    r"\d|\b[A-Z]{2,}\b|`[^`]+`|\b(?:must|should|never|only|not|default|required|because|however|important|note"
    r"|recommend\w*|exits?|returns?|decision|decided|owner|deadline)\b",
    re.IGNORECASE,
)
OPTION = re.compile(r"\s+-{1,2}[A-Za-z][\w-]*(?:[ =,]|$)")
TITLE = re.compile(r"(?:TASK|PLAY|STEP|Step|Stage|==>|> Task|###?) ?\S|\S.{0,78}:$|={3,} ?\S|\[\d+/\d+\]|#\d+ \[")
RULED = re.compile(r"([*=─_-])\1{5,}$")
LEAN = (
    6_000  # lines; between the first and the last 1,000 of more, only lines that speak of failure are looked at closely
)
STROKES = re.compile(r"\s*[#=>.\s-]+\]?$")
PROGRESS = re.compile(r"\s*(?:\d{1,3}%|.*\b\d{1,3}%\s*\|)|.*[━█▏▎▍▌▋▊▉]{3,}")


def detect(_: Source) -> bool:
    """Anything at all is plain text."""
    return True


def digest(source: Source) -> Digest:
    """Lines, and sentences of long lines, by what they say and where they stand."""
    if PAGE.match(source.text[:400]) or source.media_type == "text/html":
        page = Source.of(page_text(source.text))
        if page.text.strip():
            inner = digest_lines(page)
            pieces = [Piece(one.text, one.rank, one.place, None, one.size, one.units) for one in inner.pieces]
            return Digest(pieces, "lines", len(source.lines))
    return digest_lines(source)


def page_text(text: str) -> str:
    """The text of an HTML page, a block a line; entities stay as they are written."""
    text = without_hidden(text)
    text = CELL.sub(" | ", text)
    text = TAG.sub("", BLOCK.sub("\n", text))
    lines = (re.sub(r"[ \t]+", " ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line and not re.fullmatch(r"[\s|]*", line))


def without_hidden(text: str) -> str:
    """The page without scripts, styles and comments; one that is never closed hides nothing."""
    lowered = text.lower()
    kept: list[str] = []
    start = 0
    unclosed: set[str] = set()
    for found in HIDDEN.finditer(text):
        name = (found[1] or found[2]).lower()
        if found.start() < start or name in unclosed:
            continue
        end_mark = "-->" if name == "!--" else f"</{name}"
        end = lowered.find(end_mark, found.end())
        if end < 0:
            unclosed.add(name)
            continue
        kept.append(text[start : found.start()])
        start = end + 3 if name == "!--" else lowered.find(">", end) + 1 or len(text)
    kept.append(text[start:])
    return " ".join(kept)


def digest_lines(source: Source) -> Digest:
    """Pieces from lines: by what each says, and what stands around a rare failure."""
    lines, filled = source.lines, source.filled
    kinds = {place: template(lines[place][:200]) for place in filled}
    alike = Counter(kinds.values())
    openers = Counter(first_word(lines[place]) for place in filled)
    ranks: dict[int, float] = {}
    for order, place in enumerate(filled):
        if len(filled) > LEAN and 1_000 < order < len(filled) - 1_000 and severity(lines[place][:400]) >= REST:
            ranks[place] = NOISE
        else:
            opens = order == 0 or filled[order - 1] != place - 1
            ranks[place] = line_rank(lines[place], order, len(filled), opens=opens)
    for above, below in pairwise(filled[:LEAN]):
        if HEADING.match(lines[above]) and below - above <= 2:
            ranks[below] = min(ranks[below], FACT + 0.2)
    near = around_failures(source, ranks, alike, kinds) if len(filled) > 12 else {}
    pieces: list[Piece] = []
    groups: dict[float, list[Piece]] = {}
    seen: Counter[str] = Counter()
    for place in filled:
        if ranks[place] >= NOISE and place not in near:
            continue
        line = lines[place]
        if FENCE.match(line) or is_progress(line[:200]):
            continue
        kind = kinds[place]
        seen[kind] += 1
        named = alike[kind] > 1 and ranks[place] < FACT and names_something(line)
        if seen[kind] > (8 if named else 3) and place not in near:
            continue
        if len(line) > LINE_LIMIT:
            for rank, piece in sentences(source, place, first=place == filled[0]):
                groups.setdefault(rank, []).append(piece)
            continue
        rank = ranks[place] + (0.1 * min(seen[kind] - 1, 5) if named else 0.5 if seen[kind] > 1 else 0)
        if rank >= REST - 1 and openers[first_word(line)] >= 6:
            rank += 0.6
        rank = min(rank, near.get(place, rank))
        shown = RULED.sub("", line).rstrip() if line[-1] in "*=─_-" else line
        if alike[kind] >= 4 and seen[kind] == 1 and not named:
            shown = f"x{alike[kind]} {shown}"
        groups.setdefault(round(rank, 2), []).append(line_piece(source, place, rank, text=shown))
    for rank, group in sorted(groups.items()):
        pieces += graded(
            group if len(group) <= 160 else [*group[:120], *group[-40:]], rank, 0.05 if rank < REST else 0.01
        )
    pieces += opened(openers, len(filled))
    pieces += sized_sections(source, ranks)
    return Digest(pieces, "lines", len(lines))


def is_progress(line: str) -> bool:
    """Whether a line is a bar, or a part of one."""
    return bool(STROKES.match(line) or (("%" in line or not line.isascii()) and PROGRESS.match(line)))


def around_failures(
    source: Source, ranks: dict[int, float], alike: Counter[str], kinds: dict[int, str]
) -> dict[int, float]:
    """Ranks for the lines of the paragraph of a failure that is one of its kind, and for the title above it."""
    lines = source.lines
    near: dict[int, float] = {}
    title = -1
    titles: dict[int, int] = {}
    rare = [place for place in source.filled if ranks[place] <= FAILURE + 0.15 and alike[kinds[place]] <= 2][:400]
    if not rare:
        return near
    for place in source.filled:
        if lines[place][-1] in ":]*=" or len(lines[place]) < 100:
            title = place if TITLE.match(lines[place]) else title
        titles[place] = title
    for place in rare:
        if 0 <= titles[place] != place:
            near[titles[place]] = min(near.get(titles[place], REST), FAILURE + 0.5)
        for step in (-1, 1):
            at = place + step
            while abs(at - place) <= 5 and 0 <= at < len(lines) and lines[at]:
                near[at] = min(near.get(at, NOISE), FAILURE + 0.5 + 0.2 * abs(at - place))
                at += step
    return near


def sized_sections(source: Source, ranks: dict[int, float]) -> list[Piece]:
    """For a line that ends with a colon, how many indented lines follow it, if they are many."""
    lines = source.lines
    pieces: list[Piece] = []
    for place in source.filled:
        if not lines[place].endswith(":") or len(lines[place]) > 80 or place + 1 >= len(lines):
            continue
        depth = len(lines[place]) - len(lines[place].lstrip())
        at = place + 1
        while (
            at < len(lines) and lines[at] and len(lines[at]) - len(lines[at].lstrip()) > depth and at < place + 20_000
        ):
            at += 1
        if at - place > 5:
            pieces.append(Piece(lines[place], min(ranks[place], FACT), place, place, len(lines[place]) + 1, 1))
            pieces.append(note(f"[{at - place - 1} lines under `{lines[place].strip()}`]", FACT + 0.02, place + 0.5))
            if len(pieces) > 40:
                break
    return pieces


def first_word(line: str) -> str:
    """How a line begins, where it begins with a word and goes on."""
    word, space, _ = line.lstrip()[:80].partition(" ")
    return word if space and word[:1].isalpha() else ""


def opened(openers: Counter[str], total: int) -> list[Piece]:
    """Words that many lines begin with, such as `Downloading`, and how many do."""
    common = [(word, count) for word, count in openers.items() if word and count >= 6 and count * 12 >= total]
    common.sort(key=lambda one: (-one[1], one[0]))
    if not common:
        return []
    return [
        note(
            f"lines by first word: {', '.join(f'{word} {count}' for word, count in common[:5])} (of {total} lines)",
            FACT + 0.4,
        )
    ]


def line_rank(line: str, order: int, total: int, *, opens: bool) -> float:
    """How early a line is kept."""
    rank = rank_of(line)
    if order == total - 1:
        return min(rank, FAILURE + (0.1 if len(line) < 120 else 0.8))
    if order == 0:
        return min(rank, FAILURE + (0.5 if len(line) < 120 else 0.8))
    if rank < REST:
        return rank
    if OPTION.match(line):
        return FACT - 0.2
    if HEADING.match(line):
        return FACT + 0.4
    if order >= total - 3:
        return EDGE - 0.2
    if order < 3:
        return EDGE
    rank = REST - 0.6 if opens else REST
    if KEYED.match(line) and len(line) < 120:
        rank -= 0.7
    if SAYS.search(line):
        rank -= 0.4
    if line[:1].isspace():
        rank += 0.2
    return rank


def sentences(source: Source, place: int, *, first: bool) -> list[tuple[float, Piece]]:
    """The sentences of a long line, each a piece; one that is itself over-long keeps its weightiest clauses."""
    line = source.lines[place]
    if not BREAKS.search(line):
        return [(EDGE, line_piece(source, place, EDGE))]
    parts = [part.strip() for part in SENTENCE.split(line[:40_000])]
    if len(parts) < 3:
        parts = [part.strip() for part in clauses(line[:40_000])]
    if len(line) > 40_000:
        parts = parts[:-1]
    if len(parts) < 2:
        return [(EDGE, line_piece(source, place, EDGE))]
    found: list[tuple[float, Piece]] = []
    for index, part in enumerate(parts):
        said = rank_of(part)
        rank = said + 0.3 if said < REST else REST - (0.5 if SAYS.search(part) else 0)
        if index == 0:
            rank = min(rank, FAILURE + 0.5 if first else EDGE)
        elif index == len(parts) - 1 and first:
            rank = min(rank, FACT)
        text = fit(part)
        found.append(
            (round(rank, 2), Piece(text, rank, place + (index + 1) / (len(parts) + 2), None, byte_length(text), 0))
        )
    return found
