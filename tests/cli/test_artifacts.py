"""`prebrief artifact`: raw results, whole or in part, without credentials unless they are asked for."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from flows.cli import app
from tasks.building import build
from tasks.errors import BuildMissingError
from tasks.outputs.drill import json_at, lines_of
from tasks.settings import load_settings
from tasks.sources.inputs import Request

KEY = f"sk_live_{'q7Rk29xLm2Zp84vTn3Yb'}"
RESULT = json.dumps(
    {"items": [{"name": "tea", "note": f"stripe key {KEY}"}] + [{"name": "x", "n": n} for n in range(99)]}
)
LINES = "\n".join(["first", "\x1b[31msecond\x1b[0m", *(f"line {n} of the output" for n in range(3, 90))])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A build with a JSON result, a text, and one that is confidential."""
    folder = tmp_path_factory.mktemp("artifacts")
    graph = {"feature": "shop", "tasks": [{"id": "T-1", "title": "Sell tea", "description": "Sell it by post."}]}
    (folder / "graph.json").write_text(json.dumps(graph))
    events = [
        {"id": "r1", "kind": "tool_result", "text": RESULT, "metadata": {"media_type": "application/json"}},
        {"id": "r2", "kind": "tool_result", "text": LINES},
        {"id": "r3", "kind": "tool_result", "text": LINES + " secret", "sensitivity": "confidential"},
        {"id": "r4", "kind": "tool_result", "text": LINES + " inner", "sensitivity": "internal"},
    ]
    (folder / "log.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    request = Request(graphs=(folder / "graph.json",), history=(folder / "log.jsonl",), cwd=folder)
    return build(request, load_settings(), folder / "builds").path


def run(made, *arguments, code=0, env=None):
    done = CliRunner().invoke(app, ["artifact", *arguments, "--build", str(made)], env=env)
    assert done.exit_code == code, done.output
    return done.stdout if code == 0 else done.stderr


def handles(made):
    rows = json.loads(run(made, "list", "--json"))["artifacts"]
    return {row["handle"].rsplit("/", 1)[1]: row["handle"] for row in rows}


def test_the_list_has_what_a_prompt_may_point_at_and_nothing_above_the_floor(made):
    assert set(handles(made)) == {"r1", "r2", "r4"}
    assert "application/json" in run(made, "list")


def test_credentials_are_masked_unless_raw_is_asked_for(made):
    handle = handles(made)["r1"]
    assert KEY not in run(made, "get", handle)
    assert "[REDACTED" in run(made, "get", handle)
    assert KEY in run(made, "get", handle, "--raw")


def test_what_controls_a_terminal_is_taken_out_unless_raw_is_asked_for(made):
    handle = handles(made)["r2"]
    assert "\x1b" not in run(made, "get", handle)
    assert "\x1b[31m" in run(made, "get", handle, "--raw")


def test_parts_are_lines_heads_and_values(made):
    found = handles(made)
    assert run(made, "get", found["r2"], "--lines", "3:4") == "line 3 of the output\nline 4 of the output\n"
    assert run(made, "get", found["r2"], "--head", "1") == "first\n"
    assert json.loads(run(made, "get", found["r1"], "--json", "items[1].n")) == 0
    assert json.loads(run(made, "get", found["r1"], "--json", "/items/0/name")) == "tea"
    assert KEY not in run(made, "get", found["r1"], "--json", "items[0]")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--lines", "5:2"), "no lines"),
        (("--lines", "x"), "no range"),
        (("--json", "a"), "no JSON"),
        (("--lines", "1", "--head", "2"), "exclude each other"),
    ],
)
def test_a_part_that_is_not_there_is_one_sentence(made, arguments, words):
    assert words in run(made, "get", handles(made)["r2"], *arguments, code=2)


def test_an_unknown_handle_is_one_sentence(made):
    assert "artifact list" in run(made, "get", "artifact:nowhere", code=2)


def test_what_is_above_the_floor_is_refused_also_by_a_floor_set_since(made):
    handle = handles(made)["r4"]
    refused = run(made, "get", handle, "--raw", code=2, env={"PREBRIEF_POLICY__SENSITIVITY_FLOOR": "internal"})
    assert "ARTIFACT_REFUSED" in refused
    space = handle.rsplit("/", 1)[0]
    assert "ARTIFACT_REFUSED" in run(made, "get", f"{space}/r3", code=2)


def test_bytes_that_changed_are_refused(made):
    from tasks.outputs.reader import BuildFolder

    rows = {row["handle"]: row["sha256"] for row in BuildFolder(made).artifacts.to_dicts()}
    handle = handles(made)["r2"]
    file = made / "artifacts" / rows[handle]
    before = file.read_bytes()
    file.write_bytes(before + b"x")
    try:
        assert "have changed" in run(made, "get", handle, code=2)
    finally:
        file.write_bytes(before)


@given(st.lists(st.text("ab ", max_size=5), min_size=1, max_size=20), st.data())
def test_a_range_is_what_a_slice_is(lines, data):
    text = "\n".join(lines) + "\n"
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines) + 3))
    assert lines_of(text, f"{first}:{last}") == "\n".join(lines[first - 1 : last]) + "\n"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=10,
)


@given(JSON, st.data())
def test_a_pointer_leads_to_every_value(value, data):
    text, place, pointer = json.dumps(value), value, ""
    while isinstance(place, dict | list) and place and data.draw(st.booleans()):
        step = data.draw(st.sampled_from(list(place) if isinstance(place, dict) else list(range(len(place)))))
        pointer += "/" + str(step).replace("~", "~0").replace("/", "~1")
        place = place[step]
    assert json.loads(json_at(text, pointer)) == place


@given(st.text(max_size=12).filter(lambda path: path not in ("", "$", "a", ".a", "$a", "$.a", "/a")))
def test_a_path_that_leads_nowhere_is_one_sentence(path):
    with pytest.raises(BuildMissingError) as refused:
        json_at('{"a": null}', path)
    assert "\n" not in str(refused.value)


def test_json_lines_are_walked_by_the_number_of_the_record():
    text = '{"code": 1}\n\n{"code": 2, "at": ["x"]}\n'
    assert json.loads(json_at(text, "[1].code")) == 2
    assert json.loads(json_at(text, "/1/at/0")) == "x"
    with pytest.raises(BuildMissingError, match="no JSON"):
        json_at('{"code": 1}\n{"code"', "[0]")
