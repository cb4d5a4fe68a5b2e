"""Where the files that ship with prebrief are found."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def bundled_rules() -> Path:
    """The folder of bundled rules: inside the package when installed from a wheel, else the checkout's `rules/`."""
    installed = _PACKAGE / "bundled" / "rules"
    return installed if installed.is_dir() else _PACKAGE.parent / "rules"
