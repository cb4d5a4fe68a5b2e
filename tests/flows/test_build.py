"""The flow: eight stage tasks beside load and write, the same bytes as a direct build, and what Prefect gets to see."""

from __future__ import annotations

import gc
import json
import sys
import weakref
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import pytest

from tasks.batch import Batch
from tasks.building import build
from tasks.errors import InputError, OutputError, SettingsError
from tasks.settings import Settings
from tasks.sources.inputs import Request
from tasks.terms import STAGE_NAMES
from tests.flows.serving import contents, eventually

AROUND = 2  # load and write


def directly(sample, out: Path, settings: Settings | None = None) -> Path:
    request = Request(graphs=tuple(map(Path, sample["graphs"])), history=tuple(map(Path, sample["history"])))
    return build(request, settings or Settings(), out).path


def stems(runs: list[dict]) -> list[str]:
    return [run["name"].rpartition("-")[0] for run in runs]


def test_each_stage_is_one_task_run_in_order_between_load_and_write(built, server):
    runs = server.task_runs(built.run["id"], len(STAGE_NAMES) + AROUND)
    assert stems(runs) == ["load_inputs", *STAGE_NAMES, "write_outputs"]
    assert {run["state_type"] for run in runs} == {"COMPLETED"}


def test_a_flow_and_a_direct_build_give_the_same_bytes(built, sample, tmp_path):
    plain = directly(sample, tmp_path)
    assert plain.name == built.path.name
    assert contents(plain) == contents(built.path)


def test_the_flow_points_latest_at_its_build(built):
    assert (built.out / "latest").resolve() == built.path
    assert {path.name for path in built.out.iterdir()} == {"latest", built.path.name}


def test_the_flow_returns_plain_data(built):
    assert json.loads(json.dumps(built.outcome)) == built.outcome
    assert built.outcome["fresh"]
    assert built.outcome["statuses"] == {"ok": built.outcome["tasks"]}


def test_flow_parameters_are_paths_and_scalars(built):
    given = {name: value for name, value in built.run["parameters"].items() if value is not None}
    assert given == {**built.given, "cache": True}


def test_the_table_artifact_counts_each_stage(built, server):
    query = {"artifacts": {"flow_run_id": {"any_": [built.run["id"]]}, "key": {"any_": ["prebrief-stages"]}}}
    (artifact,) = server.ask("artifacts/filter", query)
    rows = json.loads(artifact["data"])
    assert artifact["type"] == "table"
    assert [row["stage"] for row in rows] == list(STAGE_NAMES)
    assert rows[-1]["candidates_out"] == built.outcome["included"]
    assert all(row["candidates_in"] == before["candidates_out"] for before, row in pairwise(rows))


def test_the_markdown_artifact_sums_the_build_up(built, server):
    query = {"artifacts": {"flow_run_id": {"any_": [built.run["id"]]}, "key": {"any_": ["prebrief-summary"]}}}
    (artifact,) = server.ask("artifacts/filter", query)
    assert artifact["type"] == "markdown"
    assert built.outcome["build_id"] in artifact["data"]
    assert f"{built.outcome['tasks']} ok" in artifact["data"]


def test_an_event_tells_of_the_build(built, server):
    (event,) = eventually(lambda: server.events(built.run["id"], "prebrief."), len)
    assert event["event"] == "prebrief.build.completed"
    assert event["resource"]["prefect.resource.id"] == f"prebrief.build.{built.outcome['build_id']}"
    assert event["payload"] == built.outcome


def test_a_second_run_finds_the_build_without_running_a_stage(built, server):
    from flows.build import build_contexts

    again = build_contexts(**built.given)
    assert again == {**built.outcome, "fresh": False}
    run = server.latest_run("build-contexts")
    assert run["id"] != built.run["id"]
    eventually(lambda: server.events(run["id"], "prebrief."), len)  # sent last, so all task runs would be there
    assert server.task_runs(run["id"], 0) == []


def test_shards_are_task_runs_of_their_own_and_change_no_byte(built, server, sample, tmp_path, monkeypatch):
    from flows.build import build_contexts

    most = built.outcome["included"] + built.outcome["dropped"]
    monkeypatch.setenv("PREBRIEF_RUN__SHARD_PAIRS", str(most * 2 // 3))
    outcome = build_contexts(**sample, out=str(tmp_path))
    assert contents(Path(outcome["path"])) == contents(built.path)
    runs = server.task_runs(server.latest_run("build-contexts")["id"], AROUND + 4 + 2 * 4)
    shards = [*STAGE_NAMES[:4], *STAGE_NAMES[4:], *STAGE_NAMES[4:]]
    assert stems(runs) == ["load_inputs", *shards, "write_outputs"]
    assert [run["name"] for run in runs[5:13]] == [f"{name}-{shard}" for shard in (0, 1) for name in STAGE_NAMES[4:]]


class Watched(Batch):
    """A batch that notes which modules take frames out of it."""

    readers: ClassVar[set[str]] = set()

    def __getattribute__(self, name):
        if not name.startswith("_"):
            Watched.readers.add(sys._getframe(1).f_globals["__name__"])
        return super().__getattribute__(name)


def test_prefect_neither_walks_nor_keeps_nor_stores_frames(server, sample, tmp_path, monkeypatch):
    from flows import build as module
    from tasks import making

    alive: list[weakref.ref] = []

    def watched(inputs, settings, load=making.load):
        batch = Watched(**vars(load(inputs, settings)))
        alive.append(weakref.ref(batch))
        return batch

    monkeypatch.setattr(making, "load", watched)
    stored = set(server.home.glob("storage/*"))
    Watched.readers.clear()
    module.build_contexts(**sample, out=str(tmp_path), budget=5000)
    assert "tasks.stages.candidates" in Watched.readers
    assert not [name for name in Watched.readers if name.startswith("prefect")]
    gc.collect()
    assert [batch() for batch in alive] == [None]
    assert set(server.home.glob("storage/*")) == stored


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"graphs": ["nowhere.json"]}, InputError),
        ({"budget": 0}, SettingsError),
        ({"config": "nowhere.toml"}, SettingsError),
        ({"out": "/dev/null/builds"}, OutputError),
    ],
    ids=["graphs", "budget", "config", "out"],
)
def test_what_is_refused_fails_the_run_with_its_own_error(server, sample, tmp_path, change, error):
    from flows.build import build_contexts

    with pytest.raises(error):
        build_contexts(**{**sample, "out": str(tmp_path), **change})
    assert server.latest_run("build-contexts")["state_type"] == "FAILED"
    assert not list(tmp_path.iterdir())


def test_the_settings_file_of_the_working_folder_counts(built, server, sample, tmp_path, monkeypatch):
    from flows.build import build_contexts

    (tmp_path / "prebrief.toml").write_text("[budget]\ntokens = 3500\n")
    monkeypatch.chdir(tmp_path)
    outcome = build_contexts(**sample)
    assert outcome["budget_tokens"] == 3500 * outcome["tasks"]
    assert Path(outcome["path"]).parent == tmp_path / "builds"
