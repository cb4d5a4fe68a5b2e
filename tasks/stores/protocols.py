"""What a store of artifacts does, as Protocols: `tasks.stores.conformance` checks any store against them."""

from __future__ import annotations

import hashlib
import inspect
from typing import Protocol, TypeVar

from tasks.errors import ArtifactConflictError, ArtifactDamagedError, ArtifactMissingError, HandleError, StoreError

OPERATIONS = ("put", "get", "exists", "list", "delete")


class ArtifactStore(Protocol):
    """Keeps bytes under handles. Any text may be a handle but the empty one. Safe to use from several threads."""

    def put(self, handle: str, data: bytes) -> str:
        """Keeps bytes and returns their SHA-256 in hex; the same bytes again change nothing.

        Raises:
            ArtifactConflictError: the handle has other content, which stays.
            HandleError: the text cannot be a handle.
        """
        ...

    def get(self, handle: str) -> bytes:
        """The bytes under a handle, their hash checked.

        Raises:
            ArtifactMissingError: there are none.
            ArtifactDamagedError: they are not what was put there.
        """
        ...

    def exists(self, handle: str) -> bool:
        """Whether there is something under a handle."""
        ...

    def list(self, prefix: str = "") -> list[str]:
        """All handles that begin with `prefix`, sorted by code point."""
        ...

    def delete(self, handle: str) -> None:
        """Forgets a handle and its bytes; equal bytes under other handles stay.

        Raises:
            ArtifactMissingError: there is nothing under it.
        """
        ...


class AsyncArtifactStore(Protocol):
    """The same, awaited. All calls of a builder come from one event loop of its own."""

    async def put(self, handle: str, data: bytes) -> str:
        """See `ArtifactStore.put`."""
        ...

    async def get(self, handle: str) -> bytes:
        """See `ArtifactStore.get`."""
        ...

    async def exists(self, handle: str) -> bool:
        """See `ArtifactStore.exists`."""
        ...

    async def list(self, prefix: str = "") -> list[str]:
        """See `ArtifactStore.list`."""
        ...

    async def delete(self, handle: str) -> None:
        """See `ArtifactStore.delete`."""
        ...


S = TypeVar("S", bound=ArtifactStore | AsyncArtifactStore)


def checked_store(store: S) -> S:
    """The store itself.

    Raises:
        StoreError: it lacks operations.
    """
    if isinstance(store, type):
        raise StoreError(f"{store.__name__} is a class of stores; give a store made of it.")
    if lacking := [name for name in OPERATIONS if not callable(getattr(store, name, None))]:
        made = "; open_store(...) makes one of a URL" if isinstance(store, str) else ""
        raise StoreError(f"the store of type {type(store).__name__} has no {' and no '.join(lacking)}{made}.")
    return store


def is_async(store: ArtifactStore | AsyncArtifactStore) -> bool:
    """Whether any of a store's operations must be awaited."""
    return any(inspect.iscoroutinefunction(getattr(store, name, None)) for name in OPERATIONS)


# ---- what stores share ------------------------------------------------------------------------------------------


def checked_handle(handle: str) -> str:
    """The handle itself.

    Raises:
        HandleError: it is empty, no text, or holds half a surrogate pair, which no UTF-8 can carry.
    """
    if not isinstance(handle, str) or not handle:
        raise HandleError("a handle is a text of at least one character; name the artifact.")
    try:
        handle.encode()
    except UnicodeEncodeError:
        raise HandleError(f"handle {handle!a} holds half a surrogate pair; use text that UTF-8 can carry.") from None
    return handle


def digest(data: bytes) -> str:
    """The SHA-256 of bytes in hex."""
    return hashlib.sha256(data).hexdigest()


def missing(handle: str) -> ArtifactMissingError:
    """Nothing there."""
    return ArtifactMissingError(f"the store has no artifact {handle!r}; list() names those it has.")


def conflict(handle: str) -> ArtifactConflictError:
    """Something else is there."""
    return ArtifactConflictError(
        f"the store has other content under {handle!r}; delete it first or choose another handle."
    )


def damaged(handle: str) -> ArtifactDamagedError:
    """What is there has been changed."""
    return ArtifactDamagedError(
        f"the content of {handle!r} is not what was put there; delete it and put it again from the build folder."
    )
