"""Plans that were named: which file is meant, in which format it is, and what it says with the files beside it."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from tasks.errors import InputError
from tasks.regular import is_folder
from tasks.sources.documents import read_document
from tasks.sources.files import Allowance, InputFile, absolute, decode, exists, read_input, read_inside
from tasks.sources.findings import Row, finding
from tasks.sources.masking import MARKER, MASKED, strings_of
from tasks.sources.plans import default_format, formats, found_in, named_so, recognised
from tasks.sources.plans.plan import DOCUMENT_ROLES, TASK_TEXTS, GraphRead, PlanFormat, PlanSource, Role
from tasks.sources.values import UnreadableJsonError, parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tasks.settings import Settings


@dataclass(frozen=True)
class Plan:
    """A plan that was named, as its file was read: its bytes, or the finding that says why there are none."""

    path: Path
    times: int  # that it was named
    format: PlanFormat
    content: InputFile | Row

    @property
    def sha256(self) -> str | None:
        """The hash of its bytes."""
        return self.content.sha256 if isinstance(self.content, InputFile) else None

    @property
    def root(self) -> Path:
        """The folder that paths in the plan start from."""
        return self.format.root(self.path)


@dataclass(frozen=True)
class PlanFile:
    """A plan that was read: the graph, its own file first among all that it was read from, and its documents."""

    read: GraphRead
    files: tuple[InputFile, ...]
    source: PlanSource
    format: PlanFormat
    documents: tuple[tuple[str, InputFile], ...] = ()
    odd: tuple[Row, ...] = ()

    @cached_property
    def strings(self) -> tuple[str, ...]:
        """Every string of the plan, whole: its text, or those of the JSON values that it consists of, keys included."""
        documents = (read_document(file)[0].text for _, file in self.documents)
        return tuple(dict.fromkeys(chain(strings_in(self.source.text), documents)))

    def cleared(self, remains: Mapping[str, str]) -> GraphRead:
        """What the plan says, where these strings hold credentials and this remains of them."""
        if not remains:
            return self.read
        read = self.format.read(replace(self.source, cleared=remains))
        rows = [{**row, MASKED: _markers(row)} for row in read.rows]
        return replace(read, rows=rows, findings=[*self.odd, *read.findings])

    @property
    def label(self) -> str:
        """The name by which the build knows the plan's file."""
        return self.files[0].label


def named_plans(paths: Iterable[Path], settings: Settings, allowance: Allowance | None = None) -> list[Plan]:
    """The plans that files and folders mean, each once, whatever the order. Nothing is raised for an odd file.

    `allowance` is what a build may still read; without one, each file counts for itself.

    Raises:
        InputError: the settings name a format that there is not.
    """
    given, allowance = _format(settings), allowance or Allowance(settings.reading.max_bytes)
    meant: list[Path] = []
    for path in map(absolute, paths):
        meant += (found_in(path, given) if is_folder(path) else []) or [path]
    return [_plan(path, meant.count(path), given, allowance) for path in sorted(set(meant))]


def _format(settings: Settings) -> PlanFormat | None:
    name = settings.plan.format
    if name is not None and name not in formats():
        raise InputError(f"there is no plan format {name!r}; known are {', '.join(formats())}.")
    return None if name is None else formats()[name]


def _plan(path: Path, times: int, given: PlanFormat | None, allowance: Allowance) -> Plan:
    content = read_input(path, path.name, allowance)
    known = given
    if known is None and isinstance(content, InputFile):
        known = recognised(decode(content)[0]) or named_so(path)
    return Plan(path, times, known or default_format(), content)


def read_plan(
    plan: Plan, label_of: Callable[[Path], str], settings: Settings, allowance: Allowance | None = None
) -> tuple[PlanFile | None, list[Row]]:
    """What a plan says, and what is odd about its files; None where it cannot be read.

    Words of the plan that may be paths are looked up in the project. Those that are there count as an input of the
    build, `<plan>#paths`, since the outcome depends on them. `allowance` is that of `named_plans`.
    """
    label = label_of(plan.path)
    findings: list[Row] = []
    if plan.times > 1:
        findings.append(finding("info", "INPUT_REPEATED", label, "It was named more than once and read once."))
    if not isinstance(plan.content, InputFile):
        return None, [*findings, {**plan.content, "where": label}]
    file = replace(plan.content, label=label)
    text, odd = decode(file)
    companions = _companions(plan, label_of, allowance or Allowance(settings.reading.max_bytes), findings)
    source = PlanSource(file, text, companions, tag=settings.plan.tag)
    read = plan.format.read(source)
    files = [file, *(companion for role, companion in companions if role not in DOCUMENT_ROLES)]
    if paths := _existing(plan.root, read.mentions):
        files.append(InputFile.of(f"{label}#paths", "\n".join(paths).encode("utf-8", "surrogatepass")))
        source = replace(source, paths=frozenset(paths))
        read = plan.format.read(source)
    documents = tuple((role, companion) for role, companion in companions if role in DOCUMENT_ROLES)
    whole = replace(read, findings=odd + read.findings)
    return PlanFile(whole, tuple(files), source, plan.format, documents, tuple(odd)), findings


def strings_in(text: str) -> Iterator[str]:
    """The strings of a text that is JSON or lines of JSON, whole; of any other text, the text."""
    try:
        yield from _leaves(parse_json(text))
    except UnreadableJsonError:
        yield text
        for line in text.split("\n"):
            if line.lstrip()[:1] == "{":
                with suppress(UnreadableJsonError):
                    yield from _leaves(parse_json(line))


def _leaves(value: object) -> Iterator[str]:
    pending = [value]
    while pending:
        entry = pending.pop()
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, dict):
            yield from entry
            pending += entry.values()
        elif isinstance(entry, list):
            pending += entry


def _markers(row: Mapping[str, Any]) -> dict[str, int]:
    """How many credentials were masked in a task, by rule."""
    texts = [*strings_of([row], TASK_TEXTS), *(text["text"] for text in row["said"])]
    return dict(sorted(Counter(found[1] for text in texts for found in MARKER.finditer(text)).items()))


def _companions(
    plan: Plan, label_of: Callable[[Path], str], allowance: Allowance, findings: list[Row]
) -> Sequence[tuple[Role, InputFile]]:
    found: list[tuple[Role, InputFile]] = []
    for companion in plan.format.companions(plan.path):
        if not exists(companion.path):
            continue
        label = label_of(companion.path)
        if companion.left_out:
            message = f"It holds more documents than are read; the last {companion.left_out} were left out."
            findings.append(finding("warning", "PLAN_DOCUMENTS", label, message))
            continue
        file = read_inside(companion.path, companion.inside, label, allowance)
        if not isinstance(file, InputFile):
            findings.append(file)
        elif companion.role in DOCUMENT_ROLES and not decode(file)[0].strip():
            findings.append(finding("info", "SPEC_EMPTY", label, "It is empty and counts as missing."))
        else:
            found.append((companion.role, file))
    return found


def _existing(root: Path, mentions: Iterable[str]) -> list[str]:
    """Those of the words that are regular files of the project, sorted."""
    found: list[str] = []
    try:
        top = root.resolve()
        for word in sorted(mentions):
            path = root / word
            if path.is_file() and path.resolve().is_relative_to(top):
                found.append(word)
    except (OSError, RuntimeError, ValueError):
        return found
    return found
