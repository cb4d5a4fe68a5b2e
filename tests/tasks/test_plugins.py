"""Source plugins: what a package may give, and that nothing it does stops a build."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pytest

from tasks.building import build
from tasks.plugins import SourcePlugin, find_plugins
from tasks.settings import load_settings
from tasks.sources.inputs import discover
from tasks.sources.plugin_items import read_plugins
from tasks.sources.shelter import sheltered
from tests.swarms import ROOT, Built, built, task, write_swarm

EXAMPLE = Path(__file__).parents[1] / "plugin_example"
KEY = "AKIA" + "Q3EGRJ7ZLD" + "W5YKXN"
ROW = {"text": "Ports are fixed.", "kind": "memory_fact", "section": "reference"}


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Puts a plugin on the path as if its package were installed: `load` is the body of its method."""

    def put(name, load, version="1.0", package=None, head=""):
        package = package or f"plug_{name}"
        site = tmp_path / f"site-{package}"
        info = site / f"{package}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(f"[prebrief.sources]\n{name} = {package}:Source\n")
        body = "\n".join(f"        {line}" for line in load.strip().split("\n"))
        (site / f"{package}.py").write_text(
            f"{head}\nclass Source:\n    name = {name!r}\n    def load(self, request):\n{body}\n"
        )
        monkeypatch.syspath_prepend(str(site))
        importlib.invalidate_caches()
        monkeypatch.delitem(sys.modules, package, raising=False)
        return site

    return put


@pytest.fixture
def swarm(tmp_path):
    return write_swarm(tmp_path / "swarm", [task("T1"), task("T2")])


def gives(*rows, findings=()):
    return f"return {list(rows)!r}, {list(findings)!r}"


def build_with(swarm, plugins=True, out=None) -> Built:
    return built(swarm, load_settings(sources={"plugins": plugins}), out)


def findings_of(done, code):
    frame = pl.read_parquet(done.path / "findings.parquet")
    return frame.filter(pl.col("code") == code)["message"].to_list()


# ---- what is run ------------------------------------------------------------------------------------------------


def test_no_plugin_runs_unless_the_settings_say_so(installed, swarm):
    installed("notes", gives(ROW))
    sources = [set(done.items["source"]) for done in (built(swarm), build_with(swarm, ["notes"]), build_with(swarm))]
    assert ["notes" in names for names in sources] == [False, True, True]


def test_plugins_run_by_name_whatever_the_order_of_the_settings(installed, swarm, tmp_path):
    for name in ("zeta", "alpha"):
        installed(name, gives({**ROW, "text": f"From {name}.", "item_id": "x"}))
    settings = load_settings(sources={"plugins": ["zeta", "alpha"]})
    assert [found.name for found in find_plugins(settings)] == ["alpha", "zeta"]
    done = build_with(swarm)
    assert [name for name in done.contexts["item_id"].unique().sort() if name.startswith("plugin/")] == [
        "plugin/alpha/x",
        "plugin/zeta/x",
    ]
    assert done.problems() == []


def test_a_plugin_that_is_not_installed_is_a_finding(swarm):
    done = build_with(swarm, ["nobody"])
    (message,) = findings_of(done, "PLUGIN_FAILED")
    assert "no installed package has it as an entry point of prebrief.sources" in message
    assert done.status("T1") == "ok"


@pytest.mark.parametrize("name", ["rules", "History", "brief"])
def test_no_plugin_may_pass_for_a_source_of_the_project(name, installed, swarm):
    installed(name, gives(ROW), package="impostor")
    done = build_with(swarm)
    assert "PLUGIN_FAILED" in done.findings
    assert not any(item.startswith("plugin/") for item in done.items["item_id"])


def test_of_two_packages_with_one_name_the_first_counts(installed, swarm):
    installed("notes", gives({**ROW, "text": "From b."}), package="b_pack")
    installed("notes", gives({**ROW, "text": "From a."}), package="a_pack")
    done = build_with(swarm)
    assert done.items.filter(pl.col("source") == "notes")["text"].to_list() == ["From a."]
    assert "PLUGIN_SAME_NAME" in done.findings


# ---- what fails -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "load",
    [
        "raise ValueError('no luck')",
        "raise SystemExit(3)",
        "raise GeneratorExit",
        "raise BaseException('bare')",
        "import asyncio\nraise asyncio.CancelledError",
        "class Mute(BaseException):\n    def __str__(self):\n        raise ValueError\nraise Mute",
        "import does_not_exist",
        "return None",
        "return 1, 2, 3",
        "return 'text', []",
        "return [], 5",
        "return {'text': 'x'}, []",
        "import polars as pl\nreturn pl.DataFrame({'text': [1]}).select(pl.col('nothing')), []",
        "def rows():\n    yield {'text': 'x'}\n    raise KeyError('later')\nreturn rows(), []",
        "return self.load(request)",
    ],
)
def test_whatever_a_plugin_does_the_others_are_taken(load, installed, swarm):
    installed("broken", load)
    installed("good", gives(ROW))
    done = build_with(swarm)
    assert len(findings_of(done, "PLUGIN_FAILED")) == 1
    assert done.items.filter(pl.col("source") == "good")["text"].to_list() == [ROW["text"]]
    assert done.status("T1") == "ok"
    assert done.problems() == []


@pytest.mark.parametrize("head", ["import does_not_exist", "raise RuntimeError('at import')", "def ("])
def test_a_package_that_cannot_be_imported_is_a_finding(head, installed, swarm):
    installed("broken", gives(ROW), head=head)
    assert "PLUGIN_FAILED" in build_with(swarm).findings


def test_why_it_failed_is_said_without_what_differs_from_run_to_run(installed, swarm):
    installed("broken", f"raise ValueError(f'{{request.cwd}}/x of {{object()}} with {KEY}')")
    (message,) = findings_of(build_with(swarm), "PLUGIN_FAILED")
    assert message.startswith("It failed (ValueError: x of <object object at 0x…> with [REDACTED: ")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"text": ""}, "1 of 2 rows break the rule 'min_length' of 'text'"),
        ({"text": " \n"}, "1 of 2 rows break the rule 'check' of 'text'"),
        ({"text": None}, "1 of 2 rows break the rule 'nullability' of 'text'"),
        ({"text": 5}, "1 of 2 rows have a 'text' of the wrong type"),
        ({"kind": "thought"}, "1 of 2 rows break the rule 'check' of 'kind'"),
        ({"section": "brief"}, "1 of 2 rows break the rule 'check' of 'section'"),
        ({"section": None}, "1 of 2 rows break the rule 'nullability' of 'section'"),
        ({"task_id": 1}, "1 of 2 rows have a 'task_id' of the wrong type"),
        ({"tags": [1]}, "1 of 2 rows have a 'tags' of the wrong type"),
    ],
)
def test_bad_rows_are_counted_and_good_ones_kept(row, said, installed, swarm):
    installed("notes", gives({**ROW, **row}, ROW))
    done = build_with(swarm)
    assert any(message.startswith(said) for message in findings_of(done, "PLUGIN_ROW"))
    assert done.items.filter(pl.col("source") == "notes")["text"].to_list() == [ROW["text"]]


def test_rows_that_are_no_mappings_and_columns_nobody_reads_are_findings(installed, swarm):
    installed("notes", gives(3, {**ROW, "colour": "red"}))
    done = build_with(swarm)
    assert "PLUGIN_ROW" in done.findings
    assert findings_of(done, "PLUGIN_COLUMN") == ["Its columns 'colour' are not read."]


def test_what_a_plugin_prints_does_not_mix_with_what_the_command_prints(installed, swarm, capsys):
    installed("noisy", f"print('hello')\n{gives(ROW)}")
    build_with(swarm)
    said = capsys.readouterr()
    assert said.out == ""
    assert "hello" in said.err


def test_the_user_may_interrupt_a_plugin(installed, swarm):
    installed("slow", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        build_with(swarm)


@pytest.mark.parametrize("fails", [False, True])
def test_what_its_child_processes_print_goes_to_stderr_too(fails, installed, swarm, capfd):
    body = f"import os, subprocess\nos.write(1, b'low ')\nsubprocess.run(['echo', 'child'])\n{gives(ROW)}"
    installed("noisy", body.replace("return", "raise ValueError\nreturn") if fails else body)
    sys.stdout.write("mine\n")
    build_with(swarm)
    sys.stdout.write("mine again\n")
    said = capfd.readouterr()
    assert said.out == "mine\nmine again\n"
    assert "low child\n" in said.err


def test_output_comes_back_when_plugins_ran_in_two_threads_at_once(capfd):
    first, second = threading.Barrier(2), threading.Barrier(2)

    def one():
        with sheltered():
            first.wait()
            os.write(1, b"one")
        second.wait()

    def other():
        first.wait()
        with sheltered():
            second.wait()
            os.write(1, b"other")

    threads = [threading.Thread(target=work) for work in (one, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.write(1, b"back")
    assert capfd.readouterr().out == "back"


@pytest.mark.parametrize("fails", [False, True])
def test_a_plugin_cannot_move_the_build_elsewhere(fails, installed, swarm, tmp_path, monkeypatch):
    away = tmp_path / "away"
    away.mkdir()
    installed("mover", f"import os\nos.chdir({str(away)!r})\n{'raise ValueError' if fails else gives(ROW)}")
    monkeypatch.chdir(swarm.cwd)
    done = build_with(swarm, out=Path("out"))
    assert Path.cwd() == swarm.cwd
    assert done.path == Path("out") / done.path.name
    assert (swarm.cwd / "out" / "latest").exists()
    assert list(away.iterdir()) == []


def test_nor_can_one_that_moves_later(installed, swarm, tmp_path, monkeypatch):
    """The working folder is one for all threads, so that another build's plugin may move it at any time."""
    away = tmp_path / "away"
    away.mkdir()
    monkeypatch.chdir(swarm.cwd)

    def moving(*given):
        found = discover(*given)
        os.chdir(away)
        return found

    monkeypatch.setattr("tasks.building.discover", moving)
    build(swarm, load_settings(), Path("out"))
    assert (swarm.cwd / "out" / "latest").exists()
    assert list(away.iterdir()) == []


# ---- what is taken ----------------------------------------------------------------------------------------------


def test_frames_and_rows_give_the_same_items(installed, swarm, tmp_path):
    rows = [{**ROW, "tags": ["a", "b"], "item_id": "1"}, {**ROW, "text": "Other.", "tags": [], "item_id": "2"}]
    site = installed("notes", gives(*rows))
    once = build_with(swarm, out=tmp_path / "rows").items
    (site / "plug_notes.py").write_text(
        "import polars as pl\nclass Source:\n    name = 'notes'\n    def load(self, request):\n"
        f"        return pl.DataFrame({rows!r}).with_columns(pl.col('kind').cast(pl.Categorical)).lazy(), []\n"
    )
    sys.modules.pop("plug_notes")
    assert build_with(swarm, out=tmp_path / "frame").items.equals(once)


def test_items_are_for_all_or_for_whom_they_name(installed, swarm):
    installed(
        "notes",
        gives(
            {**ROW, "item_id": "all", "text": "For all of them."},
            {**ROW, "item_id": "graph", "text": "For this graph alone.", "graph": "demo"},
            {**ROW, "item_id": "own", "text": "Only the second task needs it.", "graph": "demo", "task_id": "T2"},
            {**ROW, "item_id": "anywhere", "text": "Whichever graph has this one.", "task_id": "T2"},
            {**ROW, "item_id": "stranger", "text": "Somebody else reads it.", "graph": "nowhere"},
            {"text": "Rules may come too.", "kind": "policy", "section": "rules", "item_id": "rule"},
            {"text": "A line of the past.", "kind": "agent_msg", "section": "history", "item_id": "past"},
        ),
    )
    done = build_with(swarm)
    seen = {
        name: sorted(
            item.removeprefix("plugin/notes/")
            for item in done.contexts.filter(pl.col("task_id") == name)["item_id"]
            if item.startswith("plugin/")
        )
        for name in ("T1", "T2")
    }
    assert seen["T1"] == ["all", "graph", "past", "rule"]
    assert seen["T2"] == ["all", "anywhere", "graph", "own", "past", "rule"]
    assert "PLUGIN_GRAPH_UNKNOWN" in done.findings
    assert done.problems() == []


def test_parents_are_the_plugin_s_own_items(installed, swarm):
    call = {"item_id": "c", "text": "curl status", "kind": "tool_call", "section": "history"}
    result = {"item_id": "r", "text": "up", "kind": "tool_result", "section": "history", "parent_id": "c"}
    installed("notes", gives(result, call))
    done = build_with(swarm)
    assert done.item("/notes/r")["parent_id"] == "plugin/notes/c"
    order = done.selected("T1")
    assert order.index("c") < order.index("r")


def test_raw_results_pass_the_firewall_and_secrets_are_masked(installed, swarm):
    raw = "\n".join(f"line {number} of the output, which is long" for number in range(200)) + f"\nkey {KEY}\n"
    installed("notes", gives({**ROW, "kind": "tool_result", "section": "history", "text": raw, "item_id": "out"}))
    done = build_with(swarm)
    (artifact,) = done.artifacts.to_dicts()
    assert artifact["handle"] == "artifact:plugin/notes/out"
    assert (done.path / "artifacts" / artifact["sha256"]).read_text() == raw
    assert raw[:600] not in done.prompt("T1")
    assert KEY.encode() not in done.everything()
    assert done.problems() == []


@pytest.mark.parametrize(
    ("label", "level"),
    [
        (None, "public"),
        ("internal", "internal"),
        ("Confidential", "confidential"),
        (" public", "restricted"),
        ("secret", "restricted"),
        (7, "restricted"),
    ],
)
def test_an_unknown_label_counts_as_restricted(label, level, installed, swarm):
    installed("notes", gives({**ROW, "text": "The vault is blue.", "sensitivity": label}))
    done = build_with(swarm)
    (item,) = done.items.filter(pl.col("source") == "notes").to_dicts()
    assert item["sensitivity"] == level
    assert (b"vault" in done.everything()) == (level in ("public", "internal"))


def test_text_is_cleaned_and_cannot_open_a_section(installed, swarm):
    installed("notes", gives({**ROW, "text": "# Login rules\n\x1b[31mred\u202e"}))
    prompt = build_with(swarm).prompt("T1")
    assert "#### Login rules\nred[U+202E]" in prompt


def test_paths_never_name_this_machine(installed, swarm):
    rows = [{**ROW, "text": f"Text {n}.", "path": path} for n, path in enumerate(("/etc/x/y.md", "docs/a.md"))]
    installed("notes", gives(*rows).replace("'/etc/x", "f'{request.cwd}/notes/z.md' or '/etc/x"))
    paths = build_with(swarm).items.filter(pl.col("source") == "notes")["path"].to_list()
    assert sorted(paths) == ["docs/a.md", "notes/z.md"]


def test_items_without_an_id_are_named_after_what_they_say(installed, swarm):
    installed("notes", gives(ROW, {**ROW, "text": "Other words here."}, ROW))
    settings = load_settings(sources={"plugins": True})
    (read,) = read_plugins(swarm, settings)
    ids = [row["item_id"] for row in read.items()[0]]
    assert len(set(ids)) == 3
    assert ids[2] == f"{ids[0]}~2"


def test_findings_of_the_plugin_are_passed_on_under_its_name(installed, swarm):
    odd = {"severity": "error", "code": "NOTE_BAD", "where": "notes.txt", "message": f"It says {KEY}."}
    installed("notes", gives(ROW, findings=(odd, {"severity": "grave"}, "plain words")))
    frame = pl.read_parquet(build_with(swarm).path / "findings.parquet")
    mine = frame.filter(pl.col("where").str.starts_with("plugin:notes"))
    rows = mine.select("severity", "code", "where").rows()
    assert ("error", "NOTE_BAD", "plugin:notes, notes.txt") in rows
    assert rows.count(("warning", "PLUGIN_FINDING", "plugin:notes")) == 2
    assert KEY not in str(frame.to_dicts())


# ---- identity ---------------------------------------------------------------------------------------------------


def test_a_build_s_identity_covers_what_the_plugin_gave_and_its_version(installed, swarm, tmp_path):
    site = installed("notes", gives(ROW))
    first = build_with(swarm)
    manifest = json.loads((first.path / "manifest.json").read_text())
    assert [row["path"] for row in manifest["inputs"] if row["path"].startswith("plugin:")] == ["plugin:notes"]
    assert manifest["versions"]["plugin:plug_notes"] == "1.0"
    assert manifest["settings"]["sources"] == {"plugins": True}
    assert build_with(swarm).path == first.path

    code = site / "plug_notes.py"
    code.write_text(code.read_text().replace("fixed", "open to all"))
    sys.modules.pop("plug_notes")
    second = build_with(swarm)
    assert second.path != first.path

    (site / "plug_notes-1.0.dist-info").rename(site / "plug_notes-1.1.dist-info")
    metadata = site / "plug_notes-1.1.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text().replace("1.0", "1.1"))
    importlib.invalidate_caches()
    third = build_with(swarm)
    assert third.path not in (first.path, second.path)
    assert third.prompt("T1") == second.prompt("T1")


def test_the_same_rows_give_the_same_bytes(installed, swarm, tmp_path):
    installed("notes", gives(ROW, {**ROW, "text": "Other words.", "tags": ["b", "a"]}))
    assert build_with(swarm, out=tmp_path / "a").bytes() == build_with(swarm, out=tmp_path / "b").bytes()


# ---- the example ------------------------------------------------------------------------------------------------


def test_the_example_installs_and_its_passages_reach_the_prompts(tmp_path):
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    copy = tmp_path / "example"
    copy.mkdir()
    for file in EXAMPLE.iterdir():
        if file.is_file():
            (copy / file.name).write_bytes(file.read_bytes())
    subprocess.run([*pip, "--disable-pip-version-check", "--target", str(site), str(copy)], check=True, timeout=300)
    swarm = write_swarm(tmp_path / "swarm", [task("T1", title="Port of the gateway", description="Set the port.")])
    decisions = swarm.cwd / "decisions"
    decisions.mkdir()
    (decisions / "0001-port.md").write_text("The gateway listens on port 8443.\n")
    (decisions / "0002-empty.md").write_text("\n")
    environment = {
        **os.environ,
        "PYTHONPATH": f"{site}{os.pathsep}{ROOT}",
        "PREBRIEF_SOURCES__PLUGINS": '["decisions"]',
    }
    command = [sys.executable, "-m", "flows.cli", "build", "plan/task-graph.json", "--rules", "rules", "--json"]
    run = subprocess.run(
        command, cwd=swarm.cwd, env=environment, check=True, timeout=300, capture_output=True, text=True
    )
    done = Built(Path(json.loads(run.stdout)["path"]))
    assert "The gateway listens on port 8443." in done.prompt("T1")
    assert done.item("0001-port")["path"] == "decisions/0001-port.md"
    assert "DECISION_EMPTY" in done.findings
    assert json.loads((done.path / "manifest.json").read_text())["versions"]["plugin:prebrief-decisions"] == "1.0"
    assert done.problems() == []


def test_the_example_keeps_to_the_protocol(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLE))
    from prebrief_decisions import DecisionSource

    assert isinstance(DecisionSource(), SourcePlugin)


@pytest.mark.parametrize("more", [{"sensitivity": "restricted"}, {"parent_id": "vault"}])
def test_an_id_that_is_invented_tells_nothing_of_what_may_be_closed(more, installed, swarm):
    vault = {**ROW, "item_id": "vault", "text": "The vault.", "sensitivity": "restricted"}
    installed("notes", gives(vault, {**ROW, "item_id": None, "text": "It is blue.", **more}))
    names = build_with(swarm).items.filter(pl.col("source") == "notes")["item_id"].to_list()
    assert names == ["plugin/notes/row-2", "plugin/notes/vault"]
