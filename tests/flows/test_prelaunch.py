"""The gate before a launch: it opens for a sound build, and says why it stays shut."""

from __future__ import annotations

import pytest

from tests.flows.serving import eventually

SMALL = 200  # tokens; few briefs of the sample fit


def gate_events(server) -> list[dict]:
    run = server.latest_run("prelaunch")
    return server.events(run["id"], "prebrief.gate")


def test_the_gate_opens_for_a_sound_build(built, server):
    from flows.prelaunch import prelaunch

    assert prelaunch(**built.given) == built.outcome["path"]
    run = server.latest_run("prelaunch")
    assert run["state_type"] == "COMPLETED"
    names = [task["name"].rpartition("-")[0] for task in server.task_runs(run["id"], 3)]
    assert names[-2:] == ["audit_build", "gate"]
    (event,) = eventually(lambda: gate_events(server), len)
    assert event["event"] == "prebrief.gate.passed"
    assert event["payload"]["path"] == built.outcome["path"]


def test_tasks_over_budget_shut_the_gate(server, sample, tmp_path):
    from flows.prelaunch import GateError, prelaunch

    with pytest.raises(GateError, match="over_budget"):
        prelaunch(**sample, out=str(tmp_path), budget=SMALL)
    assert server.latest_run("prelaunch")["state_type"] == "FAILED"
    assert gate_events(server) == []


def test_as_many_tasks_as_allowed_may_be_over_budget(server, sample, tmp_path):
    from flows.build import build_contexts
    from flows.prelaunch import GateError, prelaunch

    given = {**sample, "out": str(tmp_path), "budget": SMALL}
    over = build_contexts(**given)["statuses"]["over_budget"]
    assert prelaunch(**given, allow_not_ok=over)
    with pytest.raises(GateError, match=f"{over} tasks over_budget .* and {over - 1} may be"):
        prelaunch(**given, allow_not_ok=over - 1)


def test_a_damaged_build_shuts_the_gate(server, built, damaged, monkeypatch):
    from flows import prelaunch as module

    monkeypatch.setattr(module, "build_contexts", lambda **given: damaged)
    with pytest.raises(module.GateError, match=rf"prebrief audit {damaged['path']}"):
        module.prelaunch(**built.given, allow_not_ok=99)
    assert gate_events(server) == []


def test_what_a_build_refuses_shuts_the_gate(server, tmp_path):
    from flows.prelaunch import prelaunch
    from tasks.errors import InputError

    with pytest.raises(InputError):
        prelaunch(graphs=["nowhere.json"], out=str(tmp_path))
    assert server.latest_run("prelaunch")["state_type"] == "FAILED"
