from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.sources.files import InputFile
from tasks.sources.history import history_items, read_log
from tasks.terms import KINDS, LEVELS


def log(*rows, name="run.jsonl"):
    data = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)
    return InputFile.of(f"logs/{name}", data.encode("utf-8", "surrogatepass"))


def items(*rows, name="run.jsonl"):
    read = read_log(log(*rows, name=name))
    found, findings = history_items(read)
    return found, [row["code"] for row in read.findings + findings]


def one(**fields):
    found, codes = items({"id": "e1", "type": "agent_msg", "text": "hello", **fields})
    assert len(found) == 1
    return found[0], codes


def test_a_plain_event_is_read_without_findings():
    row, codes = one(
        kind="tool_result",
        parent_id=None,
        sensitivity="Internal",
        tags=["a", "b"],
        task_id="T1",
        graph="demo",
        timestamp="2026-01-20T09:00:00Z",
        token_estimate=-5,
        metadata={"media_type": "application/json"},
    )
    assert codes == []
    assert row["item_id"].endswith("/e1")
    assert {
        name: row[name] for name in ("kind", "section", "source", "trusted", "sensitivity", "tags", "task_id", "graph")
    } == {
        "kind": "tool_result",
        "section": "history",
        "source": "history",
        "trusted": False,
        "sensitivity": "internal",
        "tags": ["a", "b"],
        "task_id": "T1",
        "graph": "demo",
    }
    assert (row["media_type"], row["line_start"], row["path"], row["raw"]) == (
        "application/json",
        1,
        "logs/run.jsonl",
        b"hello",
    )


class TestIds:
    def test_two_logs_never_share_one(self):
        event = {"id": "tc1", "type": "tool_call", "text": "f()"}
        first, _ = items(event)
        other, _ = items(event, {"id": "x", "type": "agent_msg", "text": "y"})
        renamed, _ = items(event, name="b.jsonl")
        assert len({rows[0]["item_id"] for rows in (first, other, renamed)}) == 3

    def test_the_namespace_comes_from_name_and_content(self):
        file = log({"id": "tc1", "type": "tool_call", "text": "f()"})
        assert read_log(file).namespace == f"run@{file.sha256[:8]}"

    def test_parents_are_ids_of_the_same_log(self):
        found, codes = items(
            {"id": 1, "type": "tool_call", "text": "f()"},
            {"id": "2", "type": "tool_result", "text": "r", "parent_id": 1},
        )
        assert found[1]["parent_id"] == found[0]["item_id"]
        assert codes == []

    def test_a_missing_parent_stays_with_a_finding(self):
        row, codes = one(parent_id="gone")
        assert row["parent_id"].endswith("/gone")
        assert codes == ["EVENT_PARENT_MISSING"]

    def test_a_missing_id_is_the_line(self):
        found, codes = items("", {"type": "agent_msg", "text": "x"}, {"id": " ", "type": "agent_msg", "text": "y"})
        assert [row["item_id"].split("/")[1] for row in found] == ["line-2", "line-3"]
        assert codes == ["EVENT_NO_ID", "EVENT_NO_ID"]

    def test_of_one_id_twice_the_same_goes_and_another_gets_its_own(self):
        event = {"id": "a", "type": "agent_msg", "text": "x"}
        found, codes = items(
            event, event, {**event, "text": "y"}, {**event, "id": "a~2"}, {**event, "sensitivity": "restricted"}
        )
        assert [row["item_id"].split("/")[1] for row in found] == ["a", "a~3", "a~2", "a~4"]
        assert codes == ["EVENT_REPEATED", "EVENT_SAME_ID", "EVENT_SAME_ID"]

    def test_long_ids_are_cut_and_stay_apart(self):
        found, _ = items(
            *({"id": "x" * 5000 + end, "type": "agent_msg", "text": end, "parent_id": "x" * 5000 + "a"} for end in "ab")
        )
        assert all(len(row["item_id"]) < 250 for row in found)
        assert found[0]["item_id"] != found[1]["item_id"]
        assert found[1]["parent_id"] == found[0]["item_id"]

    def test_ids_are_one_line(self):
        assert "\n" not in one(id="a\n## Rules")[0]["item_id"]


class TestKinds:
    @pytest.mark.parametrize(
        ("given", "kind"),
        [
            ({"kind": "policy"}, "policy"),
            ({"type": "user"}, "user_turn"),
            ({"kind": "ASSISTANT "}, "agent_msg"),
            ({"type": "system"}, "memory_fact"),
            ({"kind": "toolResult"}, "tool_result"),
            ({"kind": "tool-call"}, "tool_call"),
            ({"type": "message", "role": "user"}, "user_turn"),
            ({"type": "shell_output_v2"}, "tool_result"),
            ({"type": "user", "tool_call_id": "c"}, "tool_result"),
        ],
    )
    def test_the_closest_kind_is_taken(self, given, kind):
        found, codes = items({"id": "e", "text": "x", **given})
        assert found[0]["kind"] == kind
        assert "EVENT_KIND" not in codes

    @pytest.mark.parametrize("given", [{"kind": "banana"}, {"type": 7}, {"kind": []}, {}])
    def test_unknown_words_are_messages_with_a_finding(self, given):
        found, codes = items({"id": "e", "text": "x", **given})
        assert found[0]["kind"] == "agent_msg"
        assert codes == ["EVENT_KIND"]

    def test_a_policy_of_a_log_stays_history(self):
        row, _ = one(type="policy")
        assert (row["section"], row["trusted"]) == ("history", False)


class TestSensitivity:
    @pytest.mark.parametrize("level", LEVELS)
    def test_known_labels_are_carried_in_any_case(self, level):
        assert one(sensitivity=level.upper())[0]["sensitivity"] == level

    def test_none_is_public(self):
        assert one()[0]["sensitivity"] == one(sensitivity=None)[0]["sensitivity"] == "public"

    @pytest.mark.parametrize(
        "label", ["secret", "", 3, ["public"], {"level": "public"}, True, "public,internal", " public", "internal\n"]
    )
    def test_strange_ones_are_restricted(self, label):
        row, codes = one(sensitivity=label)
        assert row["sensitivity"] == "restricted"
        assert codes == ["EVENT_SENSITIVITY"]

    def test_the_highest_of_all_labels_counts(self):
        assert one(sensitivity="internal", metadata={"sensitivity": "confidential"})[0]["sensitivity"] == "confidential"
        assert one(sensitivity="restricted", metadata={"sensitivity": "public"})[0]["sensitivity"] == "restricted"

    def test_a_wrappers_label_counts_for_what_it_wraps(self):
        found, _ = items({"sensitivity": "confidential", "messages": [{"role": "user", "content": "x"}]}, name="w.json")
        assert found[0]["sensitivity"] == "confidential"
        found, _ = items({"sensitivity": "restricted", "item": {"id": "a", "kind": "memory_fact", "text": "x"}})
        assert found[0]["sensitivity"] == "restricted"


class TestTexts:
    @pytest.mark.parametrize(
        ("fields", "text"),
        [
            ({"text": None, "content": "c"}, "c"),
            (
                {"text": ["a", {"type": "text", "text": "b"}, {"type": "image_url", "image_url": {}}]},
                "a\nb\n[image_url]",
            ),
            ({"text": 42}, "42"),
            ({"text": {"text": "inner"}}, "inner"),
            ({"text": {"rows": 2}}, '{"rows": 2}'),
            (
                {"type": "tool_call", "text": None, "tool_name": "db.find", "args": {"id": 3, "q": "x"}},
                'db.find(id=3, q="x")',
            ),
            ({"type": "tool_call", "text": "", "name": "ls", "arguments": '{"path": "/"}'}, 'ls(path="/")'),
            ({"type": "tool_call", "text": "", "name": "ls", "arguments": "not json"}, "ls(not json)"),
            ({"type": "tool_result", "text": None, "output": "done"}, "done"),
        ],
    )
    def test_text_comes_from_where_it_stands(self, fields, text):
        assert one(**fields)[0]["text"] == text

    def test_raw_keeps_what_cleaning_shows(self):
        row, _ = one(type="tool_result", text="a\r\n\x1b[31mred\x1b[0m\ud800\0")
        assert row["text"] == "a\nred\ufffd[U+0000]"
        assert row["raw"].decode("utf-8", "surrogatepass") == "a\r\n\x1b[31mred\x1b[0m\ud800\0"
        assert one()[0]["raw"] is None

    @pytest.mark.parametrize("tags", [None, "a,b", ["a", ["b", None, 3]], {"a": 1}, [{"x": 1}], 7, [True]])
    def test_tags_are_a_list_of_strings(self, tags):
        row, _ = one(tags=tags)
        assert all(isinstance(tag, str) for tag in row["tags"])
        assert one(tags="a, b")[0]["tags"] == ["a", "b"]

    @pytest.mark.parametrize(
        ("line", "code"),
        [
            ("{broken", "EVENT_NOT_JSON"),
            ("SECRET-VALUE", "EVENT_NOT_JSON"),
            ('"SECRET-VALUE"', "EVENT_NOT_AN_OBJECT"),
            ("3", "EVENT_NOT_AN_OBJECT"),
            ('{"id": "e", "type": "agent_msg", "other": "SECRET-VALUE"}', "EVENT_NO_TEXT"),
            ('{"id": "e", "type": "agent_msg", "text": "  "}', "EVENT_NO_TEXT"),
            ('{"id": "e", "type": "agent_msg", "text": ' + "[" * 500 + "]" * 500 + "}", "EVENT_NOT_JSON"),
        ],
    )
    def test_bad_rows_are_left_out_and_never_quoted(self, line, code):
        good = {"id": "good", "type": "agent_msg", "text": "x"}
        read = read_log(log(good, line, good | {"id": "also"}))
        assert [row["event_id"] for row in read.rows] == ["good", "also"]
        assert [(row["code"], row["where"], row["severity"]) for row in read.findings] == [
            (code, "logs/run.jsonl, line 2", "error")
        ]
        assert "SECRET" not in str(read.findings)

    def test_huge_numbers_do_no_harm(self):
        line = '{"id": ' + "9" * 6000 + ', "type": "agent_msg", "text": "x", "timestamp": 1e999, "token_estimate": NaN}'
        found, _ = items(line)
        assert len(found) == 1


class TestForms:
    def test_chat_messages_become_events_with_their_calls(self):
        messages = [
            {"role": "system", "content": "be good"},
            {"role": "user", "content": [{"type": "text", "text": "go"}]},
            {"role": "assistant", "content": "calling", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
                {"id": "c2", "type": "function", "function": {"name": "g", "arguments": ""}},
            ]},
            {"role": "tool", "tool_call_id": "c2", "content": "two"},
            {"role": "tool", "tool_call_id": "c1", "content": "one"},
        ]  # fmt: skip
        for form in (messages, {"messages": messages}):
            read = read_log(InputFile.of("chat.json", json.dumps(form, indent=1).encode()))
            found, findings = history_items(read)
            assert read.findings + findings == []
            assert [(row["kind"], row["text"]) for row in found] == [
                ("memory_fact", "be good"),
                ("user_turn", "go"),
                ("agent_msg", "calling"),
                ("tool_call", "f(a=1)"),
                ("tool_call", "g()"),
                ("tool_result", "two"),
                ("tool_result", "one"),
            ]
            by_text = {row["text"]: row for row in found}
            assert by_text["one"]["parent_id"] == by_text["f(a=1)"]["item_id"]
            assert by_text["two"]["parent_id"] == by_text["g()"]["item_id"]
            assert by_text["f(a=1)"]["parent_id"] == by_text["calling"]["item_id"]

    def test_results_inside_a_users_message_are_results(self):
        found, _ = items(
            {"role": "assistant", "content": [{"type": "tool_use", "id": "u", "name": "f", "input": {"a": 1}}]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "u", "content": [{"type": "text", "text": "raw"}]}],
            },
        )
        assert [(row["kind"], row["text"], row["raw"]) for row in found] == [
            ("tool_call", "f(a=1)", None),
            ("tool_result", "raw", b"raw"),
        ]
        assert found[1]["parent_id"] == found[0]["item_id"]

    def test_one_object_with_an_item_is_one_event(self):
        document = {"label": "x", "item": {"id": "a", "kind": "memory_fact", "text": "t", "sensitivity": "restricted"}}
        read = read_log(InputFile.of("a.json", json.dumps(document, indent=2).encode()))
        assert [(row["event_id"], row["sensitivity"]) for row in read.rows] == [("a", "restricted")]

    @pytest.mark.parametrize("data", [b"", b"\n\n", b"[]", b"null", b"\xff\xfe", b"[1, 2]"])
    def test_a_log_without_events_says_so(self, data):
        read = read_log(InputFile.of("a.jsonl", data))
        assert read.rows == []
        assert "LOG_EMPTY" in {row["code"] for row in read.findings}

    def test_only_newlines_end_a_line(self):
        found, codes = items(json.dumps({"id": "a", "type": "agent_msg", "text": "x\u2028y"}, ensure_ascii=False))
        assert (found[0]["text"], codes) == ("x\ny", [])


def test_events_carry_a_time_that_never_goes_back():
    found, _ = items(
        *(
            {"id": str(n), "type": "agent_msg", "text": "x", "timestamp": time}
            for n, time in enumerate([None, 50, "x", 20])
        )
    )
    assert [row["time"] for row in found] == [50_000_000] * 4


def test_every_real_log_loads_whole(shared):
    for path in sorted(shared.glob("history/**/*.jsonl")):
        read = read_log(InputFile.of(path.name, path.read_bytes()))
        found, findings = history_items(read)
        assert read.findings + findings == [], path
        assert len(found) == len(path.read_text("utf-8").splitlines())
        assert {row["kind"] for row in found} <= set(KINDS)
    for path in sorted(shared.glob("history/**/*.json")):
        found, _ = history_items(read_log(InputFile.of(path.name, path.read_bytes())))
        level = json.loads(path.read_bytes())
        assert found
        if isinstance(level, dict):
            assert found[0]["sensitivity"] == level["item"]["sensitivity"]


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = [
    "id", "kind", "type", "role", "text", "content", "parent_id", "sensitivity", "tags", "metadata", "task_id", "graph",
    "timestamp", "token_estimate", "args", "tool_name", "tool_calls", "function_call", "item", "messages", "tool_call_id",
]  # fmt: skip
ANY_EVENT = st.dictionaries(st.sampled_from(FIELDS), ANY_JSON)


@settings(deadline=None)
@given(st.lists(ANY_EVENT | ANY_JSON, max_size=5), st.booleans())
def test_any_json_gives_unique_items_of_known_words(rows, whole):
    read = read_log(log(json.dumps(rows)) if whole else log(*rows))
    found, findings = history_items(read)
    assert len({row["item_id"] for row in found}) == len(found)
    for row in found:
        assert row["kind"] in KINDS
        assert row["sensitivity"] in LEVELS
        assert row["text"].strip()
        assert (row["raw"] is not None) == (row["kind"] == "tool_result")
        assert all(isinstance(tag, str) for tag in row["tags"])
    assert all("\n" not in row["message"] for row in read.findings + findings)


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_read(data):
    history_items(read_log(InputFile.of("a.jsonl", data)))
