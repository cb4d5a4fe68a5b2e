from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.sources.documents import Document, read_document
from tasks.sources.files import InputFile
from tasks.sources.rules import rule_items


def rules(text):
    return rule_items(Document("rules/languages/x/CLAUDE.md", text), "x", "languages/x/CLAUDE.md")


def texts(text):
    return [row["text"] for row in rules(text)[0]]


RULE = "## Rule: Be safe\n\n**Level**: `strict`\n\n**When**: Writing code.\n\n**Do**: x\n```py\n# Rule: no\n```\n\n**Why**: y\n"


def test_a_rule_is_its_title_level_and_occasion():
    rows, findings = rules("# Rules of X\n\nWords.\n\n" + RULE)
    assert findings == []
    assert [row["text"] for row in rows] == [
        "# Rules of X",
        "### Rule: Be safe\n**Level**: `strict`\n**When**: Writing code.",
    ]
    parent, rule = rows
    assert (parent["item_id"], parent["parent_id"]) == ("rules/languages/x/CLAUDE.md", None)
    assert (rule["item_id"], rule["parent_id"]) == ("rules/languages/x/CLAUDE.md#be-safe", parent["item_id"])
    assert (rule["line_start"], rule["line_end"]) == (5, 16)
    assert all(
        (row["section"], row["kind"], row["source"], row["trusted"], row["tags"])
        == ("rules", "policy", "rules", True, ["x"])
        for row in rows
    )


@pytest.mark.parametrize(
    "fields",
    [
        "**Level:** `strict`\n\n**When:** Writing.",
        "- **Level**: `strict`\n- **When**: Writing.",
        "**Level**: `strict`\n**When**: Writing.",
        "**When**: Writing.\n\n**Level** : `strict`",
        "**LEVEL**: `strict`\n\n**when**:\n  Writing.",
        "**Level**: `strict`\n\n**When**:\n- Writing.\n\n**Do**: no",
        "**Level**: `strict`\n\n**When**: Writing.\n**Do**: no",
    ],
)
def test_fields_are_read_however_they_are_written(fields):
    assert texts(f"## Rule: A\n\n{fields}\n")[1] == "### Rule: A\n**Level**: `strict`\n**When**: Writing."


def test_an_occasion_may_name_itself_and_several_be_listed():
    assert texts("## Rule: A\n\n**When using YAML**: Loading.\n")[1] == "### Rule: A\n**When using YAML**: Loading."
    assert texts("## Rule: A\n\n**When**:\n- One\n- Two\n")[1] == "### Rule: A\n**When**: One; Two"


@pytest.mark.parametrize(
    "heading", ["# Rule: A", "#### Rule: A", "###### rule: A ##", "## RULE: A", "## Rule 12: A", "Rule: A\n---"]
)
def test_a_rule_may_be_a_heading_of_any_form(heading):
    assert texts(f"{heading}\n\n**Level**: x\n")[1] == "### Rule: A\n**Level**: x"


@pytest.mark.parametrize(
    "code",
    [
        "```\n## Rule: fake\n```",
        "~~~\n## Rule: fake\n~~~",
        "````\n```\n## Rule: fake\n```\n## Rule: fake\n````",
        "    ## Rule: fake",
        "- x\n\n  ```\n  ## Rule: fake\n  ```",
        "<!--\n## Rule: fake\n-->",
    ],
)
def test_what_stands_in_code_is_no_rule(code):
    found = texts(f"## Rule: A\n\n{code}\n\n## Rule: B\n")
    assert found[1:] == ["### Rule: A", "### Rule: B"]


def test_an_inline_fence_does_not_swallow_the_rest():
    assert len(texts("## Rule: A\n\n```x``` is code\n\n## Rule: B\n")) == 3


def test_fields_of_the_next_section_are_not_taken():
    assert texts("## Rule: A\n\n## Other\n\n**Level**: x\n")[1] == "### Rule: A"
    assert texts("## Rule: A\n\n### More\n\n**Level**: x\n")[1] == "### Rule: A\n**Level**: x"


def test_equal_titles_get_numbers_and_odd_ones_a_slug():
    rows, _ = rules("## Rule: Use `X`!\n## Rule: use x\n## Rule: ...\n## Rule: 検証する\n")
    assert [row["item_id"].split("#")[1] for row in rows[1:]] == ["use-x", "use-x-2", "rule", "検証する"]


def test_what_is_missing_is_a_finding(codes):
    assert codes(rules("# Only words\n")[1]) == ["RULES_EMPTY"]
    assert codes(rules("## Rule: A\n")[1]) == ["RULE_INCOMPLETE"]
    assert rules("")[0] == []


def test_without_a_title_the_file_is_named():
    assert texts(RULE)[0] == "# languages/x/CLAUDE.md"


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("#*`~:- \nRuleLvWhn1"), max_size=200))
def test_any_text_gives_unique_ids(text):
    rows, _ = rules(text)
    assert len({row["item_id"] for row in rows}) == len(rows)
    assert all(row["line_start"] <= row["line_end"] for row in rows)


def headings_outside_fences(text):
    """`Rule:` headings by a plain walk over lines that knows fences, no parser."""
    count, fence = 0, None
    for line in text.split("\n"):
        mark = re.match(r" {0,3}(`{3,}|~{3,})(.*)", line)
        if fence is None and mark and not ("`" in mark[1] and "`" in mark[2]):
            fence = mark[1]
        elif fence is not None and mark and mark[1].startswith(fence) and not mark[2].strip():
            fence = None
        elif fence is None and re.match(r" {0,3}#{1,6}[ \t]+rule(?: \d+)?:", line, re.IGNORECASE):
            count += 1
    return count


def test_every_rule_of_the_real_files_is_an_item(shared):
    files = sorted(shared.glob("rules/**/*.md"))
    assert len(files) == 84
    total = 0
    for path in files:
        document, _ = read_document(InputFile.of(path.name, path.read_bytes()))
        place = path.relative_to(shared / "rules").as_posix()
        rows, findings = rule_items(document, "x", place)
        found = [row for row in rows if row["parent_id"] is not None]
        assert len(found) == headings_outside_fences(document.text), place
        assert all(re.search(r"^\*\*Level\*\*: .+\n\*\*When.*\*\*: .+", row["text"], re.MULTILINE) for row in found), (
            place
        )
        assert findings == [] or not found
        total += len(found)
    assert total == 730
