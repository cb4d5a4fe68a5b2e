"""The errors that stop prebrief: few classes, each with a stable code and one sentence that says what to do next.

What is merely odd in an input is a finding, never an error.
"""

from __future__ import annotations


class PrebriefError(Exception):
    """Anything that prebrief refuses to do. `code` is stable; the message says what, where and what to do next."""

    code = "PREBRIEF"


class InputError(PrebriefError):
    """An input that a build cannot do without is missing or unreadable."""

    code = "INPUT"


class SettingsError(PrebriefError):
    """A setting, flag or settings file is wrong."""

    code = "SETTINGS"


class OutputError(PrebriefError):
    """A build cannot be written where it was asked for."""

    code = "OUTPUT"


class BuildMissingError(PrebriefError):
    """There is no complete build, task or item under the given name."""

    code = "BUILD_MISSING"


class VocabularyError(PrebriefError):
    """A tokenizer's vocabulary is missing, damaged or unknown."""

    code = "VOCABULARY"


class StageError(PrebriefError):
    """Tasks broke a stage, and falling back to the full context was switched off."""

    code = "STAGE"
