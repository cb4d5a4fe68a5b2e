from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tasks.errors import BuildMissingError
from tasks.outputs.reader import BuildFolder, find_build
from tests.tasks.small_build import GRAPH, LARGE, ODD, ODD_STEM, TASK, TASK_TYPES, small_build

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> BuildFolder:
    return BuildFolder(small_build().write(tmp_path))


# ---- finding a build --------------------------------------------------------------------------------------------


def test_a_build_folder_is_found_as_it_is(tmp_path: Path) -> None:
    root = small_build().write(tmp_path)
    assert find_build(root) == root.resolve()


def test_an_output_folder_leads_to_its_newest_build(tmp_path: Path) -> None:
    root = small_build().write(tmp_path)
    (tmp_path / "latest").symlink_to(root.name)
    assert find_build(tmp_path) == find_build(tmp_path / "latest") == root.resolve()


def test_where_there_is_no_build_the_sentence_ends_in_the_command_to_run(tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to("gone")
    for place in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(BuildMissingError) as error:
            find_build(place)
        assert str(error.value).endswith(f"run: prebrief build GRAPH --out {place}")


# ---- reading one ------------------------------------------------------------------------------------------------


def test_every_part_of_a_build_is_at_hand(folder: BuildFolder) -> None:
    assert folder.tasks.columns == list(TASK_TYPES)
    sizes = [len(getattr(folder, name)) for name in ("tasks", "items", "stages", "findings", "timings", "artifacts")]
    assert sizes == [3, 15, 24, 1, 1, 1]
    assert folder.manifest["tokenizer"] == "o200k_base"


@pytest.mark.parametrize("task_id", [TASK, LARGE, ODD])
def test_a_context_is_read_whatever_the_id(folder: BuildFolder, task_id: str) -> None:
    assert set(folder.context(GRAPH, task_id)["task_id"]) == {task_id}


def test_a_prompt_is_found_whatever_the_id(folder: BuildFolder) -> None:
    assert folder.prompt_path(GRAPH, ODD) == folder.root / f"prompts/{GRAPH}/{ODD_STEM}.md"
    assert folder.prompt_path(GRAPH, TASK).read_text().endswith("Build the payment step.\n")


def test_a_task_without_a_prompt_says_why(folder: BuildFolder) -> None:
    with pytest.raises(BuildMissingError, match=f"over_budget; run: prebrief why {GRAPH}/{LARGE}$"):
        folder.prompt_path(GRAPH, LARGE)


def test_a_task_that_is_not_there_is_named_with_what_may_be_meant(folder: BuildFolder) -> None:
    for read in (folder.context, folder.prompt_path):
        with pytest.raises(BuildMissingError, match=f"{GRAPH}/T-01; close to it: {GRAPH}/{TASK}"):
            read(GRAPH, "T-01")


@pytest.mark.parametrize("name", ["items", "findings"])
def test_a_file_that_is_not_the_listed_one_is_not_read(folder: BuildFolder, name: str) -> None:
    path = folder.root / f"{name}.parquet"
    getattr(BuildFolder(folder.root), name).head(0).write_parquet(path)
    with pytest.raises(BuildMissingError, match="cannot be read"):
        getattr(folder, name)


@pytest.mark.parametrize("damage", [b"", b"PAR1 not really PAR1"])
def test_a_damaged_file_leads_to_the_audit(folder: BuildFolder, damage: bytes) -> None:
    (folder.root / "items.parquet").write_bytes(damage)
    with pytest.raises(BuildMissingError, match=r"items\.parquet cannot be read; run: prebrief audit"):
        _ = folder.items


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\xff"])
def test_a_damaged_manifest_leads_to_the_audit(folder: BuildFolder, damage: bytes) -> None:
    (folder.root / "manifest.json").write_bytes(damage)
    with pytest.raises(BuildMissingError, match="run: prebrief audit"):
        _ = folder.manifest


def test_a_missing_file_leads_to_the_audit(folder: BuildFolder) -> None:
    (folder.root / f"contexts/{GRAPH}/{TASK}.parquet").unlink()
    with pytest.raises(BuildMissingError, match="is missing; run: prebrief audit"):
        folder.context(GRAPH, TASK)


# ---- naming a task ----------------------------------------------------------------------------------------------


def test_a_task_is_named_by_its_id_or_with_its_graph(folder: BuildFolder) -> None:
    assert folder.task(TASK) == folder.task(f"{GRAPH}/{TASK}")
    assert folder.task(ODD)["task_id"] == ODD


def test_an_id_of_two_graphs_must_be_named_with_its_graph(tmp_path: Path) -> None:
    build = small_build()
    build.tasks["other"] = build.tasks[TASK] | {"graph": "search", "prompt": None}
    folder = BuildFolder(build.write(tmp_path))
    with pytest.raises(
        BuildMissingError, match=f"'{TASK}' names 2 tasks of this build; say which one: {GRAPH}/{TASK}, search/{TASK}"
    ):
        folder.task(TASK)
    assert folder.task(f"search/{TASK}")["graph"] == "search"


def test_an_unknown_task_lists_close_matches(folder: BuildFolder) -> None:
    with pytest.raises(BuildMissingError, match=f"no task 't-02'; close to it: {LARGE}"):
        folder.task("t-02")


def test_an_unknown_task_that_is_like_none_lists_some(folder: BuildFolder) -> None:
    with pytest.raises(BuildMissingError, match=f"there are: .*{TASK}"):
        folder.task("zzzzzzzzzzzzzzzz")


# ---- naming an item ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["log/c1", "g/c1", "c1"])
def test_an_item_is_named_by_its_id_or_its_ending(folder: BuildFolder, name: str) -> None:
    assert folder.item(name)["item_id"] == "log/c1"


def test_an_id_wins_over_an_ending(tmp_path: Path) -> None:
    build = small_build()
    build.items["c1"] = build.items["log/c1"] | {"item_id": "c1"}
    assert BuildFolder(build.write(tmp_path)).item("c1")["item_id"] == "c1"


def test_an_ending_that_is_a_whole_word_wins(tmp_path: Path) -> None:
    build = small_build()
    build.items["xc1"] = build.items["log/c1"] | {"item_id": "log/xc1"}
    assert BuildFolder(build.write(tmp_path)).item("c1")["item_id"] == "log/c1"


def test_an_ending_of_several_ids_lists_them(folder: BuildFolder) -> None:
    with pytest.raises(
        BuildMissingError,
        match=r"'1' ends 8 item ids of this build; say more of one: brief/T-001, design/1, log/c1, .* and 3 more",
    ):
        folder.item("1")


def test_an_unknown_item_lists_close_matches(folder: BuildFolder) -> None:
    with pytest.raises(BuildMissingError, match="no item 'desgin/2'; close to it: design/2"):
        folder.item("desgin/2")
