"""Stores that hold raw tool results beyond the build folder, and what any store of one's own must do."""

from tasks.stores.folder import FolderStore
from tasks.stores.memory import MemoryStore
from tasks.stores.protocols import ArtifactStore, AsyncArtifactStore
from tasks.stores.remote import FsspecStore, open_store

__all__ = ["ArtifactStore", "AsyncArtifactStore", "FolderStore", "FsspecStore", "MemoryStore", "open_store"]
