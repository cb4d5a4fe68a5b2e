"""What all commands share: how they name a build, print, fail and end."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, ParamSpec

import typer

from tasks.errors import PrebriefError, SystemRefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tasks.outputs.reader import BuildFolder

GOOD, REFUSED, WRONG, PARTLY = 0, 1, 2, 3

PLACE = "PATH|URL"
A_BUILD = "A build, or an output folder (its newest build)."
Build = Annotated[str, typer.Option("--build", metavar=PLACE, help=A_BUILD)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

_WIDTH = 160  # of a table that no terminal shows
_GAP = "  "  # between its columns
_AS_TERMINAL = ("FORCE_COLOR", "TTY_COMPATIBLE")  # has rich print as on one

P = ParamSpec("P")


def sentences(command: Callable[P, None]) -> Callable[P, None]:
    """A command whose errors are one sentence on stderr and exit code 2, never a traceback."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        with naming_what_the_system_refuses():
            try:
                command(*args, **kwargs)
            except PrebriefError as error:
                _refuse(error, as_json=bool(kwargs.get("as_json")))

    return run


@contextmanager
def naming_what_the_system_refuses() -> Iterator[None]:
    """Ends the process with one sentence and exit code 2 where the system refuses something: a disk is full, say.

    That nobody reads on, as after `| head -1`, is no error: the process ends well and says nothing.
    """
    try:
        try:
            yield
        finally:
            _flush()  # what cannot be printed is noticed here, not at the end of the process
    except BrokenPipeError:
        _print_no_more()
        raise SystemExit(GOOD) from None
    except OSError as error:
        what = error.strerror or type(error).__name__
        place = f" ({error.filename})" if error.filename else ""
        _print_no_more()
        _refuse(SystemRefusedError(f"the system says: {what}{place}; see to it and run again."), as_json=False)


def open_what_is_closed() -> None:
    """Gives a process that was started without stdout or stderr, as by `>&-`, one that takes all and keeps nothing."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - open until the end


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _print_no_more() -> None:
    """What is still to be printed goes nowhere, so that the process does not fail on it once more at its end."""
    with suppress(OSError):  # what is no file of the system needs no such care
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refuse(error: PrebriefError, *, as_json: bool) -> NoReturn:
    if as_json:
        print_json({"error": {"code": error.code, "message": str(error)}})
    else:
        with suppress(OSError):  # where nothing can be said, the exit code says it
            sys.stderr.write(f"error {error.code}: {error}\n")
    raise SystemExit(WRONG) from None


def build_at(place: Path | str) -> BuildFolder:
    """The build that a person means: that one, or the newest of an output folder."""
    from tasks.outputs.reader import BuildFolder, find_build

    return BuildFolder(find_build(place))


def print_json(value: object) -> None:
    """One JSON object on stdout, for machines."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=1, default=str) + "\n")


def print_table(head: Sequence[str], rows: Iterable[Sequence[Any]], *, most: int | None) -> None:
    """A table as wide as the terminal; of a long one the first rows, and how many there are."""
    listed = list(rows)
    shown = listed if most is None or len(listed) <= most else listed[:most]
    columns = [(name, *(row[place] for row in shown)) for place, name in enumerate(head)]
    right = [
        bool(shown) and all(isinstance(value, (int, float, type(None))) for value in values[1:]) for values in columns
    ]
    cells = [tuple(head), *(tuple(map(_cell, row)) for row in shown)]
    more = [f"… and {len(listed) - len(shown)} more"] if len(shown) < len(listed) else []
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    if _is_plain(cells) and sum(widths) + len(_GAP) * (len(widths) - 1) <= _WIDTH:
        for row in cells:
            fitted = (
                cell.rjust(width) if end else cell.ljust(width)
                for cell, width, end in zip(row, widths, right, strict=True)
            )
            sys.stdout.write(_GAP.join(fitted) + "\n")
        sys.stdout.writelines(f"{line}\n" for line in more)
    else:
        _print_with_rich(cells, right, more)


def _is_plain(cells: Iterable[Sequence[str]]) -> bool:
    """Whether a table is for no terminal, and all its cells are as wide as long; a colon may begin a sign for rich."""
    if sys.stdout.isatty() or any(os.environ.get(name) for name in _AS_TERMINAL):
        return False
    return all(cell.isascii() and cell.isprintable() and ":" not in cell for row in cells for cell in row)


def _print_with_rich(cells: Sequence[Sequence[str]], right: Sequence[bool], more: Iterable[str]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, end in zip(cells[0], right, strict=True):
        table.add_column(name, justify="right" if end else "left")
    for row in cells[1:]:
        table.add_row(*row)
    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else _WIDTH)
    console.print(table)
    for line in more:
        console.print(line)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def print_facts(facts: dict[str, Any], indent: str = "") -> None:
    """Names and values, a line each, what is within others indented."""
    for name, value in facts.items():
        if isinstance(value, dict):
            sys.stdout.write(f"{indent}{name}:\n")
            print_facts(value, indent + "  ")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            sys.stdout.write(f"{indent}{name}:\n")
            for entry in value:
                sys.stdout.write(
                    f"{indent}  - " + ", ".join(f"{key} {_cell(inner)}" for key, inner in entry.items()) + "\n"
                )
        elif value not in (None, [], ""):
            shown = ", ".join(map(_cell, value)) if isinstance(value, list) else _cell(value)
            sys.stdout.write(f"{indent}{name}: {shown}\n")
