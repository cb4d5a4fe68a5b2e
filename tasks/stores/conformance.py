"""What every store must do, as checks that any test runner can run: no framework is needed.

    from tasks.stores.conformance import CHECKS, check_store

    check_store(make_store)                        # every check, each on a fresh store
    @pytest.mark.parametrize("check", CHECKS)      # or one test a check
    def test_my_store(check): check(make_store())

`check_async_store` runs the same checks on an async store. A check raises `AssertionError` where a store falls short.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tasks.errors import ArtifactConflictError, ArtifactMissingError, HandleError, PrebriefError
from tasks.stores.bridge import BridgedStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasks.stores.protocols import ArtifactStore, AsyncArtifactStore

_HANDLES = (
    "artifact:log/tc1",
    "../../etc/passwd",
    "/absolute",
    "C:\\windows",
    "a/../b",
    ".",
    " ",
    "CASE",
    "case",
    "per%20cent",
    "new\nline and \x00 nul",
    "数据库/парсер/é",
    "long/" + "x" * 5000,
)


def check_store(make: Callable[[], ArtifactStore]) -> None:
    """Runs every check, each on a store that `make` gives, which must be empty."""
    for check in CHECKS:
        check(make())


def check_async_store(make: Callable[[], AsyncArtifactStore], timeout: float = 60.0) -> None:
    """The same for an async store; its operations are awaited on an event loop in another thread."""
    for check in CHECKS:
        check(BridgedStore(make(), timeout))


def gives_back_what_was_put(store: ArtifactStore) -> None:
    """Bytes of every kind come back as they were; put returns their SHA-256."""
    for number, data in enumerate((b"", b"text", bytes(range(256)), b"\r\n\x00", b"x" * 300_000)):
        handle = f"artifact:{number}"
        _equal(store.put(handle, data), hashlib.sha256(data).hexdigest(), "put returns the SHA-256")
        _equal(store.get(handle), data, "get returns what was put")
        _equal(type(store.get(handle)), bytes, "get returns bytes")
        _is(store.exists(handle), True, "what was put exists")


def takes_any_text_as_a_handle(store: ArtifactStore) -> None:
    """Handles are told apart exactly, and none leads anywhere."""
    for handle in _HANDLES:
        store.put(handle, handle.encode())
    for handle in _HANDLES:
        _equal(store.get(handle), handle.encode(), f"{handle[:40]!r} keeps its own content")
    _equal(store.list(), sorted(_HANDLES), "list names each handle as it was given")


def refuses_what_is_no_handle(store: ArtifactStore) -> None:
    """The empty text and half a surrogate pair."""
    for handle in ("", "half \ud800"):
        for operation in (lambda name: store.put(name, b"x"), store.get, store.exists, store.delete):
            _raises(HandleError, operation, handle)
    _equal(store.list(), [], "nothing was kept")


def puts_the_same_twice(store: ArtifactStore) -> None:
    """The same content under the same handle changes nothing."""
    _equal(store.put("a", b"1"), store.put("a", b"1"), "put again returns the same hash")
    _equal(store.list(), ["a"], "there is one handle")


def never_overwrites(store: ArtifactStore) -> None:
    """Other content under a handle is refused, and the first stays."""
    store.put("a", b"1")
    _raises(ArtifactConflictError, lambda handle: store.put(handle, b"2"), "a")
    _equal(store.get("a"), b"1", "the first content stays")


def misses_what_is_not_there(store: ArtifactStore) -> None:
    """Of an unknown handle `get` and `delete` raise, and `exists` says no."""
    store.put("a", b"1")
    _raises(ArtifactMissingError, store.get, "b")
    _raises(ArtifactMissingError, store.delete, "b")
    _is(store.exists("b"), False, "what was never put does not exist")


def lists_in_order(store: ArtifactStore) -> None:
    """Sorted by code point, whatever the order of puts; a prefix narrows it literally."""
    for handle in ("b/2", "a/1", "b/10", "é", "B/1", "b%/1", "b/*"):
        store.put(handle, b"same")
    _equal(store.list(), ["B/1", "a/1", "b%/1", "b/*", "b/10", "b/2", "é"], "list is sorted")
    _equal(store.list("b/"), ["b/*", "b/10", "b/2"], "list takes a prefix")
    _equal(store.list("b/*"), ["b/*"], "a prefix is no pattern")
    _equal(store.list("c"), [], "nothing begins so")


def deletes_one_and_no_other(store: ArtifactStore) -> None:
    """Equal content under another handle stays; the handle is free again."""
    store.put("a", b"same")
    store.put("b", b"same")
    store.delete("a")
    _is(store.exists("a"), False, "what was deleted is gone")
    _raises(ArtifactMissingError, store.get, "a")
    _raises(ArtifactMissingError, store.delete, "a")
    _equal(store.get("b"), b"same", "equal content under another handle stays")
    store.put("a", b"other")
    _equal(store.get("a"), b"other", "a deleted handle takes new content")
    store.delete("b")
    _equal(store.list(), ["a"], "one is left")


def serves_many_threads(store: ArtifactStore) -> None:
    """Puts from many threads are all kept, and of rivals for one handle exactly one wins."""

    def rival(number: int) -> bool:
        try:
            store.put("rivals", str(number).encode())
        except ArtifactConflictError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        hashes = list(pool.map(lambda number: store.put(f"t/{number:02}", b"%d" % (number % 3)), range(24)))
        won = list(pool.map(rival, range(8)))
    _equal(len(set(hashes)), 3, "equal contents have one hash")
    _equal(store.list("t/"), [f"t/{number:02}" for number in range(24)], "all were kept")
    _equal(sum(won), 1, "one rival wins")
    _equal(store.get("rivals"), str(won.index(True)).encode(), "and its content is there")


CHECKS: tuple[Callable[[ArtifactStore], None], ...] = (
    gives_back_what_was_put,
    takes_any_text_as_a_handle,
    refuses_what_is_no_handle,
    puts_the_same_twice,
    never_overwrites,
    misses_what_is_not_there,
    lists_in_order,
    deletes_one_and_no_other,
    serves_many_threads,
)


def _is(found: object, wanted: bool, law: str) -> None:
    if found is not wanted:
        raise AssertionError(f"{law}: found {str(found)[:200]}, wanted {wanted}")


def _equal(found: object, wanted: object, law: str) -> None:
    if found != wanted:
        raise AssertionError(f"{law}: found {str(found)[:200]}, wanted {str(wanted)[:200]}")


def _raises(error: type[PrebriefError], operation: Callable[[str], object], handle: str) -> None:
    try:
        operation(handle)
    except error:
        return
    raise AssertionError(f"{error.__name__} must be raised for {handle!a}")
