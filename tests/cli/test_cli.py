"""The command: what it prints where, and the exit codes that scripts rely on."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.cli import app
from tasks.outputs.reader import BuildFolder
from tasks.settings import Settings

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def builds(tmp_path_factory, quickstart) -> Path:
    """An output folder with one build of the sample."""
    out = tmp_path_factory.mktemp("cli") / "builds"
    result = run("build", quickstart / "task-graph.json", "--history", quickstart / "history.jsonl", "--out", out)
    assert result.exit_code == 0, result.output
    return out


def test_build_prints_a_row_a_task_and_where_the_build_lies(builds, quickstart):
    result = run("build", quickstart / "task-graph.json", "--history", quickstart / "history.jsonl", "--out", builds)
    assert result.exit_code == 0
    assert "already built: 14 tasks (14 ok)" in result.stdout
    assert all(f"TASK-{number:03d}" in result.stdout for number in range(1, 15))
    assert result.stdout.splitlines()[-1] == str((builds / "latest").resolve())


def test_a_second_build_of_the_same_inputs_touches_nothing(builds, quickstart):
    before = {path: path.stat().st_mtime_ns for path in builds.rglob("*") if path.is_file()}
    run("build", quickstart / "task-graph.json", "--history", quickstart / "history.jsonl", "--out", builds)
    assert {path: path.stat().st_mtime_ns for path in builds.rglob("*") if path.is_file()} == before


def test_build_as_json_is_one_object(builds, quickstart):
    result = run(
        "build", quickstart / "task-graph.json", "--history", quickstart / "history.jsonl", "--out", builds, "--json"
    )
    said = json.loads(result.stdout)
    assert said["statuses"] == {"ok": 14}
    assert said["fresh"] is False
    assert Path(said["path"]).name == said["build_id"]


def test_build_names_a_folder_that_is_not_there(tmp_path, quickstart):
    """A mistyped folder stops no build, and does not go unseen."""
    result = run(
        "build", quickstart / "task-graph.json", "--rules", tmp_path / "nope", "--specs", tmp_path / "none",
        "--out", tmp_path / "out",
    )  # fmt: skip
    assert result.exit_code == 0
    assert re.findall(r"^[A-Z_]+", result.stderr, re.MULTILINE) == ["RULES_MISSING", "SPECS_MISSING"]
    assert "more: see" not in result.stderr


def test_the_version_is_that_of_the_package():
    assert run("--version").stdout == f"prebrief {version('prebrief')}\n"


def test_show_prints_the_prompt_and_nothing_else(builds):
    result = run("show", "TASK-005", "--build", builds)
    assert result.exit_code == 0
    assert result.stdout == (builds / "latest" / "prompts" / "webhook-delivery" / "TASK-005.md").read_text("utf-8")


def test_why_says_why_each_candidate_is_in_or_out(builds):
    result = run("why", "TASK-005", "--build", builds, "--json")
    rows = json.loads(result.stdout)["candidates"]
    assert {row["decision"] for row in rows} == {"selected", "dropped"}
    assert all(row["because"] for row in rows)
    assert len(rows) == BuildFolder((builds / "latest").resolve()).task("TASK-005")["candidates"]


def test_why_of_an_item_names_stage_reason_scores_and_shortfall(builds):
    result = run("why", "TASK-005", "tr21", "--build", builds)
    assert result.exit_code == 0
    for said in ("stage: ", "reason: ", "part recency", "part similarity", "shortfall_tokens: "):
        assert said in result.stdout


def test_why_names_the_item_that_a_duplicate_repeats(builds):
    rows = json.loads(run("why", "TASK-005", "--build", builds, "--json").stdout)["candidates"]
    repeated = next(row["item_id"] for row in rows if row["reason"] == "duplicate")
    told = json.loads(run("why", "TASK-005", repeated, "--build", builds, "--json").stdout)
    assert told["duplicate_of"]


def test_audit_of_a_good_build_exits_with_0(builds):
    result = run("audit", builds)
    assert result.exit_code == 0
    assert "all invariants hold" in result.stdout


def test_audit_of_a_damaged_build_exits_with_1(builds, tmp_path):
    damaged = tmp_path / (builds / "latest").resolve().name
    shutil.copytree((builds / "latest").resolve(), damaged)
    prompt = next((damaged / "prompts").rglob("*.md"))
    prompt.write_text(prompt.read_text("utf-8") + "more\n", "utf-8")
    result = run("audit", damaged)
    assert result.exit_code == 1
    assert "violations" in result.stdout
    assert json.loads(run("audit", damaged, "--json").stdout)["ok"] is False


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["build", "missing.json"], "INPUT", "There is no readable task graph"),
        (["build", "GRAPH", "--budget", "0"], "SETTINGS", "budget.tokens"),
        (["build", "GRAPH", "--phase", "later"], "SETTINGS", "policy.phase"),
        (["build", "GRAPH", "--config", "missing.toml"], "SETTINGS", "missing.toml cannot be read"),
        (["build", "GRAPH", "--out", "GRAPH"], "OUTPUT", "cannot be written"),
        (["show", "TASK-099", "--build", "BUILDS"], "BUILD_MISSING", "no task 'TASK-099'"),
        (["show", "TASK-001", "--build", "nowhere"], "BUILD_MISSING", "run: prebrief build GRAPH"),
        (["why", "TASK-001", "no-item", "--build", "BUILDS"], "BUILD_MISSING", "no item 'no-item'"),
        (["audit", "nowhere"], "BUILD_MISSING", "run: prebrief build GRAPH"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_exit_code_2(
    arguments, code, said, builds, quickstart, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    places = {"GRAPH": quickstart / "task-graph.json", "BUILDS": builds}
    given = [places.get(argument, argument) for argument in arguments]
    result = run(*given)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error {code}: ")
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
    as_json = run(*given, "--json")
    assert as_json.exit_code == 2
    assert json.loads(as_json.stdout)["error"]["code"] == code


def test_tasks_over_budget_make_exit_code_3(quickstart, tmp_path):
    result = run("build", quickstart / "task-graph.json", "--budget", "100", "--out", tmp_path)
    assert result.exit_code == 3
    assert "over_budget" in result.stdout
    assert "needs" in result.stderr
    shown = run("show", "TASK-001", "--build", tmp_path)
    assert shown.exit_code == 1
    assert shown.stdout == ""


def test_settings_come_from_file_then_environment_then_flags(quickstart, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("prebrief.toml").write_text('[budget]\ntokens = 3000\n[policy]\nphase = "answer"\n')
    monkeypatch.setenv("PREBRIEF_BUDGET__TOKENS", "2500")
    run("build", quickstart / "task-graph.json")
    settings = BuildFolder(Path("builds/latest").resolve()).manifest["settings"]
    assert settings["budget"]["tokens"] == 2500
    assert settings["policy"]["phase"] == "answer"
    run("build", quickstart / "task-graph.json", "--budget", "2000")
    assert BuildFolder(Path("builds/latest").resolve()).manifest["settings"]["budget"]["tokens"] == 2000


@pytest.mark.parametrize("command", [command.name or command.callback.__name__ for command in app.registered_commands])
def test_every_command_has_help_and_stands_in_the_readme(command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert re.search(rf"prebrief {command}\b", README)


def test_the_settings_that_the_readme_shows_are_the_defaults():
    shown = tomllib.loads(re.search(r"```toml\n(.*?)```", README, re.DOTALL)[1])
    defaults = Settings().model_dump(mode="json")
    defaults["budget"]["tokens"] = 4000  # that of the default phase
    for section, values in shown.items():
        for name, value in values.items():
            assert defaults[section][name] == value, f"{section}.{name}"
