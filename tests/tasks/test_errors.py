"""Every error has a code of its own, and docs/errors.md lists them all."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import flows
import tasks
from tasks.errors import PrebriefError

ROOT = Path(__file__).parents[2]


def every_error() -> dict[str, str]:
    """The code of each class in the packages, by its name."""
    for package in (tasks, flows):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith(".__main__"):
                importlib.import_module(module.name)
    found, pending = {}, [PrebriefError]
    while pending:
        error = pending.pop()
        if error.__module__.split(".")[0] in ("tasks", "flows"):
            found[error.__name__] = error.code
        pending += error.__subclasses__()
    return found


def documented() -> dict[str, str]:
    text = (ROOT / "docs" / "errors.md").read_text("utf-8")
    rows = re.findall(r"^\| `([A-Z_]+)` \| `(\w+)` \| .+ \|$", text, re.MULTILINE)
    return {name: code for code, name in rows}


def test_every_error_stands_in_the_documentation_with_its_code():
    assert documented() == every_error()


def test_no_two_errors_share_a_code():
    codes = every_error()
    assert len(set(codes.values())) == len(codes)
