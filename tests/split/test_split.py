"""`prebrief split` and `prebrief load`: what they write, what they refuse, and that nothing is ever lost."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from flows.cli import app
from flows.split import load_command, split_commands
from tasks.errors import CommandError
from tasks.outputs.reader import BuildFolder

ROOT = Path(__file__).parents[2]
LONG = b"# Title\n\n" + b"intro\n" * 97 + b"\n## More\n\n" + b"text\n" * 199


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def held(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, hidden ones too."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def statuses(report) -> dict[str, str]:
    return {outcome.name: outcome.status for outcome in report.commands}


def codes(report) -> list[str]:
    return [row["code"] for row in report.findings]


@pytest.fixture
def folder(tmp_path) -> Path:
    """A folder with one long command and one short one."""
    (tmp_path / "long.md").write_bytes(LONG)
    (tmp_path / "short.md").write_bytes(b"# Short\n")
    return tmp_path


class TestSplitting:
    def test_a_long_command_becomes_three_files_and_a_short_one_stays(self, folder):
        report = split_commands(folder)
        assert statuses(report) == {"long": "split", "short": "short"}
        assert sorted(held(folder)) == ["long.core.md", "long.details.md", "long.md", "short.md"]
        assert (folder / "long.core.md").read_bytes() + (folder / "long.details.md").read_bytes().split(b"\n", 1)[
            1
        ] == LONG
        assert (report.commands[0].core, report.commands[0].details) == (100, 201)

    @pytest.mark.parametrize(("data", "status"), [(b"\n" * 299, "short"), (LONG[:-10], "short"), (LONG[:-5], "split")])
    def test_300_lines_are_long(self, tmp_path, data, status):
        (tmp_path / "x.md").write_bytes(data)
        assert statuses(split_commands(tmp_path)) == {"x": status}

    def test_a_second_split_changes_nothing(self, folder):
        split_commands(folder)
        before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}
        report = split_commands(folder)
        assert statuses(report) == {"long": "already split", "short": "short"}
        assert codes(report) == []
        assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()} == before

    def test_a_core_of_more_than_300_lines_is_not_split_again(self, tmp_path):
        (tmp_path / "x.md").write_bytes(b"# T\n\n" + b"a\n" * 900 + b"\n## B\n\n" + b"b\n" * 50)
        split_commands(tmp_path)
        assert (tmp_path / "x.core.md").read_bytes().count(b"\n") > 300
        before = held(tmp_path)
        assert statuses(split_commands(tmp_path)) == {"x": "already split"}
        assert held(tmp_path) == before

    def test_the_mode_of_the_file_is_kept_by_all_three(self, folder):
        (folder / "long.md").chmod(0o640)
        split_commands(folder)
        modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.glob("long*.md")}
        assert modes == {0o640}
        split_commands(folder, undo=True)
        assert stat.S_IMODE((folder / "long.md").stat().st_mode) == 0o640

    def test_check_says_the_same_and_writes_nothing(self, folder):
        before = held(folder)
        would = split_commands(folder, check=True)
        assert held(folder) == before
        assert would == split_commands(folder)

    def test_what_has_no_place_to_split_stays_whole_with_a_finding(self, tmp_path):
        (tmp_path / "x.md").write_bytes(b"```\n" + b"# no section\n" * 400)
        report = split_commands(tmp_path)
        assert statuses(report) == {"x": "whole"}
        assert codes(report) == ["COMMAND_WHOLE"]
        assert sorted(held(tmp_path)) == ["x.md"]

    @pytest.mark.parametrize("name", ["long.core.md", "long.details.md"])
    @pytest.mark.parametrize("kind", ["file", "folder", "link", "dangling"])
    def test_a_core_or_details_of_other_content_is_never_overwritten(self, folder, name, kind):
        place = folder / name
        if kind == "file":
            place.write_bytes(b"mine\n")
        elif kind == "folder":
            place.mkdir()
        else:
            place.symlink_to("short.md" if kind == "link" else "nowhere")
        before = held(folder)
        report = split_commands(folder)
        assert "COMMAND_CONFLICT" in codes(report)
        assert held(folder) == before
        assert not any(split_commands(folder, undo=True).commands)
        assert held(folder) == before

    def test_a_run_that_died_midway_is_completed(self, folder):
        split_commands(folder)
        done = held(folder)
        for missing in (["long.core.md"], ["long.details.md"], []):
            (folder / "long.md").write_bytes(LONG)
            for name in missing:
                (folder / name).unlink()
            assert statuses(split_commands(folder))["long"] == "split"
            assert held(folder) == done

    def test_what_cannot_be_read_is_a_finding_and_the_others_go_on(self, folder):
        (folder / "a-folder.md").mkdir()
        os.mkfifo(folder / "a-pipe.md")
        (folder / "a-link.md").symlink_to("long.md")
        report = split_commands(folder)
        assert sorted(codes(report)) == ["COMMAND_LINK", "INPUT_NOT_A_FILE", "INPUT_NOT_A_FILE"]
        assert statuses(report) == {"long": "split", "short": "short"}
        assert (folder / "a-link.md").is_symlink()

    def test_what_cannot_be_written_is_a_finding_and_leaves_nothing_behind(self, folder, monkeypatch):
        (folder / "other.md").write_bytes(LONG)
        before = held(folder)
        replace = Path.replace

        def full(self, target):
            if Path(target).name in {"long.md", "other.core.md"}:
                raise OSError(28, "No space left on device")
            return replace(self, target)

        monkeypatch.setattr(Path, "replace", full)
        report = split_commands(folder)
        assert codes(report) == ["COMMAND_NOT_WRITTEN", "COMMAND_NOT_WRITTEN"]
        assert held(folder) == before

    def test_hidden_and_other_files_are_left_alone(self, folder):
        for name in (".hidden.md", "notes.txt", "upper.MD"):
            (folder / name).write_bytes(LONG)
        assert statuses(split_commands(folder)) == {"long": "split", "short": "short"}


class TestUndoing:
    def test_the_original_comes_back_and_the_two_files_go(self, folder):
        before = held(folder)
        split_commands(folder)
        report = split_commands(folder, undo=True)
        assert statuses(report) == {"long": "restored"}
        assert held(folder) == before
        assert split_commands(folder, undo=True).commands == ()

    def test_check_says_the_same_and_writes_nothing(self, folder):
        split_commands(folder)
        before = held(folder)
        would = split_commands(folder, undo=True, check=True)
        assert held(folder) == before
        assert would == split_commands(folder, undo=True)

    def test_edits_of_the_core_and_the_details_are_kept(self, folder):
        split_commands(folder)
        core, details = folder / "long.core.md", folder / "long.details.md"
        core.write_bytes(core.read_bytes().replace(b"# Title", b"# New title"))
        details.write_bytes(details.read_bytes() + b"last\n")
        assert codes(split_commands(folder)) == ["COMMAND_STALE"]
        report = split_commands(folder, undo=True)
        assert report.findings[0]["severity"] == "info"
        assert codes(report) == ["COMMAND_EDITED"]
        assert (folder / "long.md").read_bytes() == LONG.replace(b"# Title", b"# New title") + b"last\n"

    def test_an_edit_of_the_details_alone_is_told_by_split(self, folder):
        split_commands(folder)
        details = folder / "long.details.md"
        details.write_bytes(details.read_bytes() + b"last\n")
        (found,) = split_commands(folder).findings
        assert (found["severity"], found["code"]) == ("info", "COMMAND_STALE")
        assert found["message"].startswith("long.details.md was edited since")

    def test_an_edit_that_leaves_fewer_lines_is_kept_with_a_warning(self, folder):
        split_commands(folder)
        details = folder / "long.details.md"
        details.write_bytes(b"".join(details.read_bytes().splitlines(keepends=True)[:-20]))
        (found,) = split_commands(folder, undo=True).findings
        assert (found["severity"], found["code"]) == ("warning", "COMMAND_EDITED")
        assert "of 301 lines it has 281 now" in found["message"]

    @pytest.mark.parametrize("name", ["long.core.md", "long.details.md"])
    @pytest.mark.parametrize(
        "damage", [lambda _: b"", lambda data: data.split(b"\n", 1)[0] + b"\n", lambda data: data[: len(data) // 3]]
    )
    def test_what_is_cut_off_or_empty_is_refused_and_all_files_stay(self, folder, name, damage):
        split_commands(folder)
        (folder / name).write_bytes(damage((folder / name).read_bytes()))
        before = held(folder)
        result = run("split", folder, "--undo")
        assert result.exit_code == 3
        assert "error COMMAND_" in result.stderr
        assert held(folder) == before
        (found,) = split_commands(folder).findings
        assert (found["severity"], found["where"]) == ("warning", "long.md")
        assert held(folder) == before

    def test_the_sentence_says_how_much_is_left(self, folder):
        split_commands(folder)
        (folder / "long.core.md").write_bytes(b"# T\n")
        (found,) = split_commands(folder, undo=True).findings
        assert found["code"] == "COMMAND_DAMAGED"
        assert found["message"] == "Its core had 100 lines and has 1; bring them back, then undo."

    @pytest.mark.parametrize(
        ("name", "edit", "code"),
        [
            ("long.md", lambda data: b"new\n" + data, "COMMAND_EDITED"),
            ("long.md", lambda data: data + b"new\n", "COMMAND_EDITED"),
            ("long.details.md", lambda data: data.split(b"\n", 1)[1], "COMMAND_EDITED"),
            ("long.core.md", None, "COMMAND_INCOMPLETE"),
            ("long.details.md", None, "COMMAND_INCOMPLETE"),
        ],
    )
    def test_it_is_refused_where_it_is_open_what_the_whole_was(self, folder, name, edit, code):
        split_commands(folder)
        if edit is None:
            (folder / name).unlink()
        else:
            (folder / name).write_bytes(edit((folder / name).read_bytes()))
        before = held(folder)
        report = split_commands(folder, undo=True)
        assert codes(report) == [code]
        assert report.commands == ()
        assert held(folder) == before
        assert statuses(split_commands(folder))["long"] == "already split"
        assert held(folder) == before

    def test_a_run_that_died_midway_is_completed(self, folder):
        before = held(folder)
        split_commands(folder)
        done = held(folder)
        for missing in ([], ["long.core.md"]):
            for name, data in done.items():
                (folder / name).write_bytes(data)
            (folder / "long.md").write_bytes(LONG)
            for name in missing:
                (folder / name).unlink()
            assert statuses(split_commands(folder, undo=True)) == {"long": "restored"}
            assert held(folder) == before

    def test_cores_that_people_wrote_themselves_stay(self, tmp_path):
        files = {"x.md": LONG, "x.core.md": LONG[:200], "x.details.md": LONG[200:]}
        for name, data in files.items():
            (tmp_path / name).write_bytes(data)
        assert split_commands(tmp_path, undo=True).commands == ()
        assert held(tmp_path) == files


class TestLoading:
    def test_a_split_command_gives_its_core_and_with_details_the_rest_after_one_blank_line(self, folder):
        split_commands(folder)
        core, rest = LONG[: LONG.index(b"## More")], LONG[LONG.index(b"## More") :]
        assert load_command("long", folder).data == core
        assert load_command("long", folder, details=True).data == core.rstrip(b"\n") + b"\n\n" + rest

    def test_a_whole_command_is_given_as_it_is(self, folder):
        assert load_command("long", folder).data == load_command("long", folder, details=True).data == LONG
        assert load_command("long.md", folder).data == LONG

    def test_details_that_are_missing_are_a_finding(self, folder):
        (folder / "short.core.md").write_bytes(b"# Core\r\n")
        loaded = load_command("short", folder, details=True)
        assert loaded.data == b"# Core\r\n"
        assert [row["code"] for row in loaded.findings] == ["COMMAND_INCOMPLETE"]
        (folder / "short.details.md").write_bytes(b"Details\r\n")
        assert load_command("short", folder, details=True).data == b"# Core\r\n\r\nDetails\r\n"

    @pytest.mark.parametrize(
        "name", ["", ".", "..", "../secret", "/etc/passwd", "sub/long", "a\\b", "a\0b", "../x/long"]
    )
    def test_no_name_leads_out_of_the_folder(self, folder, name):
        (folder.parent / "secret.md").write_bytes(b"secret\n")
        with pytest.raises(CommandError, match="is no name of a command"):
            load_command(name, folder)
        result = run("load", "--commands", folder, "--", name)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert len(result.stderr.splitlines()) == 1

    @pytest.mark.parametrize("part", ["linked.md", "linked.core.md", "linked.details.md"])
    def test_no_link_does_either(self, folder, tmp_path_factory, part):
        secret = tmp_path_factory.mktemp("elsewhere") / "secret.md"
        secret.write_bytes(b"secret\n")
        if part == "linked.details.md":
            (folder / "linked.core.md").write_bytes(b"core\n")
        (folder / part).symlink_to(secret)
        with pytest.raises(CommandError, match="leads outside"):
            load_command("linked", folder, details=True)

    def test_a_link_within_the_folder_is_followed(self, folder):
        (folder / "alias.md").symlink_to("short.md")
        assert load_command("alias", folder).data == b"# Short\n"

    def test_a_missing_name_says_which_there_are(self, folder):
        split_commands(folder)
        (folder / ".hidden.md").write_bytes(b"x\n")
        with pytest.raises(CommandError, match=r"no command 'nope' .* there are: long, short\."):
            load_command("nope", folder)

    def test_what_is_no_file_cannot_be_loaded(self, folder):
        (folder / "sub.md").mkdir()
        with pytest.raises(CommandError, match="It is a folder"):
            load_command("sub", folder)


class TestCommand:
    def test_split_prints_a_row_a_command(self, folder):
        result = run("split", folder)
        assert result.exit_code == 0
        assert [line.split() for line in result.stdout.splitlines()] == [
            ["command", "status", "lines", "core", "details"],
            ["long", "split", "301", "100", "201"],
            ["short", "short", "1"],
        ]

    def test_as_json_it_is_one_object(self, folder):
        said = json.loads(run("split", folder, "--check", "--json").stdout)
        assert said == {
            "commands": [
                {"name": "long", "status": "split", "lines": 301, "core": 100, "details": 201},
                {"name": "short", "status": "short", "lines": 1, "core": None, "details": None},
            ],
            "findings": [],
        }

    def test_what_had_to_be_left_is_said_on_stderr_and_makes_exit_code_3(self, folder):
        (folder / "long.core.md").write_bytes(b"mine\n")
        result = run("split", folder)
        assert result.exit_code == 3
        assert "error COMMAND_CONFLICT: long.md: " in result.stderr

    def test_load_prints_the_bytes_of_the_file_and_nothing_else(self, folder):
        (folder / "odd.md").write_bytes(b"\xef\xbb\xbfcaf\xe9\r\nno end")
        result = run("load", "odd", "--commands", folder)
        assert result.exit_code == 0
        assert result.stdout_bytes == b"\xef\xbb\xbfcaf\xe9\r\nno end"

    def test_load_looks_in_the_working_folder(self, folder, monkeypatch):
        monkeypatch.chdir(folder)
        assert run("load", "short").stdout == "# Short\n"

    @pytest.mark.parametrize(
        "arguments", [["split", "nowhere"], ["split", "short.md"], ["load", "x", "--commands", "no"]]
    )
    def test_a_folder_that_is_none_is_wrong_usage(self, folder, monkeypatch, arguments):
        monkeypatch.chdir(folder)
        result = run(*arguments)
        assert result.exit_code == 2
        assert result.stderr.startswith("error COMMAND: there is no folder ")


class TestBuilding:
    def test_the_sections_of_commands_are_candidates_split_or_not(self, quickstart, tmp_path):
        folder = tmp_path / "commands"
        shutil.copytree(ROOT / "data" / "commands", folder)
        arguments = ("build", quickstart / "task-graph.json", "--commands", folder, "--out", tmp_path / "builds")
        whole = BuildFolder(Path(json.loads(run(*arguments, "--json").stdout)["path"]))
        split_commands(folder)
        parts = BuildFolder(Path(json.loads(run(*arguments, "--json").stdout)["path"]))
        names = [{Path(entry["path"]).name for entry in build.manifest["inputs"]} for build in (whole, parts)]
        assert "work-on-task.md" in names[0]
        assert {"work-on-task.core.md", "work-on-task.details.md"} <= names[1]
        assert "work-on-task.md" not in names[1]
        for task in ("TASK-001", "TASK-007"):
            prompts = [build.task(task)["prompt"] for build in (whole, parts)]
            assert prompts[0] == prompts[1]
            assert "#### Work on a task" in prompts[0]
        assert run("audit", tmp_path / "builds").exit_code == 0

    def test_flows_take_the_folder_too(self):
        pytest.importorskip("prefect")
        from flows.build import build_contexts
        from flows.prelaunch import prelaunch

        for flow in (build_contexts, prelaunch):
            assert inspect.signature(flow.fn).parameters["commands"].default is None

    def test_the_sample_is_long_enough_to_be_split_and_comes_back(self, tmp_path):
        shutil.copytree(ROOT / "data" / "commands", tmp_path, dirs_exist_ok=True)
        before = held(tmp_path)
        assert statuses(split_commands(tmp_path)) == {"work-on-task": "split"}
        split_commands(tmp_path, undo=True)
        assert held(tmp_path) == before


def test_real_commands_are_split_between_sections_and_come_back(shared, tmp_path):
    """Measured: of 13 files five are long; each splits where an H2 begins, at 32 to 46 % of its lines."""
    folder = tmp_path / "commands"
    shutil.copytree(shared / "data" / "commands", folder, copy_function=shutil.copyfile)
    folder.chmod(0o755)
    before = held(folder)
    report = split_commands(folder)
    assert report.findings == ()
    places = {outcome.name: (outcome.lines, outcome.core) for outcome in report.commands if outcome.status == "split"}
    assert places == {
        "debug": (520, 204),
        "plan": (468, 147),
        "plugins": (544, 247),
        "rush": (622, 200),
        "status": (313, 103),
    }
    for name in places:
        core, rest = (folder / f"{name}.core.md").read_bytes(), (folder / f"{name}.details.md").read_bytes()
        rest = rest.split(b"\n", 1)[1]
        assert core + rest == before[f"{name}.md"]
        assert rest.startswith(b"## ")
        assert core.count(b"\n```") % 2 == rest.count(b"\n```") % 2 == 0
    after = held(folder)
    split_commands(folder)
    assert held(folder) == after
    split_commands(folder, undo=True)
    assert held(folder) == before


# ---- laws -------------------------------------------------------------------------------------------------------

LINE = st.sampled_from(
    [
        b"# T",
        b"## A",
        b"### B",
        b"",
        b"",
        b"text",
        b"- item",
        b"  - deep",
        b"| a | b |",
        b"|---|---|",
        b"    code",
        b"```",
        b"````",
        b"~~~",
        b"<!--",
        b"-->",
        b"===",
        b"---",
        b"caf\xe9",
        b"\xc3\xa9",
        b"a\rb",
        b"\xef\xbb\xbf",
        b"<!-- prebrief: details of x.md; its first part is x.core.md -->",
    ]
)
COMMAND = st.builds(
    lambda mark, some, times, end, last: mark + end.join(some * times) + last,
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    st.lists(LINE, min_size=30, max_size=100),
    st.integers(1, 8),
    st.sampled_from([b"\n", b"\r\n"]),
    st.sampled_from([b"", b"\n", b"\r\n", b"\n\n"]),
)


@given(st.lists(COMMAND, min_size=1, max_size=2))
@settings(max_examples=40, deadline=None)
def test_split_twice_is_split_once_and_undo_restores_every_byte(tmp_path_factory, commands):
    folder = tmp_path_factory.mktemp("law")
    for number, data in enumerate(commands):
        (folder / f"{number}.md").write_bytes(data)
    before = held(folder)
    split_commands(folder)
    once = held(folder)
    split_commands(folder)
    assert held(folder) == once
    split_commands(folder, undo=True)
    assert held(folder) == before
    shutil.rmtree(folder)
