"""What a file path says about the rules that its author needs. Names only; nothing is read."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: The scope that every task falls under.
CORE = "core"

#: What all engineering rules belong to, whichever files they apply to.
ENGINEERING = "engineering"

#: The scope of rules with globs that hold for every task, also for one without files.
EVERY_TASK = "glob:*"

#: Where a rule set keeps the rules of each scope, relative to its folder.
SCOPE_FILES: dict[str, str] = {
    CORE: "_core/owasp-2025.md",
    "cpp": "languages/cpp/CLAUDE.md",
    "csharp": "languages/csharp/CLAUDE.md",
    "docker": "containers/docker/CLAUDE.md",
    "github-actions": "cicd/github-actions/CLAUDE.md",
    "gitlab-ci": "cicd/gitlab-ci/CLAUDE.md",
    "go": "languages/go/CLAUDE.md",
    "helm": "containers/helm/CLAUDE.md",
    "java": "languages/java/CLAUDE.md",
    "javascript": "languages/javascript/CLAUDE.md",
    "julia": "languages/julia/CLAUDE.md",
    "kubernetes": "containers/kubernetes/CLAUDE.md",
    "pulumi": "iac/pulumi/CLAUDE.md",
    "python": "languages/python/CLAUDE.md",
    "r": "languages/r/CLAUDE.md",
    "ruby": "languages/ruby/CLAUDE.md",
    "rust": "languages/rust/CLAUDE.md",
    "sql": "languages/sql/CLAUDE.md",
    "svelte": "frontend/svelte/CLAUDE.md",
    "terraform": "iac/terraform/CLAUDE.md",
    "typescript": "languages/typescript/CLAUDE.md",
    "vue": "frontend/vue/CLAUDE.md",
}

_SUFFIXES: dict[tuple[str, ...], str] = {
    ("cpp",): "c cc cpp cxx h hh hpp hxx",
    ("csharp",): "cs csx",
    ("docker",): "dockerfile dockerignore",
    ("go",): "go",
    ("java",): "java",
    ("javascript",): "js mjs cjs jsx",
    ("javascript", "svelte"): "svelte",
    ("javascript", "typescript"): "ts tsx mts cts",
    ("javascript", "vue"): "vue",
    ("julia",): "jl",
    ("python",): "py pyx pyi pyw ipynb",
    ("r",): "r rmd",
    ("ruby",): "rb rake gemspec ru",
    ("rust",): "rs",
    ("sql",): "sql",
    ("terraform",): "tf tfvars",
}
_BY_SUFFIX = {suffix: scopes for scopes, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}

_YAML = r"\.ya?ml"
# A name that says more than its suffix: `Dockerfile.go` is an image, not Go.
_BY_NAME: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(rf"(?:dockerfile|containerfile)(?:\..+|\*)?|docker-compose.*{_YAML}|compose(?:\..+)?{_YAML}"),
        "docker",
    ),
    (re.compile(rf"kustomization{_YAML}"), "kubernetes"),
    (re.compile(rf"chart{_YAML}|values(?:[-.].+)?{_YAML}"), "helm"),
    (re.compile(rf"pulumi(?:\..+)?{_YAML}"), "pulumi"),
    (re.compile(r".*\.tf\.json"), "terraform"),
    (re.compile(rf"(?:.*\.)?gitlab-ci{_YAML}"), "gitlab-ci"),
    (re.compile(rf"action{_YAML}"), "github-actions"),
    (re.compile(r"gemfile|rakefile"), "ruby"),
)
_BY_FOLDER: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(rf"(?:^|.*/)\.github/workflows/[^/]+{_YAML}"), "github-actions"),
    (re.compile(rf"(?:^|.*/)\.gitlab/.*{_YAML}"), "gitlab-ci"),
    (re.compile(rf"(?:^|.*/)(?:helm|charts)/(?:.*/)?[^/]+(?:{_YAML}|\.tpl)"), "helm"),
    (re.compile(rf"(?:^|.*/)(?:k8s|kubernetes|kustomize)/(?:.*/)?[^/]+{_YAML}"), "kubernetes"),
)
_IMAGES = ("dockerfile", "containerfile")
_GLOB = "glob:"
_EVERYTHING = frozenset({"*", "**", "**/*"})
_CHOICE = re.compile(r"\{([^{}]*,[^{}]*)\}")
_MOST_CHOICES = 64  # of braces in one glob; a path that spells out more is no honest path


def scopes_of(path: str) -> tuple[str, ...]:
    """The scopes that a path falls under beside the core, sorted; none for a folder or an unknown suffix.

    The name decides, else the folder, else the suffix, all in lower case. The path need not exist; a glob counts by its
    suffix, one with braces (`*.{js,ts}`) by each of its readings.
    """
    found: set[str] = set()
    for reading in _readings(path.replace("\\", "/").lower()):
        found.update(_scopes(reading))
    return tuple(sorted(found))


def scopes_of_all(paths: Iterable[str]) -> tuple[str, ...]:
    """The scopes of all paths of a task, the core included, the core first."""
    found = {scope for path in paths for scope in scopes_of(path)}
    return (CORE, *sorted(found))


def glob_scope(globs: Iterable[str]) -> str:
    """The scope of rules that hold for the files that any of these globs matches; none, or one for all, is every task.

    `|` separates globs, so that one within a glob is read as an alternative.
    """
    wanted = sorted({_plain_glob(glob) for glob in globs} - {""})
    return f"{_GLOB}{'|'.join(wanted) if wanted and not set(wanted) & _EVERYTHING else '*'}"


def is_glob_scope(scope: str) -> bool:
    """Whether a scope is one of globs, not one of those that a path has by itself."""
    return scope.startswith(_GLOB)


def in_glob_scope(path: str, scope: str) -> bool:
    """Whether a path, or its base name, matches one of a scope's globs, whatever the case of letters.

    `*` and `?` stay within a part of the path, `**` spans parts, `{a,b}` is either; `src/` is all that lies below it.
    """
    parts = tuple(_plain_glob(path).lower().split("/"))
    for glob in scope.removeprefix(_GLOB).lower().split("|"):
        for reading in _readings(glob):
            pattern = tuple(reading.split("/"))
            if _matches(parts, pattern) or (len(pattern) == 1 and _matches(parts[-1:], pattern)):
                return True
    return False


def _plain_glob(glob: str) -> str:
    plain = glob.strip().replace("\\", "/").removeprefix("./").lstrip("/")
    return f"{plain}**" if plain.endswith("/") else plain


def _matches(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Parts of a path against those of a glob; time grows with the product of their numbers."""
    reached = {0}  # how many parts the globs so far can have taken
    for glob in pattern:
        if glob == "**":
            reached = set(range(min(reached), len(parts) + 1)) if reached else reached
        else:
            reached = {place + 1 for place in reached if place < len(parts) and fnmatchcase(parts[place], glob)}
    return len(parts) in reached


def _scopes(path: str) -> tuple[str, ...]:
    name = path.rsplit("/", 1)[-1]
    _, dot, suffix = name.rpartition(".")
    plain = _BY_SUFFIX.get(suffix, ()) if dot else ()
    if plain and not name.startswith(_IMAGES):  # of all names and folders that say more, only images may end so
        return plain
    named = tuple(scope for pattern, scope in _BY_NAME if pattern.fullmatch(name))
    placed = tuple(scope for pattern, scope in _BY_FOLDER if pattern.fullmatch(path))
    return named + placed or plain


def _readings(path: str) -> Iterator[str]:
    """The paths that a glob with braces stands for."""
    pending, given = [path], 0
    while pending and given < _MOST_CHOICES:
        reading = pending.pop()
        choice = _CHOICE.search(reading)
        if choice is None:
            given += 1
            yield reading
        elif len(pending) < _MOST_CHOICES:
            pending.extend(reading[: choice.start()] + part + reading[choice.end() :] for part in choice[1].split(","))
