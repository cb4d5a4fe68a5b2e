# ruff: noqa: PLR2004 - thresholds are tuned and read best where they are used
"""Runs of tests: pytest, unittest, Jest, Vitest, Mocha, TAP, go test, cargo test, Maven, Gradle, RSpec, PHPUnit."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from tasks.summaries.pieces import Digest, Piece, graded, line_piece, note
from tasks.summaries.signals import (
    EDGE,
    EXCEPTION,
    FACT,
    FAILURE,
    NOISE,
    REST,
    STATUS,
    TROUBLE,
    WARNING,
    rank_of,
    template,
    unbanner,
)

if TYPE_CHECKING:
    from tasks.summaries.source import Source

FINAL = re.compile(
    r"=+ .*(?:passed|failed|error|no tests ran|skipped).* in [\d.:]+|(?:=+ )?\d+ (?:passed|failed)\b.* in [\d.]+s"
    r"|Ran \d+ tests? in|FAILED \((?:failures|errors)|OK(?: \(.*\))?$"
    r"|\s*(?:Tests|Test Suites|Test Files|Snapshots|Suites):?\s+.*\d|test result: |\s*\d+ (?:passing|failing"
    r"|pending)\b|# (?:tests|pass|fail|suites|todo|skipped)\s+\d|1\.\.\d+"
    r"|(?:\[(?:ERROR|INFO|WARNING)\] )?Tests run: \d+|\d+ examples?, \d+ failures?|BUILD (?:FAILED|SUCCESSFUL"
    r"|SUCCESS|FAILURE)|FAIL$|(?:Failed|Passed)!\s+- |FAILURES!|Tests: \d+, Assertions"
    r"|error: test failed|Test run (?:failed|successful)|DONE \d+ tests|Result: (?:FAIL|PASS)|Files=\d+, Tests=\d+"
    r"|\d+ tests completed|[A-Z]+: \d+ tests?|Coverage failure|FAIL Required test coverage"
)
FAILING = re.compile(
    r"(?:FAILED|ERROR) \S+|FAIL:? +\S|ERROR: \S+ \(|\s*--- FAIL: |\s*● .+ › |\s*(?:✕|✗|×|✖) \S"
    r"|\s*test .+ \.\.\. FAILED|\s*not ok \d+|\s*\d+\) \S|.+::.+ (?:FAILED|ERROR)\b"
    r"|\[ERROR\]\s+\S+\.\S+:\d+|rspec \./|.+ > .+ FAILED|\s*(?:FAIL|Failed) +\S+|\[\s*FAILED\s*\] \S|FAIL\t\S"
    r"|---- .+ stdout ----|\s*Failed \S+ \["
)
SAID = re.compile(
    r"E +(?:\S*(?:Error|Exception|Failed)\b|assert|AssertionError)|\s*(?:[\w.]*(?:AssertionError"
    r"|AssertionException|Error|Exception)\b.*:)|\s*(?:Expected|Received|expected|actual|got|want|wanted|left"
    r"|right)\b.{0,16}?:"
    r"|\s*expect\(|thread '.*' panicked|\s+\S+_test\.go:\d+:|assertion `?.*failed|\s*Failure/Error:"
    r"|\s*\+ expected - actual|panic:|\s*[-+] Expected|\s*message: |\s*Error Message:|\s*at .*\.(?:test|spec)\."
)
WHERE = re.compile(
    r"\S+\.\w{1,4}:\d+: [A-Z]\w*(?:Error|Exception|Failure)?|\s*> ?\d+ \||\s*❯ \S+:\d+:\d+"
    r"|\s+at .+[(/].+:\d+:\d+\)?$|>\s+\S|\s+File \".+\", line \d+"
)
PASSED = re.compile(
    r".* PASSED\b.*|\s*(?:✓|✔|√) .*|test .+ \.\.\. ok$|\s*--- PASS: .*|ok \d+ .*|PASS +\S+.*|ok\s+\S+\t.*"
    r"|\S+\.py [.sxXFE]+ +\[ *\d+%\]|\s*\[\s+OK \].*|.* \.\.\. ok$|=== RUN .*|\[\s*RUN\s*\].*"
)
SKIPPED = re.compile(
    r"(?:.* SKIPPED\b|SKIPPED \[|\s*(?:○|-|↓) .*skipped|test .+ \.\.\. ignored|\s*--- SKIP:|XFAIL |.* \.\.\. skipped)"
)
CODE_MARK = re.compile(r"\s*(?:\d+ )?\| ?\s*\^|[\s^~-]+$|[_=*-]{5,}$|[. sxFE]+$")


def detect(source: Source) -> bool:
    """A closing count as test runners print it, beside lines of tests."""
    lines = [source.lines[place] for place in (*source.filled[:3_000], *source.filled[3_000:][-400:])]
    finals = sum(1 for line in lines if len(line) < 300 and FINAL.match(line))
    if not finals:
        return False
    tests = sum(1 for line in lines if len(line) < 400 and (PASSED.match(line) or FAILING.match(line)))
    session = any(
        line.startswith(("===== test session starts", "============================= test session", "running "))
        for line in lines
    )
    return session or tests >= 2 or (finals >= 2 and tests >= 1)


def kind_of(line: str) -> str:
    """What a line of a test run is."""
    if len(line) > 600:
        return ""
    if FINAL.match(line):
        return "final"
    if FAILING.match(line):
        return "failing"
    if SAID.match(line):
        return "said"
    if PASSED.match(line):
        return "passed"
    if SKIPPED.match(line):
        return "skipped"
    return "where" if WHERE.match(line) else ""


def digest(source: Source) -> Digest:
    """Final counts, every failing name that fits, what each failure said and where; passed tests as a number."""
    lines = source.lines
    groups: dict[str, list[int]] = {}
    for place in source.filled:
        groups.setdefault(kind_of(lines[place]), []).append(place)
    pieces: list[Piece] = []
    tally = Counter({kind: len(groups.get(kind, ())) for kind in ("passed", "skipped")})
    if tally["passed"] > 1:
        pieces.append(note(f"{tally['passed']} lines of passed tests left out", FACT + 0.5, source.filled[-1] + 0.5))
    finals = groups.get("final", [])
    for place in finals[-60:]:
        common = template(lines[place])
        alike = sum(1 for other in finals if template(lines[other]) == common)
        fails = rank_of(lines[place]) <= FAILURE + 0.2
        rank = REST if alike > 3 and not fails and place not in finals[-2:] else STATUS if place in finals[-7:] else 0.6
        pieces.append(shown(source, place, rank))
    names = distinct_names(lines, groups.get("failing", []))
    pieces += graded((shown(source, place, FAILURE, "failing tests") for place in names[:200]), FAILURE - 0.4, 0.05)
    pieces += graded_said(source, groups.get("said", []))
    for order, place in enumerate(groups.get("where", [])[:80]):
        foreign = "node_modules" in lines[place] or "site-packages" in lines[place] or "internal" in lines[place]
        pieces.append(shown(source, place, NOISE if foreign else TROUBLE + 0.5 + 0.12 * order))
    for order, place in enumerate(groups.get("skipped", [])[:20]):
        pieces.append(shown(source, place, EDGE + 0.1 * order))
    others = groups.get("", [])
    for place in others:
        line = lines[place]
        if CODE_MARK.match(line):
            continue
        found = rank_of(line)
        if EXCEPTION.match(line):
            rank = FAILURE + 0.3
        elif found < REST:
            rank = min(found + 0.8, WARNING + 0.8)
        elif line.startswith(("collected ", "running ", "platform ", "rootdir")):
            rank = TROUBLE + 0.7
        else:
            rank = REST + min(place / len(lines), 1)
        if len(pieces) < 4_000:
            pieces.append(shown(source, place, rank))
    whole = Digest(pieces, "lines", len(lines))
    whole.labels["failing tests"] = len(names)
    return whole


def shown(source: Source, place: int, rank: float, label: str = "") -> Piece:
    """The line, out of its banner."""
    return line_piece(source, place, rank, label, unbanner(source.lines[place]))


def distinct_names(lines: list[str], places: list[int]) -> list[int]:
    """Failing lines, one a test: runners repeat a test's name in their progress, in its report and in the end.

    The fullest line of each stays, which for pytest is the last one.
    """
    best: dict[str, int] = {}
    for place in places:
        bare = re.sub(r"\s*(?:\[ *\d+%\]|\([\d.]+ ?m?s\)|\d+ ?ms)\s*$", "", lines[place])
        bare = re.sub(r"^\W*(?:FAILED|ERROR|FAIL|\d+\))?:?\s*", "", bare)
        name = re.sub(r"\s+(?:FAILED|ERROR)\b.*$|\s+- .*$|\s*\.\.\. FAILED$", "", bare).strip()
        known = best.get(name)
        if known is None or (fullness(lines[place]), place) > (fullness(lines[known]), known):
            best[name] = place
    return sorted(best.values())


def fullness(line: str) -> int:
    """How much a line says, its padding and progress aside."""
    return len(re.sub(r"\s+", " ", re.sub(r"\[ *\d+%\]$", "", line)))


def graded_said(source: Source, places: list[int]) -> list[Piece]:
    """What failures said: the first lines of each before the second of any."""
    pieces: list[Piece] = []
    run = 0
    before = -9
    groups = 0
    for place in places[:300]:
        run = run + 1 if place <= before + 2 else 0
        groups += run == 0
        before = place
        pieces.append(shown(source, place, FAILURE + 0.25 + 0.2 * run + 0.06 * groups))
    return pieces
