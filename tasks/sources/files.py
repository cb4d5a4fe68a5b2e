"""Input files: what may be read, under which name, and as which text."""

from __future__ import annotations

import codecs
import hashlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.regular import NotAFileError, TooLargeError, read_regular
from tasks.sources.findings import Findings, Row, finding
from tasks.sources.identity import Names
from tasks.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tasks.settings import ReadingSettings

_SAMPLE = 4096  # bytes that tell UTF-16 without a mark from other encodings
_NUL_SHARE = 0.3  # of every second byte; Latin text in UTF-16 has nearly all
_MARKS = (  # the longer ones first: UTF-32's begins with UTF-16's
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True)
class InputFile:
    """A file as it was read: the name by which the build knows it, its bytes and their SHA-256."""

    label: str
    data: bytes
    sha256: str

    @classmethod
    def of(cls, label: str, data: bytes) -> InputFile:
        """A file from bytes at hand."""
        return cls(label, data, hashlib.sha256(data).hexdigest())


class Allowance:
    """How many bytes may be read: of any one file, and still of all files together."""

    def __init__(self, file: int, together: int = sys.maxsize) -> None:
        """Args: file: the limit for each; together: that for all."""
        self.file = file
        self._together = self._left = together

    @classmethod
    def of(cls, reading: ReadingSettings) -> Allowance:
        """What a build may read."""
        return cls(reading.max_bytes, reading.max_total_bytes)

    def read(self, path: Path, most: int) -> bytes:
        """The bytes of a regular file of at most `most`, which count from now on.

        Raises:
            PastTotalError: it fits by itself, but not with what was read before.
            OSError: what `read_regular` raises.
        """
        try:
            data = read_regular(path, min(most, self._left))
        except TooLargeError as error:
            if path.stat().st_size > most or self._left >= most:
                raise
            raise PastTotalError(self._together) from error
        self._left -= len(data)
        return data


class PastTotalError(TooLargeError):
    """A file holds more bytes than may be read of all files together."""


def read_input(path: Path, label: str, allowance: Allowance, most: int | None = None) -> InputFile | Row:
    """A regular file within the limits, or the finding that says why it is left out. Never waits on a pipe.

    `most` is a limit to this file where a smaller one than that of the settings makes sense.
    """
    max_bytes = allowance.file if most is None else min(most, allowance.file)
    try:
        return InputFile.of(label, allowance.read(path, max_bytes))
    except NotAFileError as error:
        return finding("error", "INPUT_NOT_A_FILE", label, f"It is {error.kind}, not a file; it was left out.")
    except PastTotalError as error:
        message = f"With it, all inputs would be larger than {error.max_bytes} bytes (reading.max_total_bytes)"
        return finding("error", "INPUT_TOO_LARGE", label, f"{message}; it was left out.")
    except TooLargeError:
        message = f"It is larger than {max_bytes} bytes (reading.max_bytes); it was left out."
        return finding("error", "INPUT_TOO_LARGE", label, message)
    except (FileNotFoundError, NotADirectoryError):
        return finding("error", "INPUT_MISSING", label, "There is no such file; it was left out.")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return finding("error", "INPUT_UNREADABLE", label, f"It cannot be read ({reason}); it was left out.")


def read_inside(path: Path, folder: Path, label: str, allowance: Allowance, most: int | None = None) -> InputFile | Row:
    """`read_input` for a file that was found, not named: no link may lead out of the folder that was."""
    try:
        inside = path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):
        inside = False
    if not inside:
        message = "A link leads outside the folder that was named; it was left out."
        return finding("error", "INPUT_OUTSIDE", label, message)
    return read_input(path, label, allowance, most)


def exists(path: Path) -> bool:
    """Whether anything has this name, be it a broken link; a name that no system allows does not exist."""
    try:
        return os.path.lexists(path)
    except (OSError, ValueError):
        return False


# ---- text -------------------------------------------------------------------------------------------------------


def decode(file: InputFile) -> tuple[str, list[Row]]:
    """The text of a file with newlines as its only line ends, and what was odd about its bytes.

    UTF-8 unless a byte order mark or the pattern of NUL bytes says UTF-16 or UTF-32. Bytes that are not UTF-8: single
    ones become U+FFFD; where most are wrong, the file is taken for Windows-1252, and for Latin-1 at last.
    """
    findings = Findings(file.label)
    text = _decoded(file.data, findings)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        findings.add("info", "INPUT_LINE_ENDS", "Its line ends are not plain newlines; they were read as such.")
    return text, findings.rows


def _decoded(data: bytes, findings: Findings) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            if encoding == "utf-8":
                findings.add("info", "INPUT_BOM", "It begins with a byte order mark, which was left out.")
                return _as_utf8(data[len(mark) :], findings)
            return _as_wide(data[len(mark) :], encoding, findings)
    guess = _wide_without_mark(data)
    return _as_wide(data, guess, findings) if guess else _as_utf8(data, findings)


def _as_wide(data: bytes, encoding: str, findings: Findings) -> str:
    findings.add(
        "info", "INPUT_ENCODING", f"It is {encoding.removesuffix('-le').removesuffix('-be').upper()}, not UTF-8."
    )
    return data.decode(encoding, "replace")


def _wide_without_mark(data: bytes) -> str | None:
    sample = data[:_SAMPLE]
    half = len(sample) // 2
    if not half:
        return None
    even, odd = sample[::2].count(0) / half, sample[1::2].count(0) / half
    if odd > _NUL_SHARE and even < _NUL_SHARE / 3:
        return "utf-16-le"
    return "utf-16-be" if even > _NUL_SHARE and odd < _NUL_SHARE / 3 else None


def _as_utf8(data: bytes, findings: Findings) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    wrong = text.count("\ufffd")
    right = sum(character > "\x7f" for character in text) - wrong
    if right > wrong:
        findings.add("warning", "INPUT_BYTES", f"It has {wrong} places that are not UTF-8; each was read as U+FFFD.")
        return text
    for encoding, name in (("cp1252", "Windows-1252"), ("latin-1", "Latin-1")):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        findings.add("warning", "INPUT_ENCODING", f"It is not UTF-8; it was read as {name}.")
        break
    return text


# ---- names ------------------------------------------------------------------------------------------------------


class Labels:
    """The name of each file in the build: relative, with slashes, the same wherever the same tree lies.

    Relative to the working folder for what lies inside it, to the deepest folder that holds all others for the rest.
    """

    def __init__(self, folders: Iterable[Path], cwd: Path) -> None:
        """Args: folders: every folder that was named or holds a file that was; cwd: the working folder."""
        self._cwd = absolute(cwd)
        outside = [place for folder in folders if not (place := absolute(folder)).is_relative_to(self._cwd)]
        self._common = Path(os.path.commonpath(outside)) if outside else self._cwd
        self._names = Names("~")
        self._given: dict[Path, str] = {}

    def of(self, path: Path) -> str:
        """The name of a file in one of the folders; two files never share one."""
        place = absolute(path)
        if place not in self._given:
            base = self._cwd if place.is_relative_to(self._cwd) else self._common
            relative = place.relative_to(base) if place.is_relative_to(base) else Path(place.name)
            self._given[place] = self._names.claim(one_line(relative.as_posix()))
        return self._given[place]


def absolute(path: Path) -> Path:
    """A path from the root, without dots. Links are kept: a name must not depend on where they lead."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - Path.resolve would follow links
