"""Invariant 2, the bytes: every handle resolves, its hash matches, and nobody else may read them."""

from __future__ import annotations

import hashlib
import stat
from typing import TYPE_CHECKING

import polars as pl

from tasks.audit.reading import Context, sample
from tasks.audit.violation import Check, Violation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FOLDER, _FILE = 0o700, 0o600
_HANDLE = "artifact:"
_FRAME = "artifacts.parquet"


class Artifacts(Check):
    """Reads each artifact once, in blocks."""

    name = "artifacts"

    def of_build(self) -> Iterator[Violation]:
        """Handles, files and their modes."""
        folder = self.build.root / "artifacts"
        if folder.is_dir() and not folder.is_symlink() and (mode := _mode(folder)) != _FOLDER:
            yield self.found("artifacts", f"the folder's mode is {mode:04o}, not {_FOLDER:04o}.")
        yield from self._handles()
        frame = self.build.frames["artifacts"]
        said = {
            digest: (size, lines) for digest, size, lines in frame.select("sha256", "size_bytes", "lines").iter_rows()
        }
        for path, file in self.build.files.items():
            if path.startswith("artifacts/"):
                yield from self._file(path, file, said)
        for digest in sorted(digest for digest in said if digest and f"artifacts/{digest}" not in self.build.files):
            handles = frame.filter(pl.col("sha256") == digest)["handle"]
            yield self.found(
                f"artifacts/{digest}", f"{sample(handles, len(handles))} leads to it, and it is not there."
            )

    def of_context(self, context: Context) -> Iterator[Violation]:
        """A tool result that is in a prompt has been through the firewall."""
        bare = [
            row["item_id"]
            for row in context.selected
            if row["kind"] == "tool_result" and row["artifact"] is None and not row["above_floor"]
        ]
        if bare:
            yield self.found(context.place, f"{sample(bare, len(bare))}: a tool result without an artifact.")

    def _handles(self) -> Iterator[Violation]:
        frame, items = self.build.frames["artifacts"], self.build.items
        handle = pl.format(f"{_HANDLE}{{}}", "item_id")
        given = items.filter(pl.col("artifact").is_not_null())
        unkept = given.filter(~pl.col("artifact").is_in(frame["handle"].implode()))
        taken = given["artifact"].implode()
        faults = (
            (_FRAME, "stands there twice", frame.filter(pl.col("handle").is_duplicated())["handle"]),
            (_FRAME, "is not artifact:<item_id>", frame.filter(pl.col("handle") != handle)["handle"]),
            (_FRAME, "is no item's artifact", frame.filter(~pl.col("handle").is_in(taken))["handle"]),
            ("items.parquet", "has the handle of another item", given.filter(pl.col("artifact") != handle)["item_id"]),
            ("items.parquet", "has a handle that is not in artifacts.parquet", unkept["item_id"]),
        )
        for where, said, names in faults:
            if len(names):
                yield self.found(where, f"{sample(names, len(names))} {said}.")

    def _file(self, path: str, file: Path, said: dict[str, tuple[int, int]]) -> Iterator[Violation]:
        name = path.removeprefix("artifacts/")
        if (mode := _mode(file)) != _FILE:
            yield self.found(path, f"its mode is {mode:04o}, not {_FILE:04o}.")
        if name not in said:
            yield self.found(path, "no handle leads to it.")
        digest, size, lines = _measure(file)
        if digest != name:
            yield self.found(path, "its bytes have another hash than its name.")
        elif name in said and said[name] != (size, lines):
            yield self.found(
                _FRAME, f"{path} has {size} bytes in {lines} lines, not {said[name][0]} in {said[name][1]}."
            )


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _measure(file: Path) -> tuple[str, int, int]:
    """SHA-256, bytes and lines of a file; a last line without its newline counts."""
    digest, size, lines, last = hashlib.sha256(), 0, 0, b"\n"
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
            size, lines, last = size + len(block), lines + block.count(b"\n"), block[-1:]
    return digest.hexdigest(), size, lines + (last != b"\n")
