from __future__ import annotations

import os

from tasks.sources.plans.beside import at_most, documents
from tasks.sources.plans.plan import Companion


def names(found):
    return [companion.path.name for companion in found]


def test_documents_are_listed_by_name_whatever_they_are_but_folders(tmp_path):
    for name in ("b.md", "a.md", ".hidden.md", "inner/c.md", "inner/deeper/d.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "gone.md").symlink_to(tmp_path / "nothing.md")
    os.mkfifo(tmp_path / "pipe.md")
    assert names(documents("design", tmp_path, tmp_path, lambda _: True)) == ["a.md", "b.md", "gone.md", "pipe.md"]
    deep = documents("design", tmp_path, tmp_path, lambda path: path.name != "b.md", deep=True)
    assert names(deep) == ["a.md", "gone.md", "c.md", "pipe.md"]


def test_a_folder_behind_a_link_is_listed_where_the_link_stays_inside(tmp_path):
    (tmp_path / "project" / "shared").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    for name in ("project/shared/a.md", "outside/b.md", "outside/c.md"):
        (tmp_path / name).write_text("x")
    project = tmp_path / "project"
    (project / "near").symlink_to(project / "shared")
    (project / "far").symlink_to(tmp_path / "outside")
    assert names(documents("design", project / "near", project, lambda _: True)) == ["a.md"]
    assert documents("design", project / "far", project, lambda _: True) == [
        Companion("design", project / "far", project)
    ]


def test_a_folder_that_is_not_there_has_none(tmp_path):
    assert documents("design", tmp_path / "nowhere", tmp_path, lambda _: True) == []


def test_what_is_beyond_the_most_is_counted(tmp_path):
    found = [Companion("design", tmp_path / f"{number}.md", tmp_path) for number in range(5)]
    assert at_most(5, found, tmp_path) == found
    assert at_most(3, found, tmp_path) == [*found[:3], Companion("design", tmp_path, tmp_path, left_out=2)]
