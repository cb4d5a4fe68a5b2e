"""Command files as a source: which files are read, and which passages come of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from flows.split import split_commands
from tasks.settings import Settings
from tasks.sources.load import Request, discover, load

SETTINGS = Settings()
KEY = "AKIA" + "Q3EGRJ7ZLD" + "W5YKXN"
LONG = "# Deploy\n\nIntro.\n\n" + "step\n" * 130 + "\n## Rollback\n\nGo back.\n\n### Data\n\n" + "row\n" * 200


@pytest.fixture
def project(tmp_path):
    """A working folder with a graph and a folder of commands: `write` adds a file."""

    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    tasks = [{"id": "T1", "title": "Rollback", "description": "Roll it back.", "context": "Mind the rollback."}]
    write("task-graph.json", json.dumps({"feature": "f", "tasks": tasks}))
    write("commands/deploy.md", LONG)
    return write


def loaded(root: Path, commands: str | None = "commands"):
    request = Request(
        graphs=(Path("task-graph.json"),), rules=Path("none"), commands=commands and Path(commands), cwd=root
    )
    inputs = discover(request, SETTINGS)
    return inputs, load(inputs, SETTINGS)


def rows(root: Path):
    return loaded(root)[1].items.filter(source="commands").sort("position").to_dicts()


def codes(batch):
    return set(batch.findings["code"]) - {"RULES_MISSING", "SPEC_MISSING", "GRAPH_NO_LEVEL"}


class TestPassages:
    def test_sections_are_snippets_for_the_reference_of_every_task(self, project, tmp_path):
        found = rows(tmp_path)
        assert [row["text"].split("\n")[0] for row in found] == [
            "# Deploy",
            "Intro.",
            "step",
            "## Rollback",
            "Go back.",
            "### Data",
            "row",
        ]
        for row in found:
            assert (row["kind"], row["section"], row["graph"], row["task_id"]) == (
                "doc_snippet",
                "reference",
                None,
                None,
            )
            assert (row["path"], row["tags"]) == ("commands/deploy.md", ["deploy"])
            assert row["item_id"].startswith("commands/deploy.md#")

    def test_the_parent_is_the_heading_above(self, project, tmp_path):
        found = {row["text"].split("\n")[0]: row for row in rows(tmp_path)}
        parents = {
            text: next((other for other, held in found.items() if held["item_id"] == row["parent_id"]), None)
            for text, row in found.items()
        }
        assert parents == {
            "# Deploy": None,
            "Intro.": "# Deploy",
            "step": "# Deploy",
            "## Rollback": "# Deploy",
            "Go back.": "## Rollback",
            "### Data": "## Rollback",
            "row": "### Data",
        }

    def test_they_come_after_what_planners_wrote(self, project, tmp_path):
        items = loaded(tmp_path)[1].items.filter(section="reference").sort("position")
        assert items["kind"].to_list() == ["plan_state"] + ["doc_snippet"] * 7

    def test_nothing_is_read_unless_asked_for(self, project, tmp_path):
        inputs, batch = loaded(tmp_path, None)
        assert batch.items.filter(source="commands").is_empty()
        assert [file.label for file in inputs.files] == ["task-graph.json"]


class TestSplitCommands:
    def test_their_passages_are_those_of_the_whole(self, project, tmp_path):
        before = rows(tmp_path)
        split_commands(tmp_path / "commands")
        after = rows(tmp_path)
        moved = ("path", "line_start", "line_end")
        assert [{key: row[key] for key in row if key not in moved} for row in after] == [
            {key: row[key] for key in row if key not in moved} for row in before
        ]

    def test_each_names_the_file_and_line_where_it_stands(self, project, tmp_path):
        split_commands(tmp_path / "commands")
        for row in rows(tmp_path):
            lines = (tmp_path / row["path"]).read_text().split("\n")
            assert "\n".join(lines[row["line_start"] - 1 : row["line_end"]]) == row["text"]
        assert {row["path"] for row in rows(tmp_path)} == {"commands/deploy.core.md", "commands/deploy.details.md"}

    def test_core_and_details_are_inputs_and_the_generated_file_is_none(self, project, tmp_path):
        split_commands(tmp_path / "commands")
        inputs, _ = loaded(tmp_path)
        assert [file.label for file in inputs.files] == [
            "commands/deploy.core.md",
            "commands/deploy.details.md",
            "task-graph.json",
        ]

    def test_a_generated_file_whose_core_is_gone_is_read_without_its_comment(self, project, tmp_path):
        split_commands(tmp_path / "commands")
        (tmp_path / "commands/deploy.core.md").unlink()
        assert not any("prebrief" in row["text"] for row in rows(tmp_path))
        assert sorted({row["path"] for row in rows(tmp_path)}) == ["commands/deploy.details.md", "commands/deploy.md"]

    def test_of_files_that_people_split_themselves_each_text_is_taken_once(self, project, tmp_path):
        project("commands/deploy.core.md", "# Deploy\n\nIntro.\n\nOnly in the core.\n")
        project("commands/deploy.details.md", "<!-- details -->\n\n## Rollback\n\nCall someone.\n")
        found = rows(tmp_path)
        texts = [row["text"].split("\n")[0] for row in found]
        assert texts == [
            "# Deploy",
            "Intro.",
            "Only in the core.",
            "<!-- details -->",
            "## Rollback",
            "Call someone.",
            "step",
            "## Rollback",
            "Go back.",
            "### Data",
            "row",
        ]
        by_id = {row["item_id"]: row for row in found}
        assert len(by_id) == len(found)
        assert by_id[found[6]["parent_id"]]["path"] == "commands/deploy.core.md"

    def test_an_edited_file_adds_only_what_is_new(self, project, tmp_path):
        split_commands(tmp_path / "commands")
        parent = tmp_path / "commands/deploy.md"
        parent.write_bytes(parent.read_bytes().replace(b"Intro.", b"Another intro."))
        texts = [row["text"].split("\n")[0] for row in rows(tmp_path)]
        assert texts.count("# Deploy") == texts.count("step") == 1
        assert "Another intro." in texts


class TestOddities:
    def test_credentials_are_masked_wherever_they_stand(self, project, tmp_path):
        project("commands/deploy.md", LONG.replace("Go back.", f"Use {KEY}."))
        project(f"commands/{KEY}.md", "# Named badly\n")
        split_commands(tmp_path / "commands")
        _, batch = loaded(tmp_path)
        assert KEY not in json.dumps(batch.items.to_dicts(), default=str)
        assert KEY not in json.dumps(batch.findings.to_dicts(), default=str)
        row = next(row for row in rows(tmp_path) if row["text"].startswith("Use "))
        assert row["redactions"] == 1
        assert row["path"] == "commands/deploy.details.md"
        assert "CREDENTIAL_REDACTED" in codes(batch)

    def test_a_key_that_spans_lines_leaves_line_numbers_true(self, project, tmp_path):
        key = "-----BEGIN RSA " + "PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEA" * 4 + "\n-----END RSA " + "PRIVATE KEY-----"
        project("commands/deploy.md", LONG.replace("Intro.", key))
        split_commands(tmp_path / "commands")
        row = next(row for row in rows(tmp_path) if row["text"] == "Go back.")
        lines = (tmp_path / row["path"]).read_text().split("\n")
        assert lines[row["line_start"] - 1] == "Go back."

    def test_what_cannot_be_read_is_a_finding(self, project, tmp_path):
        (tmp_path / "commands/folder.md").mkdir()
        outside = project("secret.md", "# Secret\n")
        (tmp_path / "commands/link.md").symlink_to(outside)
        _, batch = loaded(tmp_path)
        assert codes(batch) == {"INPUT_NOT_A_FILE", "INPUT_OUTSIDE"}
        assert "Secret" not in str(rows(tmp_path))

    @pytest.mark.parametrize(("folder", "code"), [("nowhere", "INPUT_MISSING"), ("empty", "INPUT_NO_COMMANDS")])
    def test_so_is_a_folder_that_is_missing_or_empty(self, project, tmp_path, folder, code):
        (tmp_path / "empty").mkdir()
        assert code in codes(loaded(tmp_path, folder)[1])

    def test_the_lines_of_odd_bytes_are_read_as_those_of_specs(self, project, tmp_path):
        project("commands/deploy.md", b"\xef\xbb\xbf# Caf\xe9\r\n\r\nText.\r\n")
        assert [row["text"] for row in rows(tmp_path)] == ["# Caf\xe9", "Text."]


def test_real_commands_give_the_same_passages_split_or_not(shared, project, tmp_path):
    shutil.rmtree(tmp_path / "commands")
    shutil.copytree(shared / "commands", tmp_path / "commands", copy_function=shutil.copyfile)
    (tmp_path / "commands").chmod(0o755)
    before = rows(tmp_path)
    split_commands(tmp_path / "commands")
    after = rows(tmp_path)
    assert len(before) > 500
    assert [(row["item_id"], row["text"], row["parent_id"]) for row in before] == [
        (row["item_id"], row["text"], row["parent_id"]) for row in after
    ]
