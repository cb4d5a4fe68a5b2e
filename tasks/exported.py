"""Contexts that prebrief has put into a plan, told apart from those that planners wrote.

An export to the file that the next build reads would otherwise come back as a planner's words, and grow each time.
"""

from __future__ import annotations

import hashlib
import re

_DIGITS = 16  # of a hash that tells an edit from none; nobody gains by forging it
_MARKER = re.compile(rf"<!-- prebrief ([0-9a-f]{{{_DIGITS}}}) -->\n")


def exported(context: str) -> str:
    """A context with a first line that says whose it is: a comment with the hash of what follows.

    The line depends on the context alone, so exporting the same context again changes no byte.
    """
    return f"<!-- prebrief {_digest(context)} -->\n{context}"


def is_exported(context: object) -> bool:
    """Whether a context in a plan came from an export, edited since or not."""
    return isinstance(context, str) and _MARKER.match(context) is not None


def is_edited(context: str) -> bool:
    """Whether somebody changed an exported context, so that it holds words that are nowhere else."""
    found = _MARKER.match(context)
    return found is not None and found[1] != _digest(context[found.end() :])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
