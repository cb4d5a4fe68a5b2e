from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.errors import SettingsError
from tasks.scopes import EVERY_TASK, glob_scope, in_glob_scope
from tasks.settings import load_settings
from tasks.sources.engineering import engineering_items, find_engineering, read_engineering
from tasks.sources.files import Allowance, InputFile
from tasks.terms import PRIORITIES
from tests.swarms import built, task, write_swarm

KEY = "AKIA" + "Q3EGRJ7ZLD" + "W5YKXN"
RULE = "rules:\n- id: one\n  title: First\n  description: Do it.\n  priority: critical\n  applies_to: ['*.py']\n"


def read(text, label="rules/a.yaml"):
    return read_engineering(InputFile.of(label, text if isinstance(text, bytes) else text.encode()))


def rule(name, **fields):
    return {"id": name, "title": f"Title of {name}", "description": "Say it.", **fields}


def file(label, *rules):
    return read(json.dumps({"name": label, "rules": list(rules)}), label)  # JSON is YAML


# ---- one file ---------------------------------------------------------------------------------------------------


def test_a_rule_is_one_paragraph_under_one_heading():
    items, findings = engineering_items([read(RULE)])
    assert findings == []
    heading, item = items
    assert (heading["text"], heading["item_id"]) == ("# Engineering rules", "rules/engineering")
    assert item["text"] == "**First** (critical): Do it."
    assert (item["item_id"], item["parent_id"]) == ("rules/engineering#one", "rules/engineering")
    assert item["tags"] == ["glob:*.py", "priority:critical"]
    assert (item["path"], item["line_start"], item["line_end"]) == ("rules/a.yaml", 2, 6)
    assert all((row["source"], row["section"], row["kind"]) == ("rules", "rules", "policy") for row in items)


def test_values_stay_as_they_are_printed():
    rows = read("rules:\n- {id: 007, title: 1e3, description: 2026-99-99, enabled: yes}\n").rows
    assert [(row["rule_id"], row["title"], row["description"], row["enabled"]) for row in rows] == [
        ("007", "1e3", "2026-99-99", True)
    ]


def test_what_a_rule_leaves_out_is_settled():
    (row,) = read("- title: Only a title\n").rows
    assert (row["rule_id"], row["priority"], row["globs"], row["enabled"]) == (
        "Only a title",
        "recommended",
        [],
        True,
    )


@pytest.mark.parametrize(
    ("text", "code", "kept"),
    [
        ("rules: [", "ENGINEERING_UNREADABLE", 0),
        ("rules:\n\t- id: a\n", "ENGINEERING_UNREADABLE", 0),
        ("[" * 60 + "]" * 60, "ENGINEERING_UNREADABLE", 0),
        ("[" * 100_000, "ENGINEERING_UNREADABLE", 0),
        ("rules: *nowhere", "ENGINEERING_UNREADABLE", 0),
        ("", "ENGINEERING_EMPTY", 0),
        ("name: x\nrules:\n", "ENGINEERING_EMPTY", 0),
        ("rules: one\n", "ENGINEERING_SHAPE", 0),
        ("rules: {a: 1}\n", "ENGINEERING_SHAPE", 0),
        ("rules: [text, {title: t}]\n", "ENGINEERING_SHAPE", 1),
        ("rules: [{id: a}, {title: t}]\n", "ENGINEERING_SHAPE", 1),
        ("rules: [{title: {a: b}, description: d}]\n", "ENGINEERING_FIELD", 1),
        ("rules: [{title: t, applies_to: [[x]]}]\n", "ENGINEERING_FIELD", 1),
        ("rules: [{title: t, enabled: perhaps}]\n", "ENGINEERING_FIELD", 1),
        ("rules: [{title: t, priority: urgent}]\n", "ENGINEERING_PRIORITY", 1),
    ],
)
def test_odd_yaml_is_a_finding_and_the_rest_is_read(text, code, kept, codes):
    found = read(text)
    assert code in codes(found.findings)
    assert len(found.rows) == kept


def test_no_tag_makes_an_object(tmp_path):
    mark = tmp_path / "mark"
    text = f"rules:\n- id: !!python/object/apply:os.system ['touch {mark}']\n  title: !!python/name:os.system t\n"
    (row,) = read(text).rows
    assert row["title"] == "t"
    assert not mark.exists()


def test_aliases_do_not_multiply(codes):
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
        for before, name in zip("abcdefghi", "bcdefghij", strict=True)
    )
    found = read(bomb + "rules: [{id: a, title: t, applies_to: *j, description: *a}]\n")
    assert set(codes(found.findings)) == {"ENGINEERING_FIELD"}
    assert found.rows[0]["globs"] == []


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(), st.binary(), st.text(alphabet="{}[]:-,&*!|>#'\"\n abr")))
def test_no_text_is_too_odd(text):
    found = read(text.encode("utf-8", "replace") if isinstance(text, str) else text)
    engineering_items([found])
    assert found.rows or found.findings


# ---- all files --------------------------------------------------------------------------------------------------


def test_one_id_counts_once_by_file_name_then_by_order(codes):
    first = file("z/a.yaml", rule("x", description="First."), rule("x", description="Second."))
    other = file("a/b.yaml", rule("x", description="Third."), rule("y"))
    items, findings = engineering_items([other, first])
    assert [item["item_id"] for item in items[1:]] == ["rules/engineering#x", "rules/engineering#y"]
    assert items[1]["text"].endswith("First.")
    assert codes(findings) == ["ENGINEERING_SAME_ID", "ENGINEERING_SAME_ID"]


def test_disabled_rules_are_left_out_with_a_finding(codes):
    items, findings = engineering_items([file("a.yaml", rule("x", enabled=False))])
    assert items == []
    assert [(row["severity"], row["code"]) for row in findings] == [("info", "ENGINEERING_DISABLED")]


def test_a_rule_that_is_switched_off_first_does_not_come_back(codes):
    items, _ = engineering_items([file("a.yaml", rule("x", enabled=False)), file("b.yaml", rule("x"))])
    assert items == []


@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from(PRIORITIES)), max_size=30))
def test_rules_come_in_order_of_priority_and_else_as_given(given_rules):
    rules = [rule(str(name), priority=priority) for name, priority in given_rules]
    items, _ = engineering_items([file("a.yaml", *rules)])
    first = list({entry["id"]: None for entry in rules})
    priority = {}
    for entry in rules:
        priority.setdefault(entry["id"], entry["priority"])
    expected = sorted(first, key=lambda name: PRIORITIES.index(priority[name]))
    assert [item["item_id"].rpartition("#")[2] for item in items[1:]] == expected


def test_the_real_rules_are_read_whole(shared):
    files, odd = find_engineering(shared / "engineering-rules", lambda path: path.name, Allowance(1 << 20))
    reads = [read_engineering(one) for one in files]
    items, findings = engineering_items(reads)
    assert odd == findings == [row for one in reads for row in one.findings] == []
    assert [one.label for one in files] == ["efficiency.yaml", "quality.yaml", "safety.yaml"]
    assert len(items) == 26
    words = [item["tags"][1].removeprefix("priority:") for item in items[1:]]
    assert words == ["critical"] * 10 + ["important"] * 10 + ["recommended"] * 5


def test_files_lie_at_the_top_or_in_their_folder(tmp_path, codes):
    for place in ("b.yml", "a.yaml", ".hidden.yaml", "engineering/c.yaml", "languages/d.yaml", "e.md"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text(RULE)
    (tmp_path / "big.yaml").write_text("#" * 300_000)
    (tmp_path / "out.yaml").symlink_to("/etc/hostname")
    files, odd = find_engineering(tmp_path, lambda path: path.relative_to(tmp_path).as_posix(), Allowance(1 << 30))
    assert [one.label for one in files] == ["a.yaml", "b.yml", "engineering/c.yaml"]
    assert codes(odd) == ["INPUT_TOO_LARGE", "INPUT_OUTSIDE"]


# ---- globs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("*.py", "a.py", True),
        ("*.py", "src/deep/a.py", True),
        ("*.PY", "src/A.py", True),
        ("*.py", "a.pyc", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "src/deep/a.py", True),
        ("src/**", "src/deep/a.py", True),
        ("src/", "src/deep/a.py", True),
        ("src/**", "lib/src/a.py", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/deep/a.py", False),
        ("src/**/test_*.py", "src/test_a.py", True),
        ("src/**/test_*.py", "src/a/b/test_a.py", True),
        ("./src/*.py", "src/a.py", True),
        ("src\\*.py", "src/a.py", True),
        ("*.{js,ts}", "web/app.ts", True),
        ("Dockerfile*", "docker/Dockerfile.dev", True),
        ("[ab].py", "x/b.py", True),
        ("*.py", "src/", False),
        ("*", "anything/at/all", True),
    ],
)
def test_globs_match_whole_paths_and_base_names(glob, path, expected):
    assert in_glob_scope(path, glob_scope([glob])) is expected


@pytest.mark.parametrize("globs", [[], [""], ["*"], ["**"], ["**/*"], ["*.py", "*"]])
def test_no_glob_or_one_for_all_is_every_task(globs):
    assert glob_scope(globs) == EVERY_TASK


def test_a_hostile_glob_costs_little():
    assert not in_glob_scope("a" * 5000, glob_scope(["*a" * 40 + "b"]))
    assert not in_glob_scope("a/" * 500 + "a", glob_scope(["**/a/" * 200 + "b"]))


# ---- in a build -------------------------------------------------------------------------------------------------


@pytest.fixture
def swarm(tmp_path):
    """Two tasks, one with a Python file, one without files; rules for both, for one and for none."""
    rules = {
        "_core/owasp-2025.md": "# Core rules\n\n## Rule: Check who asks\n\n**Level**: `strict`\n\n**When**: Always.\n",
        "languages/python/CLAUDE.md": "# Python\n\n## Rule: Bind\n\n**Level**: `strict`\n\n**When**: In SQL.\n",
        "team.yaml": json.dumps(
            {
                "rules": [
                    rule("late", priority="recommended"),
                    rule("py", priority="important", applies_to=["src/**"]),
                    rule("go", applies_to=["*.go"]),
                    rule("first", priority="critical", applies_to=["*"], description=f"Never print {KEY}."),
                    rule("off", enabled=False),
                ]
            }
        ),
    }
    tasks = [task("T1", files={"create": ["src/a.py"]}), task("T2", files={"read": ["src/a.py"]})]
    return write_swarm(tmp_path, tasks, rules=rules)


def test_each_task_gets_the_rules_of_its_files_in_order_of_priority(swarm):
    done = built(swarm)
    engineering = [[name for name in done.selected(name) if name.startswith("engineering")] for name in ("T1", "T2")]
    assert engineering == [
        ["engineering", "engineering#first", "engineering#py", "engineering#late"],
        ["engineering", "engineering#first", "engineering#late"],
    ]
    assert "ENGINEERING_DISABLED" in done.findings
    assert "CREDENTIAL_REDACTED" in done.findings
    assert KEY.encode() not in done.everything()
    assert done.problems() == []


def test_a_small_budget_takes_the_urgent_first_and_records_the_rest(swarm):
    done = built(swarm, load_settings(budget={"tokens": 110}, packing={"rules_share": 0.3}))
    rows = {name: done.reason("T1", f"#{name}") for name in ("first", "py", "late")}
    assert rows["first"] is None
    assert rows["late"] in ("budget", "section_budget", "parent_missing_room")
    assert done.problems() == []


def test_rules_that_are_loaded_elsewhere_are_no_candidates(swarm):
    elsewhere = ["core", "python", "engineering"]
    done = built(swarm, load_settings(rules={"loaded_elsewhere": elsewhere}))
    assert done.items.filter(done.items["source"] == "rules").is_empty()
    assert done.findings.count("RULES_ELSEWHERE") == 3
    assert "RULES_NO_CORE" not in done.findings
    assert {entry["path"] for entry in json.loads((done.path / "manifest.json").read_text())["inputs"]} == {
        "plan/task-graph.json"
    }


def test_the_folder_may_be_set_and_no_path_of_the_machine_is_written(swarm, tmp_path):
    other = tmp_path / "elsewhere" / "engineering-rules"
    other.mkdir(parents=True)
    (other / "own.yaml").write_text(RULE.replace("*.py", "*"))
    done = built(swarm, load_settings(rules={"engineering": str(other)}))
    assert [name for name in done.selected("T2") if name.startswith("engineering#")] == ["engineering#one"]
    assert str(tmp_path) not in (done.path / "manifest.json").read_text()


def test_a_folder_that_is_not_there_is_a_finding_that_the_build_s_id_covers(swarm, tmp_path):
    with_it = built(swarm, load_settings(rules={"engineering": str(tmp_path / "nowhere")}))
    (tmp_path / "nowhere").mkdir()
    without = built(swarm, load_settings(rules={"engineering": str(tmp_path / "nowhere")}))
    assert "INPUT_MISSING" in with_it.findings
    assert "INPUT_MISSING" not in without.findings
    assert with_it.path != without.path


def test_an_unknown_scope_is_refused():
    with pytest.raises(SettingsError, match="'pyton' is no scope"):
        load_settings(rules={"loaded_elsewhere": ["pyton"]})


def test_the_order_of_files_and_folders_changes_nothing(swarm, tmp_path):
    (tmp_path / "rules" / "engineering").mkdir()
    (tmp_path / "rules" / "engineering" / "more.yml").write_text(RULE)
    once = built(swarm, out=tmp_path / "one")
    again = built(swarm, out=tmp_path / "two")
    assert once.bytes() == again.bytes()
    assert Path(once.path).name == Path(again.path).name
