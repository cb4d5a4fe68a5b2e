"""Made-up swarms of any size: the same bytes for the same numbers."""

from __future__ import annotations

import json
import random
import string
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

WORDS = 20_000
KINDS = ("user_turn", "agent_msg", "tool_call", "tool_result")


def write_swarm(folder: Path, tasks: int, events: int, passages: int) -> Path:
    """Writes a graph, its spec and a log; returns the folder. Event texts hold 40 words, about 120 tokens."""
    chance = random.Random(f"{tasks}-{events}-{passages}")
    vocabulary = ["".join(chance.choices(string.ascii_lowercase, k=chance.randint(3, 10))) for _ in range(WORDS)]

    def words(count: int) -> str:
        return " ".join(chance.choices(vocabulary, k=count))

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "task-graph.json").write_text(
        json.dumps({"feature": "bench", "tasks": list(_tasks(tasks, chance, words))})
    )
    (folder / "history.jsonl").write_text("".join(json.dumps(event) + "\n" for event in _events(events, words)))
    for name in ("requirements", "design"):
        (folder / f"{name}.md").write_text("\n\n".join(_passages(name, passages // 2, words)) + "\n")
    return folder


def _tasks(count, chance, words):
    for number in range(count):
        earlier = chance.sample(range(number), min(number, 2)) if number % 4 else []
        yield {
            "id": f"T-{number:05d}",
            "title": words(6),
            "description": words(30),
            "level": 1 + number % 4,
            "dependencies": [f"T-{place:05d}" for place in earlier],
            "files": {"create": [f"src/{words(1)}/{words(1)}.py"], "modify": [], "read": []},
            "acceptance_criteria": [words(10)],
            "verification": {"command": "pytest"},
        }


def _events(count, words):
    call = None
    for number in range(count):
        kind = KINDS[number % 4]
        event = {"id": f"e{number}", "kind": kind, "text": words(40)}
        if kind == "tool_call":
            call = event["id"]
        elif kind == "tool_result":
            event["parent_id"] = call
        yield event


def _passages(name, count, words):
    yield f"# {name}"
    for number in range(count):
        if number % 8 == 0:
            yield f"## {words(3)}"
        yield words(40)
