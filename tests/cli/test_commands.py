"""What starts quickly starts the same: one command made instead of all, values unchecked where they are plain."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table

from flows.console import print_table
from tests.swarms import build_swarm, task

ROOT = Path(__file__).parents[2]
WHOLE = "from typer.main import get_command; from flows.cli import app; get_command(app)()"

SAID = (
    ("--help",),
    (),
    ("--version",),
    ("shaw", "T-1"),
    ("show",),
    ("show", "--help"),
    ("show", "T-1", "--biuld", "x"),
    ("show", "T-1", "too", "many"),
    ("show", "T-\udcff"),
    ("build", "--help"),
    ("build", "plan.json", "--budget", "many"),
    ("build", "plan.json", "--budget"),
    ("artifact",),
    ("artifact", "get"),
    ("artifact", "get", "--help"),
    ("artifact", "gat"),
    ("artifact", "get", "x", "--head", "0"),
)


@pytest.mark.parametrize("words", SAID, ids=" ".join)
def test_a_process_says_what_the_whole_app_says(words, tmp_path):
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    said = [
        subprocess.run(
            [sys.executable, "-c", code, *words], check=False, capture_output=True, cwd=tmp_path, env=env, timeout=120
        )
        for code in ("from flows.cli import main; main()", WHOLE)
    ]
    one, whole = ((done.returncode, done.stdout, done.stderr) for done in said)
    assert one == whole
    assert one[1] or one[2]


def test_a_prompt_is_shown_without_the_libraries_of_a_build(tmp_path):
    made = build_swarm(tmp_path, [task("T-1")])
    code = (
        "import sys; from flows.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'pydantic', 'polars', 'numpy', 'rich', 'prefect'} & sys.modules.keys()), file=sys.stderr)"
    )
    words = [sys.executable, "-c", code, "show", "T-1", "--build", str(made.path)]
    done = subprocess.run(words, check=True, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert done.stdout.endswith("\n")
    assert done.stderr == "[]\n"


def test_a_build_loads_nothing_that_it_has_no_use_for(tmp_path, quickstart):
    code = (
        "import sys; from flows.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'yaml', 'rich', 'prefect', 'tasks.sources.plugin_items', 'tasks.sources.plans.brevity'}"
        " & sys.modules.keys()), file=sys.stderr)"
    )
    words = [sys.executable, "-c", code, "build", str(quickstart / "task-graph.json"), "--out", str(tmp_path)]
    done = subprocess.run(words, check=True, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert done.stderr == "[]\n"


CELLS = st.none() | st.integers() | st.floats(0, 100) | st.text("abc XYZ-_/.()[]{}:é漢\n", max_size=12)


@given(st.integers(1, 5).flatmap(lambda width: st.lists(st.tuples(*[CELLS] * width), max_size=5)), st.booleans())
def test_a_plain_table_is_printed_as_rich_prints_it(rows, short):
    head = tuple(f"head {number}" for number in range(len(rows[0]) if rows else 3))
    most = 3 if short else None
    with pytest.MonkeyPatch.context() as patch:
        printed = io.StringIO()
        patch.setattr(sys, "stdout", printed)
        print_table(head, rows, most=most)
    assert printed.getvalue() == by_rich(head, rows, most)


def by_rich(head, rows, most) -> str:
    shown = rows[:most]
    table = Table(*head, box=None, pad_edge=False, header_style="bold")
    for column, values in zip(table.columns, zip(*shown, strict=True), strict=False):
        if all(isinstance(value, (int, float, type(None))) for value in values):
            column.justify = "right"
    for row in shown:
        cells = ("" if cell is None else f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row)
        table.add_row(*cells)
    printed = io.StringIO()
    console = Console(file=printed, highlight=False, markup=False, width=160)
    console.print(table)
    if len(shown) < len(rows):
        console.print(f"… and {len(rows) - len(shown)} more")
    return printed.getvalue()
