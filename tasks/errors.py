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


class SystemRefusedError(PrebriefError):
    """The system refuses something that no other class names: what is printed cannot be written, a folder is gone."""

    code = "SYSTEM"


class BuildMissingError(PrebriefError):
    """There is no complete build, task or item under the given name."""

    code = "BUILD_MISSING"


class ArtifactRefusedError(PrebriefError):
    """A raw tool result is at or above the sensitivity floor, so it is not shown."""

    code = "ARTIFACT_REFUSED"


class CommandError(PrebriefError):
    """There is no command file of the given name, or it cannot be read or lies outside its folder."""

    code = "COMMAND"


class ExportError(PrebriefError):
    """A build cannot be exported as asked: an unknown format, a graph that is not there, a place not to write to."""

    code = "EXPORT"


class PluginError(PrebriefError):
    """A plugin is not installed, or is none. In a build it is a finding."""

    code = "PLUGIN"


class TrackingError(PrebriefError):
    """A session cannot be tracked: a size, window or threshold makes no sense, or its count cannot be kept."""

    code = "TRACKING"


class VocabularyError(PrebriefError):
    """A tokenizer's vocabulary is missing, damaged or unknown."""

    code = "VOCABULARY"


class StageError(PrebriefError):
    """Tasks broke a stage, and falling back to the full context was switched off."""

    code = "STAGE"


class ReentrantBuildError(PrebriefError):
    """A build was started from within a running build of the same builder, which would wait for itself."""

    code = "BUILD_REENTRANT"


class StoreError(PrebriefError):
    """A store of artifacts cannot be reached, or refuses what was asked of it."""

    code = "STORE"


class StoreTimeoutError(StoreError):
    """A store did not answer in time."""

    code = "STORE_TIMEOUT"


class HandleError(StoreError):
    """A text cannot be the handle of an artifact."""

    code = "STORE_HANDLE"


class ArtifactMissingError(StoreError):
    """A store has nothing under the given handle."""

    code = "ARTIFACT_MISSING"


class ArtifactConflictError(StoreError):
    """A store has other content under the given handle, and never overwrites."""

    code = "ARTIFACT_CONFLICT"


class ArtifactDamagedError(StoreError):
    """What a store holds under a handle is not what was put there."""

    code = "ARTIFACT_DAMAGED"
