"""The plugin for ZERG: what is built is served, what is not is built, and a failure is an empty context."""

from __future__ import annotations

import abc
import copy
import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.errors import BuildMissingError
from tasks.outputs.reader import BuildFolder
from tasks.zerg_plugin import PrebriefContext
from tests.swarms import ROOT, built, task, write_swarm


@pytest.fixture
def swarm(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("PREBRIEF_OUT", "ZERG_TASK_GRAPH"):
        monkeypatch.delenv(name, raising=False)
    tasks = [task("T1", acceptance_criteria=["It works"]), task("T2", title="Other")]
    return write_swarm(tmp_path, tasks, requirements="# Login\n\nThe login page has a form.\n")


@pytest.fixture
def graph(swarm):
    return json.loads(Path("plan/task-graph.json").read_text())


def newest():
    return Path("builds/latest").resolve().name


# ---- what is served ---------------------------------------------------------------------------------------------


def test_the_newest_build_is_served_and_nothing_is_built(swarm, graph):
    done = built(swarm)
    before = sorted(path.name for path in Path("builds").iterdir())
    context = PrebriefContext().build_task_context(graph["tasks"][0], graph, "demo")
    assert "## Security rules" in context
    assert context.endswith("## Task\n\nAcceptance criteria:\n- It works\n")
    assert "T1: Login page" not in context
    assert sorted(path.name for path in Path("builds").iterdir()) == before == sorted([done.path.name, "latest"])


def test_without_a_build_it_builds_from_the_file_where_zerg_keeps_it(swarm, graph):
    place = Path(".gsd/specs/demo")
    place.mkdir(parents=True)
    for file in Path("plan").iterdir():
        shutil.copy(file, place / file.name)
    context = PrebriefContext().build_task_context(graph["tasks"][0], graph, "demo")
    assert "The login page has a form." in context
    inputs = [row["path"] for row in BuildFolder(Path("builds/latest").resolve()).manifest["inputs"]]
    assert ".gsd/specs/demo/task-graph.json" in inputs


def test_the_graph_may_lie_where_zerg_s_variable_says(swarm, graph, monkeypatch):
    monkeypatch.setenv("ZERG_TASK_GRAPH", "plan/task-graph.json")
    assert "has a form" in PrebriefContext().build_task_context(graph["tasks"][0], graph, "demo")


def test_without_any_file_it_builds_from_the_graph_at_hand(swarm, graph):
    Path("plan/task-graph.json").unlink()
    assert PrebriefContext().build_task_context(graph["tasks"][0], graph, "demo")
    assert [path.name for path in Path("builds").iterdir() if path.name != "latest"] == [newest()]


def test_a_graph_is_built_once_however_many_tasks_are_asked_for(swarm, graph, monkeypatch):
    import tasks.building

    calls = []
    real = tasks.building.build
    monkeypatch.setattr(tasks.building, "build", lambda *given: calls.append(1) or real(*given))
    plugin = PrebriefContext()
    for entry in graph["tasks"]:
        entry["context"] = plugin.build_task_context(entry, graph, "demo")
    assert all(entry["context"] for entry in graph["tasks"])
    assert len(calls) == 1


def test_a_changed_graph_is_built_again_and_its_contexts_are_no_change(swarm, graph):
    first = built(swarm).path.name
    graph["tasks"][1]["context"] = "set by ZERG meanwhile"
    PrebriefContext().build_task_context(graph["tasks"][0], graph, "demo")
    assert newest() == first
    graph["tasks"][0]["acceptance_criteria"] = ["It flies"]
    assert "It flies" in PrebriefContext().build_task_context(graph["tasks"][0], graph, "demo")
    assert newest() != first


def test_the_folder_of_builds_may_be_named(swarm, graph, monkeypatch, tmp_path):
    monkeypatch.setenv("PREBRIEF_OUT", str(tmp_path / "there"))
    assert PrebriefContext().build_task_context(graph["tasks"][0], graph, "demo")
    assert (tmp_path / "there" / "latest").exists()
    assert not Path("builds").exists()
    assert PrebriefContext(tmp_path / "here").build_task_context(graph["tasks"][0], graph, "demo")
    assert (tmp_path / "here" / "latest").exists()


def test_a_task_of_another_graph_is_never_served(swarm, graph):
    built(swarm)
    other = {**copy.deepcopy(graph), "feature": "other"}
    other["tasks"] = [task("T9")]
    stranger = graph["tasks"][0]
    assert PrebriefContext().build_task_context(stranger, other, "other") == ""


# ---- what fails -------------------------------------------------------------------------------------------------


def test_a_failure_is_an_empty_context_or_the_exception(swarm, graph):
    Path("builds").write_text("in the way")
    entry = graph["tasks"][0]
    assert PrebriefContext().build_task_context(entry, graph, "demo") == ""
    with pytest.raises(Exception, match="builds"):
        PrebriefContext(fallback_to_full=False).build_task_context(entry, graph, "demo")


def test_the_setting_decides_where_nothing_is_said(swarm, graph):
    Path("prebrief.toml").write_text("[policy]\nfallback_to_full = false\n")
    with pytest.raises(BuildMissingError, match="0 tasks 'T7'"):
        PrebriefContext().build_task_context({"id": "T7"}, graph, "demo")
    assert PrebriefContext(fallback_to_full=True).build_task_context({"id": "T7"}, graph, "demo") == ""


def test_a_task_over_budget_has_no_context(swarm, graph):
    Path("prebrief.toml").write_text("[budget]\ntokens = 10\n")
    assert PrebriefContext().build_task_context(graph["tasks"][0], graph, "demo") == ""


@pytest.mark.parametrize(
    "odd",
    [
        {"id": "T1", "files": None},
        {"id": "T1", "files": ["a.py"]},
        {"id": "T1", "files": {"create": "a.py", "modify": [None, {"path": "x"}]}},
        {"id": "T1", "description": None, "dependencies": None, "verification": [], "level": "x"},
        {"id": "T1"},
    ],
)
def test_odd_tasks_get_their_context_all_the_same(odd, swarm):
    graph = {"feature": "demo", "tasks": [odd, {"id": "T2"}]}
    assert PrebriefContext(fallback_to_full=False).build_task_context(odd, graph, "demo")
    assert PrebriefContext().estimate_context_tokens(odd) > 0


def test_a_task_without_an_id_is_found_by_its_place(swarm):
    nameless = {"title": "Nameless", "acceptance_criteria": ["It has no name"]}
    graph = {"feature": "demo", "tasks": [{"id": "T1"}, nameless]}
    context = PrebriefContext(fallback_to_full=False).build_task_context(nameless, graph, "demo")
    assert "It has no name" in context


_ODD = st.none() | st.integers() | st.text(max_size=4) | st.lists(st.none(), max_size=2)
_TASK = st.dictionaries(st.sampled_from(["id", "task_id", "files", "description", "level"]), _ODD, max_size=4)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    entry=_TASK | _ODD,
    plan=st.fixed_dictionaries({"tasks": st.lists(_TASK | _ODD, max_size=2)}) | _ODD,
    feature=_ODD,
)
def test_nothing_that_zerg_passes_raises(entry, plan, feature, swarm):
    assert isinstance(PrebriefContext().build_task_context(entry, plan, feature), str)
    assert PrebriefContext().estimate_context_tokens(entry) > 0


# ---- estimates --------------------------------------------------------------------------------------------------


def test_the_estimate_is_what_was_built_else_the_budget(swarm, graph, monkeypatch):
    plugin = PrebriefContext()
    assert plugin.estimate_context_tokens(graph["tasks"][0]) == 4000
    done = built(swarm)
    assert plugin.estimate_context_tokens(graph["tasks"][0]) == done.task("T1")["prompt_tokens"]
    assert plugin.estimate_context_tokens({"id": "T99"}) == 4000
    monkeypatch.setenv("PREBRIEF_BUDGET__TOKENS", "2500")
    assert plugin.estimate_context_tokens(None) == 2500


# ---- how ZERG finds it ------------------------------------------------------------------------------------------


def test_it_has_what_zerg_calls():
    plugin = PrebriefContext()
    assert plugin.name == "prebrief"
    assert callable(plugin.build_task_context)
    assert callable(plugin.estimate_context_tokens)


def test_the_package_names_it_to_zerg(tmp_path):
    """As an installer would write it, since the entry points of a checkout are those of its last installation."""
    import tomllib

    named = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["zerg.plugins"]
    info = tmp_path / "installed-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: installed\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[zerg.plugins]\n" + "".join(f"{k} = {v}\n" for k, v in named.items()))
    sys.path.insert(0, str(tmp_path))
    try:
        (found,) = [entry for entry in entry_points(group="zerg.plugins") if entry.dist.name == "installed"]
        assert found.load() is PrebriefContext
    finally:
        sys.path.remove(str(tmp_path))


@pytest.fixture
def zerg(monkeypatch):
    """A module that stands in for ZERG's plugins: its abstract class, and how its registry takes plugins in."""
    module = ModuleType("zerg.plugins")

    class ContextPlugin(abc.ABC):
        @property
        @abc.abstractmethod
        def name(self): ...

        @abc.abstractmethod
        def build_task_context(self, task, task_graph, feature): ...

        @abc.abstractmethod
        def estimate_context_tokens(self, task): ...

    def taken_in(entry):
        instance = entry.load()()
        return instance if isinstance(instance, ContextPlugin) else None

    module.ContextPlugin, module.taken_in = ContextPlugin, taken_in
    monkeypatch.setitem(sys.modules, "zerg.plugins", module)
    return module


def test_zerg_takes_it_in_as_a_context_plugin(zerg, swarm, graph):
    entry = EntryPoint("prebrief", "tasks.zerg_plugin:PrebriefContext", "zerg.plugins")
    plugin = zerg.taken_in(entry)
    assert plugin is not None
    assert "## Security rules" in plugin.build_task_context(graph["tasks"][0], graph, "demo")


def test_zerg_may_be_loaded_after_it_and_after_it_was_refused(zerg):
    class Own(PrebriefContext):
        pass

    assert not issubclass(Own, zerg.ContextPlugin)
    assert isinstance(Own(), zerg.ContextPlugin)


def test_without_zerg_nothing_of_it_is_imported():
    code = "import sys, tasks.zerg_plugin as z; z.PrebriefContext(); print([m for m in sys.modules if 'zerg' in m])"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "['tasks.zerg_plugin']"


@pytest.mark.parametrize("plugins", [None, object(), ModuleType("zerg.plugins")])
def test_another_zerg_without_that_class_is_no_hindrance(plugins, monkeypatch):
    monkeypatch.setitem(sys.modules, "zerg.plugins", plugins)
    assert PrebriefContext().name == "prebrief"


def test_finding_it_imports_nothing_heavy():
    code = "import sys, tasks.zerg_plugin as z; z.PrebriefContext(); print({'polars', 'prefect', 'pydantic'} & set(sys.modules))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
