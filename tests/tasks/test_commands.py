"""Where a command file is split, and that its bytes come back."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tasks.commands import (
    join,
    line_count,
    read_parent,
    rest_of,
    split_files,
    split_line,
)
from tasks.sources.documents import blocks


def lines(*parts: str | int) -> bytes:
    """A file of the given lines; a number stands for so many lines of one paragraph."""
    text = [line for part in parts for line in ([part] if isinstance(part, str) else ["prose"] * part)]
    return ("\n".join(text) + "\n").encode()


class TestLines:
    @pytest.mark.parametrize(
        ("data", "count"),
        [
            (b"", 0),
            (b"\n", 1),
            (b"a", 1),
            (b"a\n" * 299, 299),
            (b"a\n" * 299 + b"b", 300),
            (b"a\r\nb\r\n", 2),
            (b"a\rb", 1),
            ("a\u2028b\x0bc\x85d\n".encode(), 1),
        ],
    )
    def test_only_a_newline_ends_one_and_a_last_one_without_it_counts(self, data, count):
        assert line_count(data) == count


class TestSections:
    def test_the_section_that_begins_at_or_after_30_percent_begins_the_details(self):
        exactly = lines("# T", "", 117, "", "## A", 279)
        assert line_count(exactly) == 400
        assert split_line(exactly) == 120
        just_before = lines("# T", "", 116, "", "## A", 140, "", "## B", 138)
        assert line_count(just_before) == 400
        assert split_line(just_before) == 261

    def test_lines_before_the_first_header_count(self):
        data = lines(150, "", "# T", 30, "", "## A", 30, "", "## B", 120)
        assert line_count(data) == 336
        assert split_line(data) == 151

    @pytest.mark.parametrize("section", [["# A"], ["## A"], ["  ## A ##"], ["A", "==="], ["Two", "lines", "---"]])
    def test_every_form_of_a_first_or_second_level_heading_begins_one(self, section):
        assert split_line(lines(100, "", *section, "", 250)) == 101

    @pytest.mark.parametrize(
        "other", [["### A"], ["#A"], ["    # A"], ["> # A"], ["- # A"], ["\\# A"], ["<!--", "# A", "-->"]]
    )
    def test_nothing_else_does(self, other):
        assert split_line(lines(100, "", *other, "", "x", "", 20, "", "## Real", 200)) > 101

    def test_a_byte_order_mark_hides_no_header(self):
        data = lines("# T", 119, "", "## A", 278)
        assert split_line(b"\xef\xbb\xbf" + data) == split_line(data) == 121

    def test_line_ends_do_not_matter(self):
        data = lines("# T", 119, "", "## A", 278)
        assert split_line(data.replace(b"\n", b"\r\n")) == 121
        assert split_line(data.replace(b"prose\n", b"two\rlines\n")) == 121


class TestFences:
    @pytest.mark.parametrize(
        ("opening", "closing"),
        [("```", "```"), ("~~~", "~~~"), ("`````sh", "`````"), ("~~~~", "~~~~~~"), ("  ```", "```")],
    )
    def test_what_looks_like_a_section_inside_is_none(self, opening, closing):
        inside = ["# comment", "## more", "```" if opening[0] == "~" or len(opening) > 6 else "~~~", "# deep"]
        data = lines("# T", "", 100, "", opening, *inside * 30, closing, "", "## A", 150)
        assert split_line(data) == 103 + 1 + 120 + 1 + 1

    def test_one_that_is_never_closed_lasts_to_the_end(self):
        assert split_line(lines("# T", "", 60, "", "### B", "", 60, "", "```", *["## x"] * 200)) == 126

    def test_one_that_is_the_whole_file_leaves_no_place(self):
        assert split_line(lines("```", *["## x"] * 400)) is None


class TestWithoutAFitSection:
    def test_the_nearest_block_is_taken(self):
        below = lines("# T", "", 20, "", "## A", "", 100, "", 250)
        assert line_count(below) * 3 // 10 == 112
        assert split_line(below) == 126
        above = lines(100, "", "word", "", *["- x"] * 300)
        assert line_count(above) * 3 // 10 == 120
        assert split_line(above) == 103

    @pytest.mark.parametrize("kind", [["- item"], ["| a |"], ["<!--"], ["    code"], ["> quoted"], ["prose"]])
    def test_no_block_is_torn(self, kind):
        opening = ["| a |", "|---|"] if kind == ["| a |"] else kind
        closing = ["-->"] if kind == ["<!--"] else []
        block = [*opening, *(["inside"] if closing else kind) * 250, *closing]
        data = lines("# T", "", 40, "", *block, "", "end", "", *["a", ""] * 20)
        assert split_line(data) in {43, 43 + len(block) + 1}

    @pytest.mark.parametrize("lead", ["### Steps", "These steps:", "**Steps:**"])
    def test_what_announces_stays_with_what_it_announces(self, lead):
        data = lines("# T", "", 84, "", lead, "", *["- x"] * 210)
        assert split_line(data) == 87

    def test_either_part_has_ten_lines_at_least(self):
        assert split_line(lines("# T", *[""] * 9, "## A", 300)) == 10
        assert split_line(lines("# T", *[""] * 8, "## A", 300)) is None
        assert split_line(lines("# T", 290, "", "## A", 9)) == 292
        assert split_line(lines("# T", 290, "", "## A", 8)) is None

    def test_no_structure_leaves_no_place(self):
        assert split_line(lines(401)) is None
        assert split_line(lines("# T", 400)) is None

    def test_what_is_no_text_in_utf_8_is_left_whole(self):
        data = lines("# T", 119, "", "## A", 278)
        assert split_line(data.decode().encode("utf-16-le")) is None
        assert split_line(data + b"\0") is None


class TestFrontMatter:
    def test_it_is_no_section_and_is_not_torn(self):
        keys = [f"key{number}: value" for number in range(60)]
        data = lines("---", *keys, "# comment", "", *keys, "---", "", 30, "", "## A", 200)
        assert split_line(data) == 1 + 60 + 2 + 60 + 1 + 1 + 30 + 1

    def test_a_rule_at_the_beginning_is_none(self):
        assert split_line(lines("---", "", 100, "", "## A", 250)) == 103


class TestFiles:
    data = lines("# T", 119, "", "## A", 278)

    def test_the_core_is_the_head_and_the_details_name_their_parent(self):
        files = split_files("status", self.data, 121)
        assert files.core.count(b"\n") == 121
        comment, rest = files.details.split(b"\n", 1)
        assert comment.startswith(b"<!-- ")
        assert comment.endswith(b" -->")
        assert b"status.md" in comment
        assert files.core + rest == self.data

    def test_the_parent_is_the_core_and_a_comment_that_names_both(self):
        files = split_files("status", self.data, 121)
        assert files.parent.startswith(files.core)
        comment = files.parent[len(files.core) :]
        assert re.fullmatch(rb"<!-- [^\n]*status\.core\.md[^\n]*status\.details\.md[^\n]* -->\n", comment)

    def test_comments_end_as_the_lines_of_the_file_do(self):
        files = split_files("status", self.data.replace(b"\n", b"\r\n"), 121)
        assert b"\n" not in files.details.replace(b"\r\n", b"")
        assert b"\n" not in files.parent.replace(b"\r\n", b"")

    @pytest.mark.parametrize("name", ["a-->b", "two\nlines", "\udcff", "a\u2028b", "ä ö", "x; core y"])
    def test_any_name_may_stand_in_the_comments(self, name):
        files = split_files(name, self.data, 121)
        parent = read_parent(files.parent)
        assert parent.intact
        assert files.core + rest_of(files.details) == self.data
        assert [token.type for token in blocks(files.details.decode("utf-8", "replace"))][:2] == [
            "html_block",
            "heading_open",
        ]

    def test_what_no_split_wrote_is_told_apart(self):
        assert read_parent(self.data) is None
        assert read_parent(self.data + b"<!-- SPLIT: core -->\n") is None
        assert rest_of(self.data) is None
        assert rest_of(b"<!-- SPLIT: details, parent: status.md -->\n" + self.data) is None

    def test_an_edited_parent_is_not_intact(self):
        files = split_files("status", self.data, 121)
        assert read_parent(files.parent).intact
        assert read_parent(files.parent.removesuffix(b"\n")).intact
        assert not read_parent(b"more\n" + files.parent).intact
        assert not read_parent(files.parent + b"more\n").intact


def test_a_section_just_below_30_percent_is_too_early():
    data = lines("# T", 88, "", "## Early", "", "## Later", 210)
    assert line_count(data) == 303
    assert split_line(data) == 92, "line 91 is the first at or after 30 %, and the early section begins after 90"


class TestJoining:
    data = lines("# T", 119, "", "## A", 278)
    files = split_files("status", data, 121)
    parent = read_parent(files.parent)

    def joined(self, core=files.core, details=files.details, parent=parent, name="status"):
        return join(name, parent, core, details)

    def test_untouched_files_give_the_original(self):
        assert self.joined().exact
        assert self.joined().data == self.data
        assert self.joined(name="renamed").data == self.data

    def test_edits_of_core_and_details_are_kept(self):
        edited = self.joined(core=b"new\n" + self.files.core, details=self.files.details + b"last\n")
        assert not edited.exact
        assert edited.data == b"new\n" + self.data + b"last\n"

    @pytest.mark.parametrize("part", [b"", b"\n \n", b"short\n" * 50, b"a\0" + b"x\n" * 400])
    def test_what_looks_cut_off_or_destroyed_is_no_edit(self, part):
        assert self.joined(core=part) is None
        comment = self.files.details.split(b"\n", 1)[0] + b"\n"
        assert self.joined(details=comment + part) is None

    def test_it_is_known_how_many_lines_either_part_had(self):
        assert (self.parent.core_lines, self.parent.details_lines) == (121, 279)

    def test_a_core_without_its_last_line_end_runs_into_nothing(self):
        assert self.joined(core=self.files.core + b"last").data == self.files.core + b"last\n" + rest_of(
            self.files.details
        )

    def test_an_edited_parent_leaves_open_what_the_whole_was(self):
        assert self.joined(parent=read_parent(b"new\n" + self.files.parent)) is None

    def test_details_of_another_command_are_not_taken(self):
        other = split_files("other", lines("# O", 119, "", "## B", 278), 121)
        assert self.joined(details=other.details) is None
        assert self.joined(details=rest_of(self.files.details)) is None


# ---- laws -------------------------------------------------------------------------------------------------------

LINE = st.sampled_from(
    [
        "# T",
        "## A",
        "### B",
        "#x",
        "",
        "",
        "text",
        "- item",
        "  - deep",
        "1. one",
        "> q",
        "    code",
        "\ttab",
        "===",
        "---",
        "```",
        "````",
        "~~~",
        "~~~~",
        "``` sh",
        "<!--",
        "-->",
        "<div>",
        "| a | b |",
        "|---|---|",
        "[a]: /b",
        "Steps:",
        "caf\xe9",
        "\r",
        "a\rb",
        "\u2028",
        "\ufeff",
        "<!-- prebrief: details of x.md; y -->",
        "key: value",
    ]
)
ENCODED = st.tuples(LINE, st.sampled_from(["utf-8", "latin-1"])).map(
    lambda pair: pair[0].encode(pair[1], "ignore") if pair[1] == "latin-1" else pair[0].encode()
)
COMMAND = st.builds(
    lambda mark, some, times, end, last: mark + end.join(some * times) + last,
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    st.lists(ENCODED, min_size=20, max_size=120),
    st.integers(1, 6),
    st.sampled_from([b"\n", b"\r\n"]),
    st.sampled_from([b"", b"\n", b"\r\n", b"\r", b"\n\n"]),
)


@given(COMMAND)
@example(b"# a\r\n" * 400)
@settings(max_examples=80, deadline=None)
def test_core_and_details_are_the_original(data):
    place = split_line(data)
    if place is None:
        return
    files = split_files("x", data, place)
    assert files.core + rest_of(files.details) == data
    assert min(line_count(files.core), line_count(rest_of(files.details))) >= 10
    assert files.core.endswith(b"\n")
    parent = read_parent(files.parent)
    assert parent.intact
    assert parent.body == files.core
    assert join("x", parent, files.core, files.details).data == data


@given(COMMAND)
@settings(max_examples=80, deadline=None)
def test_nothing_is_torn(data):
    place = split_line(data)
    if place is None:
        return
    files = split_files("x", data, place)

    def kinds(part: bytes) -> list[str]:
        tokens = blocks(part.decode("utf-8", "replace"))
        return [f"{token.type} {token.tag} {token.info}" for token in tokens if not token.level]

    mark = b"\xef\xbb\xbf"
    if not data.removeprefix(mark).startswith(b"---"):  # front matter is not Markdown
        parts = kinds(files.core.removeprefix(mark)) + kinds(rest_of(files.details))
        assert parts == kinds(data.removeprefix(mark))
