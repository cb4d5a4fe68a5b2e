"""Settings from the environment: lists as people write them, and errors that are one sentence."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from flows.cli import app
from tasks.errors import SettingsError
from tasks.settings import load_settings


@pytest.mark.parametrize("written", ["core,python", " core , python ,", '["core", "python"]'])
def test_a_list_is_words_with_commas_or_json(written, monkeypatch):
    monkeypatch.setenv("PREBRIEF_RULES__LOADED_ELSEWHERE", written)
    assert load_settings().rules.loaded_elsewhere == ("core", "python")


def test_every_list_may_be_written_so(monkeypatch):
    monkeypatch.setenv("PREBRIEF_PLAN__STATUS", "done,in progress")
    monkeypatch.setenv("PREBRIEF_SOURCES__PLUGINS", "mine,yours")
    settings = load_settings()
    assert settings.plan.status == ("done", "in progress")
    assert settings.sources.plugins == ("mine", "yours")


@pytest.mark.parametrize(("written", "plugins"), [("true", True), ("False", False), ("0", False), ('["x"]', ("x",))])
def test_plugins_are_also_a_switch(written, plugins, monkeypatch):
    monkeypatch.setenv("PREBRIEF_SOURCES__PLUGINS", written)
    assert load_settings().sources.plugins == plugins


def test_an_empty_variable_is_an_empty_list(monkeypatch):
    monkeypatch.setenv("PREBRIEF_PLAN__STATUS", "")
    assert load_settings(plan={"status": None}).plan.status == ()


def test_a_flag_goes_before_the_variable_and_the_variable_before_the_file(tmp_path, monkeypatch):
    file = tmp_path / "prebrief.toml"
    file.write_text('[rules]\nloaded_elsewhere = ["docker"]\n[plan]\nstatus = ["open"]\n')
    monkeypatch.setenv("PREBRIEF_RULES__LOADED_ELSEWHERE", "core,python")
    monkeypatch.setenv("PREBRIEF_PLAN__STATUS", "done")
    settings = load_settings(file, plan={"status": ["blocked"]})
    assert settings.rules.loaded_elsewhere == ("core", "python")
    assert settings.plan.status == ("blocked",)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PREBRIEF_RULES__LOADED_ELSEWHERE", "core,nope", "'nope' is no scope of rules"),
        ("PREBRIEF_RULES__LOADED_ELSEWHERE", "[core", "it begins like a JSON list and is none"),
        ("PREBRIEF_RULES", "core", "PREBRIEF_RULES is not the JSON that it has to be"),
        ("PREBRIEF_POLICY__KIND_LIMITS", "policy=3", "PREBRIEF_POLICY__KIND_LIMITS is not the JSON"),
        ("prebrief_scoring__weights", "much", "prebrief_scoring__weights is not the JSON"),
        ("PREBRIEF_BUDGET__TOKENS", "many", "setting budget.tokens: "),
    ],
)
def test_a_variable_that_cannot_be_read_is_one_sentence_and_exit_code_2(name, value, said, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as refused:
        load_settings()
    assert said in str(refused.value)
    result = CliRunner().invoke(app, ["build", "plan.json"])
    assert result.exit_code == 2
    assert result.stderr.startswith("error SETTINGS: ")
    assert len(result.stderr.splitlines()) == 1
