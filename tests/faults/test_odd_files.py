"""Something else in place of a file, a huge file, a hostile name: a finding or one sentence, and never a wait."""

from __future__ import annotations

import json
import os
import signal
import socket
from contextlib import chdir
from pathlib import Path

import pytest

from tasks.assignments import read_assignment
from tasks.building import build
from tasks.errors import InputError, PrebriefError, SettingsError
from tasks.regular import read_regular
from tasks.settings import load_settings
from tasks.sources.inputs import Request, discover
from tasks.zerg_plugin import PrebriefContext
from tests.faults.commands import refused, run, words
from tests.swarms import RULES, Built, build_swarm, built, event, task, write_swarm

KINDS = ("pipe", "device", "folder", "loop")
ALL_KINDS = ("pipe", "socket", "device", "folder", "loop", "nowhere", "unreadable link")
HOSTILE = (
    "..", "../../etc/passwd", "/etc/passwd", "a/../../b", "..\\..\\windows", "C:\\Windows\\x", "\\\\host\\share",
    "CON", "nul", "com1.txt", "LPT9", "aux.", "x" * 300, "ü" * 300, "a\0b", "a\nb", "a\r\nb", ".hidden", ".", " ", "~",
    "~root", "$HOME", "%2e%2e%2f", "-rf", "a:b", "\u202egnp", "latest", "manifest.json", ".part-x", "*", "?", "<a|b>",
)  # fmt: skip


@pytest.fixture(autouse=True)
def patience():
    """Waits for what never comes end here. A signal reaches also what is stuck in the system."""

    def stop(*_):
        pytest.fail("it waits")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(100)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def become(path: Path, kind: str) -> None:
    """Puts something in a file's place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() or path.exists():
        path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with chdir(path.parent), socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)  # the names of sockets are short
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to({"device": "/dev/zero", "loop": path.name, "nowhere": "nowhere"}.get(kind, "/proc/self/mem"))


def whole(folder: Path) -> Request:
    """A request with an input of every sort."""
    request = write_swarm(
        folder, [task("T-1"), task("T-2")], requirements="# Login\n\nlogin\n", design="# Design\n\nlogin\n",
        events=[event("u1", "user_turn", "login")],
    )  # fmt: skip
    (folder / "commands").mkdir()
    (folder / "commands" / "deploy.md").write_text("# Deploy\n\nthe login\n")
    (folder / "rules" / "engineering").mkdir()
    (folder / "rules" / "engineering" / "a.yaml").write_text("rules:\n- id: R1\n  rule: Test the login.\n")
    (folder / "tools.json").write_text(
        json.dumps({"tools": [{"name": "read", "description": "login", "inputSchema": {}}]})
    )
    (folder / "other.json").write_text(json.dumps({"feature": "other", "tasks": [task("O-1")]}))
    named = {"commands": Path("commands"), "tools": Path("tools.json"), "specs": Path("plan")}
    return Request(**{**vars(request), **named, "graphs": (*request.graphs, Path("other.json"))})


INPUTS = (
    "other.json", "plan/requirements.md", "plan/design.md", "logs/history.jsonl", "rules/_core/owasp-2025.md",
    "rules/languages/python/CLAUDE.md", "rules/engineering/a.yaml", "commands/deploy.md", "tools.json",
)  # fmt: skip


class TestInputs:
    def test_in_a_files_place_are_findings(self, tmp_path):
        """All inputs of a build but one graph at once; none is waited for and none is read."""
        for kind in KINDS:
            request = whole(tmp_path / kind)
            for name in INPUTS:
                become(tmp_path / kind / name, kind)
            made = discover(request, load_settings())
            told = {row["where"] for row in made.findings if row["code"].startswith("INPUT_")}
            assert told >= set(INPUTS), made.findings
            assert [graph.label for graph in made.graphs] == ["plan/task-graph.json"]
        result = built(request)
        assert result.status("T-1") == "ok"
        assert Built(result.path).problems() == [], "without the logs, which nobody but prebrief can read now"

    @pytest.mark.parametrize("plan", [
        ".taskmaster/tasks/tasks.json", "specs/001-login/tasks.md", ".beads/issues.jsonl", "plan/task-graph.json",
    ])  # fmt: skip
    @pytest.mark.parametrize("kind", KINDS)
    def test_a_plan_alone_is_refused(self, tmp_path, plan, kind):
        become(tmp_path / plan, kind)
        with pytest.raises(InputError, match="There is no readable task graph"):
            built(Request(graphs=(Path(plan),), rules=None, cwd=tmp_path))

    def test_that_are_named_twice_are_one_input(self, tmp_path):
        request = whole(tmp_path)
        twice = {"graphs": request.graphs * 2, "history": request.history * 2}
        result = built(Request(**{**vars(request), **twice}))
        assert "INPUT_REPEATED" in result.findings
        assert result.problems() == []

    def test_past_the_limit_are_findings(self, tmp_path):
        request = whole(tmp_path)
        for name in INPUTS:
            (tmp_path / name).write_bytes(b"x" * 5000)
        found = discover(request, load_settings(reading={"max_bytes": 4000})).findings
        assert {row["where"] for row in found if row["code"] == "INPUT_TOO_LARGE"} >= set(INPUTS)
        assert all("reading.max_bytes" in row["message"] for row in found if row["code"] == "INPUT_TOO_LARGE")

    def test_that_are_small_but_too_many_are_findings(self, tmp_path):
        """What is read first counts first: plans, their documents, rules, logs, commands, tools."""
        request = whole(tmp_path)
        for number in range(300):
            (tmp_path / "commands" / f"{number}.md").write_bytes(b"x" * 100)
        made = discover(request, load_settings(reading={"max_total_bytes": 10_000}))
        out = [row["where"] for row in made.findings if "reading.max_total_bytes" in row["message"]]
        assert 200 < len(out) < 300
        assert sum(len(file.data) for file in made.files) <= 10_000
        assert {graph.label for graph in made.graphs} == {"other.json", "plan/task-graph.json"}

    def test_a_file_that_claims_to_be_empty_and_never_ends(self, tmp_path):
        """What a system makes up while it is read has no size."""
        request = whole(tmp_path)
        become(tmp_path / "logs/history.jsonl", "unreadable link")
        (tmp_path / "tools.json").unlink()
        (tmp_path / "tools.json").symlink_to("/proc/kallsyms")
        found = discover(request, load_settings(reading={"max_bytes": 4000})).findings
        assert {"logs/history.jsonl", "tools.json"} <= {row["where"] for row in found}

    @pytest.mark.parametrize("lost", INPUTS)
    def test_that_are_lost_at_the_start(self, tmp_path, lost):
        request = whole(tmp_path)
        (tmp_path / lost).unlink()
        made = discover(request, load_settings())
        assert made.graphs[-1].label == "plan/task-graph.json"
        assert lost not in {file.label for file in made.files}

    def test_that_are_lost_between_two_steps(self, tmp_path, monkeypatch):
        """All are read once, at the start, so nothing that happens later reaches the build."""
        request = whole(tmp_path)
        expected = Built(build(request, load_settings(), tmp_path / "before").path).bytes()
        from tasks import making

        load = making.load

        def lose(*given):
            for name in (*INPUTS, "plan/task-graph.json"):
                (tmp_path / name).unlink()
            return load(*given)

        monkeypatch.setattr(making, "load", lose)
        assert Built(build(request, load_settings(), tmp_path / "after").path).bytes() == expected

    def test_a_folder_that_cannot_be(self, tmp_path):
        for place, odd in enumerate(("x" * 300, "a\0b", "/proc/self/mem")):
            request = whole(tmp_path / str(place))
            given = {name: Path(odd) for name in ("specs", "rules", "commands", "tools")}
            result = built(Request(**{**vars(request), **given, "history": (Path(odd),)}))
            assert result.status("T-1") == "ok", odd


class TestOtherFiles:
    @pytest.mark.parametrize("kind", KINDS)
    def test_settings(self, tmp_path, kind):
        become(tmp_path / "prebrief.toml", kind)
        with pytest.raises(SettingsError, match=r"no regular file|cannot be read"):
            load_settings(tmp_path / "prebrief.toml")

    @pytest.mark.parametrize("name", ["x" * 300, "a\0b"])
    def test_settings_of_a_name_that_cannot_be(self, tmp_path, name):
        with pytest.raises(SettingsError, match="cannot be read"):
            load_settings(tmp_path / name)

    def test_settings_that_are_huge(self, tmp_path):
        with (tmp_path / "huge.toml").open("wb") as file:
            file.truncate(10**12)
        with pytest.raises(SettingsError, match="larger than"):
            load_settings(tmp_path / "huge.toml")

    @pytest.mark.parametrize("kind", KINDS)
    def test_an_assignment(self, tmp_path, kind):
        made = build_swarm(tmp_path / "swarm", [task("T-1")])
        become(tmp_path / "who.json", kind)
        with pytest.raises(InputError, match="cannot be read"):
            read_assignment(tmp_path / "who.json", made.tasks)

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_graph_that_zerg_names(self, tmp_path, monkeypatch, kind):
        become(tmp_path / "graph.json", kind)
        monkeypatch.setenv("ZERG_TASK_GRAPH", str(tmp_path / "graph.json"))
        monkeypatch.chdir(tmp_path)
        graph = {"feature": "demo", "tasks": [task("T-1")]}
        assert "Security rules" in PrebriefContext(tmp_path / "out").build_task_context(
            graph["tasks"][0], graph, "demo"
        )

    def test_the_command(self, tmp_path):
        request = whole(tmp_path)
        os.mkfifo(tmp_path / "pipe")
        asked = words(request, tmp_path / "out")
        assert "no regular file" in refused(run([*asked, "--config", "pipe"], tmp_path), "SETTINGS")
        done = run(["build", "pipe", "--out", str(tmp_path / "out")], tmp_path)
        assert "It is a pipe, not a file" in refused(done, "INPUT")

    @pytest.mark.parametrize("kind", ALL_KINDS)
    def test_are_read_by_one_function(self, tmp_path, kind):
        become(tmp_path / "file", kind)
        with pytest.raises(OSError) as caught:
            read_regular(tmp_path / "file", 100)
        assert caught.value.strerror


class TestNames:
    def test_lead_nowhere(self, tmp_path):
        """Ids of tasks, graphs and events, features and titles: whatever they are, the build stays in its folder."""
        inside = tmp_path / "a" / "b" / "inside"
        tasks = [task(name, files={"create": [name], "modify": [name], "read": [name]}) for name in HOSTILE]
        events = [event(name, "tool_result", "a login\n" * 100) for name in HOSTILE]
        requests = [
            write_swarm(inside / f"in{place}", tasks[place * 10 :], events=events, feature=feature)
            for place, feature in enumerate(("..", "../../x", "CON", "a\0b"))
        ]
        before = everything(tmp_path, inside)
        graphs = tuple(request.cwd / request.graphs[0] for request in requests)
        made = built(Request(graphs=graphs, rules=None, history=(requests[0].cwd / "logs/history.jsonl",), cwd=inside))
        assert everything(tmp_path, inside) == before
        assert made.problems() == []
        for path in made.path.rglob("*"):
            assert not path.is_symlink()
            assert len(path.name.encode()) <= 120
            assert path.name == path.name.encode("ascii", "ignore").decode().strip(" .")
            assert path.resolve().is_relative_to(made.path.resolve())

    @pytest.mark.parametrize("name", HOSTILE)
    def test_of_settings_and_commands(self, tmp_path, name):
        """A folder of a setting may be anywhere, since a person chose it; what it cannot be is a finding."""
        request = write_swarm(tmp_path / "swarm", [task("T-1")], rules=RULES)
        made = discover(request, load_settings(rules={"engineering": name + "/none"}))
        assert "INPUT_MISSING" in {row["code"] for row in made.findings}
        from flows.split import load_command

        (tmp_path / "commands").mkdir()
        (tmp_path / "secret.md").write_text("secret")
        with pytest.raises(PrebriefError):
            load_command(name, tmp_path / "commands")
        with pytest.raises(PrebriefError):
            load_command(f"../secret{'' if name == '..' else name}", tmp_path / "commands")


def everything(folder: Path, but: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*") if not path.is_relative_to(but))
