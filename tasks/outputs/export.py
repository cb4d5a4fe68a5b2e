"""A build's contexts in the forms that others take: ZERG's task graph, Markdown files, JSON lines, a session's hook.

Whatever is exported comes from the finished prompts, so nothing that was kept out of them can come back.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from tasks.errors import BuildMissingError, ExportError
from tasks.exported import exported
from tasks.outputs.graph_text import NotAGraphError, decode_graph, feature_in, fill_contexts, tasks_in
from tasks.outputs.names import file_places, file_stem
from tasks.outputs.reader import PROMPT_COLUMNS
from tasks.outputs.zerg import zerg_context
from tasks.outputs.zerg_launch import launch_problems, launch_risks, summed_up
from tasks.regular import read_regular
from tasks.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tasks.outputs.reader import BuildFolder

FORMATS = ("zerg", "markdown", "jsonl", "claude")

#: Where ZERG's workers look for their task graph.
ZERG_GRAPH = "ZERG_TASK_GRAPH"

#: The task whose context a session starts with.
TASK_VARIABLE = "PREBRIEF_TASK"

#: What Claude Code takes in from one hook; of more it shows the first 2,000 and a file's name.
HOOK_CHARACTERS = 10_000

_SUFFIX = ".prebrief.json"
_ONLY_GRAPHS = "Plans of other tools have no ZERG form; they go out as markdown, jsonl or claude."


@dataclass(frozen=True)
class GraphFile:
    """A graph of a build as it lies on disk: `graph` is its name in the build; `same` whether it is what was built."""

    path: Path
    graph: str
    text: str
    same: bool


@dataclass
class Exported:
    """What was written, how many tasks got a context, kept their own or have none, and what to know about it.

    `replaced` counts those among the first whose own context was no text.
    """

    written: list[str] = field(default_factory=list)
    filled: int = 0
    kept: int = 0
    missing: int = 0
    replaced: int = 0
    warnings: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return asdict(self)


# ---- ZERG -------------------------------------------------------------------------------------------------------


def export_zerg(
    folder: BuildFolder,
    *,
    named: Sequence[Path] = (),
    out: Path | None = None,
    overwrite: bool = False,
    in_place: bool = False,
    environment: Mapping[str, str] | None = None,
) -> Exported:
    """Writes each graph of a build with the `context` of its tasks filled in, all else as it was.

    A graph goes to `out`, else to the path that `ZERG_TASK_GRAPH` names, else beside the original as
    `NAME.prebrief.json`; with several graphs `out` is a folder. The original is only ever replaced `in_place`. Each
    context begins with a line that tells it from a planner's, see `tasks.exported`.

    Args:
        folder: The build.
        named: The graphs, where they are not the unchanged files that the manifest lists, from the working folder.
        out: Where to write.
        overwrite: Put contexts in the place of those that planners wrote, too.
        in_place: Write over the originals.
        environment: Where `ZERG_TASK_GRAPH` may stand; the process's own by default.

    Raises:
        ExportError: no graph is found, or the place to write to is an original or that of another graph, or cannot
            be written.
    """
    done = Exported()
    variable = (os.environ if environment is None else environment).get(ZERG_GRAPH, "").strip()
    graphs = _graphs(folder, named, done)
    if in_place:
        targets = _originals(graphs, out, variable, done)
    else:
        if out is not None or variable:
            graphs = _each_once(graphs)
        targets = _targets(graphs, out, variable)
    for graph, target in zip(graphs, targets, strict=True):
        _export_graph(folder, graph, target, done, overwrite=overwrite)
    return done


def _export_graph(folder: BuildFolder, graph: GraphFile, target: Path, done: Exported, *, overwrite: bool) -> None:
    rows = folder.tasks.filter(pl.col("graph") == graph.graph).to_dicts()
    contexts = {row["task_id"]: exported(context) for row in rows if (context := zerg_context(folder, row))}
    result = fill_contexts(graph.text, contexts, overwrite=overwrite)
    ids = [task.task_id for task in tasks_in(result.text)]
    bare = [name for name in ids if name not in {*result.filled, *result.kept}]
    done.filled += len(result.filled)
    done.kept += len(result.kept)
    done.missing += len(bare)
    done.replaced += len(result.odd)
    if bare:
        done.warnings.append(f"{graph.path}: no context for {_listed(bare)}; see prebrief show.")
    if result.odd:
        done.warnings.append(f"{graph.path}: replaced what was no text as the context of {_listed(result.odd)}.")
    if not graph.same:
        done.warnings.append(f"{graph.path}: it is not what was built; build it again for contexts that fit.")
    content = json.loads(result.text)
    if problems := launch_problems(content):
        done.warnings.append(f"{graph.path}: ZERG would refuse to launch it: {summed_up(problems)}")
    if risks := launch_risks(content):
        done.warnings.append(f"{graph.path}: ZERG would not mind, but see to it: {summed_up(risks)}")
    write_file(target, result.text.encode("utf-8", "surrogatepass"))
    done.written.append(str(target))


def _graphs(folder: BuildFolder, named: Sequence[Path], done: Exported) -> list[GraphFile]:
    """The graphs that were named, else those of the manifest that lie there unchanged, by their names in the build."""
    known = set(folder.tasks["graph"])
    listed = {row["path"]: row["sha256"] for row in folder.manifest.get("inputs", ())}
    if named:
        once: dict[Path, Path] = {}
        for path in named:
            once.setdefault(path.resolve(), path)
        return [_named_graph(path, folder, set(listed.values())) for path in once.values()]
    found: dict[str, GraphFile] = {}
    for label, digest in sorted(listed.items()):
        data = _unchanged(Path(label), digest)
        if data is None:
            continue
        try:
            text = decode_graph(data)
            graph = _graph_of(text, label, digest, folder)
        except NotAGraphError:
            continue
        if graph is not None and graph not in found:
            found[graph] = GraphFile(Path(label), graph, text, same=True)
    if not found:
        raise ExportError(
            f"no graph of build {folder.root.name} lies here as it was built; run this where it was built, build it "
            f"again, or name the files with --graph. {_ONLY_GRAPHS}"
        )
    if missing := sorted(known - found.keys()):
        where = f"not here as they were built, and left out: {_listed(missing)}; name them with --graph."
        done.warnings.append(f"{where} {_ONLY_GRAPHS}")
    return [found[graph] for graph in sorted(found)]


def _named_graph(path: Path, folder: BuildFolder, digests: set[str]) -> GraphFile:
    try:
        data = read_regular(path)
        text = decode_graph(data)
        digest = hashlib.sha256(data).hexdigest()
        graph = _graph_of(text, path.as_posix(), digest, folder)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise ExportError(f"{path} cannot be read ({why}); name a task graph of the build.") from error
    if graph is None:
        known = _listed(sorted(set(folder.tasks["graph"])))
        raise ExportError(f"{path} is no graph of build {folder.root.name}, which has {known}; build it first.")
    return GraphFile(path, graph, text, same=digest in digests)


def _unchanged(path: Path, digest: str) -> bytes | None:
    """The bytes of an input that lies below the working folder as it was read."""
    if path.is_absolute() or ".." in path.parts:
        return None
    try:
        data = read_regular(path)
    except OSError:
        return None
    return data if hashlib.sha256(data).hexdigest() == digest else None


def _graph_of(text: str, label: str, digest: str, folder: BuildFolder) -> str | None:
    """The name in the build of a graph's text: its feature, or its folder's name, with its hash where several have it.

    Raises:
        NotAGraphError: it is no JSON.
    """
    ids = {task.task_id for task in tasks_in(text)}
    parent, _, name = label.rpartition("/")
    place = parent.rpartition("/")[2].strip(".") or name.rpartition(".")[0] or name
    feature = feature_in(text) or one_line(place)
    for graph in (f"{feature}@{digest[:8]}", feature):
        if not ids.isdisjoint(folder.tasks.filter(pl.col("graph") == graph)["task_id"]):
            return graph
    return None


def _each_once(graphs: Sequence[GraphFile]) -> list[GraphFile]:
    """The graphs without copies of one that was named before: together they have one place."""
    once: dict[tuple[str, str], GraphFile] = {}
    for graph in graphs:
        once.setdefault((graph.graph, graph.text), graph)
    return list(once.values())


def _originals(graphs: Sequence[GraphFile], out: Path | None, variable: str, done: Exported) -> list[Path]:
    """The graphs' own places."""
    if out is not None:
        raise ExportError("--in-place writes over the graph itself and --out elsewhere; give one of them.")
    if variable and not any(_is_same(Path(variable), graph.path) for graph in graphs):
        done.warnings.append(f"{ZERG_GRAPH} names {variable}, which was not written: --in-place goes before it.")
    return [graph.path for graph in graphs]


def _targets(graphs: Sequence[GraphFile], out: Path | None, variable: str) -> list[Path]:
    """Where each graph is written, no two at one place."""
    if out is not None and (len(graphs) > 1 or out.is_dir()):
        targets = [out / file_stem(graph.graph) / "task-graph.json" for graph in graphs]
    elif out is not None:
        targets = [out]
    elif variable and len(graphs) > 1:
        raise ExportError(
            f"{ZERG_GRAPH} names one file, and the build has {len(graphs)} graphs; name one with --graph."
        )
    elif variable:
        targets = [Path(variable)]
    else:
        targets = [graph.path.with_name(f"{graph.path.name.removesuffix('.json')}{_SUFFIX}") for graph in graphs]
    for target in targets:
        if any(_is_same(target, graph.path) for graph in graphs):
            raise ExportError(f"{target} is the graph itself; add --in-place to write over it, or name another --out.")
    taken: dict[Path, Path] = {}
    for graph, target in zip(graphs, targets, strict=True):
        if (other := taken.setdefault(target.resolve(), graph.path)) != graph.path:
            raise ExportError(f"{other} and {graph.path} would both go to {target}; export them one by one.")
    return targets


def _is_same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve() or (one.exists() and one.samefile(other))


# ---- other forms ------------------------------------------------------------------------------------------------


def export_markdown(folder: BuildFolder, out: Path) -> Exported:
    """Writes each prompt as `out/<graph>/<task>.md`, byte for byte.

    Raises:
        ExportError: `out` cannot be written.
    """
    done = Exported()
    places = file_places(folder.tasks.select("graph", "task_id").iter_rows())
    bare: list[str] = []
    for graph, task_id, prompt in folder.tasks.select("graph", "task_id", "prompt").iter_rows():
        if prompt is None:
            bare.append(f"{graph}/{task_id}")
            continue
        target = out / f"{places[graph, task_id]}.md"
        write_file(target, prompt.encode())
        done.written.append(str(target))
    done.filled, done.missing = len(done.written), len(bare)
    if bare:
        done.warnings.append(f"no prompt, and so no file, for {_listed(bare)}; run: prebrief why TASK.")
    return done


def export_jsonl(folder: BuildFolder, out: Path) -> Exported:
    """Writes the rows of all tasks to one file.

    Raises:
        ExportError: `out` cannot be written.
    """
    write_file(out, "".join(jsonl_rows(folder)).encode())
    bare = folder.tasks["prompt"].null_count()
    return Exported(written=[str(out)], filled=len(folder.tasks) - bare, missing=bare)


def jsonl_rows(folder: BuildFolder) -> Iterator[str]:
    """One JSON object a task, each on its line; `prompt` is null where a task has none."""
    for row in folder.tasks.select(*PROMPT_COLUMNS, "message").iter_rows(named=True):
        yield json.dumps(row, ensure_ascii=False) + "\n"


def hook_answer(folder: BuildFolder, task: str, part: int | None = None) -> dict[str, Any] | None:
    """The answer of a `SessionStart` hook of Claude Code with a task's context; None where there is none to give.

    Args:
        folder: The build.
        task: The task's id, or `graph/id`.
        part: From 1; of a prompt in pieces that Claude Code takes in whole, cut at paragraphs, this one. None: all.

    Raises:
        ExportError: several graphs have a task of that id.
    """
    try:
        prompt = folder.task(task)["prompt"]
    except BuildMissingError:
        graphs = folder.tasks.filter(pl.col("task_id") == task)["graph"].to_list()
        if len(graphs) > 1:
            names = _listed([f"{graph}/{task}" for graph in graphs])
            raise ExportError(f"{len(graphs)} graphs have a task {task!r}; name it graph/id: {names}.") from None
        return None
    if prompt is None:
        return None
    pieces = _pieces(prompt) if part is not None else [prompt]
    if part is not None and not 0 < part <= len(pieces):
        return None
    return _answer(pieces[part - 1 if part is not None else 0])


def hook_parts(folder: BuildFolder) -> int:
    """How many parts the longest prompt of a build has; so many hooks show every context whole."""
    return max((len(_pieces(prompt)) for prompt in folder.tasks["prompt"].drop_nulls()), default=0)


def _answer(context: str) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": context}}


def _fits(context: str) -> bool:
    """Whether the whole answer, as it is printed, is short enough; characters count as JavaScript counts them."""
    return len(json.dumps(_answer(context), ensure_ascii=False).encode("utf-16-le")) // 2 < HOOK_CHARACTERS


def _pieces(prompt: str) -> list[str]:
    """A prompt in as few pieces as fit, cut at paragraphs, else at lines, else anywhere; joined they are the prompt."""
    pieces: list[str] = []
    rest = prompt
    while rest and not _fits(rest):
        low, high = 1, len(rest)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if _fits(rest[:middle]) else (low, middle - 1)
        cut = max(rest.rfind("\n\n", 0, low) + 2, 0) if rest.rfind("\n\n", 0, low) > 0 else rest.rfind("\n", 0, low) + 1
        cut = cut or low
        pieces.append(rest[:cut])
        rest = rest[cut:]
    return [*pieces, rest] if rest else pieces


# ---- writing ----------------------------------------------------------------------------------------------------


def write_file(path: Path, data: bytes) -> None:
    """Writes a file in one step; a link's target is written, and a file that was there keeps its mode.

    Raises:
        ExportError: it cannot be written.
    """
    try:
        path = path.resolve() if path.is_symlink() else path
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", dir=path.parent)
        part = Path(name)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
            part.chmod(mode)
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise ExportError(f"{path} cannot be written ({why}); name another --out.") from error


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _listed(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
