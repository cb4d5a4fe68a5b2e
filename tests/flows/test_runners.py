"""Shards on other workers give the bytes that one process gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.flows.serving import contents

SHARDS = "5"


@pytest.fixture(scope="module")
def cluster():
    """A Dask scheduler and two worker processes on loopback."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
    ) as running:
        yield running.scheduler_address


def spread_build(sample, out, monkeypatch, **given):
    from flows.build import build_contexts

    monkeypatch.setenv("PREBRIEF_RUN__SHARDS", SHARDS)
    return Path(build_contexts(**sample, out=str(out), **given)["path"])


def test_a_dask_cluster_of_two_processes_gives_the_same_bytes(server, sample, built, cluster, tmp_path, monkeypatch):
    path = spread_build(sample, tmp_path, monkeypatch, runner="dask", address=cluster)
    assert contents(path) == contents(built.path)
    runs = server.task_runs(server.latest_run("build-contexts")["id"], 0)
    assert {f"run_shard-{number}" for number in range(int(SHARDS))} <= {run["name"] for run in runs}


def test_threads_give_the_same_bytes(server, sample, built, tmp_path, monkeypatch):
    assert contents(spread_build(sample, tmp_path, monkeypatch, runner="threads")) == contents(built.path)


def test_shards_of_several_graphs_hold_one_graph_each(tmp_path):
    from tasks.pipeline import STAGES
    from tasks.recovery import guarded
    from tasks.settings import load_settings
    from tasks.shards import shards
    from tests.tasks.batches import batch, said

    tasks = [{"graph": graph, "task_id": f"t{place}"} for graph in ("a", "b", "c") for place in range(4)]
    settings = load_settings()
    whole = batch([said(f"e{place}") for place in range(6)], tasks)
    for stage in STAGES[:4]:
        whole, _ = guarded(stage, whole, settings)
    cut = list(shards(whole, settings, 4))
    assert [part.tasks["graph"].n_unique() for part in cut] == [1] * len(cut)
    assert len(cut) >= 4
    assert sorted(task for part in cut for task in part.tasks["task"]) == sorted(whole.tasks["task"])


@pytest.mark.parametrize(("runner", "words"), [("slurm", "threads, dask, ray"), ("ray", r"prebrief\[ray\]")])
def test_a_runner_that_is_not_there_is_refused(runner, words):
    from flows.runners import RunnerError, spread_on

    if runner == "ray":
        pytest.importorskip("prefect", reason="needs Prefect")
        try:
            import prefect_ray  # noqa: F401
        except ImportError:
            pass
        else:
            pytest.skip("prefect-ray is installed here")
    with pytest.raises(RunnerError, match=words):
        spread_on(runner)


def test_a_cluster_that_does_not_answer_is_refused(server, sample, tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    from flows.runners import RunnerError

    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "2s")
    with pytest.raises(RunnerError, match="cannot be reached"):
        spread_build(sample, tmp_path, monkeypatch, runner="dask", address="tcp://127.0.0.1:9")
