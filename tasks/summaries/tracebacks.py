# ruff: noqa: PLR2004 - thresholds are tuned and read best where they are used
"""Stack traces of Python, JavaScript, the JVM, Go, Rust, Ruby, PHP and .NET."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tasks.summaries.pieces import Digest, Piece, line_piece, note
from tasks.summaries.signals import EDGE, EXCEPTION, FAILURE, NOISE, REST, TROUBLE, rank_of

if TYPE_CHECKING:
    from tasks.summaries.source import Source

FRAME = re.compile(
    r"\s+File \".+\", line \d+|\s+at \S|\s+\d+: +\S|\t?\S+\(.*\)$|\s+\S+\.go:\d+(?: |$)|\s+from \S+:\d+:in "
    r"|\S+\.rb:\d+:in |#\d+ +\S|\s+at \S+:\d+:\d+"
)
HEAD = re.compile(
    r"\s*(?:Traceback \(most recent call last\)|Exception in thread|Caused by:|panic:|goroutine \d+ \["
    r"|thread '.*' panicked|stack backtrace:"
    r"|(?:Uncaught |Unhandled )|PHP Fatal error|fatal error: )"
)
OMITTED = re.compile(r"\s+\.\.\. \d+ (?:more|common frames)|\s*\[Previous line repeated|\s+\.\.\. \d+ ")
AGAIN = re.compile(r"(?:During handling of the above|The above exception was)")
FOREIGN = re.compile(
    r"site-packages|dist-packages|node_modules|node:internal|\(internal/|/usr/lib/|/usr/local/(?:lib|go)/|/rustc/"
    r"|\.cargo/registry|<frozen |/gems/"
    r"|\bat (?:java|javax|jdk|sun|org\.(?:springframework|apache|hibernate|junit)|com\.(?:sun|zaxxer)|io\.netty"
    r"|org\.(?:mariadb|postgresql|jboss|eclipse)|com\.(?:mysql|google|fasterxml)|scala|kotlin|reactor)\."
    r"|\bruntime[./]|\bstd::|\bcore::"
    r"|lib/python\d"
)


def detect(source: Source) -> bool:
    """It opens with a trace's head or an exception, and frames make up a good part of it."""
    frames = sum(1 for line in source.sample if FRAME.match(line))
    if frames < 2 or frames * 5 < len(source.sample):
        return False
    return any(HEAD.match(line) or EXCEPTION.match(line) for line in source.sample)


def digest(source: Source) -> Digest:
    """Exceptions and causes first; then, of each stack, the frames nearest to the fault, its own before a library's."""
    lines = source.lines
    frames = [place for place in source.filled if FRAME.match(lines[place]) and not EXCEPTION.match(lines[place])]
    pieces: list[Piece] = []
    if frames:
        pieces.append(note(f"{len(frames)} stack frames", 0.5))
    frame_rank = ranked_frames(lines, frames)
    raised = openers = 0
    follows_message = False
    for place in source.filled:
        line = lines[place]
        if place == source.filled[-1] and place not in frame_rank and not OMITTED.match(line):
            pieces.append(line_piece(source, place, FAILURE - 0.25))
        elif OMITTED.match(line):
            pieces.append(line_piece(source, place, REST))
        elif frame_rank.get(place, 0.0) >= NOISE or frame_rank.get(place - 1, 0.0) >= NOISE:
            continue
        elif place in frame_rank:
            pieces.append(line_piece(source, place, frame_rank[place], "frames"))
            follows_message = False
        elif EXCEPTION.match(line) or HEAD.match(line):
            opener = line.strip().startswith(("Traceback", "stack backtrace", "goroutine"))
            rank = FAILURE - 0.3 + min(raised * 0.08, 0.9)
            if opener:
                rank = TROUBLE + 0.1 if raised < 2 and not openers else REST
                openers += 1
            raised += not opener
            follows_message = not opener
            pieces.append(line_piece(source, place, rank))
        elif AGAIN.match(line):
            pieces.append(line_piece(source, place, TROUBLE + 0.5))
        elif place - 1 in frame_rank and lines[place - 1].lstrip().startswith("File "):
            # The code of a Python frame stands with its frame.
            pieces.append(line_piece(source, place, frame_rank[place - 1] + 0.15))
        elif follows_message:
            pieces.append(line_piece(source, place, FAILURE + 0.3))
        else:
            pieces.append(line_piece(source, place, min(rank_of(line), EDGE) + 0.2))
    return Digest(pieces, "lines", len(lines))


def ranked_frames(lines: list[str], frames: list[int]) -> dict[int, float]:
    """A rank for each frame: the program's own nearest to the fault first, the root cause's stack before the others'.

    Python prints the frame at fault last in a stack and the root cause first; the others the other way round.
    """
    stacks: list[list[int]] = [[]]
    for index, place in enumerate(frames):
        stacks[-1].append(place)
        following = frames[index + 1] if index + 1 < len(frames) else len(lines)
        if any(EXCEPTION.match(line) or HEAD.match(line) for line in lines[place + 1 : min(following, place + 40)]):
            stacks.append([])
    stacks = [stack for stack in stacks if stack]
    python = bool(frames) and lines[frames[0]].lstrip().startswith("File ")
    causes = sum(1 for line in lines if line.lstrip().startswith("Caused by:"))
    ranks: dict[int, float] = {}
    for number, stack in enumerate(reversed(stacks) if causes else stacks):
        base = TROUBLE + 0.08 * number if number < 4 else REST
        inward = list(reversed(stack)) if python else stack
        own = [one for one in inward if not FOREIGN.search(lines[one])]
        for depth, one in enumerate(inward):
            ranks[one] = base + 1.2 + 0.25 * depth
        for depth, one in enumerate(own):
            ranks[one] = min(ranks[one], base + 0.2 + 0.2 * depth)
        if not own:
            ranks[inward[0]] = min(ranks[inward[0]], base + 0.5)
    return ranks
