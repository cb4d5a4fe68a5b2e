"""The hook command: what it counts, when it speaks, and that it never stands in the way."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from flows.cli import app
from tasks.hook import on_tool_use, session_usage, sessions_folder

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def event(tool="Bash", given=None, response=None, session="s-1", **others):
    body = {"session_id": session, "hook_event_name": "PostToolUse", "tool_name": tool, "cwd": "/"}
    return body | {"tool_input": given or {}, "tool_response": response} | others


def hook(body, *arguments):
    text = body if isinstance(body, (str, bytes)) else json.dumps(body)
    return CliRunner().invoke(app, ["track", *map(str, arguments)], input=text)


def status(session="s-1"):
    result = CliRunner().invoke(app, ["track", "--status", session, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


# ---- what counts ------------------------------------------------------------------------------------------------


def test_every_event_is_a_tool_call_and_a_read_is_a_file_besides():
    assert hook(event()).stdout == ""
    hook(event("Read", {"file_path": "/a"}, {"type": "text", "file": {"filePath": "/a", "content": "x" * 400}}))
    usage = status()
    assert (usage["tool_calls"], usage["files_read"], usage["tasks_executed"]) == (2, 1, 0)
    assert 300 <= usage["estimated_tokens"] <= 350  # the minutes that the test takes


def test_a_task_that_is_done_counts():
    hook(event("TaskUpdate", {"taskId": "1", "status": "in_progress"}))
    hook(event("TaskUpdate", {"taskId": "1", "status": "completed"}))
    assert status()["tasks_executed"] == 1


def read(tmp_path, given, response=None, **others) -> int:
    """Tokens of one read beyond its call, by a clock that stands."""
    data = json.dumps(event("Read", given, response, **others)).encode()
    on_tool_use(data, tmp_path, clock=lambda: 1.0)
    return session_usage("s-1", tmp_path, clock=lambda: 1.0).estimated_tokens - 50


@pytest.mark.parametrize(
    ("response", "tokens"),
    [
        ({"type": "text", "file": {"content": "é" * 200}}, 200),
        ({"content": "x" * 400}, 200),
        ("x" * 400, 200),
        ({"type": "text", "file": {"content": ""}}, 100),
        ({"type": "image", "file": {"base64": "A" * 1_000_000}}, 1_600),
    ],
)
def test_a_read_counts_by_the_text_that_it_gave(tmp_path, response, tokens):
    assert read(tmp_path, {"file_path": "/nowhere", "offset": 3}, response) == tokens


@pytest.mark.parametrize(
    ("size", "tokens"), [(400, 200), (100_000, 25_100), (10_000_000, 25_100)]
)  # Read gives no more at once
def test_without_its_text_a_read_counts_by_the_file(tmp_path, size, tokens):
    (tmp_path / "a.txt").write_bytes(b"x" * size)
    assert read(tmp_path, {"file_path": "a.txt"}, cwd=str(tmp_path)) == tokens


def test_a_read_of_nothing_known_counts_as_an_empty_file(tmp_path):
    assert read(tmp_path, {"file_path": 7}) == 100


def test_sessions_are_counted_apart_and_their_names_lead_nowhere_else(cache):
    for session in ("s-1", "../../evil", "/etc/passwd", "S-1", "x" * 4000):
        hook(event(session=session))
    assert status("../../evil")["tool_calls"] == 1
    written = [path for path in cache.rglob("*") if path.is_file()]
    assert len(written) == 5
    assert {path.parent for path in written} == {sessions_folder()}


def test_calls_at_the_same_time_are_all_counted(tmp_path):
    data = json.dumps(event()).encode()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: on_tool_use(data, tmp_path), range(40)))
    assert session_usage("s-1", tmp_path).tool_calls == 40
    assert [path.name for path in tmp_path.iterdir()] == ["s-1.json"]


def test_a_compaction_starts_the_count_anew():
    hook(event(), "--window", 1_000, "--threshold", 50)
    hook({"session_id": "s-1", "hook_event_name": "PreCompact", "trigger": "auto"})
    usage = status()
    assert (usage["tool_calls"], usage["window_tokens"], usage["threshold_percent"]) == (0, 1_000, 50)


def test_the_budget_outlives_a_compaction(tmp_path):
    def begin(tracker):
        tracker._counts |= {"context_budget_tokens": 4_000, "context_budget_used": 3_000}

    on_tool_use(json.dumps(event()).encode(), tmp_path, begin=begin)
    on_tool_use(json.dumps({"session_id": "s-1", "hook_event_name": "PreCompact"}).encode(), tmp_path, begin=begin)
    usage = session_usage("s-1", tmp_path)
    assert (usage.tool_calls, usage.context_budget_tokens, usage.context_budget_used) == (0, 4_000, 3_000)


def test_the_task_of_the_session_gives_its_budget(tmp_path, quickstart):
    out = tmp_path / "builds"
    assert CliRunner().invoke(app, ["build", str(quickstart / "task-graph.json"), "--out", str(out)]).exit_code == 0
    for _ in range(2):
        hook(event(), "--build", out, "--task", "TASK-005")
    assert status()["context_budget_tokens"] == 4_000
    assert 0 < status()["context_budget_used"] <= 4_000
    result = hook(event(session="s-2"), "--build", out, "--task", "TASK-099")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "BUILD_MISSING" in result.stderr
    assert status("s-2")["tool_calls"] == 1


# ---- when it speaks ---------------------------------------------------------------------------------------------


def test_at_the_threshold_it_tells_the_model_and_exits_with_0():
    body = event("Read", {"file_path": "/a"}, {"file": {"content": "x" * 4 * 139_700}})
    assert hook(body).stdout == ""  # 139,700 + 100 + 50
    result = hook(event("Read", {}, {"file": {"content": ""}}))  # 100 + 50 more
    assert result.exit_code == 0
    said = json.loads(result.stdout)
    assert said.keys() == {"hookSpecificOutput"}
    assert said["hookSpecificOutput"].keys() == {"hookEventName", "additionalContext"}
    assert said["hookSpecificOutput"]["hookEventName"] == "PostToolUse"
    assert "of 200,000 tokens" in said["hookSpecificOutput"]["additionalContext"]
    assert "Checkpoint now" in said["hookSpecificOutput"]["additionalContext"]


def test_it_says_so_again_at_each_call_after_that():
    results = [hook(event(), "--window", 200, "--threshold", 40) for _ in range(4)]
    assert [bool(result.stdout) for result in results] == [False, True, True, True]


# ---- what goes wrong --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["", "{", "null", "[]", "7", "{}", '{"session_id": 7}', '{"session_id": ""}', b"\xff\xfe\x00", "[" * 100_000],
)
def test_malformed_input_counts_nothing_and_blocks_nothing(text, cache):
    result = hook(text)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("warning TRACKING: ")
    assert not cache.exists()


@pytest.mark.parametrize(
    "odd",
    [
        {"tool_input": None},
        {"tool_input": [1]},
        {"tool_name": 3},
        {"tool_name": ["Read"]},
        {"tool_name": {"a": 1}},
        {"hook_event_name": ["PreCompact"]},
        {"cwd": 3},
        {"cwd": "\0"},
        {"tool_response": 3},
        {"tool_response": {"type": ["image"], "file": [{"content": 1}]}},
    ],
)
def test_odd_fields_of_an_event_still_count_as_a_call(odd):
    assert hook(event("Read", {"file_path": "x"}) | odd).exit_code == 0
    assert status()["tool_calls"] == 1


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.sampled_from(["Read", "image"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["file", "content", "type", "file_path", "status"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.sampled_from(["tool_name", "tool_input", "tool_response", "cwd", "hook_event_name"]), _ANY, max_size=5
    )
)
def test_whatever_an_event_holds_it_is_counted(tmp_path, odd):
    place = tmp_path / "any"
    on_tool_use(json.dumps({"session_id": "s-1"}).encode(), place, clock=lambda: 1.0)
    before = session_usage("s-1", place).tool_calls
    on_tool_use(json.dumps({"session_id": "s-1"} | odd).encode(), place, clock=lambda: 1.0)
    after = session_usage("s-1", place).tool_calls
    assert after == (0 if odd.get("hook_event_name") == "PreCompact" else before + 1)


@pytest.mark.parametrize(
    ("streams", "said"),
    [
        ("<&-", b"warning TRACKING: stdin is closed"),
        ("0>/dev/null", b"warning TRACKING: stdin cannot be read"),
        ("<&- >&- 2>&-", b""),
    ],
)
def test_streams_that_are_closed_block_nothing(streams, said):
    code = "import flows.cli as cli; cli.app(['track'])"
    command = ["bash", "-c", f'"$0" -c "$1" {streams}', sys.executable, code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.startswith(said)
    assert b"Traceback" not in done.stderr


def test_a_cache_that_cannot_be_written_blocks_nothing(cache):
    cache.write_text("in the way")
    result = hook(event())
    assert (result.exit_code, result.stdout) == (0, "")
    assert "cannot be written" in result.stderr


def test_a_damaged_count_begins_anew():
    hook(event())
    (sessions_folder() / "s-1.json").write_text("{")
    assert hook(event()).exit_code == 0
    assert status()["tool_calls"] == 1


_WRONG = [("--window", "0"), ("--window", "x"), ("--window", "1.5"), ("--threshold", "101"), ("--threshold", "nan")]


@pytest.mark.parametrize("arguments", _WRONG)
def test_a_hook_with_a_wrong_window_or_threshold_warns_and_counts_by_the_usual_ones(arguments):
    result = hook(event(), *arguments)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("warning TRACKING: ")
    assert len(result.stderr.splitlines()) == 1
    usage = status()
    assert (usage["tool_calls"], usage["window_tokens"], usage["threshold_percent"]) == (1, 200_000, 70)


@pytest.mark.parametrize("arguments", [("--status", "nobody"), *(("--status", "s-1", *wrong) for wrong in _WRONG)])
def test_wrong_usage_is_one_sentence_and_exit_code_2(arguments):
    result = hook(event(), *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error TRACKING: ")
    assert len(result.stderr.splitlines()) == 1


def test_status_is_also_told_in_words():
    hook(event())
    result = CliRunner().invoke(app, ["track", "--status", "s-1"])
    assert "tool_calls: 1" in result.stdout.splitlines()


def test_the_hook_loads_nothing_heavy():
    """It runs after every tool call, so it must not wait for libraries that it does not use."""
    code = (
        "import sys, io, flows.cli as cli\n"
        "from typer.testing import CliRunner\n"
        "result = CliRunner().invoke(cli.app, ['track'], input='{\"session_id\": \"s\"}')\n"
        "assert result.exit_code == 0, result.output\n"
        "print([name for name in ('polars', 'prefect', 'tiktoken', 'dataframely', 'rich') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
