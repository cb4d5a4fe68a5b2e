"""Whatever goes in: a build comes out in which two readers find nothing wrong, or one sentence says why there is none.

`make fuzz` runs this with many more examples. What it found stands below as a fixed one.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given

from tasks.errors import InputError, SettingsError, StageError
from tasks.settings import load_settings
from tests.fuzz.strategies import Files, choices, files, whole_builds
from tests.swarms import Built, build_swarm, built, event, task

#: What a build may be refused for, exit code 2. A stage may only fail where falling back is switched off.
REFUSALS = (InputError, SettingsError)


def build_of(folder: str, given_files: Files, chosen: dict) -> Built | None:
    """The build of these files, if they make one."""
    try:
        return built(given_files.write(Path(folder)), load_settings(**chosen))
    except REFUSALS as refusal:
        sentence = str(refusal)
        assert sentence.strip()
        assert "\n" not in sentence
        assert list(Path(folder).glob("builds/*")) == []
        return None
    except StageError:
        pytest.fail("a stage broke")


def check(given_files: Files, chosen: dict) -> Built | None:
    with tempfile.TemporaryDirectory() as folder:
        build = build_of(folder, given_files, chosen)
        if build is None:
            return None
        assert build.problems() == []
        assert set(build.tasks["status"]) <= {"ok", "over_budget"}
        assert sorted(path.name for path in build.path.parent.iterdir()) == sorted([build.path.name, "latest"])
        return build


@whole_builds(25)
@given(files(), choices())
def test_a_build_is_sound_or_refused(given_files, chosen):
    check(given_files, chosen)


@pytest.mark.parametrize("action", ["drop", "redact"])
def test_a_plan_without_anything_to_do_shows_nothing_that_is_closed(action, tmp_path):
    """No stage has a task to work for, and yet the items are written down."""
    events = [
        event("e1", "agent_msg", "The vault is blue.", sensitivity="restricted"),
        event("e2", "tool_result", "row of the vault\n" * 90, "e1"),
        event("e3", "tool_result", "row of the shop\n" * 90),
    ]
    policy = {"sensitivity_action": action}
    done = build_swarm(tmp_path, [task("T-1", status="done")], events=events, settings=load_settings(policy=policy))
    assert done.tasks.is_empty()
    assert b"vault" not in done.everything()
    assert done.problems() == []


def test_a_task_of_which_every_candidate_goes_before_scoring_has_its_context(tmp_path):
    """As with a floor that closes everything, and all rows written down."""
    chosen = load_settings(policy={"sensitivity_floor": "public"}, audit={"max_rows_per_task": 0})
    done = build_swarm(tmp_path, [task("T-1")], settings=chosen)
    assert set(done.contexts["decision"]) == {"dropped"}
    assert len(done.contexts) == done.task("T-1")["candidates"]
    assert done.problems() == []


def test_an_ancestor_of_another_graph_comes_along(tmp_path):
    events = [
        event("e1", "user_turn", "Please look after the shop.", graph="elsewhere"),
        event("e2", "agent_msg", "It is looked after.", "e1"),
    ]
    done = build_swarm(tmp_path, [task("T-1")], events=events)
    assert {"e1", "e2"} <= set(done.selected("T-1"))
    assert done.problems() == []
