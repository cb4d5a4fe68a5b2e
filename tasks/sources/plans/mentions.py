"""The files that the text of a task names, where a plan has no field for them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tasks.sources.plans.parsed import parsed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

#: Suffixes by which a word is known as the name of a file. None that a host, an abbreviation or a method often ends in.
_SUFFIXES = frozenset(
    """
    astro bash bat bzl c cc cfg clj cljs cmake conf cpp cs csproj css csv cts cu cxx dart dockerfile ejs erb ex exs
    fish fs fsx gd gemspec go gql gradle graphql groovy h haml hbs heex hh hpp hs htm html hxx ini ipynb j2 java jinja
    jl js json json5 jsonc jsonl jsx kt kts less lua m md mdc mdx mjs ml mm mts nim nix pbxproj php pl plist plugin
    prisma proto ps1 psd1 psm1 pug pxd py pyi pyx qml r rake rb resx rmd rs rst sass scala scm scss sh sln sol sql
    storyboard svelte svg swift tcl template tex tf tfvars tmpl toml tpl ts tsv tsx txt typ v vb vue wgsl xaml xcconfig
    xib xml yaml yml zig zsh
    """.split()  # noqa: SIM905 - words, not a list
)
_NAMES = frozenset(
    """brewfile containerfile dockerfile gemfile jenkinsfile justfile makefile podfile procfile rakefile
    vagrantfile""".split()  # noqa: SIM905
)
_ANYWHERE = frozenset({"cfg", "conf", "ini", "json", "md", "toml", "txt", "yaml", "yml"})
#: Names of products that look like files when they stand bare.
_PRODUCT = re.compile(r"(?:[A-Z][A-Za-z0-9]*|d3|ember|next|node|nuxt|p5|p5|react|three|vue)\.(?:js|ts|md)", re.ASCII)
_DOCUMENTS = re.compile(r"[A-Z][A-Z0-9_-]*\.md", re.ASCII)  # README.md, CHANGELOG.md
_MACHINE = re.compile(r"(?:/(?:home|Users|usr|tmp|var|etc|opt|proc|dev|root|private|mnt|nix)/|~|[A-Za-z]:[\\/])")
_HOST = re.compile(r"(?:[\w-]+\.)+(?:com|dev|net|org)/", re.ASCII | re.IGNORECASE)  # an address without its scheme
_URL = re.compile(r"\b[a-z][a-z0-9+.-]{0,30}://[^\s<>)\]]+", re.IGNORECASE)
_WORD = re.compile(r"`+[ \t]?([^`\n]+?)[ \t]?`+|([\w.@~+/\\-][\w.@~+/\\:#()\[\]-]*)")
_WORTH_IT = re.compile(r"[`/\\]|\.\w|file", re.IGNORECASE)  # a line without any of it names no path
_PATH = re.compile(r"(?:\./)?[\w.@~+()\[\]-]+(?:/[\w.@~+()\[\]-]+)*")
_PLACE = re.compile(r"(?:#L\d+(?:-L?\d+)?|(?::\d+){1,2}(?:-\d+)?)\Z", re.ASCII)
_AFTER = re.compile(
    r"[`*_]*[ \t]*\((new|create[ds]?|add(?:ed)?|delete[ds]?|remove[ds]?|read[ -]?only|read)\b", re.IGNORECASE
)
_CREATING = re.compile(
    r"(?:^|[.;:!?][ \t]+|^[ \t]*(?:[-*+]|\d+[.)])[ \t]+|\bthen[ \t]+)"
    r"(?:\*\*)?(?:create|generate|scaffold|new files?)\b(?:[^.;!?]|\.(?=\S))*$",
    re.IGNORECASE,
)
_CASES = (("read", "files_read"), ("delete", "files_delete"), ("remove", "files_delete"))
_PATTERN = ("*", "}", ">", "%")  # `*_test.go` and `{name}/index.ts` stand for many files, and their ends for none
_LONGEST = 200
_BEFORE = 160  # characters before a path in which the verb that it belongs to is looked for


@dataclass(frozen=True)
class Mentioned:
    """The files that a text names, by what is done to them; `unsure` are words that are paths if it exists."""

    columns: dict[str, list[str]] = field(default_factory=dict)
    unsure: frozenset[str] = frozenset()


def mentioned(texts: Iterable[str], known: Collection[str] = frozenset()) -> Mentioned:
    """The files named in the texts of a task: with a suffix or name of files, or known to be in the repository.

    Code in fences, addresses and absolute paths of machines are passed over; a leading slash stands for the root of the
    repository. What is marked as new, or follows «Create …» in its sentence, is created; all else is modified unless
    marked as read or deleted.

    Returns:
        `columns` for the tasks frame: those of files by what is done, and all of them in `files_inferred`.
    """
    found: dict[str, str] = {}
    unsure: set[str] = set()
    for text in texts:
        for path, sure, column in _paths(_without_code(text)):
            if sure or path in known:
                if found.get(path, "files_modify") == "files_modify":
                    found[path] = column
            elif "." not in path.rsplit("/", 1)[-1][:1]:
                unsure.add(path)
    _join_bare_names(found, known)
    columns = {
        name: [path for path, column in found.items() if column == name]
        for name in ("files_create", "files_modify", "files_read", "files_delete")
    }
    return Mentioned(columns | {"files_inferred": list(found)}, frozenset(unsure))


def _join_bare_names(found: dict[str, str], known: Collection[str]) -> None:
    """A source file without its folder is the one of that name that the same texts give with it.

    Documents and settings such as `README.md` and `package.json` lie in many folders and at the top, too.
    """
    in_folders = {path.rsplit("/", 1)[1]: path for path in reversed(found) if "/" in path}
    for name in [name for name in found if name in in_folders and name not in known]:
        if name.rpartition(".")[2].lower() in _ANYWHERE or name.lower() in _NAMES:
            continue
        column, path = found.pop(name), in_folders[name]
        if found[path] == "files_modify":
            found[path] = column


def _without_code(text: str) -> str:
    if "```" not in text and "~~~" not in text:
        return text
    lines = text.split("\n")
    for token in parsed(text):
        if token.type == "fence" and token.map is not None:
            lines[token.map[0] : token.map[1]] = [""] * (token.map[1] - token.map[0])
    return "\n".join(lines)


def _paths(text: str) -> Iterator[tuple[str, bool, str]]:
    """Each word that may be a path, whether its form says so, and what is done to it."""
    for line in _URL.sub(lambda found: " " * len(found[0]), text).split("\n"):
        if not _WORTH_IT.search(line):
            continue
        for word in _WORD.finditer(line):
            quoted = word[1] is not None
            if not quoted and not _may_be_path(word[2]):
                continue
            path = _plain(word[1] if quoted else word[2])
            if path is None or (word[0][0] in "-_./" and line[max(0, word.start() - 1) : word.start()] in _PATTERN):
                continue
            name = path.rsplit("/", 1)[-1]
            sure = _is_file_name(name) and (quoted or "/" in path or _stands_alone(name))
            if sure or quoted or "/" in path:
                yield path, sure, _column(line, word)


def _may_be_path(word: str) -> bool:
    """Whether a bare word is worth a closer look: most are not."""
    return "/" in word or "\\" in word or "." in word[:-1] or "file" in word.lower()


def _plain(word: str) -> str | None:
    """A word as a relative path, without the line that it points to; None where it can be none."""
    word = word.strip().replace("\\", "/")
    if len(word) > _LONGEST or word.startswith("-") or _MACHINE.match(word) or _HOST.match(word):
        return None
    word = word.rpartition("](")[2]
    word = _PLACE.sub("", word.rstrip(".,;:!?\"'")).lstrip("/")
    word = word.removeprefix("./")
    while word.endswith((")", "]")) and word.count("(") + word.count("[") < word.count(")") + word.count("]"):
        word = word[:-1].rstrip(".,;:")
    for opening, closing in ("()", "[]"):  # as in `load(src/a.py`
        while word.count(opening) > word.count(closing):
            word = word[word.index(opening) + 1 :]
    parts = word.split("/")
    if not _PATH.fullmatch(word) or ".." in parts or "." in parts:
        return None
    return word if any(character.isalpha() for character in word) else None


def _is_file_name(name: str) -> bool:
    stem, dot, suffix = name.rpartition(".")
    if name.lower() in _NAMES or name.startswith(".env"):
        return True
    return bool(dot and stem.strip(".") and suffix.lower() in _SUFFIXES and not stem.endswith("("))


def _stands_alone(name: str) -> bool:
    """Whether a bare name without a folder is one of a file, not of a product or a word."""
    return not _PRODUCT.fullmatch(name) or bool(_DOCUMENTS.fullmatch(name))


def _column(line: str, word: re.Match[str]) -> str:
    if after := _AFTER.match(line, word.end()):
        said = after[1].lower()
        return next((column for start, column in _CASES if said.startswith(start)), "files_create")
    before = line[max(0, word.start() - _BEFORE) : word.start()]
    return "files_create" if _CREATING.search(before) else "files_modify"
