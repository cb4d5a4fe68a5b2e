"""A store in memory, for tests and short runs."""

from __future__ import annotations

import threading

from tasks.stores.protocols import checked_handle, conflict, damaged, digest, missing


class MemoryStore:
    """Keeps artifacts as long as the object lives."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[str, bytes]] = {}
        self._lock = threading.Lock()

    def put(self, handle: str, data: bytes) -> str:
        """See `ArtifactStore.put`."""
        sha256 = digest(data)
        with self._lock:
            held = self._held.setdefault(checked_handle(handle), (sha256, bytes(data)))
        if held[0] != sha256:
            raise conflict(handle)
        return sha256

    def get(self, handle: str) -> bytes:
        """See `ArtifactStore.get`."""
        with self._lock:
            held = self._held.get(checked_handle(handle))
        if held is None:
            raise missing(handle)
        if digest(held[1]) != held[0]:
            raise damaged(handle)
        return held[1]

    def exists(self, handle: str) -> bool:
        """See `ArtifactStore.exists`."""
        with self._lock:
            return checked_handle(handle) in self._held

    def list(self, prefix: str = "") -> list[str]:
        """See `ArtifactStore.list`."""
        with self._lock:
            return sorted(handle for handle in self._held if handle.startswith(prefix))

    def delete(self, handle: str) -> None:
        """See `ArtifactStore.delete`."""
        with self._lock:
            if self._held.pop(checked_handle(handle), None) is None:
                raise missing(handle)
