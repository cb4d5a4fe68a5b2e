"""The weaker forms of tasks in Markdown: numbers, boxes alone, headings, rows; and where they are known as such."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.sources.files import InputFile
from tasks.sources.plans.plan import PlanSource
from tasks.sources.plans.spec_kit import FORMAT


def read(text):
    return FORMAT.read(PlanSource(InputFile.of("specs/001-demo/tasks.md", text.encode()), text))


def rows(text):
    return {row["task_id"]: row for row in read(text).rows}


def needs(text):
    return {task_id: row["dependencies"] for task_id, row in rows(text).items()}


def codes(text):
    return [row["code"] for row in read(text).findings]


class TestNumbers:
    text = (
        "# Tareas: Descargas\n\n## Fase 1: Base\n\n- [x] 1.1 Crear `downloads/core.py`\n- [ ] **1.2** Declarar tipos\n"
        "  - con cuidado\n\n## Fase 2: Red\n\n- [ ] 2.1. [P] Leer\n- [ ] 2.2 Escribir\n  - Depende de: 1.1, 2.1\n"
    )

    def test_are_ids(self):
        found = rows(self.text)
        assert [(task_id, row["title"]) for task_id, row in found.items()] == [
            ("1.1", "Crear `downloads/core.py`"),
            ("1.2", "Declarar tipos"),
            ("2.1", "Leer"),
            ("2.2", "Escribir"),
        ]
        assert [row["status"] for row in found.values()] == ["done", "pending", "pending", "pending"]
        assert [row["level"] for row in found.values()] == [1, 1, 2, 2]
        assert found["1.2"]["description"] == "- con cuidado"
        assert codes(self.text) == []

    def test_order_as_other_ids_do(self):
        assert needs(self.text) == {"1.1": [], "1.2": ["1.1"], "2.1": ["1.2"], "2.2": ["1.1", "2.1"]}

    def test_count_also_without_a_point_in_them(self):
        text = "# Tasks\n\n- [ ] 1. First\n- [ ] 2) Second\n- [ ] 3: Third (depends on task 1)\n"
        assert [row["title"] for row in rows(text).values()] == ["First", "Second", "Third (depends on task 1)"]
        assert list(rows(text)) == ["1", "2", "3"]

    def test_make_tasks_parts_of_others(self):
        text = "# Tasks\n\n- [ ] 1. First\n  - [ ] 1.1 Inner\n    - a note\n  - [ ]* 1.2 Optional\n- [ ] 2. Second\n"
        found = rows(text)
        assert [row["parent"] for row in found.values()] == [None, "1", "1", None]
        assert found["1.1"]["description"] == "- a note"
        assert needs(text) == {"1": [], "1.1": [], "1.2": ["1.1"], "2": ["1.2"]}

    @pytest.mark.parametrize("line", ["12:30 call", "3 of 4 pass", "2.5x as fast", "50% less", "2026 plan"])
    def test_are_none_within_text(self, line):
        assert list(rows(f"# Tasks\n\n- [ ] {line}\n")) == ["T1"]

    def test_of_phases_and_stories_are_none_of_tasks(self):
        text = (
            "# Tasks\n\n## Phase 1: A\n- [ ] 1. a\n- [ ] 2. b\n\n## Phase 2: B\n- [ ] 3. c\n  - Depends on: Phase 1\n"
            "- [ ] 4. d\n\n## Dependencies\n- Phase 2 depends on Phase 1\n- 4 → 1\n"
        )
        assert needs(text) == {"1": [], "2": ["1"], "3": ["2"], "4": ["3"]}


class TestBoxesWithoutIds:
    text = (
        "# Tâches : Artefacts\n\n## Phase 1\n\n- [x] Créer les artefacts dans `out/`\n  - [ ] une partie\n"
        "- [ ] [P] Écrire le guide\n\n## Phase 2\n\n- [ ] Publier\n"
    )

    def test_are_called_by_their_places(self):
        found = rows(self.text)
        assert [(task_id, row["title"], row["status"], row["level"]) for task_id, row in found.items()] == [
            ("T1", "Créer les artefacts dans `out/`", "done", 1),
            ("T2", "Écrire le guide", "pending", 1),
            ("T3", "Publier", "pending", 2),
        ]
        assert needs(self.text) == {"T1": [], "T2": [], "T3": ["T1", "T2"]}

    def test_are_a_finding(self):
        [found] = read(self.text).findings
        assert (found["severity"], found["code"]) == ("warning", "PLAN_NO_IDS")
        assert "T1 to T3" in found["message"]

    def test_within_others_are_their_text(self):
        assert rows(self.text)["T1"]["description"] == "- [ ] une partie"

    def test_are_none_where_any_line_has_an_id(self):
        assert list(rows(f"{self.text}\n- [ ] T007 Autre\n")) == ["T007"]
        assert list(rows(f"{self.text}\n- [ ] 3.1 Autre\n")) == ["3.1"]

    def test_of_checklists_are_none(self):
        text = "# Tasks\n\n## Work\n- [ ] Do it\n\n## Validation checklist\n- [ ] All pass\n"
        assert [row["title"] for row in rows(text).values()] == ["Do it"]
        assert [row["title"] for row in rows(f"{self.text}\n## Notes\n- [ ] Later?\n").values()][2:] == ["Publier"]

    def test_that_say_the_same_are_tasks_each(self):
        assert list(rows("# Tasks\n\n- [ ] Run the tests\n- [ ] Fix\n- [ ] Run the tests\n")) == ["T1", "T2", "T3"]


class TestHeadings:
    text = """# 任务：下载

## 阶段一：基础

### TASK-001-001：建立项目

**状态**：✅ 已完成

**描述**：建立 `src/app.py`。

**验收标准**：
- [ ] 可以运行
- [ ] 有测试

---

### TASK-001-002：建立模型

**依赖任务**：TASK-001-001

## 第二阶段：功能

### TASK-002-001：接口

**依赖任务**：无
"""

    def test_are_tasks_with_the_fields_below_them(self):
        found = rows(self.text)
        assert [(task_id, row["title"], row["level"]) for task_id, row in found.items()] == [
            ("TASK-001-001", "建立项目", 1),
            ("TASK-001-002", "建立模型", 1),
            ("TASK-002-001", "接口", 2),
        ]
        first = found["TASK-001-001"]
        assert (first["status"], first["acceptance_criteria"]) == ("done", ["可以运行", "有测试"])
        assert first["description"] == "**描述**：建立 `src/app.py`。"
        assert first["files_modify"] == ["src/app.py"]
        assert needs(self.text) == {"TASK-001-001": [], "TASK-001-002": ["TASK-001-001"], "TASK-002-001": []}
        assert codes(self.text) == []

    @pytest.mark.parametrize(
        ("heading", "task_id", "title"),
        [
            ("### T001: Do it", "T001", "Do it"),
            ("### T001 - Do it", "T001", "Do it"),
            ("### T001 [P]: Do it", "T001", "Do it"),
            ("## T1 Do it", "T1", "Do it"),
            ("#### **T-001** Do it", "T-001", "Do it"),
            ("### Task T001: Do it", "T001", "Do it"),
            ("### Task 3: Do it", "3", "Do it"),
            ("### Task 1.2 — Do it", "1.2", "Do it"),
            ("## 任务 2：Do it", "2", "Do it"),
            ("### [ ] T001 Do it", "T001", "Do it"),
        ],
    )
    def test_of_every_kind(self, heading, task_id, title):
        text = f"# Tasks: Demo\n\n{heading}\n\nWords.\n"
        assert FORMAT.recognises(text, None)
        [row] = read(text).rows
        assert (row["task_id"], row["title"], row["description"]) == (task_id, title, "Words.")

    @pytest.mark.parametrize(
        ("lines", "status"),
        [
            ("### T001: Do it ✅", "done"),
            ("### T001: Do it ✅ COMPLETE", "done"),
            ("### [x] T001: Do it", "done"),
            ("### T001: Do it\n**Status**: COMPLETE - all of it", "done"),
            ("### T001: Do it\n- **Status**: [x] Selesai", "done"),
            ("### T001: Do it\n- **Status**: ⏳ Pending", "pending"),
            ("### T001: Do it\n**Status**: 🔄 In Progress", "in-progress"),
            ("### T001: Do it\n**状态**：进行中", "in-progress"),
            ("### T001: Do it\n**Status**: who knows", "pending"),
            ("### T001: Do it", "pending"),
        ],
    )
    def test_tell_how_far_a_task_is(self, lines, status):
        [row] = read(f"# Tasks: Demo\n\n{lines}\n").rows
        assert (row["title"], row["status"]) == ("Do it", status)

    def test_a_status_below_a_box_is_text(self):
        [row] = read("- [ ] T001 Do it\n  - Status: done in part\n").rows
        assert (row["status"], row["description"]) == ("pending", "- Status: done in part")

    def test_have_criteria_under_headings_of_their_own(self):
        text = "# Tasks: D\n\n### T001: a\n\nText.\n\n#### Acceptance Criteria\n\n- one\n- two\n\n#### Notes\n\nMore.\n"
        [row] = read(text).rows
        assert row["acceptance_criteria"] == ["one", "two"]
        assert row["description"] == "Text.\n\n#### Notes\n\nMore."

    def test_go_up_to_the_next_heading_that_is_as_high(self):
        text = "# Tasks: D\n\n## Part\n\n### T001: a\n\none\n\n### Other\n\ntwo\n\n### T002: b\n\nthree\n\n## Notes\n\nfour\n"
        assert [row["description"] for row in read(text).rows] == ["one", "three"]

    def test_their_checkpoint_is_their_own(self):
        text = "# Tasks: D\n\n## Phase 1\n### T001: a\n**Checkpoint**: done\n### T002: b\nWords.\n"
        assert [row["acceptance_criteria"] for row in read(text).rows] == [["Checkpoint: done"], []]

    def test_of_several_tasks_are_none(self):
        assert list(rows("# Tasks: D\n\n### T001: a\n\n### T002-T004: more\n\n### T005, T006\n")) == ["T001"]

    def test_are_details_where_lines_with_boxes_are_the_tasks(self):
        assert (
            rows("# Tasks\n\n- [ ] T001 Do it\n\n## Details\n\n### T001: the long story\n")["T001"]["title"] == "Do it"
        )


class TestRows:
    text = (
        "# Tasks: Demo\n\n| ID | Task | Story | Status | Dependencies | Points |\n|---|---|---|---|---|---|\n"
        "| T001 | Create `manifest.json` | US1 | DONE | – | 1 |\n| **T002** | Merge | [P] | [ ] | T001 | 2 |\n| sum | | | | | 3 |\n"
    )

    def test_are_tasks_where_they_have_ids_and_titles(self):
        found = rows(self.text)
        assert [(task_id, row["title"], row["status"]) for task_id, row in found.items()] == [
            ("T001", "Create `manifest.json`", "done"),
            ("T002", "Merge", "pending"),
        ]
        assert needs(self.text) == {"T001": [], "T002": ["T001"]}
        assert found["T001"]["description"] == "- Points: 1"

    def test_are_none_in_other_tables(self):
        assert rows("# Tasks\n\n| Phase | Tasks |\n|---|---|\n| Setup | T001 |\n") == {}

    def test_are_none_where_lines_are(self):
        assert list(rows(f"{self.text}\n- [ ] T009 Do it\n")) == ["T009"]


class TestRecognition:
    boxes = "- [ ] Do it\n- [x] Do more\n"
    numbers = "- [ ] 1.1 Do it\n- [x] 1.2 Do more\n"
    headings = "### T001: Do it\n\nWords.\n\n### T002: Do more\n"
    table = "| ID | Task |\n|---|---|\n| T001 | a |\n| T002 | b |\n"

    @pytest.mark.parametrize("body", [boxes, numbers, headings, table])
    @pytest.mark.parametrize(
        "title", ["Tasks", "Tasks: X", "X - Implementation Tasks", "Task breakdown", "Tareas", "X 任务分解", "Задачи"]
    )
    def test_by_a_title(self, title, body):
        text = f"# {title}\n\n{body}"
        assert FORMAT.recognises(text, None)
        assert len(read(text).rows) == 2

    @pytest.mark.parametrize(
        "text",
        [
            f"# X\n\n## Phase 1: A\n\n{numbers}",
            f"## 1. Setup\n\n{numbers}",
            f"# X\n\n## Phase 1: A\n\n{headings}",
            f"## Fase 1\n\n{boxes}\n## Fase 2\n\n{boxes}",
        ],
    )
    def test_by_phases_and_numbered_sections(self, text):
        assert FORMAT.recognises(text, None)
        assert read(text).rows

    @pytest.mark.parametrize(
        "text",
        [
            boxes,
            numbers,
            headings,
            table,
            f"# Read me\n\n## Roadmap\n\n{boxes}{numbers}",
            f"# Specification\n\n## Phase 1\n\n{boxes}\n## Phase 2\n\n{boxes}",
            f"# Plan\n\n## Phase 1\n\n{boxes}",
            f"# Design\n\n{table}",
            f"# Test report\n\n## Results\n\n{headings}",
            f"# Managing a task\n\n{boxes}",
            "# Tasks\n\n- [ ] only one\n",
            "# Tasks\n\nWords about T001.\n",
            "# Design\n\n- TASK-001: adds a marker\n- TASK-002: moves it\n",
            "> - [ ] T001 Quoted\n",
            "```\n# Tasks\n- [ ] a\n- [ ] b\n```\n",
        ],
    )
    def test_other_markdown_is_none(self, text):
        assert not FORMAT.recognises(text, None)

    def test_where_the_tasks_stand_late_in_a_long_text(self):
        assert FORMAT.recognises("# X\n\n" + "Words.\n" * 5000 + "\n- [ ] T001 Do it\n", None)

    def test_a_file_of_the_tool_s_name_is_known_by_that(self):
        assert FORMAT.named(Path("specs/001-demo/tasks.md"))
        assert not FORMAT.named(Path("specs/001-demo/spec.md"))


def test_thousands_of_tasks_that_wait_for_many_have_short_lists():
    lines = [f"- [ ] T{number:04} {'[P] ' if number % 50 else ''}a" for number in range(3000)]
    order = needs("# Tasks\n\n" + "\n".join(lines))
    assert order["T0050"] == [f"T{number:04}" for number in range(50)]
    assert sum(map(len, order.values())) < 3000


def test_more_tasks_than_prose_is_read_for_are_ordered_by_lines_alone():
    lines = [f"- [ ] T{number:05} {'[P] ' if number % 2 else ''}a" for number in range(10_002)]
    plan = f"# Tasks\n\n## Phase 1\n{lines[0]}\n\n## Phase 2\n" + "\n".join(lines[1:])
    order = needs(plan)
    assert (order["T00001"], order["T00002"], order["T00003"]) == (["T00000"], ["T00001"], ["T00000"])
    assert order["T00004"] == ["T00002", "T00003"]
    assert "PLAN_ORDER" in codes(plan)


@pytest.mark.parametrize(
    "text",
    [
        "- [ ] T001 Do it\n- [ ] {}!\n",
        "- [ ] T001 Do it\n\n## Dependencies\n- T001:{}!\n",
        "- [ ] T001 Do it\n\n## Dependencies\n- Phase 1:{}!\n",
        "- [ ] T001 Do it\n  - after{}!\n",
    ],
)
@pytest.mark.parametrize("filling", [" ", "\t", "（ ", "after ", "依赖 "])
def test_very_long_lines_are_read_like_short_ones(text, filling):
    assert list(rows(text.format(filling * 50_000))) == ["T001"]
