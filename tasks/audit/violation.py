"""What an audit finds, and the shape that all its checks have."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasks.audit.reading import Build, Context


class Violation(NamedTuple):
    """One promise that a build breaks."""

    check: str
    """The check that found it, by its stable name."""
    where: str
    """The file, by its path in the build folder."""
    message: str
    """What is wrong there, one sentence without what is confidential."""


class Check:
    """One concept of an audit, made for one build: the build as a whole, each context file in turn, and the rest.

    A check that compares files with what all contexts share builds its index in `__init__` or when first asked.
    """

    name: ClassVar[str]

    def __init__(self, build: Build) -> None:
        self.build = build

    def of_build(self) -> Iterator[Violation]:
        """What is wrong with the build's frames and files."""
        yield from ()

    def of_context(self, context: Context) -> Iterator[Violation]:  # noqa: ARG002 - for those that look at contexts
        """What is wrong with one task's context file."""
        yield from ()

    def of_rest(self) -> Iterator[Violation]:
        """What is wrong with the parts of prompts that no readable context accounted for; asked last."""
        yield from ()

    def found(self, where: str, message: str) -> Violation:
        """A violation of this check."""
        return Violation(self.name, where, message)
