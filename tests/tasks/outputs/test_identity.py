"""What a build's id hangs on, and when a folder is a whole build."""

from __future__ import annotations

import hashlib
import json
import re

import pytest

from tasks.outputs.identity import MANIFEST, build_id, canonical, file_facts, is_complete, manifest
from tasks.settings import load_settings

INPUTS = [{"path": "b.json", "sha256": "1" * 64, "bytes": 3}, {"path": "a.md", "sha256": "2" * 64, "bytes": 4}]


def the_id(inputs=INPUTS, **settings) -> str:
    return build_id(inputs, load_settings(**settings))


def test_is_sixteen_hex_digits():
    assert re.fullmatch("[0-9a-f]{16}", the_id())


def test_the_order_of_inputs_does_not_count():
    assert the_id() == the_id(INPUTS[::-1])


@pytest.mark.parametrize("change", [{"path": "c.json"}, {"sha256": "3" * 64}, {"bytes": 5}])
def test_every_fact_of_an_input_counts(change):
    assert the_id([{**INPUTS[0], **change}, INPUTS[1]]) != the_id()
    assert the_id(INPUTS[:1]) != the_id()


@pytest.mark.parametrize(
    "settings",
    [
        {"budget": {"tokens": 9}},
        {"policy": {"phase": "route"}},
        {"tokens": {"margin": 1.5}},
        {"render": {"style": "labelled"}},
        {"audit": {"max_rows_per_task": 1}},
    ],
)
def test_settings_that_change_bytes_count(settings):
    assert the_id(**settings) != the_id()


@pytest.mark.parametrize(
    "settings", [{"run": {"shard_pairs": 1}}, {"tokens": {"cache": False}}, {"budget": {"tokens": None}}]
)
def test_settings_that_change_no_byte_do_not(settings):
    assert the_id(**settings) == the_id()


def test_the_version_counts(monkeypatch):
    before = the_id()
    monkeypatch.setattr("importlib.metadata.version", lambda _: "9.9")
    assert the_id() != before


def test_canonical_json_has_one_form():
    assert canonical({"b": 1, "a": "ä"}) == canonical({"a": "ä", "b": 1}) == '{"a":"ä","b":1}'.encode()


class TestCompleteness:
    @pytest.fixture
    def folder(self, tmp_path):
        (tmp_path / "prompts").mkdir()
        (tmp_path / "prompts" / "x.md").write_text("text")
        (tmp_path / "timings.parquet").write_text("whatever")
        outputs = [{"path": path, **file_facts(tmp_path / path)} for path in ("prompts/x.md", "timings.parquet")]
        (tmp_path / MANIFEST).write_text(json.dumps(manifest("0" * 16, INPUTS, outputs, load_settings())))
        return tmp_path

    def test_a_folder_as_it_was_written(self, folder):
        assert is_complete(folder)

    def test_timings_are_outside(self, folder):
        (folder / "timings.parquet").write_text("other")
        assert is_complete(folder)
        listed = [row["path"] for row in json.loads((folder / MANIFEST).read_text())["outputs"]]
        assert listed == ["prompts/x.md"]

    @pytest.mark.parametrize(
        "damage",
        [
            lambda folder: (folder / "prompts" / "x.md").write_text("Text"),
            lambda folder: (folder / "prompts" / "x.md").unlink(),
            lambda folder: (folder / "more.txt").write_text(""),
            lambda folder: (folder / MANIFEST).unlink(),
            lambda folder: (folder / MANIFEST).write_text("{"),
            lambda folder: (folder / MANIFEST).write_text("[]"),
            lambda folder: (folder / MANIFEST).write_text('{"outputs": [{"path": 1}]}'),
        ],
        ids=["changed", "missing", "extra", "no manifest", "half a manifest", "a list", "odd rows"],
    )
    def test_anything_else_is_none(self, folder, damage):
        damage(folder)
        assert not is_complete(folder)

    def test_what_is_not_there_is_none(self, tmp_path):
        assert not is_complete(tmp_path / "nowhere")


def test_a_manifest_lists_what_went_in_and_came_out():
    outputs = [{"path": path, "sha256": hashlib.sha256(b"abc").hexdigest(), "bytes": 3} for path in ("b.txt", "a.txt")]
    found = manifest("0" * 16, INPUTS, outputs, load_settings())
    assert [row["path"] for row in found["inputs"]] == ["a.md", "b.json"]
    assert found["outputs"] == outputs[::-1]
    assert list(found) == ["build_id", "prebrief", "inputs", "settings", "versions", "tokenizer", "margin", "outputs"]
    assert "run" not in found["settings"]
