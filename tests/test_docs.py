"""What the documents name is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMED_TESTS = sorted(
    set(re.findall(r"`(tests/[\w/]+\.py)((?:::\w+)*)`", (ROOT / "docs/invariants.md").read_text("utf-8")))
)


@pytest.mark.parametrize(("path", "name"), NAMED_TESTS, ids=[path + name for path, name in NAMED_TESTS])
def test_each_test_that_an_invariant_names_exists(path, name):
    nodes = ast.parse((ROOT / path).read_text("utf-8")).body
    for part in filter(None, name.split("::")):
        found = [node for node in nodes if getattr(node, "name", None) == part]
        assert found, f"{path} has no {part}"
        nodes = getattr(found[0], "body", [])
    assert nodes


def test_each_check_of_the_audit_stands_among_the_invariants():
    from tasks.audit.run import CHECKS

    text = (ROOT / "docs/invariants.md").read_text("utf-8")
    assert [check.name for check in CHECKS if f"`{check.name}`" not in text] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", document.read_text("utf-8")):
        assert (document.parent / target).exists(), target
