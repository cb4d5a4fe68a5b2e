"""Splits the command files of a folder, joins them again and reads them; `tasks/commands.py` says where and how."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tasks.commands import (
    CORE_SUFFIX,
    DETAILS_SUFFIX,
    LINES_TO_SPLIT,
    SUFFIX,
    Parent,
    SplitFiles,
    is_as_split,
    is_damaged,
    is_restored,
    join,
    line_count,
    line_end,
    read_parent,
    rest_of,
    split_files,
    split_line,
)
from tasks.errors import CommandError
from tasks.regular import is_folder
from tasks.settings import ReadingSettings
from tasks.sources.files import Allowance, InputFile, exists, read_input, read_inside
from tasks.sources.findings import Row, Severity, finding, shown
from tasks.text import one_line

Status = Literal["split", "already split", "restored", "short", "whole"]

_LISTED = 20  # names that an error offers


@dataclass(frozen=True)
class Outcome:
    """One command: what became of it, or would, and how many lines the whole, the core and the details have."""

    name: str
    status: Status
    lines: int
    core: int | None = None
    details: int | None = None


@dataclass(frozen=True)
class SplitReport:
    """What a run did, or with `check` would do, to each command that it could read, and what was odd."""

    commands: tuple[Outcome, ...]
    findings: tuple[Row, ...]

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return {"commands": [asdict(outcome) for outcome in self.commands], "findings": list(self.findings)}


@dataclass(frozen=True)
class Loaded:
    """A command's text, byte for byte as in its files, and what was odd."""

    data: bytes
    findings: tuple[Row, ...] = ()


# ---- splitting and restoring ------------------------------------------------------------------------------------


def split_commands(folder: Path, *, check: bool = False, undo: bool = False) -> SplitReport:
    """Splits every command file of a folder that is long enough, or with `undo` restores the split ones.

    Looks at `*.md` right in the folder, but not at hidden files, links, cores and details. Each file is written beside
    its place and moved there, `NAME.md` last, so a run that dies leaves nothing half and the next one completes it. A
    file that cannot be read, written or told apart is a finding, and the others go on. `check` writes nothing.

    Raises:
        CommandError: there is no such folder.
    """
    _existing(folder)
    run = _Run(folder, check=check)
    names = [path.name.removesuffix(SUFFIX) for path in _candidates(folder, run)]
    outcomes = [(run.restore if undo else run.split)(name) for name in names]
    return SplitReport(tuple(filter(None, outcomes)), tuple(run.findings))


def _existing(folder: Path) -> None:
    if not is_folder(folder):
        raise CommandError(f"there is no folder {shown(folder)}; name the folder that holds the command files.")


def _candidates(folder: Path, run: _Run) -> list[Path]:
    """The files that may be commands, by name."""
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise CommandError(f"the folder {shown(folder)} cannot be read ({error.strerror}).") from error
    found = []
    for path in entries:
        if not path.name.endswith(SUFFIX) or path.name.startswith("."):
            continue
        if path.name.endswith((CORE_SUFFIX, DETAILS_SUFFIX)):
            continue
        if path.is_symlink():
            run.add("info", "COMMAND_LINK", path.name, "It is a link and was left; split what it leads to.")
        else:
            found.append(path)
    return found


@dataclass
class _Run:
    """One pass over a folder."""

    folder: Path
    check: bool
    findings: list[Row] = field(default_factory=list)

    def add(self, severity: Severity, code: str, where: str, message: str) -> None:
        self.findings.append(finding(severity, code, where, message))

    def read(self, path: Path) -> bytes | None:
        """The bytes of a file, or None and a finding."""
        file = read_input(path, path.name, Allowance(ReadingSettings().max_bytes))
        if isinstance(file, InputFile):
            return file.data
        self.findings.append(file)
        return None

    def part(self, path: Path) -> bytes | None:
        """The bytes of a core or details file that is there, is no link and can be read."""
        return self.read(path) if exists(path) and not path.is_symlink() else None

    def split(self, name: str) -> Outcome | None:
        path, core_path, details_path = _paths(self.folder, name)
        if (data := self.read(path)) is None:
            return None
        lines = line_count(data)
        if (parent := read_parent(data)) is not None:
            return self._already_split(name, parent)
        if lines < LINES_TO_SPLIT:
            return Outcome(one_line(name), "short", lines)
        if (place := split_line(data)) is None:
            message = f"Its {lines} lines cannot be split so that no block is torn and either part has ten."
            self.add("warning", "COMMAND_WHOLE", path.name, message)
            return Outcome(one_line(name), "whole", lines)
        files = split_files(name, data, place)
        for part, content in ((core_path, files.core), (details_path, files.details)):
            if exists(part) and self.part(part) != content:
                message = f"There is a {shown(part.name)} of other content; move it away, then split again."
                self.add("error", "COMMAND_CONFLICT", path.name, message)
                return Outcome(one_line(name), "whole", lines)
        if not self.check and not self._write_split(path, core_path, details_path, files):
            return None
        return Outcome(one_line(name), "split", lines, place, lines - place)

    def _write_split(self, path: Path, core_path: Path, details_path: Path, files: SplitFiles) -> bool:
        """Writes the three files, or leaves all as it was."""
        made: list[Path] = []
        try:
            mode = _mode(path)
            for part, content in ((details_path, files.details), (core_path, files.core)):
                if not exists(part):
                    _write(part, content, mode)
                    made.append(part)
            _write(path, files.parent, mode)
        except OSError as error:
            for part in made:
                with suppress(OSError):
                    part.unlink()
            self._not_written(path, error)
            return False
        return True

    def _already_split(self, name: str, parent: Parent) -> Outcome:
        path, core_path, details_path = _paths(self.folder, name)
        core, details = self.part(core_path), self.part(details_path)
        rest = None if details is None else rest_of(details)
        if not parent.intact:
            message = f"It was edited after it was split; carry the edit over to {core_path.name}."
            self.add("warning", "COMMAND_EDITED", path.name, message)
        elif core is None or rest is None:
            missing = core_path if core is None else details_path
            message = f"It was split, but its {missing.name} is not to be found."
            self.add("warning", "COMMAND_INCOMPLETE", path.name, message)
        elif damaged := _damaged(parent, core, rest):
            self.add("warning", "COMMAND_DAMAGED", path.name, f"{damaged}; bring them back.")
        elif core != parent.body:
            message = f"{core_path.name} was edited since; undo and split again to bring this file up to date."
            self.add("info", "COMMAND_STALE", path.name, message)
        elif not is_as_split(parent, core, rest):
            message = f"{details_path.name} was edited since; --undo keeps the edit."
            self.add("info", "COMMAND_STALE", path.name, message)
        counts = [None if data is None else line_count(data) for data in (core, rest)]
        whole = sum(filter(None, counts)) if None not in counts else line_count(parent.body)
        return Outcome(one_line(name), "already split", whole, *counts)

    def restore(self, name: str) -> Outcome | None:
        path, core_path, details_path = paths = _paths(self.folder, name)
        if (data := self.read(path)) is None:
            return None
        core, details = self.part(core_path), self.part(details_path)
        parent = read_parent(data)
        if parent is None:
            if details is None or not is_restored(data, core, details):
                return None
            restored = data
        else:
            joined = None if core is None or details is None else join(name, parent, core, details)
            if joined is None or core is None or details is None:
                self._refuse(paths, parent, core, details)
                return None
            if not joined.exact:
                now = line_count(joined.data)
                message = "Its core or details were edited after the split; the edits are kept, "
                message += f"and of {parent.lines} lines it has {now} now."
                self.add("warning" if now < parent.lines else "info", "COMMAND_EDITED", path.name, message)
            restored = joined.data
        if not self.check:
            try:
                if restored != data:
                    _write(path, restored, _mode(path))
                core_path.unlink(missing_ok=True)
                details_path.unlink()
            except OSError as error:
                self._not_written(path, error)
                return None
        return Outcome(one_line(name), "restored", line_count(restored))

    def _refuse(self, paths: _Paths, parent: Parent, core: bytes | None, details: bytes | None) -> None:
        """Says why a split cannot be undone."""
        rest = None if details is None else rest_of(details)
        if core is None or details is None:
            missing = paths.core if core is None else paths.details
            message = f"Its {missing.name} is not to be found; bring it back, then undo."
            self.add("error", "COMMAND_INCOMPLETE", paths.parent.name, message)
        elif not parent.intact:
            message = f"It was edited after it was split; carry the edit over to {paths.core.name}, then undo."
            self.add("error", "COMMAND_EDITED", paths.parent.name, message)
        elif damaged := _damaged(parent, core, details if rest is None else rest):
            self.add("error", "COMMAND_DAMAGED", paths.parent.name, f"{damaged}; bring them back, then undo.")
        else:
            message = f"{paths.details.name} lacks the comment that names its parent; put it back, then undo."
            self.add("error", "COMMAND_EDITED", paths.parent.name, message)

    def _not_written(self, path: Path, error: OSError) -> None:
        message = f"Its folder cannot be written ({error.strerror}); it was left."
        self.add("error", "COMMAND_NOT_WRITTEN", path.name, message)


def _damaged(parent: Parent, core: bytes, rest: bytes) -> str:
    """Which parts of a split command look destroyed, and by how much; empty where none does."""
    parts = (("core", core, parent.core_lines), ("details", rest, parent.details_lines))
    said = [
        f"Its {part} had {lines} lines and has {line_count(data)}" + (" that are no text" if b"\0" in data else "")
        for part, data, lines in parts
        if is_damaged(data, lines)
    ]
    return ". ".join(said)


class _Paths(NamedTuple):
    """The files of one command."""

    parent: Path
    core: Path
    details: Path


def _paths(folder: Path, name: str) -> _Paths:
    return _Paths(folder / f"{name}{SUFFIX}", folder / f"{name}{CORE_SUFFIX}", folder / f"{name}{DETAILS_SUFFIX}")


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _write(path: Path, data: bytes, mode: int) -> None:
    """Writes a file beside its place and moves it there."""
    number, beside = tempfile.mkstemp(prefix=".prebrief-", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(number, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        Path(beside).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(beside).unlink()
        raise


# ---- loading ----------------------------------------------------------------------------------------------------


def load_command(name: str, folder: Path, *, details: bool = False) -> Loaded:
    """The core of a command, with `details` the rest after one blank line; a command that has no core as a whole.

    Args:
        name: The command, with or without `.md`.
        folder: Where its files lie; neither the name nor a link leads out of it.
        details: Whether the details come too. Without the comment they begin with.

    Raises:
        CommandError: there is no such folder or command, or it cannot be read.
    """
    _existing(folder)
    if not name or name in {".", ".."} or any(character in name for character in "/\\\0"):
        raise CommandError(
            f"{shown(name)} is no name of a command; give that of a file in {shown(folder)}, without .md."
        )
    for stem in filter(None, dict.fromkeys((name, name.removesuffix(SUFFIX)))):
        path, core_path, details_path = _paths(folder, stem)
        if exists(core_path):
            core = _read_part(core_path, folder)
            return _with_details(core, details_path, folder) if details else Loaded(core)
        if exists(path):
            return Loaded(_read_part(path, folder))
    raise CommandError(f"there is no command {shown(name)} in {shown(folder)}; {_offer(folder)}.")


def _read_part(path: Path, folder: Path) -> bytes:
    file = read_inside(path, folder, path.name, Allowance(ReadingSettings().max_bytes))
    if isinstance(file, InputFile):
        return file.data
    reason = file["message"].removesuffix("; it was left out.")
    raise CommandError(f"{shown(path.name)} cannot be loaded: {reason}.")


def _with_details(core: bytes, details_path: Path, folder: Path) -> Loaded:
    if not exists(details_path):
        message = f"There is no {details_path.name}; the core is all there is."
        return Loaded(core, (finding("warning", "COMMAND_INCOMPLETE", details_path.name, message),))
    details = _read_part(details_path, folder)
    rest = rest_of(details)
    return Loaded(core.rstrip(b"\r\n") + line_end(core) * 2 + (details if rest is None else rest))


def _offer(folder: Path) -> str:
    files = (path.name for path in folder.glob(f"*{SUFFIX}") if not path.name.startswith("."))
    names = {name.removesuffix(SUFFIX).removesuffix(".core") for name in files}
    listed = sorted(one_line(name) for name in names if not f"{name}{SUFFIX}".endswith(DETAILS_SUFFIX))
    if not listed:
        return "it holds no command files"
    more = ", …" if len(listed) > _LISTED else ""
    return f"there are: {', '.join(listed[:_LISTED])}{more}"
