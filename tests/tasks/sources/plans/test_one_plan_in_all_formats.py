"""The same plan, said in each format, is the same frame of tasks, but for what a format cannot say."""

from __future__ import annotations

import json
from dataclasses import dataclass

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.sources.files import InputFile
from tasks.sources.graph import settled
from tasks.sources.plans import formats, recognised
from tests.tasks.sources.plan_reading import read_graph

WORD = st.text("abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=9)
SENTENCE = st.lists(WORD, min_size=3, max_size=8).map(lambda words: f"Let {' '.join(words)}.")
LINE = st.lists(WORD, min_size=2, max_size=6).map(lambda words: f"It {' '.join(words)}")
PATH = st.tuples(WORD, WORD, st.sampled_from(["py", "ts", "go", "md"])).map(lambda parts: "src/{}/{}.{}".format(*parts))


@dataclass(frozen=True)
class Task:
    title: str
    sentences: list[str]
    paths: list[str]
    criteria: list[str]
    needs: list[int]  # places of earlier tasks
    done: bool
    part_of: int | None = None

    @property
    def description(self) -> str:
        named = [f"It touches {' and '.join(f'`{path}`' for path in self.paths)}."] if self.paths else []
        return " ".join([*self.sentences, *named])


@st.composite
def plans(draw: st.DrawFn, *, parts: bool = False) -> list[Task]:
    tasks: list[Task] = []
    for place in range(draw(st.integers(1, 7))):
        wholes = [other for other, task in enumerate(tasks) if task.part_of is None]
        part_of = draw(st.none() | st.sampled_from(wholes)) if parts and wholes else None
        near = [other for other in range(place) if tasks[other].part_of == part_of]
        tasks.append(
            Task(
                title=draw(LINE),
                sentences=draw(st.lists(SENTENCE, min_size=1, max_size=3)),
                paths=draw(st.lists(PATH, max_size=2, unique=True)),
                criteria=draw(st.lists(LINE, max_size=3, unique=True)),
                needs=draw(st.lists(st.sampled_from(near), max_size=3, unique=True)) if near else [],
                done=draw(st.booleans()),
                part_of=part_of,
            )
        )
    return tasks


def zerg(tasks: list[Task], ids: list[str]) -> str:
    rows = [
        {
            "id": ids[place],
            "title": task.title,
            "description": task.description,
            "status": "done" if task.done else "todo",
            "dependencies": [ids[other] for other in task.needs],
            "files": {"modify": task.paths},
            "acceptance_criteria": task.criteria,
            **({"parent": ids[task.part_of]} if task.part_of is not None else {}),
        }
        for place, task in enumerate(tasks)
    ]
    return json.dumps({"feature": "shop", "tasks": rows})


def task_master(tasks: list[Task], ids: list[str]) -> str:
    def row(place: int) -> dict[str, object]:
        task = tasks[place]
        local = ids[place].rpartition(".")[2]
        return {
            "id": int(local),
            "title": task.title,
            "description": task.description,
            "details": "",
            "testStrategy": "",
            "acceptanceCriteria": task.criteria,
            "status": "done" if task.done else "pending",
            "dependencies": [int(ids[other].rpartition(".")[2]) for other in task.needs],
            "subtasks": [row(part) for part, other in enumerate(tasks) if other.part_of == place],
        }

    return json.dumps({"shop": {"tasks": [row(place) for place, task in enumerate(tasks) if task.part_of is None]}})


def spec_kit(tasks: list[Task], ids: list[str]) -> str:
    lines = ["# Tasks: Shop", "", "**Input**: Design documents from `/specs/shop/`", ""]
    for place, task in enumerate(tasks):
        lines += [
            f"- [{'x' if task.done else ' '}] {ids[place]} {task.title}",
            f"  {task.description}",
            f"  - **AC**: {'; '.join(task.criteria)}" if task.criteria else "",
            f"  - **Depends on**: {', '.join(ids[other] for other in task.needs) or '(none)'}",
        ]
    return "\n".join(line for line in lines if line) + "\n"


def beads(tasks: list[Task], ids: list[str]) -> str:
    def edge(place: int, other: int, kind: str) -> dict[str, str]:
        return {"issue_id": ids[place], "depends_on_id": ids[other], "type": kind}

    rows = [
        {
            "id": ids[place],
            "title": task.title,
            "description": task.description,
            "acceptance_criteria": "\n".join(f"- {line}" for line in task.criteria),
            "status": "closed" if task.done else "open",
            "priority": 1,
            "issue_type": "task",
            "created_at": "2026-01-01T00:00:00Z",
            "dependencies": [edge(place, other, "blocks") for other in task.needs]
            + ([edge(place, task.part_of, "parent-child")] if task.part_of is not None else []),
        }
        for place, task in enumerate(tasks)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def numbered(tasks: list[Task]) -> list[str]:
    """Ids as Task Master has them: parts count within their whole."""
    ids: list[str] = []
    for place, task in enumerate(tasks):
        count = 1 + sum(other.part_of == task.part_of for other in tasks[:place])
        ids.append(str(count) if task.part_of is None else f"{ids[task.part_of]}.{count}")
    return ids


IDS = {
    "zerg": numbered,
    "task-master": numbered,
    "spec-kit": lambda tasks: [f"T{place + 1:03d}" for place in range(len(tasks))],
    "beads": lambda tasks: [f"shop-{place:03x}" for place in range(len(tasks))],
}
WRITERS = {"zerg": zerg, "task-master": task_master, "spec-kit": spec_kit, "beads": beads}
SAME = (
    "title",
    "description",
    "progress",
    "files_create",
    "files_modify",
    "files_read",
    "acceptance_criteria",
    "level",
)


def said_in(name: str, tasks: list[Task]) -> list[dict[str, object]]:
    """The tasks as the frame has them, in the plan's order, ids as places in the plan."""
    ids = IDS[name](tasks)
    text = WRITERS[name](tasks, ids)
    found = recognised(text)
    assert found is not None
    assert found.name == name
    plan = settled([read_graph(InputFile.of("plan", text.encode()))])
    place = {task_id: number for number, task_id in enumerate(ids)}
    rows = plan.tasks.filter(pl.col("graph") == "shop").to_dicts()
    assert len(rows) == len(tasks), plan.findings
    return [
        {name: row[name] for name in SAME}
        | {
            "dependencies": [place[other] for other in row["dependencies"]],
            "parent": None if row["parent"] is None else place[row["parent"]],
        }
        for row in sorted(rows, key=lambda row: place[row["task_id"]])
    ]


def test_every_format_has_a_writer_here():
    assert set(formats()) == set(WRITERS)


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "zerg"])
@settings(max_examples=25)
@given(tasks=plans())
def test_a_plan_without_parts_is_the_same_in_every_format(name, tasks):
    assert said_in(name, tasks) == said_in("zerg", tasks)


@pytest.mark.parametrize("name", ["task-master", "beads"])
@settings(max_examples=25)
@given(tasks=plans(parts=True))
def test_a_plan_with_parts_is_the_same_where_a_format_has_parts(name, tasks):
    assert said_in(name, tasks) == said_in("zerg", tasks)
