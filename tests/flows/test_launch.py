"""`prebrief build --flow`: quiet, offline, one sentence on trouble, nothing left in the home or running."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from flows import launch
from tests.flows.serving import BIN, clean_environment, contents, eventually

PREBRIEF = BIN / "prebrief"


@pytest.fixture
def joined(alone, server) -> dict[str, str]:
    """The same person's environment once they run a server."""
    return server.environment(HOME=alone["HOME"], XDG_CACHE_HOME=alone["XDG_CACHE_HOME"])


def command(sample, *more: str) -> list[str]:
    logs = [word for log in sample["history"] for word in ("--history", log)]
    return [str(PREBRIEF), "build", *sample["graphs"], *logs, *more]


def run(words: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=300)


def children(process: int) -> list[int]:
    """The processes that were started by one, from the system's own tables."""
    return [int(number) for number in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def test_the_embedded_server_is_quiet_and_leaves_the_home_empty(alone, home, built, sample, tmp_path):
    plain = run(command(sample, "--out", str(tmp_path / "out")), alone)
    made = contents(tmp_path / "out" / built.path.name)
    shutil.rmtree(tmp_path / "out")
    flow = run(command(sample, "--out", str(tmp_path / "out"), "--flow"), alone)
    assert (flow.returncode, flow.stderr, flow.stdout) == (0, "", plain.stdout)
    assert contents(tmp_path / "out" / built.path.name) == made == contents(built.path)
    assert list(home.iterdir()) == []
    assert (tmp_path / "cache" / "prebrief" / "prefect" / "prefect.db").exists()


def test_a_run_that_is_stopped_takes_its_server_along(alone, home, sample, tmp_path):
    words = command(sample, "--out", str(tmp_path / "out"), "--flow")
    mine = tmp_path / "prefect"
    environment = alone | {"PREFECT_HOME": str(mine)}
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        eventually(lambda: list(mine.glob("prefect.db")), len)  # the server is starting
        (server,) = children(process.pid)
        process.terminate()
        said = process.communicate(timeout=60)
    assert (process.returncode, *said) == (128 + signal.SIGTERM, "", "")
    assert not Path(f"/proc/{server}").exists()
    assert list(home.iterdir()) == []


def test_a_running_server_is_used(server, built, sample, joined, tmp_path):
    before = server.latest_run("build-contexts")["id"]
    done = run(command(sample, "--out", str(tmp_path / "out"), "--flow"), joined)
    assert (done.returncode, done.stderr) == (0, "")
    assert server.latest_run("build-contexts")["id"] != before


@pytest.mark.parametrize("given", [{}, {"PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "60"}], ids=["default", "asked for"])
def test_heartbeats_are_sent_where_they_are_asked_for(server, built, sample, joined, tmp_path, given):
    """Prefect waits up to a second for the end of what sends them."""
    done = run(command(sample, "--out", str(tmp_path / "out"), "--flow"), joined | given)
    assert (done.returncode, done.stderr) == (0, "")
    made = server.latest_run("build-contexts")["id"]
    assert made != built.run["id"]
    eventually(lambda: server.events(made, "prefect.flow-run.Completed"), len)  # events come in their order
    assert bool(server.events(made, "prefect.flow-run.heartbeat")) == bool(given)


@pytest.mark.parametrize(
    ("more", "code"), [(["--config", "nowhere.toml"], 2), (["--budget", "200"], 3)], ids=["refused", "over budget"]
)
def test_what_it_says_and_its_exit_code_are_those_of_a_direct_build(sample, joined, tmp_path, more, code):
    words = command(sample, *more, "--out", str(tmp_path / "out"))
    plain = run(words, joined)
    shutil.rmtree(tmp_path / "out", ignore_errors=True)
    flow = run([*words, "--flow"], joined)
    assert (flow.returncode, flow.stdout, flow.stderr) == (plain.returncode, plain.stdout, plain.stderr)
    assert flow.returncode == code


def test_a_server_that_is_not_there_is_one_sentence(sample, alone, tmp_path):
    done = run(
        command(sample, "--out", str(tmp_path / "out"), "--flow"), alone | {"PREFECT_API_URL": "http://127.0.0.1:9/api"}
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error SERVER: no Prefect server answers at http://127.0.0.1:9/api")
    assert done.stderr.count("\n") == 1


def test_a_server_that_goes_away_is_one_sentence(server):
    import httpx

    with (
        pytest.raises(launch.ServerError, match=r"stopped answering \(ConnectError\)"),
        launch._naming_server_trouble(),
    ):
        raise httpx.ConnectError("all connection attempts failed")


def test_other_errors_are_not_blamed_on_the_server(server):
    with pytest.raises(ZeroDivisionError), launch._naming_server_trouble():
        raise ZeroDivisionError


class TestEnvironment:
    @pytest.fixture(autouse=True)
    def fresh(self, monkeypatch, home, tmp_path):
        monkeypatch.setattr("logging.raiseExceptions", True)
        monkeypatch.setattr(os, "environ", clean_environment() | {"HOME": str(home), "XDG_CACHE_HOME": str(tmp_path)})
        monkeypatch.setattr(Path, "home", lambda: home)

    def test_without_a_home_of_prefect_the_cache_serves(self, tmp_path):
        launch.prepare_environment()
        assert os.environ["PREFECT_HOME"] == str(tmp_path / "prebrief" / "prefect")

    def test_a_home_that_is_set_stays(self, tmp_path):
        os.environ["PREFECT_HOME"] = "/mine"
        launch.prepare_environment()
        assert os.environ["PREFECT_HOME"] == "/mine"

    def test_a_home_that_exists_is_used(self, home):
        (home / ".prefect").mkdir()
        launch.prepare_environment()
        assert "PREFECT_HOME" not in os.environ

    @pytest.mark.parametrize("cache", [True, False])
    def test_without_a_cache_a_temporary_folder_serves(self, tmp_path, cache):
        if cache:
            os.environ["XDG_CACHE_HOME"] = "/dev/null"
        launch.prepare_environment(cache=cache)
        folder = Path(os.environ["PREFECT_HOME"])
        assert folder.parent.parent == Path(tempfile.gettempdir())
        folder.rmdir()

    def test_no_analytics_and_no_proxy_to_the_own_machine(self):
        os.environ["NO_PROXY"] = "example.org"
        launch.prepare_environment()
        assert os.environ["PREFECT_SERVER_ANALYTICS_ENABLED"] == "false"
        assert os.environ["DO_NOT_TRACK"] == "1"
        assert os.environ["NO_PROXY"] == "example.org,127.0.0.1,localhost"

    def test_who_sets_a_log_level_reads_the_log(self):
        os.environ["PREFECT_LOGGING_LEVEL"] = "INFO"
        launch.prepare_environment()
        assert "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL" not in os.environ
