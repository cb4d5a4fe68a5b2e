"""Builds as others run them: by the command, in processes of their own, killed on the way."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING

from typer.testing import CliRunner

from flows.cli import app
from tasks.outputs.identity import is_complete

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tasks.sources.inputs import Request

ROOT = Path(__file__).parents[2]
PATIENCE = 300  # seconds; that something hangs is the only other way to get there


# ---- the command ------------------------------------------------------------------------------------------------


def words(request: Request, out: Path) -> list[str]:
    """`prebrief build` for a request that `write_swarm` made."""
    logs = [word for log in request.history for word in ("--history", str(log))]
    return ["build", *map(str, request.graphs), "--rules", str(request.rules), *logs, "--out", str(out)]


def run(arguments: Iterable[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """Runs the command in this process, in a working folder."""
    with chdir(cwd):
        done = CliRunner().invoke(app, list(arguments))
    return subprocess.CompletedProcess(list(arguments), done.exit_code, done.stdout, done.stderr)


def start(arguments: Iterable[str], cwd: Path, *, before: str = "", **more: object) -> subprocess.Popen[str]:
    """Starts the command in a process of its own; `before` is code that runs there first."""
    script = f"{before}\nfrom flows.cli import main\nmain()"
    given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", script, *arguments], cwd=cwd, env=environment, text=True, **given)


def ended(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    """What a process said and how it ended."""
    with process:
        try:
            said = process.communicate(timeout=PATIENCE)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, *said)


def refused(done: subprocess.CompletedProcess[str], code: str) -> str:
    """The one sentence with which the command refused."""
    assert done.returncode == 2, done
    assert done.stderr.startswith(f"error {code}: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


# ---- processes that die -----------------------------------------------------------------------------------------


def dying(
    request: Request, out: Path | str, place: str, *, after: bool = False, **environment: str
) -> subprocess.Popen[str]:
    """A build in a process that kills itself where `place` (`module:name`) is called, or right after that."""
    module, name = place.split(":")
    before = f"import os; os.environ.update({environment!r})" + DYING.format(module, name, after=after)
    return start(words(request, out), request.cwd, before=before)


#: Code by which a process kills itself where something is called.
DYING = """
import importlib, functools, signal
*path, last = "{1}".split(".")
owner = functools.reduce(getattr, path, importlib.import_module("{0}"))
real = getattr(owner, last)
def die(*given, **named):
    if {after}:
        real(*given, **named)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(owner, last, die)
"""


def build_in_turn(requests: Iterable[Request], out: Path) -> subprocess.Popen[str]:
    """A process that builds these again and again, each time anew, until somebody kills it."""
    return start([], ROOT, before=IN_TURN.format([(str(request.cwd), words(request, out)[1:]) for request in requests]))


IN_TURN = """
import itertools, os
from pathlib import Path
from typer.testing import CliRunner
from flows.cli import app
for folder, words in itertools.cycle({0!r}):
    os.chdir(folder)
    assert CliRunner().invoke(app, ["build", *words]).exit_code == 0
    latest = Path(words[-1], "latest")
    next((latest / "prompts").rglob("*.md")).write_text("")  # so that it is not found the next time
"""


# ---- what is left -----------------------------------------------------------------------------------------------


def assert_latest_is_whole(out: Path) -> None:
    """`latest` is a complete build, or there is none; so is all else that goes by a build's name."""
    latest = out / "latest"
    if latest.is_symlink():
        assert is_complete(latest.resolve())
    if out.is_dir():
        assert all(is_complete(path) for path in out.iterdir() if path.name[0] not in ".l")


def names(out: Path) -> list[str]:
    """What an output folder holds."""
    return sorted(path.name for path in out.iterdir())
