"""The tests that come before a pattern, since they cost little, hide nothing that the pattern would find."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.summaries.pieces import BREAKS, CLAUSE
from tasks.summaries.prose import SENTENCE, is_progress
from tasks.summaries.signals import (
    COSTLY,
    COSTLY_SIGNS,
    SEVERE_WORDS,
    SUCCESS,
    VARIABLE,
    is_severe,
    says_success,
    template,
    words_of,
)

PARTS = [
    *(
        "success",
        "\u017fuccess",
        "Passed",
        "up-to-date",
        "UP TO DATE",
        "healthy",
        "x_finished",
        "error",
        "KILLED",
        "backoff",
    ),
    *("abcdefab-abcd-abcd-abcd-abcdefabcdef", "0x1f", "deadbee", "7", "99%", "Seq Scan on t", "Disk: 3 kB", "GET /a "),
    *(" ", ".", "。", " | ", "=", ", ", "<br/>", "_", "-", "\u2588\u2588\u2588", "|", "#", "Über", "Next"),
]


@settings(deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join))
def test_what_a_pattern_finds_its_cheap_test_lets_through(line):
    assert says_success(line) == bool(SUCCESS.search(line))
    assert template(line) == VARIABLE.sub("#", line)
    words = words_of(line)
    ends = ("error", "exception", "failure", "failed", "killed", "backoff", "panic", "errpull")
    assert is_severe(words) == any(word in SEVERE_WORDS or word.endswith(ends) for word in words)
    assert not COSTLY.search(line) or any(sign in line for sign in COSTLY_SIGNS)
    assert BREAKS.search(line) or not (CLAUSE.search(line) or SENTENCE.search(line))


def test_a_bar_is_one_by_its_percent_its_strokes_or_its_blocks():
    bars = ("45% done", "  #### ", "=====>", "....", "x 45% |", "a \u2588\u2588\u2588 b", "[50%] 3 | 45%|")
    assert [bar for bar in bars if is_progress(bar)] == list(bars)
    assert not any(map(is_progress, ("a 45% b", "done", "a | b", "é")))
