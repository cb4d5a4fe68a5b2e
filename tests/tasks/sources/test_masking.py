from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.sources.masking import MASKED, Masks, strings_of

SECRET = "DB_PASSWORD=" + "hunter" + "2x9Q"
TEXTS = st.sampled_from(["e1", "a plain text of a few words", SECRET, f"{SECRET} twice\n{SECRET}"])
ROWS = st.lists(
    st.fixed_dictionaries(
        {"text": TEXTS, "tags": st.lists(TEXTS, max_size=2), "parent": st.none() | TEXTS, "level": st.integers(0, 3)}
    ),
    max_size=5,
)


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_rows_are_masked_as_each_is_alone_and_stay_as_they_were(rows):
    columns = ("text", "tags", "parent")
    before = [dict(row) for row in rows]
    masks = Masks(strings_of(rows, columns))
    masked = masks.rows(rows, columns)
    assert masked == [masks.row(row, columns) for row in rows]
    assert rows == before
    for row, given_row in zip(masked, rows, strict=True):
        assert not any("hunter" in text for text in strings_of([row], columns))
        assert bool(row[MASKED]) == any(SECRET in text for text in strings_of([given_row], columns))


def test_strings_of_rows_are_those_of_their_lists_too():
    rows = [{"a": "x", "b": ["y", "z"], "c": None}, {"a": 3, "b": [], "c": "w"}]
    assert sorted(strings_of(rows, ("a", "b", "c"))) == ["w", "x", "y", "z"]
