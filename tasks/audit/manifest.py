"""Invariant 8: the manifest lists every file, with its hash and size, and nothing else."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

from tasks.audit.violation import Check, Violation
from tasks.outputs.reader import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEYS = ("build_id", "prebrief", "inputs", "settings", "versions", "tokenizer", "margin", "outputs")
_UNLISTED = {MANIFEST, "timings.parquet"}  # outside the build's identity
_DIGEST = re.compile(r"[0-9a-f]{64}")


class Manifest(Check):
    """Hashes every listed file again; about 1 GB/s."""

    name = "manifest"

    def of_build(self) -> Iterator[Violation]:
        """What the manifest says, and what lies there."""
        if not self.build.manifest:
            return  # that it is missing or cannot be read has been said
        for message in (*self._shape(), *self._listing("inputs"), *self._listing("outputs"), *self._files()):
            yield self.found(MANIFEST, message)

    def _shape(self) -> Iterator[str]:
        manifest, name = self.build.manifest, self.build.root.name
        if missing := [key for key in _KEYS if key not in manifest]:
            yield f"it has no {', '.join(missing)}."
        if odd := sorted(manifest.keys() - set(_KEYS)):
            yield f"it has {', '.join(odd)}, which the contract does not know."
        if not missing and manifest["build_id"] != _build_id(manifest):
            yield "build_id is not the hash of the inputs, the settings and the version that it lists."
        if "build_id" in manifest and manifest["build_id"] != name:
            yield f"build_id is {manifest['build_id']!r}, the folder's name {name!r}."

    def _listing(self, key: str) -> Iterator[str]:
        """Paths once each, in order, none absolute or with `..`; a SHA-256 and a size each."""
        given = self.build.manifest.get(key, [])
        if not isinstance(given, list):
            yield f"{key} is no list."
            return
        rows = _records(given)
        if len(rows) < len(given):
            yield f"{key} has {len(given) - len(rows)} entries without path, sha256 and bytes."
        paths = [row["path"] for row in rows]
        if paths != sorted(paths):
            yield f"{key} is not sorted by path."
        if len(set(paths)) < len(paths):
            yield f"{key} lists a path twice."
        for path in paths:
            if (
                PurePosixPath(path).is_absolute()
                or PureWindowsPath(path).drive
                or (key == "outputs" and ".." in path.split("/"))
            ):
                yield f"{key} lists {path!r}, which is no path inside."

    def _files(self) -> Iterator[str]:
        given = self.build.manifest.get("outputs")
        listed = {row["path"]: row for row in _records(given if isinstance(given, list) else [])}
        for path in sorted(self.build.files.keys() - listed.keys() - _UNLISTED):
            yield f"{path} is not listed."
        for path in sorted(listed.keys() & _UNLISTED):
            yield f"{path} is listed, and is outside the build's identity."
        for path, row in sorted(listed.items()):
            if path not in self.build.files:
                yield f"{path} is listed, and is not there."
            elif path not in _UNLISTED and (row["sha256"], row["bytes"]) != _measure(self.build.files[path]):
                yield f"{path} has another hash or size than listed."


def _build_id(manifest: dict[str, Any]) -> str:
    """16 hex digits of the SHA-256 of what went in, as JSON with sorted keys and no spaces."""
    identity = {key: manifest[key] for key in ("inputs", "settings", "prebrief")}
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _records(listing: list[Any]) -> list[dict[str, Any]]:
    """The entries that are whole."""
    return [row for row in listing if isinstance(row, dict) and _is_record(row)]


def _is_record(row: dict[str, Any]) -> bool:
    path, digest, size = (row.get(key) for key in ("path", "sha256", "bytes"))
    return (
        isinstance(path, str) and isinstance(digest, str) and bool(_DIGEST.fullmatch(digest)) and isinstance(size, int)
    )


def _measure(file: Path) -> tuple[str, int]:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest(), file.stat().st_size
