"""What a build is: the hash of what went in, and the manifest that lists what came out."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from tasks.settings import Settings

MANIFEST = "manifest.json"
TIMINGS = "timings.parquet"

#: Packages whose release may change a byte of a build.
_PACKAGES = ("polars", "tiktoken", "bpe-openai", "markdown-it-py", "kingfisher-secret-scanner")


def build_id(inputs: Iterable[Mapping[str, Any]], settings: Settings) -> str:
    """16 hex characters of the hash of inputs (`path, sha256, bytes`), settings and prebrief's version."""
    from importlib.metadata import version  # here and below: whoever only looks for a build need not wait for it

    identity = {"inputs": sorted_by_path(inputs), "settings": settings.identity(), "prebrief": version("prebrief")}
    return hashlib.sha256(canonical(identity)).hexdigest()[:16]


def manifest(
    name: str, inputs: Iterable[Mapping[str, Any]], outputs: Iterable[Mapping[str, Any]], settings: Settings
) -> dict[str, Any]:
    """The manifest of a build: inputs and outputs as `path, sha256, bytes`; itself and the timings left out."""
    from importlib.metadata import version

    from tasks.plugins import plugin_versions

    counter = settings.tokens.counter
    return {
        "build_id": name,
        "prebrief": version("prebrief"),
        "inputs": sorted_by_path(inputs),
        "settings": settings.identity(),
        "versions": {package: version(package) for package in _PACKAGES} | plugin_versions(settings),
        "tokenizer": settings.tokens.tokenizer if counter == "tiktoken" else counter,
        "margin": settings.tokens.margin,
        "outputs": sorted_by_path(row for row in outputs if row["path"] not in (MANIFEST, TIMINGS)),
    }


def is_complete(folder: Path) -> bool:
    """Whether a folder holds a whole build: every file of its manifest is there with the hash listed, and no other."""
    try:
        if not (folder / MANIFEST).is_file():  # a pipe would be waited for
            return False
        listed = {row["path"]: row["sha256"] for row in json.loads((folder / MANIFEST).read_bytes())["outputs"]}
        present = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
        if present - {MANIFEST, TIMINGS} != listed.keys():
            return False
        return all(file_facts(folder / path)["sha256"] == digest for path, digest in listed.items())
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def file_facts(path: Path) -> dict[str, Any]:
    """`sha256` and `bytes` of a file."""
    data = path.read_bytes()
    return {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}


def sorted_by_path(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows as plain dicts, by path and hash."""
    return sorted((dict(row) for row in rows), key=lambda row: (row["path"], row["sha256"]))


def canonical(value: object) -> bytes:
    """JSON in one form only: sorted keys, no spaces, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
