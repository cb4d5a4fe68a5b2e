"""Case files: a realistic output, written with `%% repeat` blocks where tools repeat themselves.

A block `%% repeat 40` … `%% end` stands for its lines forty times; inside, «n» is the number of the round (from 1; «n:03»
padded; «n+7» shifted), «w» a word of the case's `words` in turn, «h» seven hex digits, «h40» forty, «t» a time of the day that advances,
«r:10:99» a number in that range. All are the same in every run.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

CASES = Path(__file__).parent / "cases"
MARK = re.compile(r"«(\w)([^»]*)»")


@dataclass(frozen=True)
class Case:
    """One output, the facts that must survive in its summary, and some that may go."""

    name: str
    output: str
    facts: tuple[str, ...]
    may_go: tuple[str, ...]
    media_type: str | None


def load() -> list[Case]:
    """All cases, by name."""
    return [read(path) for path in sorted(CASES.glob("*.toml"))]


def read(path: Path) -> Case:
    raw = tomllib.loads(path.read_text(encoding="utf-8"))
    output = expand(raw["output"], raw.get("words", ["alpha"]), path.stem)
    if raw.get("line_end") == "crlf":
        output = output.replace("\n", "\r\n")
    if raw.get("joined"):
        output = output.replace("\n", "")
    return Case(path.stem, output, tuple(raw["facts"]), tuple(raw.get("may_go", ())), raw.get("media_type"))


def expand(text: str, words: list[str], seed: str) -> str:
    """The text with its blocks repeated."""
    lines: list[str] = []
    block: list[str] | None = None
    times = 0
    blocks = 0
    for line in text.split("\n"):
        if line.startswith("%% repeat "):
            block, times = [], int(line.split()[2])
            blocks += 1
        elif line == "%% end":
            assert block is not None
            for number in range(1, times + 1):
                lines += [
                    fill(one, number, words, f"{seed}/{blocks}/{number}/{index}") for index, one in enumerate(block)
                ]
            block = None
        elif block is not None:
            block.append(line)
        else:
            lines.append(line)
    assert block is None, f"{seed}: a block without its end"
    return "\n".join(lines)


def fill(line: str, number: int, words: list[str], seed: str) -> str:
    count = 0

    def value(found: re.Match[str]) -> str:
        nonlocal count
        count += 1
        kind, rest = found[1], found[2]
        digest = hashlib.sha256(f"{seed}/{count}".encode()).hexdigest()
        if kind == "n":
            shift, _, form = rest.partition(":")
            return format(number + int(shift or 0), form)
        if kind == "w":
            return words[(number - 1 + int(rest or 0)) % len(words)]
        if kind == "h":
            return digest[: int(rest or 7)]
        if kind == "t":
            seconds = 36_000 + number * 7
            return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        if kind == "r":
            low, high = map(int, rest[1:].split(":"))
            return str(low + int(digest[:8], 16) % (high - low + 1))
        raise AssertionError(found[0])

    return MARK.sub(value, line)
