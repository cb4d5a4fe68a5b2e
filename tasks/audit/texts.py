"""The texts that a build wrote, in the portions that an auditor looks at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tasks.credential_values import BARRIER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CUT = f"\n{BARRIER}\n"
"""What stands for a text that was taken out: no rule reads over it, and no text holds it."""


def without(prompt: str, texts: Iterable[tuple[str | None, bool]]) -> str:
    """A prompt without some of its selected texts, which are looked at elsewhere.

    Args:
        prompt: the whole prompt.
        texts: all selected texts in the order of the prompt, each with whether it stays.

    Returns:
        The prompt with `CUT` for each text that goes. A text that is not found after the one before it stays: so does
        whatever a prompt holds beyond its rows.
    """
    pieces, done, place = [], 0, 0
    for text, stays in texts:
        found = prompt.find(text, place) if text else -1
        if text and found >= 0:
            place = found + len(text)
            if not stays:
                pieces.append(prompt[done:found])
                done = place
    return CUT.join([*pieces, prompt[done:]])


def manifest_strings(value: Any) -> Iterator[str]:  # noqa: ANN401 - whatever JSON holds
    """Every string of a decoded JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from manifest_strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from manifest_strings(inner)
