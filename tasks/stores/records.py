"""Stores of two kinds of files: contents named by their SHA-256, and a record a handle that says which is whose.

A handle is hashed for its record's name, so that no handle, however long or hostile, leads anywhere. Equal contents
are kept once, however many builds have them.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from tasks.stores.protocols import checked_handle, conflict, damaged, digest, missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from contextlib import AbstractContextManager

CONTENTS = "objects"
RECORDS = "handles"
_SUFFIX = ".json"


class RecordStore(ABC):
    """The rules of such a store. A medium says how files are read and written, and how changes exclude each other."""

    # ---- the medium ----

    @abstractmethod
    def _read(self, folder: str, name: str) -> bytes | None:
        """A file's bytes; None where there is none."""

    @abstractmethod
    def _write(self, folder: str, name: str, data: bytes) -> None:
        """Writes a file whole, in place of any that has its name."""

    @abstractmethod
    def _remove(self, folder: str, name: str) -> None:
        """Removes a file; one that is gone already is no error."""

    @abstractmethod
    def _read_all(self, folder: str) -> Mapping[str, bytes]:
        """The bytes of every file of a folder, by name."""

    @abstractmethod
    def _changing(self) -> AbstractContextManager[object]:
        """While it is held, no other caller changes anything."""

    # ---- the store ----

    def put(self, handle: str, data: bytes) -> str:
        """See `ArtifactStore.put`. Content that was damaged or lost is mended."""
        record = _record(checked_handle(handle), data)
        with self._changing():
            if (known := self._record(handle)) is not None and known["sha256"] != record["sha256"]:
                raise conflict(handle)
            held = self._read(CONTENTS, record["sha256"])
            if held is None or digest(held) != record["sha256"]:
                self._write(CONTENTS, record["sha256"], bytes(data))
            if known is None:  # last: what has a record has its content
                self._write(RECORDS, _file_name(handle), _written(record))
        return str(record["sha256"])

    def get(self, handle: str) -> bytes:
        """See `ArtifactStore.get`."""
        record = self._record(handle)
        if record is None:
            raise missing(handle)
        data = self._read(CONTENTS, record["sha256"])
        if data is None or digest(data) != record["sha256"]:
            raise damaged(handle)
        return data

    def exists(self, handle: str) -> bool:
        """See `ArtifactStore.exists`."""
        return self._read(RECORDS, _file_name(checked_handle(handle))) is not None

    def list(self, prefix: str = "") -> list[str]:
        """See `ArtifactStore.list`. Reads every record."""
        return sorted(handle for handle in self._records() if handle.startswith(prefix))

    def delete(self, handle: str) -> None:
        """See `ArtifactStore.delete`. Reads every record, to see who else has the content."""
        with self._changing():
            record = self._record(handle, mended=True)
            if record is None:
                raise missing(handle)
            self._remove(RECORDS, _file_name(handle))
            if record["sha256"] and record["sha256"] not in self._records().values():
                self._remove(CONTENTS, record["sha256"])

    def _record(self, handle: str, *, mended: bool = False) -> dict[str, Any] | None:
        """What is known under a handle; with `mended`, a record that cannot be read names no content."""
        data = self._read(RECORDS, _file_name(checked_handle(handle)))
        if data is None:
            return None
        record = _parsed(data)
        if record is not None and record["handle"] == handle:
            return record
        if mended:
            return {"handle": handle, "sha256": ""}
        raise damaged(handle)

    def _records(self) -> dict[str, str]:
        """The SHA-256 of each handle."""
        read = self._read_all(RECORDS)
        return {record["handle"]: record["sha256"] for record in _readable(read.items())}


def _readable(files: Iterable[tuple[str, bytes]]) -> Iterable[dict[str, Any]]:
    """The records among files: under their own names, and whole."""
    for name, data in files:
        record = _parsed(data) if name.endswith(_SUFFIX) else None
        if record is not None and _file_name(record["handle"]) == name:
            yield record


def _record(handle: str, data: bytes) -> dict[str, Any]:
    return {"bytes": len(data), "handle": handle, "sha256": digest(data)}


def _written(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False, sort_keys=True).encode() + b"\n"


def _parsed(data: bytes) -> dict[str, Any] | None:
    """A record; None where the bytes are none. Its hash names a file, so it must be one."""
    try:
        record = json.loads(data)
    except ValueError:
        return None
    if not isinstance(record, dict) or not isinstance(record.get("handle"), str):
        return None
    sha256 = record.get("sha256")
    is_hash = isinstance(sha256, str) and len(sha256) == 64 and set(sha256) <= set("0123456789abcdef")  # noqa: PLR2004
    return record if is_hash else None


def _file_name(handle: str) -> str:
    return digest(handle.encode("utf-8", "surrogatepass")) + _SUFFIX
