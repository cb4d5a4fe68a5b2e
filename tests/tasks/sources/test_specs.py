from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.credentials import Redaction
from tasks.sources.documents import Document, blocks, read_document
from tasks.sources.files import Allowance, InputFile
from tasks.sources.specs import find_specs, folder_name, spec_items, spec_paths


def items(text, graph="g", section="design"):
    return spec_items(Document("docs/design.md", text), graph, section)


def texts(text):
    return [row["text"] for row in items(text)]


class TestPassages:
    def test_each_top_level_block_is_one(self):
        blocks_of_text = [
            "# T",
            "A paragraph\nof two lines.",
            "- a\n- b\n\n  more of b",
            "| a | b |\n|---|---|\n| 1 | 2 |",
            "```py\n\nx = 1\n\n```",
            "> quoted\n\n    code",
            "<div>\n</div>",
        ]
        found = texts("\n\n".join(blocks_of_text))
        assert found == [*blocks_of_text[:5], "> quoted", "    code", "<div>\n</div>"]

    def test_headings_are_normalised(self):
        assert texts("Setext\ntwo\n===\n\nSub\n---\n\n### Closed ###\n\n#\n\nx") == [
            "# Setext two",
            "## Sub",
            "### Closed",
            "x",
        ]

    def test_a_parent_is_the_heading_above_and_of_a_heading_the_next_higher_one(self):
        rows = items("intro\n\n# A\n\na\n\n### C\n\nc\n\n## B\n\nb\n\n# D\n\nd")
        by_text = {row["text"]: row for row in rows}

        def parent(text):
            return next((row["text"] for row in rows if row["item_id"] == by_text[text]["parent_id"]), None)

        assert {text: parent(text) for text in by_text} == {
            "intro": None,
            "# A": None,
            "a": "# A",
            "### C": "# A",
            "c": "### C",
            "## B": "# A",
            "b": "## B",
            "# D": None,
            "d": "# D",
        }

    @pytest.mark.parametrize("follower", ["- a\n- b", "1. a", "```\nx\n```", "| a |\n|---|\n| 1 |"])
    @pytest.mark.parametrize("lead", ["These hold:", "**Files:**"])
    def test_a_paragraph_that_announces_stays_with_what_follows(self, lead, follower):
        assert texts(f"{lead}\n\n{follower}\n\nend") == [f"{lead}\n\n{follower}", "end"]
        assert texts(f"{lead}\n\n# H\n\n{follower}") == [lead, "# H", follower]
        assert texts(lead) == [lead]
        assert texts(f"{lead}\n\n{lead}\n\n{follower}") == [lead, f"{lead}\n\n{follower}"]

    def test_long_lists_are_split_between_items_only(self):
        entries = [f"- item {n} {'words ' * 30}\n\n  ```\n  code {n}\n\n  more\n  ```" for n in range(20)]
        found = texts("Lead:\n\n" + "\n".join(entries))
        assert len(found) > 1
        assert all(len(text) <= 1600 for text in found)
        assert found[0].startswith("Lead:\n\n- item 0")
        assert "\n".join(found) == "Lead:\n\n" + "\n".join(entries)
        assert all(text.count("```") % 2 == 0 for text in found)
        assert texts("- " + "long " * 1000) == ["- " + ("long " * 1000).rstrip()]

    def test_a_fence_left_open_is_closed(self):
        assert texts("a\n\n~~~~py\nx") == ["a", "~~~~py\nx\n~~~~"]
        assert texts("```") == ["```\n```"]
        assert texts("````\n```\n````") == ["````\n```\n````"]

    def test_front_matter_rules_and_link_definitions_are_left_out(self):
        text = "---\ntitle: X\ntags: [a]\n---\n\n# T\n\n---\n\n[ref]: http://example.org\n\nx\n\n***"
        assert texts(text) == ["# T", "x"]
        assert items(text)[0]["line_start"] == 6

    def test_a_rule_at_the_top_is_no_front_matter(self):
        assert texts("---\n\n# T\n\nx: y\n\n---\n") == ["# T", "x: y"]

    def test_empty_texts_have_none(self):
        assert texts("") == texts("\n \n") == []


class TestRows:
    def test_lines_are_those_of_the_file(self):
        rows = items("# T\n\npara\nmore\n\n- a\n- b\n\n\n```\nx\n```\n")
        assert [(row["line_start"], row["line_end"]) for row in rows] == [(1, 1), (3, 4), (6, 7), (10, 12)]

    def test_lines_stay_true_where_masking_took_some_away(self):
        before = "# T\n\nkey:\nBEGIN\na\nb\nEND\n\nlast\n"
        masked = Redaction("# T\n\nkey:\n[REDACTED: pem]\n\nlast\n", {"pem": 1})
        rows = spec_items(Document("d.md", before).with_redaction(masked), "g", "design")
        assert [(row["line_start"], row["line_end"], row["redactions"]) for row in rows] == [
            (1, 1, 0),
            (3, 7, 1),
            (9, 9, 0),
        ]

    def test_ids_name_the_place_and_stay_while_the_text_does(self):
        first, again = items("# A\n\nx\n\ny"), items("intro\n\n# A\n\nx\n\nz")
        assert re.fullmatch(r"g/design\.md#[0-9a-f]{10}", first[1]["item_id"])
        assert first[1]["item_id"] == again[2]["item_id"]
        assert first[2]["item_id"] != again[3]["item_id"]

    def test_repeats_are_numbered_and_the_same_text_under_another_heading_is_no_repeat(self):
        rows = items("# A\n\nx\n\nx\n\nx\n\n# B\n\nx")
        ids = [row["item_id"] for row in rows if row["text"] == "x"]
        assert ids[1:3] == [f"{ids[0]}-2", f"{ids[0]}-3"]
        assert not ids[3].startswith(ids[0])

    def test_what_a_passage_is(self):
        row = items("x")[0]
        assert {key: row[key] for key in ("graph", "source", "section", "kind", "trusted", "sensitivity", "path")} == {
            "graph": "g",
            "source": "spec",
            "section": "design",
            "kind": "doc_snippet",
            "trusted": True,
            "sensitivity": "public",
            "path": "docs/design.md",
        }

    def test_a_graph_with_slashes_makes_no_other_graphs_id(self):
        assert items("x", graph="a/b")[0]["item_id"].startswith("a%2Fb/design.md#")

    @settings(deadline=None)
    @given(st.text(alphabet=st.sampled_from("#-*`~>|: \n\tab1.<!"), max_size=200))
    def test_any_text_gives_unique_ids_and_known_parents(self, text):
        rows = items(text)
        ids = [row["item_id"] for row in rows]
        assert len(set(ids)) == len(ids)
        assert all(row["parent_id"] in {None, *ids[:place]} for place, row in enumerate(rows))
        assert all(row["text"].strip() and 1 <= row["line_start"] <= row["line_end"] for row in rows)


def test_no_word_of_a_real_spec_is_lost_and_no_fence_torn(shared):
    files = sorted(shared.glob("swarm/*/*.md"))
    assert files
    for path in files:
        document, _ = read_document(InputFile.of(path.name, path.read_bytes()))
        rows = spec_items(document, "g", "design")
        assert sum(row["text"].count("|") for row in rows) == document.text.count("|")
        for row in rows:
            fences = [token for token in blocks(row["text"]) if token.type == "fence"]
            assert all(len(token.markup) >= 3 and token.map[1] - token.map[0] >= 2 for token in fences)
        covered = {line for row in rows for line in range(row["line_start"], row["line_end"] + 1)}
        for number, line in enumerate(document.text.split("\n"), 1):
            if number not in covered:
                assert not re.search(r"\w", line) or line.startswith("["), (path, number)


class TestFinding:
    def find(self, root, feature="auth", specs=None, cwd=None):
        paths = spec_paths(root / "plan" / "task-graph.json", feature, specs, cwd or root)
        found, findings = find_specs(paths, lambda path: path.relative_to(root).as_posix(), Allowance(10_000))
        return {section: file.label for section, file in found}, [row["code"] for row in findings]

    def write(self, root, *names, text="# T"):
        for name in names:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)

    def test_beside_the_graph(self, tmp_path):
        self.write(tmp_path, "plan/REQUIREMENTS.md", "plan/architecture.md", "plan/ARCHITECTURE.md", "plan/notes.md")
        assert self.find(tmp_path)[0] == {"requirements": "plan/REQUIREMENTS.md", "design": "plan/architecture.md"}

    def test_in_the_folder_given_by_feature_or_as_it_is(self, tmp_path):
        self.write(tmp_path, "specs/design.md", "specs/auth/requirements.md", "plan/requirements.md", "plan/design.md")
        assert self.find(tmp_path, specs=tmp_path / "specs")[0] == {
            "requirements": "specs/auth/requirements.md",
            "design": "specs/design.md",
        }

    def test_the_feature_may_stand_in_the_folders_name(self, tmp_path):
        self.write(tmp_path, "s/auth/docs/design.md")
        assert self.find(tmp_path, specs=tmp_path / "s" / "{feature}" / "docs")[0] == {
            "design": "s/auth/docs/design.md"
        }

    def test_in_the_working_folders_own_place(self, tmp_path):
        self.write(tmp_path, ".gsd/specs/auth/design.md")
        assert self.find(tmp_path)[0] == {"design": ".gsd/specs/auth/design.md"}

    @pytest.mark.parametrize("text", ["", "  \n\t\n", "\ufeff \n"])
    def test_an_empty_file_counts_as_missing(self, tmp_path, text):
        self.write(tmp_path, "plan/design.md", text=text)
        self.write(tmp_path, "plan/architecture.md")
        assert self.find(tmp_path) == ({"design": "plan/architecture.md"}, ["SPEC_EMPTY"])

    @pytest.mark.parametrize("feature", ["../../secret", "/secret", "..", "a/../../secret", "..\\secret", "", "\0"])
    def test_a_feature_never_leads_outside(self, tmp_path, feature):
        root = tmp_path / "root"
        self.write(tmp_path, "secret/design.md")
        (root / "plan").mkdir(parents=True)
        for specs in (None, root / "specs", root / "specs" / "{feature}"):
            assert self.find(root, feature, specs)[0] == {}
        name = folder_name(feature)
        assert name is None or ("/" not in name and "\\" not in name and not name.startswith("."))

    def test_a_link_never_leads_outside(self, tmp_path):
        self.write(tmp_path, "secret/design.md")
        (tmp_path / "plan").mkdir()
        (tmp_path / "plan" / "design.md").symlink_to(tmp_path / "secret" / "design.md")
        (tmp_path / ".gsd" / "specs").mkdir(parents=True)
        (tmp_path / ".gsd" / "specs" / "auth").symlink_to(tmp_path / "secret")
        assert self.find(tmp_path) == ({}, ["INPUT_OUTSIDE", "INPUT_OUTSIDE"])
