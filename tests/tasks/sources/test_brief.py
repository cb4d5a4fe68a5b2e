from __future__ import annotations

import pytest

from tasks.sources.brief import brief_items, brief_text, closed
from tasks.sources.documents import blocks
from tests.tasks.sources.plan_reading import read_graphs


def row(**fields):
    return {
        "task_id": "T2",
        "title": "Log in",
        "description": "Write it.",
        "files_create": [],
        "files_modify": [],
        "files_read": [],
        "files_delete": [],
        "files_inferred": [],
        "progress": "pending",
        "acceptance_criteria": [],
        "verification": "",
        "consumers": [],
        **fields,
    }


def test_a_brief_says_everything_that_the_plan_does():
    task = row(
        files_create=["a.py", "b.py"],
        files_modify=["c.py"],
        files_read=["d.py"],
        files_delete=["e.py"],
        acceptance_criteria=["works", "is fast"],
        verification="pytest -q",
        consumers=["T3", "T4"],
    )
    needed = [row(task_id="T1", title="Model", files_create=["m.py", "n.py"]), row(task_id="T0", title="T0")]
    assert brief_text(task, needed) == (
        "**T2: Log in**\n\nWrite it.\n\n"
        "Create: `a.py`, `b.py`\nModify: `c.py`\nRead: `d.py`\nDelete: `e.py`\n\n"
        "Acceptance criteria:\n- works\n- is fast\n\n"
        "Verification: `pytest -q`\n\n"
        "Depends on:\n- T1 Model, creates `m.py`, `n.py`\n- T0\n\n"
        "Consumers: T3, T4"
    )


def test_what_is_empty_is_not_mentioned():
    assert brief_text(row(description="", title="T2"), []) == "**T2**"


def test_commands_stand_in_code_whatever_they_hold():
    assert "Verification: `` echo `date` ``" in brief_text(row(verification="echo `date`"), [])
    assert "Verification:\n```\na\nb\n```" in brief_text(row(verification="a\nb"), [])
    text = brief_text(row(verification="cat <<'E'\n````\nE"), [])
    assert "Verification:\n`````\ncat" in text
    assert [token.content for token in blocks(text) if token.type == "fence"] == ["cat <<'E'\n````\nE\n"]


@pytest.mark.parametrize("fence", ["```py", "~~~~", "````"])
def test_a_description_with_an_open_fence_does_not_swallow_the_rest(fence):
    text = brief_text(row(description=f"Like this:\n{fence}\nx = 1", consumers=["T3"]), [])
    assert text.endswith(f"x = 1\n{fence.removesuffix('py')}\n\nConsumers: T3")
    assert blocks(text)[-3].type == "paragraph_open"


@pytest.mark.parametrize("text", ["plain", "```\nx\n```", "a\n\n~~~\nx\n~~~\n\nb", "````\n```\n````", "see ``` here"])
def test_closed_texts_stay(text):
    assert closed(text) == text


def test_items_of_each_task(json_file):
    frame, _ = read_graphs(
        [
            json_file(
                {
                    "feature": "demo",
                    "tasks": [
                        {"id": "T1", "title": "Model", "files": {"create": ["m.py"]}},
                        {"id": "T2", "title": "Log in", "dependencies": ["T1"], "context": "Mind the clock."},
                    ],
                }
            )
        ]
    )
    items = {item["item_id"]: item for item in brief_items(frame)}
    assert set(items) == {"demo/T1#brief", "demo/T2#brief", "demo/T2#context"}
    brief, context = items["demo/T2#brief"], items["demo/T2#context"]
    assert (brief["section"], brief["kind"], brief["source"], brief["task_id"]) == ("brief", "user_turn", "brief", "T2")
    assert "- T1 Model, creates `m.py`" in brief["text"]
    assert (context["section"], context["kind"], context["source"]) == ("reference", "plan_state", "plan")
    assert context["text"] == "Mind the clock."


def test_names_that_hold_separators_stay_apart(json_file):
    files = [
        json_file({"feature": "a/b", "tasks": [{"id": "c"}]}, "1.json"),
        json_file({"feature": "a", "tasks": [{"id": "b/c"}]}, "2.json"),
    ]
    frame, _ = read_graphs(files)
    assert len({item["item_id"] for item in brief_items(frame)}) == 2
