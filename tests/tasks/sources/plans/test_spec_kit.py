from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.sources.files import InputFile, decode
from tasks.sources.order import circular
from tasks.sources.plans.plan import PlanSource
from tasks.sources.plans.spec_kit import FORMAT
from tasks.sources.plans.spec_kit.stories import stories_in, stories_of
from tasks.sources.values import UnreadableJsonError, parse_json

LABEL = "specs/001-demo/tasks.md"
SAMPLE = Path(__file__).parents[4] / "data" / "plans" / "spec-kit"


def source(text, spec=None, label=LABEL, paths=frozenset()):
    file = InputFile.of(label, text.encode("utf-8", "surrogatepass"))
    specs = [("requirements", InputFile.of("specs/001-demo/spec.md", spec.encode()))] if spec else []
    return PlanSource(file, decode(file)[0], specs, paths)


def read(text, spec=None, **where):
    return FORMAT.read(source(text, spec, **where))


def tasks(text, spec=None, **where):
    return {row["task_id"]: row for row in read(text, spec, **where).rows}


def ids(text):
    return [row["task_id"] for row in read(text).rows]


def needs(text):
    return {row["task_id"]: row["dependencies"] for row in read(text).rows}


def codes(text, spec=None):
    return [row["code"] for row in read(text, spec).findings]


def only(text, spec=None):
    [row] = read(text, spec).rows
    return row


def in_phases(*phases, after=""):
    parts = [f"## Phase {number}: Part {number}\n\n{lines}\n" for number, lines in enumerate(phases, 1)]
    return "# Tasks: Demo\n\n" + "\n".join(parts) + after


class TestTaskLines:
    @pytest.mark.parametrize(
        "line",
        [
            "- [ ] T001 [P] [US1] Do it",
            "* [ ] T001 [P] [US1] Do it",
            "+ [ ] T001 [P] [US1] Do it",
            "1. [ ] T001 [P] [US1] Do it",
            "12) [ ] T001 [P] [US1] Do it",
            "-\t[ ]\tT001 [P] [US1] Do it",
            "- [] T001 [P] [US1] Do it",
            "- [ ] T001: [P] [US1] Do it",
            "- [ ] **T001** [P] [US1] Do it",
            "- [ ] **T001** — [P] [US1] Do it",
            "- [ ] **T001 [P] [US1] Do it**",
            "- [ ] `T001` [US1] [P] - Do it",
            "- [ ] [T001] [P] [US1] Do it",
            "- [ ] T001 [P][US1] Do it",
            "- T001 [P] [US1] Do it",
            "- **T001**: [P] [US1] Do it",
            "   - [ ] T001 [P] [US1] Do it",
            "Some words:\n    - [ ] T001 [P] [US1] Do it",
            "\n\n\t- [ ] T001 [P] [US1] Do it",
        ],
    )
    def test_is_read_in_every_form(self, line):
        assert FORMAT.recognises(line, None)
        row = only(line, "### User Story 1 - One\n\n1. **Given** a, **When** b, **Then** c\n")
        assert (row["task_id"], row["title"], row["status"]) == ("T001", "Do it", "pending")
        assert row["acceptance_criteria"] == ["**Given** a, **When** b, **Then** c"]

    @pytest.mark.parametrize("task_id", ["T001", "T-001", "T018b", "T1", "T1234", "T003.1"])
    def test_keeps_its_id_as_printed(self, task_id):
        assert ids(f"- [ ] {task_id} Do it") == [task_id]

    @pytest.mark.parametrize(
        ("box", "status"),
        [
            ("[ ]", "pending"),
            ("[x]", "done"),
            ("[X]", "done"),
            ("[✓]", "done"),
            ("✅", "done"),
            ("⬜", "pending"),
        ],
    )
    def test_tells_its_status_by_its_box(self, box, status):
        assert only(f"- {box} T001 Do it")["status"] == status

    def test_an_unknown_box_is_a_finding(self):
        assert only("- [~] T001 Do it")["status"] == "pending"
        assert codes("- [~] T001 Do it") == ["PLAN_STATUS"]

    def test_a_label_may_tell_the_status(self):
        rows = tasks("- T001 [DONE] [P] Do it\n- T002 [P] Do more\n- T003 [BLOCKED] Wait")
        assert [row["status"] for row in rows.values()] == ["done", "pending", "blocked"]
        assert rows["T001"]["title"] == "Do it"

    def test_a_line_that_is_struck_out_is_cancelled(self):
        row = only("- [ ] ~~T001 Do it~~")
        assert (row["status"], row["title"]) == ("cancelled", "Do it")

    @pytest.mark.parametrize(
        "title", ["[String] becomes a list", "[FR-003] Do it", "[link](a.md) Do it", "[new] Do it", "Do [P] it"]
    )
    def test_other_brackets_are_text(self, title):
        assert only(f"- [ ] T001 [P] {title}")["title"] == title

    @pytest.mark.parametrize("label", ["Foundation", "Setup", "Polish", "US1", "US1+US2", "US-3", "Story 1", "P"])
    def test_labels_are_no_text(self, label):
        assert only(f"- [ ] T001 [{label}] Do it")["title"] == "Do it"

    def test_without_words_there_is_a_finding(self):
        assert only("- [ ] T001 [P]")["title"] == ""
        assert codes("- [ ] T001 [P]") == ["TASK_NO_TITLE"]


class TestWhatIsNoTask:
    def test_fences_quotations_and_comments(self):
        text = "- [ ] T001 Do it\n\n```\n- [ ] T002 In a fence\n```\n\n> - [ ] T003 Quoted\n\n<!--\n- [ ] T004 Sample\n-->\n"
        assert ids(text) == ["T001"]

    def test_a_fence_within_a_task_stays_in_its_description(self):
        row = only("- [ ] T001 Do it\n  ```python\n  - [ ] T002 In a fence\n  ```\n")
        assert row["description"] == "```python\n- [ ] T002 In a fence\n```"

    def test_boxes_without_ids(self):
        text = "- [x] T001 Do it\n\n## Checklist\n- [x] All tests pass\n- [ ] Tests first (T001 before T002)\n  - [x] inner\n"
        assert ids(text) == ["T001"]
        assert codes(text) == []

    @pytest.mark.parametrize(
        "line",
        [
            "T001-T002 parts",
            "T001–T002: parts",
            "T001 → T002",
            "T001→T002, T003",
            "T001, T002 together",
            "T001 + T002",
            "T001 and T002 together",
            "T-001 ∥ T-002",
            "T001 --> T002",
        ],
    )
    @pytest.mark.parametrize("box", ["", "[ ] "])
    def test_lines_that_only_speak_of_ids(self, line, box):
        assert not FORMAT.recognises(f"- {box}{line}", None)
        assert read(f"- {box}{line}").rows == []

    def test_where_one_has_a_box_those_without_are_none(self):
        text = "- [ ] T001 Do it\n- [x] T002 Do more\n\n## Dependencies\n- T001 before all\n- T002: after T001\n- T009 lost\n"
        assert ids(text) == ["T001", "T002"]
        assert [row["where"] for row in read(text).findings if row["code"] == "PLAN_NO_BOX"] == [f"{LABEL}, task T009"]

    def test_where_none_has_a_box_the_first_of_each_id_decides(self):
        text = "## Tasks\n- T001 Do it\n- T002 Do more\n\n## Task details\n- T002 has a long story\n- T001 too\n"
        assert [(name, row["title"]) for name, row in tasks(text).items()] == [("T001", "Do it"), ("T002", "Do more")]

    def test_a_task_that_is_repeated_word_for_word_is_read_once(self):
        text = "- [x] T001 Do it\n\n## Summary\n- [x] T001 Do it\n"
        assert ids(text) == ["T001"]
        assert codes(text) == ["TASK_REPEATED"]

    def test_a_box_of_a_summary_is_no_task_whatever_it_says(self):
        text = "## Phase 1: A\n- [ ] T001 Do it\n\n## Progress Summary\n- [x] T001 complete\n- [ ] T001: pending\n"
        assert ids(text) == ["T001"]
        assert codes(text) == ["TASK_REPEATED", "TASK_REPEATED"]

    def test_two_tasks_with_one_id_in_one_section_are_left_to_the_graph(self):
        assert ids("- [ ] T001 Do it\n- [ ] T001 Do something else\n") == ["T001", "T001"]

    @pytest.mark.parametrize("text", ["", "# Tasks\n\nNone yet.", "- Do it\n- Do more", "- T1 of a series\n", "\x00"])
    def test_a_file_without_any_has_no_rows(self, text):
        assert not FORMAT.recognises(text, None)
        graph = read(text)
        assert graph.rows == []
        assert [(row["severity"], row["code"]) for row in graph.findings] == [("error", "GRAPH_EMPTY")]
        assert "no recognisable task line" in graph.findings[0]["message"]
        assert graph.feature == "001-demo"

    def test_json_is_no_plan_of_this_kind(self):
        assert not FORMAT.recognises('"- [ ] T001 Do it"', "- [ ] T001 Do it")


class TestFrontMatterAndLines:
    @pytest.mark.parametrize(
        "front", ['---\ndescription: "List"\n---\n', '---\n\ndescription: "List"\n---\n\n', "---\n---\n"]
    )
    def test_front_matter_is_no_heading(self, front):
        rows = tasks(
            f"{front}\n# Tasks: Demo\n\n## Phase 1: A\n- [ ] T001 Do it\n\n## Phase 2: B\n- [ ] T002 Do more\n"
        )
        assert [row["level"] for row in rows.values()] == [1, 2]

    def test_line_ends_of_other_systems(self):
        text = "# Tasks\r\n\r\n## Phase 1: A\r\n- [x] T001 Do it\r\n  - **AC**: it works\r\n"
        row = only(text)
        assert (row["title"], row["status"], row["acceptance_criteria"]) == ("Do it", "done", ["it works"])

    def test_control_characters_are_shown(self):
        row = only("- [ ] T001 Do \x01it\n  - more \u202ethere")
        assert "\x01" not in row["title"]
        assert "\u202e" not in row["description"]


class TestDescriptions:
    def test_the_lines_below_a_task_without_its_fields(self):
        row = only(
            "- [ ] T001 Do it in `src/a.py`\n"
            "  - **Files**: `src/a.py` (create), `src/b.py`\n"
            "  - **Depends on**: none\n"
            "  - **Note**: take care\n"
            "    - of this\n"
            "  - **AC**: one; two\n"
        )
        assert row["title"] == "Do it in `src/a.py`"
        assert row["description"] == (
            "- **Files**: `src/a.py` (create), `src/b.py`\n- **Note**: take care\n  - of this"
        )
        assert (row["files_create"], row["files_modify"]) == (["src/a.py"], ["src/b.py"])
        assert row["files_inferred"] == ["src/a.py", "src/b.py"]

    def test_indentation_by_tabs_and_paragraphs(self):
        row = only("- [ ] T001 Do it\n\n\tFirst part.\n\n\tSecond part.\n")
        assert row["description"] == "First part.\n\nSecond part."

    def test_a_short_line_below_is_description_not_title(self):
        row = only("- [ ] T001 Do it\n  with care\n")
        assert (row["title"], row["description"]) == ("Do it", "with care")

    def test_a_wrapped_line_is_one(self):
        row = only(
            "- [ ] T001 [US1] Read the registrations of all the endpoints that a shop has, in\n"
            "      `src/registrations.py`, and sort them\n"
            "      by name\n"
            "  - **AC**: sorted\n"
        )
        assert row["title"] == (
            "Read the registrations of all the endpoints that a shop has, in `src/registrations.py`, and sort them by name"
        )
        assert (row["description"], row["acceptance_criteria"]) == ("", ["sorted"])

    def test_a_very_long_line_is_cut_as_title_and_whole_as_description(self):
        line = "Create the thing with " + ", ".join(f"`part_{number}`" for number in range(40))
        row = only(f"- [ ] T001 {line}\n  - more")
        assert len(row["title"]) <= 202
        assert row["title"].endswith("` …")
        assert row["description"] == f"{line}\n\n- more"

    def test_a_long_body_goes_on_in_the_details(self):
        body = [f"- Point {number} of what must be thought of when this is done." for number in range(80)]
        row = only("- [ ] T001 Do it\n" + "\n".join(f"  {line}" for line in body))
        assert len(row["description"]) <= 2000
        [details] = row["said"]
        assert details["place"] == "details"
        assert f"{row['description']}\n{details['text']}".split("\n") == body

    @pytest.mark.parametrize(
        "note",
        ["**SOLVED**: by an alias", "**CORE VALIDATED**: 3 of 4 pass", "SOLVED: by an alias", "**FIXED:** by an alias"],
    )
    @pytest.mark.parametrize("dash", ["-", "–", "—"])
    def test_how_a_done_task_went_is_a_note(self, note, dash):
        row = only(f"- [x] T001 Fix the import - at last {dash} {note}")
        assert row["title"] == "Fix the import - at last"
        assert [(said["place"], said["text"]) for said in row["said"]] == [("note", note)]

    def test_what_an_open_task_stresses_is_text(self):
        row = only("- [ ] T001 Fix the import - **CRITICAL**: before the rest")
        assert (row["title"], row["said"]) == ("Fix the import - **CRITICAL**: before the rest", [])

    def test_paths_of_the_repository_are_known_when_they_are_there(self):
        text = "- [ ] T001 Set up `backend/` and `scripts/build`, see `/lib/x.ts` at 6.1.1\n"
        assert "scripts/build" in read(text).mentions
        assert only(text)["files_modify"] == ["lib/x.ts"]
        assert tasks(text, paths=frozenset({"scripts/build"}))["T001"]["files_modify"] == ["scripts/build", "lib/x.ts"]


class TestLevels:
    @pytest.mark.parametrize(
        "names",
        [
            ("Phase 1: Setup", "Phase 2: Foundational", "Phase 3: User Story 1 (Priority: P1) 🎯 MVP"),
            ("Phase 3.1: Setup", "Phase 3.2: Tests First (TDD) ✅ COMPLETED", "Phase 3.3: Core"),
            ("✅ Phase 1: A", "Phase 1.5: B", "Phase N: Polish"),
            ("Setup (Phase 1)", "Foundation (Phase 2)", "Final Phase 3"),
            ("フェーズ 1: 準備", "フェーズ 2: 基盤", "フェーズ 3: 仕上げ"),
            ("第1阶段：设置", "第2阶段：基础", "第3阶段：打磨"),
        ],
    )
    def test_are_the_phases_in_their_order(self, names):
        text = "# Tasks: Phase 7 of the move\n\n" + "\n".join(
            f"## {name}\n\n### Tests\n- [ ] T{number}01 Test\n\n### Code\n- [ ] T{number}02 Write\n"
            for number, name in enumerate(names, 1)
        )
        assert [row["level"] for row in read(text).rows] == [1, 1, 2, 2, 3, 3]

    def test_phases_without_tasks_do_not_count(self):
        text = in_phases(
            "- [ ] T001 a", "Nothing yet.", "- [ ] T002 b", after="\n## Strategy\n### Phase 1: first\n1. Go\n"
        )
        assert [row["level"] for row in read(text).rows] == [1, 2]

    def test_a_single_phase(self):
        text = "# Tasks\n\n## Phase 1: All\n\n### Tests\n- [ ] T001 a\n### Code\n- [ ] T002 b\n"
        assert [(row["level"], row["dependencies"]) for row in read(text).rows] == [(1, []), (1, ["T001"])]

    def test_other_headings_give_order_but_no_level(self):
        text = "# Tasks\n\n## タスク\n\n### 準備\n- T001 [P] a\n- T002 [P] b\n\n### 中核\n- T003 [P] c\n"
        assert [row["level"] for row in read(text).rows] == [None] * 3
        assert needs(text) == {"T001": [], "T002": [], "T003": ["T001", "T002"]}

    def test_no_headings_at_all(self):
        text = "- [ ] T001 a\n- [ ] T002 b\n- [ ] T003 [P] c\n"
        assert [row["level"] for row in read(text).rows] == [None] * 3
        assert needs(text) == {"T001": [], "T002": ["T001"], "T003": []}


class TestOrderOfPhases:
    def test_a_task_waits_for_the_one_above_unless_it_is_parallel(self):
        assert needs(in_phases("- [ ] T001 a\n- [ ] T002 b\n- [ ] T003 c\n")) == {
            "T001": [],
            "T002": ["T001"],
            "T003": ["T002"],
        }

    def test_after_parallel_ones_it_waits_for_all_of_them_and_for_the_last_that_was_not(self):
        text = in_phases("- [ ] T001 a\n- [ ] T002 b\n- [ ] T003 [P] c\n- [ ] T004 [P] d\n- [ ] T005 e\n- [ ] T006 f\n")
        assert needs(text) == {
            "T001": [],
            "T002": ["T001"],
            "T003": [],
            "T004": [],
            "T005": ["T002", "T003", "T004"],
            "T006": ["T005"],
        }

    def test_what_others_that_it_waits_for_wait_for_is_not_listed(self):
        text = in_phases(
            "- [ ] T001 a\n- [ ] T002 [P] b (after T001)\n- [ ] T003 [P] c\n- [ ] T004 d\n",
            after="## Dependencies\n- T002 → T003\n",
        )
        assert needs(text)["T004"] == ["T003"]

    def test_a_run_of_parallel_ones_ends_with_its_phase(self):
        text = in_phases("- [ ] T001 a\n- [ ] T002 [P] b", "- [ ] T003 [P] c\n- [ ] T004 d")
        assert needs(text) == {"T001": [], "T002": [], "T003": ["T001", "T002"], "T004": ["T003"]}

    def test_the_first_of_a_phase_wait_for_the_last_of_the_one_before(self):
        text = in_phases(
            "- [ ] T001 a\n- [ ] T002 b\n- [ ] T003 [P] c\n", "- [ ] T004 d\n- [ ] T005 e\n- [ ] T006 [P] f\n"
        )
        assert needs(text)["T004"] == ["T002", "T003"]
        assert needs(text)["T005"] == ["T004"]
        assert needs(text)["T006"] == ["T002", "T003"]

    four = ("- [ ] T001 a", "- [ ] T002 b", "- [ ] T003 [US1] c", "- [ ] T004 [US2] d")

    @pytest.mark.parametrize(
        ("prose", "waits"),
        [
            ("- **Phase 4 (P2)**: Depends on Phase 2 — not on Phase 3", ["T002"]),
            ("- **Phase 4 (P2)**: Depends on Phases 1-2", ["T002"]),
            ("- **Phase 4**: Depends on Phases 2+3", ["T003"]),
            ("- **Phases 3-4**: Depend on Phase 1", ["T001"]),
            ("- **Part 4 (Phase 4)**: No dependencies - can start immediately", []),
            ("- Phase 4 depends on Phase 1.", ["T001"]),
            ("- **User Stories (Phase 3+)**: All depend on Foundational (Phase 2)\n  - in any order", ["T002"]),
            ("- **User Story 2 (P2)**: Can start after Phase 2 - may use US1", ["T002"]),
            ("2. **User Story 2** (P2) - Planning - Depends on User Story 1 completion", ["T003"]),
            ("- **Final Phase**: Depends on all user stories", ["T003"]),
            ("- **Phase 4**: Depends on Phase 9", ["T003"]),
            ("- **Phase 4**: Split over two teams", ["T003"]),
            ("- **After Phase 4**: requires Phase 1 to be checked", ["T003"]),
            ("- **User Stories (Phase 3+)**: Depend on Phase 2\n- **Phase 4**: Depends on Phase 3", ["T003"]),
            ("- **Phase 4**: Depends on Phase 2\n- **User Story 2**: Depends on US1", ["T002"]),
            ("- **US2 (Phase 4)**: After the first tokens (T001)", ["T001"]),
            ("- **US2 (Phase 4)**: After Phase 1 (ideally after US1, so that there is something to see)", ["T001"]),
            ("- **US2 (Phase 4)**: Depends on Phase 1 + T003", ["T003"]),
            ("- **US2 (Phase 4)**: Depends on Phase 1, but for the command: T003 → T004", ["T003"]),
            ("- **US2 (Phase 4)**: Depends on Phase 1, but see T002 → T003", ["T001"]),
            ("- **US2 (Phase 4)**: after all desired stories", ["T003"]),
            ("- **US2 (Phase 4)**: 依赖 Phase 2；可与 US1 并行", ["T002"]),
            ("- **US2 (Phase 4)**：仅依赖 Phase 1，可与 US1 并行", ["T001"]),
            ("- **US2 (Phase 4)**: 依赖 T001；其余可并行", ["T001"]),
            ("- **US2 (Phase 4)**: 无依赖，可立即开始", []),
            ("- **US2 (P2)**: Phase 2 完成后即可开始，不依赖 US1", ["T002"]),
            ("- **Phase 4（US2）**: Phase 1 完了後（US1 と独立）", ["T001"]),
            ("- **Phase 4（US2）**: Phase 1・Phase 2 の両方が完了後", ["T002"]),
            ("- **フェーズ4**: フェーズ1 に依存", ["T001"]),
            ("- **第四阶段**: 依赖第二阶段", ["T002"]),
            ("- **User Stories**: 所有依赖 Phase 2 完成\n- **Phase 4**: 依赖所有用户故事完成", ["T003"]),
            ("- **Phase 4**: depende de la Fase 1", ["T001"]),
            ("- **Phase 4**: зависит от фазы 1", ["T001"]),
        ],
    )
    def test_prose_says_otherwise(self, prose, waits):
        assert needs(in_phases(*self.four, after=f"## Dependencies\n\n{prose}\n"))["T004"] == waits

    def test_prose_elsewhere_does_not(self):
        text = in_phases(*self.four, after="## Notes\n\n- **Phase 4**: Depends on Phase 1\n")
        assert needs(text)["T004"] == ["T003"]

    def test_a_phase_may_say_it_itself(self):
        text = in_phases(*self.four[:3], f"**Dependencies**: Phase 2 complete\n\n{self.four[3]}")
        assert needs(text)["T004"] == ["T002"]

    def test_by_names_and_before(self):
        text = (
            "# Tasks\n\n## Phase 1: Setup\n- [ ] T001 a\n\n## Phase 2: Models\n- [ ] T002 b\n\n## Phase 3: Routes\n- [ ] T003 c\n"
            "\n## Dependencies\n- **Models**: No dependencies\n- **Routes**: Depends on Setup completion\n- **Models** before **Routes**\n"
        )
        assert needs(text) == {"T001": [], "T002": [], "T003": ["T001", "T002"]}

    def test_phases_in_a_circle_lose_what_closes_it(self):
        text = in_phases(
            *self.four, after="## Dependencies\n- Phase 2 depends on Phase 3\n- Phase 3 depends on Phase 2\n"
        )
        assert circular(needs(text)) == []
        assert "PLAN_ORDER" in codes(text)

    def test_a_drawing_in_a_fence_is_passed_over(self):
        text = in_phases(*self.four, after="## Dependencies\n```\nPhase 1 (Setup)\n    ├── Phase 4 (US2)\n```\n")
        assert needs(text)["T004"] == ["T003"]


class TestFieldsForDependencies:
    @pytest.mark.parametrize(
        ("value", "waits"),
        [
            ("T-001", ["T-001"]),
            ("T-003 (TDD), T-001 (the parser)", ["T-003", "T-001"]),
            ("T001–T003", ["T-001", "T-002", "T-003"]),
            ("T-001 to T-002", ["T-001", "T-002"]),
            ("T-099, T-001", ["T-099", "T-001"]),
            ("T-098-T-099", ["T-098", "T-099"]),
            ("none", []),
            ("None", []),
            ("(none — can start in parallel with T-001)", []),
            ("—", []),
            ("N/A", []),
            ("T-004 (itself), all prior tasks", ["T-004", "T-001", "T-002", "T-003"]),
            ("all previous tasks", ["T-001", "T-002", "T-003"]),
            ("(T-002)", ["T-002"]),
            ("Phase 1", ["T-001"]),
        ],
    )
    @pytest.mark.parametrize("form", ["  - **Depends on**: {}", "  **Depends on**: {}", "  - Dependencies: {}"])
    def test_say_it_all(self, value, waits, form):
        text = in_phases(
            "- [ ] T-001 a", f"- [ ] T-002 b\n- [ ] T-003 c\n- [ ] T-004 [P] d\n{form.format(value)}\n- [ ] T-005 e"
        )
        row = tasks(text)["T-004"]
        assert (row["dependencies"], row["description"]) == (waits, "")
        assert codes(text) == []

    def test_one_that_names_nothing_is_kept_as_text(self):
        text = "- [ ] T001 a\n- [ ] T002 b\n  - **Depends on**: the weather\n"
        assert tasks(text)["T002"]["dependencies"] == ["T001"]
        assert tasks(text)["T002"]["description"] == "Depends on: the weather"
        assert codes(text) == ["PLAN_DEPENDENCY"]

    def test_a_task_below_one_that_waits_for_nothing_still_waits_for_the_phase_before(self):
        text = in_phases("- [ ] T001 a", "- [ ] T002 b\n  - **Depends on**: none\n- [ ] T003 c")
        assert needs(text) == {"T001": [], "T002": [], "T003": ["T001", "T002"]}

    def test_one_that_looks_ahead_wins_over_the_order_of_lines(self):
        text = "- [ ] T001 a\n  - **Depends on**: T003\n- [ ] T002 b\n- [ ] T003 c\n"
        assert needs(text) == {"T001": ["T003"], "T002": ["T001"], "T003": []}
        assert codes(text) == ["PLAN_ORDER"]

    def test_circles_among_fields_are_left_to_the_graph(self):
        text = "- [ ] T001 a\n  - **Depends on**: T002\n- [ ] T002 b\n  - **Depends on**: T001\n"
        assert needs(text) == {"T001": ["T002"], "T002": ["T001"]}


class TestWordsForDependencies:
    parallel = "".join(f"- [ ] T00{number} [P] task\n" for number in range(1, 7))

    @pytest.mark.parametrize(
        ("prose", "edges"),
        [
            ("- T003→T004, T005", {"T004": ["T003"], "T005": ["T003"]}),
            ("- T001 → T002 → T003", {"T002": ["T001"], "T003": ["T002"]}),
            ("- T001-T003 before T005", {"T005": ["T001", "T002", "T003"]}),
            (
                "- **Setup (T001–T002)** before **Models (T005-T006)**",
                {"T005": ["T001", "T002"], "T006": ["T001", "T002"]},
            ),
            (
                "- **Phase 1**: T003, T004 can run in parallel after T001-T002 complete",
                {"T003": ["T001", "T002"], "T004": ["T001", "T002"]},
            ),
            ("- T004 ∥ T006 (after T003 and T005 respectively)", {"T004": ["T003"], "T006": ["T005"]}),
            ("- T003 ∥ (can start after T001, before T005)", {"T003": ["T001"], "T005": ["T003"]}),
            ("- After T001 and T002 are done, T006 can start", {"T006": ["T001", "T002"]}),
            ("- T002 blocks T004, T005", {"T004": ["T002"], "T005": ["T002"]}),
            (
                "- **T006** depends on **T001** (structure) and **T003-T004** (steps).",
                {"T006": ["T001", "T003", "T004"]},
            ),
            ("| Phase | Order |\n|---|---|\n| 1 | T001 → T002 |", {"T002": ["T001"]}),
            ("```mermaid\ngraph TD\n  T001 --> T002\n```", {"T002": ["T001"]}),
            ("- Tests come first (T002 before T005+)", {"T005": ["T002"], "T006": ["T002"]}),
            ("- T001, T002 and T003 are independent", {}),
            ("- T001-T006 can all run in parallel", {}),
            ("- T005 ← T001〜T003", {"T005": ["T001", "T002", "T003"]}),
            ("- T003 ← T001, T002 / T006 ← T004〜T005（先に）", {"T003": ["T001", "T002"], "T006": ["T004", "T005"]}),
            ("- T001 → T002 ← T003", {"T002": ["T001", "T003"]}),
            ("- T004・T005 は T003 完了後に並列実行可能", {"T004": ["T003"], "T005": ["T003"]}),
            ("- T001 完成后 T002", {"T002": ["T001"]}),
            ("- T099 → T001", {}),
            ("- api.yaml → 6 tests (T001-T006)", {}),
        ],
    )
    def test_add_to_the_order(self, prose, edges):
        text = f"# Tasks\n\n## Phase 1: A\n{self.parallel}\n## Dependencies\n\n{prose}\n"
        assert {name: waits for name, waits in needs(text).items() if waits} == edges
        assert codes(text) == []

    def test_what_is_known_already_is_not_said_again(self):
        text = in_phases(
            "- [ ] T001 a\n- [ ] T002 b", "- [ ] T003 c", after="## Dependencies\n- T001-T002 before T003\n"
        )
        assert needs(text) == {"T001": [], "T002": ["T001"], "T003": ["T002"]}

    def test_what_would_close_a_circle_is_left_out(self):
        text = in_phases("- [ ] T001 a\n- [ ] T002 b", after="## Dependencies\n- T002 → T001\n")
        assert needs(text) == {"T001": [], "T002": ["T001"]}
        assert codes(text) == ["PLAN_ORDER"]

    def test_a_task_may_say_it_in_its_own_text(self):
        text = "- [ ] T001 [P] a\n- [ ] T002 [P] b (depends on T003, T001)\n- [ ] T003 [P] c\n- [ ] T004 [P] d, after T003\n"
        assert needs(text) == {"T001": [], "T002": ["T001", "T003"], "T003": [], "T004": ["T003"]}

    def test_its_own_text_counts_more_than_the_order_of_lines(self):
        text = "- [ ] T001 a (depends on T002)\n- [ ] T002 b\n"
        assert needs(text) == {"T001": ["T002"], "T002": []}

    def test_a_heading_may_say_it_for_its_tasks(self):
        text = "# T\n\n## Phase 1: A\n### Base\n- [ ] T001 [P] a\n### Search (depends on T001)\n- [ ] T002 [P] b\n"
        assert needs(text) == {"T001": [], "T002": ["T001"]}

    def test_a_field_is_not_added_to(self):
        text = f"{self.parallel}- [ ] T007 g\n  - **Depends on**: T001\n\n## Dependencies\n- T002 → T007\n"
        assert needs(text)["T007"] == ["T001"]


SPEC = """# Feature Specification: Demo

## User Scenarios

### User Story 1 - First (Priority: P1)

Words.

**Independent Test**: Try the first
alone.

**Acceptance Scenarios**:

1. **Given** a, **When** b,
   **Then** c

2. **Given** d, **When** e, **Then** f

---

### User Story 2 — Second (Priority: P2)

**Independent Test**: Try the second

**Acceptance Scenarios**:

- Given g, When h, Then i

### Edge Cases

- What if nothing is given, then?
"""

STORY_PLAN = """# Tasks

## Phase 1: Setup
- [ ] T001 a

**Checkpoint**: Ready

## Phase 2: User Story 1 - First (Priority: P1) 🎯
**Goal**: First
**Independent Test**: Run the first

- [ ] T002 [US1] b
  - **AC**: `a; b` works; it is quick (at most 3 s; usually 1)
- [ ] T003 c
- [ ] T004 [Foundation] d

**Checkpoint**: First works

## Phase 3: Polish
- [ ] T005 [US2] e
- [ ] T006 [US9] f
"""


class TestAcceptance:
    def test_own_criteria_then_the_storys_test_and_scenarios_then_the_checkpoint(self):
        assert tasks(STORY_PLAN, SPEC)["T002"]["acceptance_criteria"] == [
            "`a; b` works",
            "it is quick (at most 3 s; usually 1)",
            "Independent test: Run the first",
            "**Given** a, **When** b, **Then** c",
            "**Given** d, **When** e, **Then** f",
            "Checkpoint: First works",
        ]

    def test_the_heading_gives_the_story_where_no_label_does(self):
        rows = tasks(STORY_PLAN, SPEC)
        assert rows["T003"]["acceptance_criteria"] == rows["T002"]["acceptance_criteria"][2:]

    def test_a_task_without_a_story_has_only_the_checkpoint(self):
        rows = tasks(STORY_PLAN, SPEC)
        assert rows["T001"]["acceptance_criteria"] == ["Checkpoint: Ready"]
        assert rows["T004"]["acceptance_criteria"] == ["Checkpoint: First works"]

    def test_the_specification_has_the_test_where_the_plan_has_none(self):
        assert tasks(STORY_PLAN, SPEC)["T005"]["acceptance_criteria"] == [
            "Independent test: Try the second",
            "Given g, When h, Then i",
        ]

    def test_a_story_that_is_nowhere_is_a_finding(self):
        assert codes(STORY_PLAN, SPEC) == ["PLAN_STORY"]
        assert codes(STORY_PLAN) == []
        assert codes(STORY_PLAN, "# A specification without stories") == []

    @pytest.mark.parametrize(
        "heading", ["User Stories 1+2", "US1+US2: both", "User Stories 1-2", "User Story 1 and 2", "US1, US2"]
    )
    def test_a_heading_of_several_stories(self, heading):
        row = only(f"# Tasks\n\n## Phase 1: {heading}\n- [ ] T001 a\n", SPEC)
        assert len(row["acceptance_criteria"]) == 5

    @pytest.mark.parametrize("label", ["US1+US2", "US1, US2", "US1][US2", "Stories 1+2"])
    def test_a_label_of_several_stories(self, label):
        assert len(only(f"- [ ] T001 [{label}] a\n", SPEC)["acceptance_criteria"]) == 5

    @pytest.mark.parametrize(
        "lines",
        [
            "**Independent Test Criteria**: it holds",
            "**Independent Test:** it holds",
            "**Independent Test** (by hand): it holds",
            "**独立テスト**: it holds",
            "**Niezależny test**: it holds",
            "**Prueba independiente**: it holds",
            "**Teste independente**: it holds",
            "**Test indépendant** : it holds",
            "**Unabhängiger Test:** it holds",
            "**Независимая проверка**: it holds",
        ],
    )
    def test_other_words_for_the_test(self, lines):
        row = only(f"# Tasks\n\n## Phase 1: US1\n\n{lines}\n\n- [ ] T001 a\n")
        assert row["acceptance_criteria"] == ["Independent test: it holds"]

    @pytest.mark.parametrize(
        "lines",
        [
            "**Checkpoint**: done",
            "**Final Checkpoint**: done",
            "**Checkpoint:** done",
            "⚡ **CHECKPOINT**: done",
            "---\n\n**Checkpoint**: done",
        ],
    )
    @pytest.mark.parametrize("gap", ["\n", "\n\n"])
    def test_checkpoints_also_right_below_the_tasks(self, lines, gap):
        row = only(f"# Tasks\n\n## Phase 1: A\n- [ ] T001 a{gap}{lines}\n")
        assert (row["acceptance_criteria"], row["description"]) == (["Checkpoint: done"], "")

    def test_a_checkpoint_at_the_end_of_a_phase_holds_for_all_its_parts(self):
        text = "# T\n\n## Phase 1: A\n### Tests\n- [ ] T001 a\n### Code\n- [ ] T002 b\n\n**Checkpoint**: done\n"
        assert [row["acceptance_criteria"] for row in read(text).rows] == [["Checkpoint: done"]] * 2

    @pytest.mark.parametrize("line", ["  **Checkpoint**: done", "  - **Checkpoint**: done", "    - Checkpoint: done"])
    def test_an_indented_one_is_of_its_task_alone(self, line):
        rows = tasks(f"# Tasks\n\n## Phase 1: A\n- [ ] T001 a\n{line}\n  - more\n- [ ] T002 b\n")
        assert [row["acceptance_criteria"] for row in rows.values()] == [["Checkpoint: done"], []]
        assert rows["T001"]["description"] == "- more"

    def test_criteria_as_a_list(self):
        row = only("- [ ] T001 a\n  - **Acceptance Criteria**:\n    - one\n    - [ ] two\n    1. three\n")
        assert (row["acceptance_criteria"], row["description"]) == (["one", "two", "three"], "")

    def test_criteria_that_are_counted_within_a_line(self):
        row = only("- [ ] T001 a\n  - **AC**: 1. It starts. 2. It stops; at once 3. It rests\n")
        assert row["acceptance_criteria"] == ["It starts.", "It stops", "at once", "It rests"]

    def test_more_than_a_brief_holds_goes_to_the_details(self):
        lines = [f"criterion {number}" for number in range(40)]
        row = only(f"- [ ] T001 a\n  - **AC**: {'; '.join(lines)}\n")
        assert row["acceptance_criteria"] == lines[:30]
        [details] = row["said"]
        assert details["place"] == "details"
        assert all(line in details["text"] for line in lines[30:])


class TestStories:
    @pytest.mark.parametrize(
        ("text", "numbers"),
        [
            ("User Story 3 - 3D views", (3,)),
            ("User Story 2. Second", (2,)),
            ("User Stories 3+4 (Priority: P2)", (3, 4)),
            ("User Story 1 Validation (US1 - P1)", (1,)),
            ("P1 User Stories (CLI)", ()),
            ("Status 3", ()),
            ("ユーザーストーリー 2", (2,)),
            ("US2-US4", (2, 3, 4)),
        ],
    )
    def test_in_headings(self, text, numbers):
        assert stories_in(text) == numbers

    def test_scenarios_in_other_forms(self):
        stories = stories_of(
            "### User Story 1\n\n- **Given** a\n- **When** b\n- **Then** c\n- **And** d\n\n"
            "### User Story 2\n\n```gherkin\nScenario: One\n  Given a\n  When b\n  Then c\n\nScenario: Two\n  Given d\n  Then e\n```\n\n"
            "### ユーザーストーリー 3\n\n1. **前提条件** a, **操作** b, **期待結果** c\n\n"
            "### User Story 4\n\n#### Acceptance Scenarios\n\n- plain words\n\n#### Notes\n\n- no scenario\n"
        )
        assert {number: story.scenarios for number, story in stories.items()} == {
            1: ["**Given** a **When** b **Then** c **And** d"],
            2: ["Scenario: One Given a When b Then c", "Scenario: Two Given d Then e"],
            3: ["**前提条件** a, **操作** b, **期待結果** c"],
            4: ["plain words"],
        }


class TestFeature:
    @pytest.mark.parametrize(
        ("label", "text", "feature"),
        [
            ("specs/001-demo/tasks.md", "# Tasks: X", "001-demo"),
            (".specify/specs/002-b/tasks.md", "# Tasks: X", "002-b"),
            ("work/any name/tasks.md", "# Tasks: X", "any name"),
            ("tasks.md", "**Input**: Design documents from `/specs/003-c/`", "003-c"),
            ("tasks.md", "**入力**: `/specs/005-backend-api/`からの設計ドキュメント", "005-backend-api"),
            ("tasks.md", "# T\n\n**Branch**: `004-d` | **Date**: today", "004-d"),
            ("tasks.md", "# Tasks: Two Words!", "two-words"),
            ("tasks.md", "# タスク: 応答キャッシュ", "応答キャッシュ"),
            ("tasks.md", "**Input**: `/specs/[###-feature-name]/`", "tasks"),
            ("tasks.md", "", "tasks"),
        ],
    )
    def test_is_named_by_its_folder_else_by_its_text(self, label, text, feature):
        assert read(f"{text}\n\n- [ ] T001 a\n", label=label).feature == feature


class TestLayout:
    @pytest.fixture
    def project(self, tmp_path):
        for name in ("specs/002-b", "specs/001-a", ".specify/specs/003-c", "specs/004-none"):
            folder = tmp_path / name
            folder.mkdir(parents=True)
            (folder / "spec.md").write_text("# Spec")
            if "none" not in name:
                (folder / "tasks.md").write_text("- [ ] T001 a")
        return tmp_path

    def test_a_project_means_all_its_features(self, project):
        found = [path.relative_to(project).as_posix() for path in FORMAT.find(project)]
        assert found == [".specify/specs/003-c/tasks.md", "specs/001-a/tasks.md", "specs/002-b/tasks.md"]

    @pytest.mark.parametrize(
        ("folder", "features"),
        [
            ("specs", ["001-a", "002-b"]),
            (".specify", ["003-c"]),
            (".specify/specs", ["003-c"]),
            ("specs/001-a", ["001-a"]),
            ("specs/004-none", []),
            ("nowhere", []),
        ],
    )
    def test_so_do_its_folders(self, project, folder, features):
        assert [path.parent.name for path in FORMAT.find(project / folder)] == features

    def test_a_feature_may_lie_anywhere(self, tmp_path):
        (tmp_path / "tasks.md").write_text("- [ ] T001 a")
        assert FORMAT.find(tmp_path) == []
        (tmp_path / "plan.md").write_text("# Plan")
        assert FORMAT.find(tmp_path) == [tmp_path / "tasks.md"]

    @pytest.mark.parametrize(
        ("feature", "root"),
        [("specs/001-a", "."), (".specify/specs/003-c", "."), ("specs/group/005-e", "."), ("other/006-f", "other")],
    )
    def test_the_project_is_above(self, tmp_path, feature, root):
        assert FORMAT.root(tmp_path / feature / "tasks.md") == tmp_path / root

    def test_documents_lie_beside_the_plan(self, project):
        feature = project / "specs/001-a"
        for name in (
            "contracts/b.yaml",
            "contracts/a.md",
            "contracts/inner/c.ts",
            "contracts/picture.png",
            "contracts/.x",
        ):
            (feature / name).parent.mkdir(parents=True, exist_ok=True)
            (feature / name).write_text("x")
        (project / ".specify/memory").mkdir()
        (project / ".specify/memory/constitution.md").write_text("# Constitution")
        found = FORMAT.companions(feature / "tasks.md")
        assert [(entry.role, entry.path.relative_to(project).as_posix()) for entry in found] == [
            ("requirements", "specs/001-a/spec.md"),
            ("design", "specs/001-a/plan.md"),
            ("design", "specs/001-a/research.md"),
            ("design", "specs/001-a/data-model.md"),
            ("design", "specs/001-a/quickstart.md"),
            ("design", "specs/001-a/contracts/a.md"),
            ("design", "specs/001-a/contracts/b.yaml"),
            ("design", "specs/001-a/contracts/inner/c.ts"),
            ("rules", ".specify/memory/constitution.md"),
        ]
        assert {entry.inside for entry in found} == {project}

    def test_at_most_forty_contracts(self, project):
        folder = project / "specs/001-a/contracts"
        folder.mkdir()
        for number in range(50):
            (folder / f"{number:02}.md").write_text("x")
        *found, more = FORMAT.companions(folder.parent / "tasks.md")
        assert [entry.path.name for entry in found[5:]] == [f"{number:02}.md" for number in range(40)]
        assert (more.role, more.path, more.left_out) == ("design", folder, 10)

    def test_contracts_behind_a_link_that_leads_out_are_not_listed(self, project, tmp_path_factory):
        outside = tmp_path_factory.mktemp("outside")
        for name in ("a.md", "b.md"):
            (outside / name).write_text("x")
        feature = project / "specs/001-a"
        (feature / "contracts").symlink_to(outside)
        assert [entry.path for entry in FORMAT.companions(feature / "tasks.md")][5:] == [feature / "contracts"]
        (feature / "contracts").unlink()
        (feature / "contracts").mkdir()
        (feature / "contracts/own.md").write_text("x")
        (feature / "contracts/shared").symlink_to(outside)
        found = [entry.path.name for entry in FORMAT.companions(feature / "tasks.md")]
        assert found[5:] == ["own.md", "shared"]

    def test_the_older_place_of_the_constitution(self, project):
        (project / "memory").mkdir()
        (project / "memory/constitution.md").write_text("# Constitution")
        for feature in ("specs/001-a", ".specify/specs/003-c"):
            found = FORMAT.companions(project / feature / "tasks.md")[-1]
            assert (found.role, found.path) == ("rules", project / "memory/constitution.md")


FACTS = {  # tasks, done, levels, ids that only this file has
    "aicophilosopher-002-console": (31, 31, 7, "T-031"),
    "knowledge-network-001-engine": (18, 18, 5, "T018"),
    "knowledge-network-002-layout": (70, 18, 8, "T070"),
    "shumilog-001-web": (67, 67, 5, "T067"),
    "shumilog-005-backend-api-ja": (8, 0, None, "T008"),
    "subtree-001-cli-bootstrap": (54, 54, 11, "T054"),
    "subtree-012-multi-destination": (71, 71, 5, "T018b"),
}


@pytest.fixture(scope="module")
def real(shared):
    """Each real feature as it is read with its documents."""
    graphs = {}
    for folder in sorted((shared / "plans/speckit").iterdir()):
        plan = folder / "tasks.md"
        beside = [
            (entry.role, InputFile.of(entry.path.relative_to(folder.parent).as_posix(), entry.path.read_bytes()))
            for entry in FORMAT.companions(plan)
            if entry.path.is_file()
        ]
        file = InputFile.of(f"{folder.name}/tasks.md", plan.read_bytes())
        graphs[folder.name] = FORMAT.read(PlanSource(file, decode(file)[0], beside))
    return graphs


class TestRealPlans:
    def test_are_all_known(self, real):
        assert set(real) == set(FACTS)
        assert sum(len(graph.rows) for graph in real.values()) == 319

    @pytest.mark.parametrize("name", FACTS)
    def test_are_read_whole_without_findings(self, real, name):
        graph = real[name]
        count, done, levels, last = FACTS[name]
        found = [row["task_id"] for row in graph.rows]
        assert (len(found), len(set(found)), last in found) == (count, count, True)
        assert sum(row["status"] == "done" for row in graph.rows) == done
        expected = [None] if levels is None else list(range(1, levels + 1))
        assert sorted({row["level"] for row in graph.rows}, key=lambda level: level or 0) == expected
        assert graph.findings == []
        assert graph.feature == name

    @pytest.mark.parametrize("name", FACTS)
    def test_have_an_order_without_circles_that_leads_everywhere(self, real, name):
        order = {row["task_id"]: row["dependencies"] for row in real[name].rows}
        assert circular(order) == []
        assert all(other in order for waits in order.values() for other in waits)
        first = [name for name, waits in order.items() if not waits]
        assert 1 <= len(first) <= 5

    def test_a_phase_that_skips_its_predecessor(self, real):
        order = {row["task_id"]: row["dependencies"] for row in real["subtree-001-cli-bootstrap"].rows}
        assert order["T020"] == ["T016"]
        assert order["T021"] == ["T019", "T020"]
        assert order["T003"] == ["T002"]

    def test_stories_that_wait_for_the_foundation_alone(self, real):
        order = {row["task_id"]: row["dependencies"] for row in real["knowledge-network-002-layout"].rows}
        assert order["T026"] == order["T014"] == order["T050"]
        assert {"T025", "T033", "T041", "T049", "T059"} <= set(order["T060"])

    def test_fields_of_every_task(self, real):
        rows = {row["task_id"]: row for row in real["aicophilosopher-002-console"].rows}
        assert [rows[name]["dependencies"] for name in ("T-001", "T-002", "T-022")] == [[], [], ["T-021", "T-013"]]
        assert len(rows["T-030"]["dependencies"]) == 29
        assert rows["T-008"]["files_create"] == ["tests/unit/presentation/test_nlu.py"]
        assert all(len(row["acceptance_criteria"]) > 1 for row in rows.values())

    @pytest.mark.parametrize(
        ("name", "count"),
        [
            ("aicophilosopher-002-console", 21),
            ("knowledge-network-001-engine", 6),
            ("knowledge-network-002-layout", 46),
            ("shumilog-001-web", 0),
            ("subtree-001-cli-bootstrap", 32),
            ("subtree-012-multi-destination", 37),
        ],
    )
    def test_tasks_of_a_story_have_its_scenarios(self, real, name, count):
        texts = [
            "\n".join([*row["acceptance_criteria"], *(said["text"] for said in row["said"])]) for row in real[name].rows
        ]
        assert sum("**Given**" in text for text in texts) == count

    def test_notes_of_done_work(self, real):
        rows = real["knowledge-network-001-engine"].rows
        assert all([said["place"] for said in row["said"]] == ["note"] for row in rows)
        assert not any("**" in row["title"] for row in rows)

    def test_arrows_in_japanese(self, real):
        order = {row["task_id"]: row["dependencies"] for row in real["shumilog-005-backend-api-ja"].rows}
        assert (order["T004"], order["T005"]) == (["T003"], ["T004"])

    def test_no_other_file_is_taken_for_one(self, shared):
        known = []
        for path in sorted(path for path in shared.rglob("*") if path.is_file()):
            text = decode(InputFile.of(path.name, path.read_bytes()))[0]
            try:
                document = parse_json(text)
            except UnreadableJsonError:
                document = None
            if FORMAT.recognises(text, document):
                known.append(path.relative_to(shared).as_posix())
        assert known == [f"plans/speckit/{name}/tasks.md" for name in sorted(FACTS)]


class TestSample:
    def test_is_read_as_it_is_meant(self):
        [plan] = FORMAT.find(SAMPLE)
        beside = [
            (entry.role, InputFile.of(entry.path.name, entry.path.read_bytes()))
            for entry in FORMAT.companions(plan)
            if entry.path.exists()
        ]
        assert [role for role, _ in beside] == ["requirements", *["design"] * 4, "rules"]
        file = InputFile.of(plan.relative_to(SAMPLE).as_posix(), plan.read_bytes())
        graph = FORMAT.read(PlanSource(file, decode(file)[0], beside))
        assert graph.feature == "001-tide-times"
        assert graph.findings == []
        rows = {row["task_id"]: row for row in graph.rows}
        assert [name for name, row in rows.items() if row["status"] == "done"] == ["T001", "T002"]
        assert rows["T007"]["dependencies"] == ["T003"]
        assert rows["T008"]["dependencies"] == ["T006", "T007"]
        assert len(rows["T004"]["acceptance_criteria"]) == 4


LINES = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [
            "# Tasks: X", "## Phase 1: A", "## Phase 2: User Story 1", "### Tests", "## Dependencies", "```", "---", "",
            "- [ ] T001 a", "- [x] T002 [P] b", "  - **Depends on**: T001-T004", "  - **AC**: a; b", "- T003 [US1] c",
            "    - [ ] T004 d", "- T001→T002, T003", "T002 after T004", "**Checkpoint**: x", "**Independent Test**: y",
            "- **Phase 1**: Depends on Phase 2", "> - [ ] T005 e", "\t- [X] T006 f", "<!--", "| T001 | x |", "1. [ ] T007 g",
            "- [ ] T008 h (depends on T009)", "- [~] T009 i - **DONE**: j", "## Phase 3", "Phase 2 before Phase 1",
        ]
    ),
)  # fmt: skip


@given(st.lists(LINES, max_size=25), st.lists(LINES, max_size=5))
def test_any_text_is_read_and_nothing_but_fields_makes_a_circle(lines, spec):
    text = "\n".join(lines)
    graph = read(text, "\n".join(spec) or None)
    assert graph.rows or not FORMAT.recognises(text, None)
    assert bool(graph.rows) != any(row["code"] == "GRAPH_EMPTY" for row in graph.findings)
    assert graph.feature
    if "**Depends on**" not in text and len({row["task_id"] for row in graph.rows}) == len(graph.rows):
        assert circular({row["task_id"]: row["dependencies"] for row in graph.rows}) == []


@given(st.binary(max_size=400))
def test_any_bytes_are_read(data):
    file = InputFile.of(LABEL, data)
    FORMAT.read(PlanSource(file, decode(file)[0], [("requirements", InputFile.of("spec.md", data))]))


def test_very_long_plans_are_read_in_order():
    text = in_phases(*("\n".join(f"- [ ] T{phase}{number:04} a" for number in range(1100)) for phase in (1, 2)))
    order = needs(text)
    assert (order["T10001"], order["T20000"], order["T20005"]) == (["T10000"], ["T11099"], ["T20004"])


def test_a_phase_of_very_many_parallel_tasks_is_waited_for_by_its_last():
    text = in_phases("\n".join(f"- [ ] T{number:04} [P] a" for number in range(300)), "- [ ] T1000 b")
    assert len(needs(text)["T1000"]) == 200
    assert codes(text) == ["PLAN_ORDER"]
