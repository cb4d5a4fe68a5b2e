"""Ids that are unique in a build and stay the same while what they name does."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST = 200  # characters of a name in an id; a longer one is cut and told apart by a hash
_KEPT = 160
_RESERVED = {"%": "%25", "/": "%2F", "#": "%23"}


def digest(text: str | bytes, digits: int) -> str:
    """The first hex digits of the SHA-256 of a text."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:digits]


def shortened(name: str) -> str:
    """A name as it is, or, past 200 characters, its beginning and a hash of the whole."""
    return name if len(name) <= _LONGEST else f"{name[:_KEPT]}~{digest(name, 16)}"


def component(name: str) -> str:
    """A name as one part of an id: what separates parts is percent-encoded, so that two pairs never make one id."""
    return shortened("".join(_RESERVED.get(character, character) for character in name))


class Names:
    """Gives each thing a name of its own: the wanted one, or `name~2`, `name~3` … (with the given mark)."""

    def __init__(self, mark: str, reserved: Iterable[str] = ()) -> None:
        self._mark = mark
        self._reserved = frozenset(reserved)  # names that things will ask for themselves
        self._taken: set[str] = set()
        self._counts: dict[str, int] = {}

    def claim(self, name: str) -> str:
        """The name that a thing asks for, or the first numbered one that nobody has or will ask for."""
        return self._free(name, name)

    def invent(self, name: str) -> str:
        """The same for a thing that asks for none: it takes no name that another will ask for."""
        return self._free(name, None)

    def _free(self, name: str, asked: str | None) -> str:
        unique, count = name, self._counts.get(name, 1)
        while unique in self._taken or (unique != asked and unique in self._reserved):
            count += 1
            unique = f"{name}{self._mark}{count}"
        self._counts[name] = count
        self._taken.add(unique)
        return unique
