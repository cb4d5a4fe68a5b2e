"""The summariser's promises, for any text."""

from __future__ import annotations

import json
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.summaries import LEAD, LONGEST_RUN, SHORT, lead, restate, shape_of, summarise

HANDLE = "artifact:h/tc1"
LAST = re.compile(
    r"\[withheld: (?:[\d,]+ of [\d,]+ \w+, )?[\d,]+ of [\d,]+ lines?, [\d,]+ of [\d,]+ bytes; the source is intact: (.+)\]"
)

ANY_TEXT = st.text(alphabet=st.characters(), max_size=900) | st.text(
    alphabet="ab \n\t|:,{}[]\"'=-+#0123456789.", max_size=3_000
)
LINES = st.lists(
    st.sampled_from([
        "ERROR boom", "ok 1 - fine", "[...]", "x" * 120, '{"a": 1}', "a,b,c", "src/a.py:12: error: bad [x]", "  at f (a.js:1:2)", "", "\t",
        "Traceback (most recent call last):", "+++ b/x", "@@ -1 +1 @@", "=== 1 failed in 2s ===", "drwxr-xr-x 2 a a 4096 Apr 1 10:00 x", "数据库错误。" * 20,
        "\ud800\udfff", "\0", "The quick brown fox jumps over the lazy dog, twice, and again, since it can. " * 3, "2026-04-02 10:00:00 INFO a b c",
    ]),
    min_size=5, max_size=200,
)  # fmt: skip


def summary_of(text: str) -> str:
    return summarise(text, handle=HANDLE)


def longest_shared_run(text: str, source: str) -> int:
    """Characters of the longest run of the source in the text; quadratic, so for small texts only."""
    best = start = 0
    while start + best < len(text):
        if text[start : start + best + 1] in source:
            best += 1
        else:
            start += 1
    return best


@given(ANY_TEXT | LINES.map("\n".join) | LINES.map("\r\n".join))
@settings(max_examples=300, deadline=None)
def test_a_long_text_never_stands_in_its_summary(text):
    summary = summary_of(text)
    if len(text.strip()) <= SHORT:
        assert summary == restate(text)
        return
    assert longest_shared_run(summary, text) <= LONGEST_RUN
    assert text.strip() not in summary
    assert LAST.fullmatch(summary.rsplit("\n", 1)[-1])[1] == HANDLE
    body = summary.rpartition("\n")[0]
    assert not body or len(summary) < len(text)
    assert len(summary) <= 2_400
    assert summary == summary_of(text)


@given(ANY_TEXT)
def test_a_short_text_is_restated_on_one_line_and_loses_nothing(text):
    said = restate(text)
    assert "\n" not in said
    assert "\r" not in said
    kept = re.sub(r"[\s⏎\x1c-\x1f\x85]+", "", said)
    assert kept == (re.sub(r"[\s⏎\x1c-\x1f\x85]+", "", text) or "(empty)")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "(empty)"),
        (" \n\t\n", "(empty)"),
        ("200 OK", "200 OK"),
        ("status: ok  \nid: 7\n", "status: ok ⏎ id: 7"),
        ("Header\n\nANSWER: 42", "Header ⏎  ⏎ ANSWER: 42"),
        ("a\r\nb\rc", "a ⏎ b ⏎ c"),
    ],
)
def test_short_results(text, said):
    assert summary_of(text) == said


def test_three_hundred_characters_are_short_and_one_more_is_not():
    assert summary_of("x " * 149 + "xx") == "x " * 149 + "xx"
    assert LAST.search(summary_of("x " * 150 + "x"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("one\ntwo\n\nthree", "one\ntwo"),
        ("  padded  \n\nrest", "padded"),
        ("\n\nafter", ""),
        ("x" * LEAD, "x" * LEAD),
        ("x" * (LEAD + 1), "x" * LEAD + "…"),
    ],
)
def test_lead_is_the_first_paragraph(text, said):
    assert lead(text) == said


HUGE = {
    "one line": "a" * 1_000_000,
    "many short lines": "\n".join(map(str, range(100_000))),
    "deep array": "[" * 200_000 + "]" * 200_000,
    "deep object": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "surrogates": "\ud800" * 300_000,
    "NUL": "\0" * 500_000,
    "colour": "\x1b[31m" * 150_000,
    "open tags": "<html>" + "<script>" * 100_000,
    "broken JSON": '{"a": "' + "x" * 500_000,
    "spaces": (" " * 300 + "x\n") * 3_000,
    "tabs": ("\t" * 200 + "x\n") * 4_000,
    "frames": "Traceback (most recent call last):\n"
    + '  File "x.py", line 3, in f\n    g()\n' * 20_000
    + "ValueError: x",
    "records": json.dumps([{"id": number, "name": "n", "value": number * 7} for number in range(20_000)]),
}


@pytest.mark.parametrize("name", HUGE)
def test_huge_and_hostile_texts_are_summarised_soon(name):
    start = time.process_time()
    summary = summary_of(HUGE[name])
    # A quadratic step would take minutes; a loaded machine may take a few seconds.
    assert time.process_time() - start < 8
    assert LAST.fullmatch(summary.rsplit("\n", 1)[-1])
    assert len(summary) <= 2_400


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ("json", json.dumps({"a": list(range(200))})),
        ("json", "\n".join(json.dumps({"id": number, "level": "info"}) for number in range(30))),
        ("table", "id,name,size\n" + "\n".join(f"{n},n{n},{n * 3 % 7}" for n in range(40))),
        ("table", "NAME   READY   STATUS\n" + "\n".join(f"p-{n}   1/1   Running" for n in range(40))),
        ("log", "\n".join(f"2026-01-02T03:04:{n:02}Z INFO step {n}" for n in range(40))),
        ("listing", "\n".join(f"./src/a{n}.py" for n in range(40))),
        ("search", "\n".join(f"src/a{n}.py:{n}: use(thing)" for n in range(40))),
        ("diagnostics", "\n".join(f"src/a{n}.py:{n}: error: bad thing  [misc]" for n in range(40))),
        ("test run", "\n".join(f"tests/a.py::t{n} PASSED" for n in range(40)) + "\n=== 40 passed in 1.00s ==="),
        (
            "traceback",
            "Traceback (most recent call last):\n" + '  File "a.py", line 1, in f\n    f()\n' * 12 + "ValueError: x",
        ),
        ("diff", "--- a/x\n+++ b/x\n@@ -1,40 +1,0 @@\n" + "\n".join(f"-line {n} of the text" for n in range(40))),
        ("commits", "\n".join(f"{n:07x} Change part {n}" for n in range(16, 60))),
        ("plain text", "It was a plain day, and nobody counted anything. " * 20),
    ],
)
def test_the_shape_is_told_from_the_content(shape, text):
    assert shape_of(text) == shape


def test_a_rare_row_in_a_long_table_is_kept_and_said_to_be_one_of_many():
    rows = [f"job-{number},nightly,ok" for number in range(500)]
    rows[317] = "job-317,nightly,failed"
    summary = summary_of("id,kind,state\n" + "\n".join(rows))
    assert "job-317,nightly,failed" in summary
    assert "state: ok 499, failed 1 (of 500 rows)" in summary
    assert "of 500 rows, " in summary.rsplit("\n", 1)[1]


def test_repeated_log_lines_are_folded_and_the_one_error_stands():
    lines = [f"2026-04-02 10:00:{number % 60:02} INFO worker {number} done in {number * 3} ms" for number in range(239)]
    lines.insert(120, "2026-04-02 10:07:00 ERROR worker 120 lost its lease L-88")
    summary = summary_of("\n".join(lines))
    assert "ERROR 1, INFO 239 (of 240 lines)" in summary
    assert "2026-04-02 10:07:00 ERROR worker 120 lost its lease L-88" in summary
    assert re.search(r"^x\d+ 2026-04-02 10:00:00 INFO worker 0 done in 0 ms$", summary, re.MULTILINE)


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "id": st.integers(),
                "note": st.text(max_size=400),
                "amount": st.decimals(allow_nan=False, allow_infinity=False, places=2),
            }
        ),
        min_size=8,
        max_size=60,
    )
)
@settings(max_examples=80, deadline=None)
def test_no_json_value_is_cut(records):
    text = json.dumps([{**record, "amount": float(record["amount"])} for record in records])
    summary = summary_of(text)
    if len(text) <= SHORT:
        return
    whole = {json.dumps(record["note"], ensure_ascii=False) for record in records}
    for found in re.finditer(r'"note": ("(?:[^"\\]|\\.)*")', summary):
        assert found[1] in whole


def test_a_long_json_string_is_withheld_whole():
    text = json.dumps({"status": "failed", "body": "x y " * 203, "id": 7})
    summary = summary_of(text)
    assert '"status": "failed"' in summary
    assert "<string, 812 characters>" in summary
    assert "x y x y" not in summary


def test_numbers_stay_as_they_were_written():
    text = '{"a": 1.50, "b": 1e5, "c": 10000000000000000000000001, "pad": [' + ",".join(["0"] * 400) + "]}"
    assert '"a": 1.50, "b": 1e5, "c": 10000000000000000000000001' in summary_of(text)


def test_the_last_line_counts_bytes_and_lines_of_the_source():
    text = "é\n" * 400
    assert re.search(r" of 400 lines, [\d,]+ of 1,200 bytes;", summary_of(text))


class TestTheOneThatFailed:
    """Among many alike it is kept, however deep it stands and whatever the form says of it."""

    def test_in_a_list_within_a_record(self):
        batches = [
            {"id": f"b{batch}", "items": [{"sku": f"s{n}", "ok": True} for n in range(6)]} for batch in range(20)
        ]
        batches[5]["items"][3] = {"sku": "s3", "ok": False, "error": {"code": "E_STOCK", "detail": "0 of 14"}}
        said = summary_of(json.dumps({"request": "r-1", "batches": batches}))
        assert '[5].items[3] {"sku": "s3", "ok": false, "error.code": "E_STOCK", "error.detail": "0 of 14"}' in said

    def test_in_a_test_report_of_xml(self):
        case = '  <testcase name="test_{}" time="0.1"/>\n'
        text = '<?xml version="1.0"?>\n<testsuite name="orders" tests="81" failures="1">\n'
        text += "".join(case.format(n) for n in range(40))
        text += '  <testcase name="test_cancel">\n    <failure message="expected 409 got 500"/>\n  </testcase>\n'
        text += "".join(case.format(n) for n in range(40, 80)) + "</testsuite>\n"
        said = summary_of(text)
        assert 'tests="81" failures="1"' in said
        assert 'name="test_cancel"' in said
        assert "expected 409 got 500" in said

    def test_answered_with_another_status(self):
        rows = [f"request {n} GET /items/{n} {500 if n == 99 else 200} {n}ms" for n in range(120)]
        said = summary_of("\n".join(rows))
        assert "request 99 GET /items/99 500 99ms" in said
        assert "x119 request 0 GET" in said

    def test_in_a_record_printed_a_column_a_line(self):
        record = "-[ RECORD {0} ]-+------\nid    | {0}\nstate | {1}"
        said = summary_of("\n".join(record.format(n, "LAGGING" if n == 17 else "OK") for n in range(1, 31)))
        assert "state | LAGGING" in said
        assert "x29 state | OK" in said

    def test_in_a_table_whose_first_line_is_a_row(self):
        rows = [f"build-{n}\t{'fail' if n == 31 else 'pass'}\thttps://ci.example.org/{n}" for n in range(60)]
        said = summary_of("\n".join(rows))
        assert "60 rows" in said
        assert "pass 59, fail 1 (of 60 rows)" in said
        assert "build-31\tfail" in said


def test_a_file_of_a_diff_is_named_where_a_hunk_promised_more_lines():
    """As in diffs that no tool wrote."""
    hunk = "@@ -1,9 +1,40 @@ def charge():\n" + "".join(f"+    step_{n}(order, retries={n})\n" for n in range(30))
    text = f"diff --git a/pay.py b/pay.py\n--- a/pay.py\n+++ b/pay.py\n{hunk}"
    text += (
        "diff --git a/old/gateway.py b/old/gateway.py\ndeleted file mode 100644\n--- a/old/gateway.py\n+++ /dev/null\n"
    )
    text += "@@ -1,2 +0,0 @@\n-import gateway\n-gateway.start()\n"
    said = summary_of(text)
    assert "2 files changed, +30 -2, 2 hunks" in said
    assert "old/gateway.py" in said
