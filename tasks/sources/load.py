"""From the files of a build to its first batch: parsed, cleaned, free of credentials, counted and numbered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from tasks.batch import LEVELS, SECTIONS, Batch, Findings, Items, frame_of, number
from tasks.errors import InputError
from tasks.scopes import CORE, scopes_of_all
from tasks.sources.brief import brief_items
from tasks.sources.documents import Document, read_document
from tasks.sources.findings import Row, finding, shown
from tasks.sources.graph import TASK_TEXTS, GraphRead, named_apart, read_graph, settled
from tasks.sources.history import LOG_TEXTS, LogRead, history_items, read_log
from tasks.sources.identity import Names, digest
from tasks.sources.inputs import Inputs, Request, RuleFile, discover
from tasks.sources.masking import Masks, count_masked, credential_finding, strings_of
from tasks.sources.rules import rule_items
from tasks.sources.specs import spec_items
from tasks.tokens import token_counter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import polars as pl

    from tasks.settings import Settings

__all__ = ["Inputs", "Request", "discover", "load"]

_COLUMNS = tuple(name for name in Items.columns() if name != "item")
_WRITTEN = ("files_create", "files_modify")
_PLACES = {section: place for place, section in enumerate(SECTIONS)}


@dataclass(frozen=True)
class _Read:
    """What the files of a build say: its plans, the rules that these need, and by label the text of each document."""

    graphs: list[GraphRead]
    rules: list[RuleFile]
    logs: list[LogRead]
    documents: dict[str, Document]


def load(inputs: Inputs, settings: Settings) -> Batch:
    """The first batch of a build: all tasks, all items that any of them may need, all findings.

    Credentials are masked in whole texts before anything is cut, hashed, counted or named after them; `raw` alone keeps
    them. 10,000 events of 500 characters take about a second apart from masking and counting.

    Raises:
        InputError: no file holds a graph with a readable task.
    """
    findings = list(inputs.findings)
    read = _masked(_parsed(inputs, findings))
    tasks, odd = settled(read.graphs)
    findings += odd
    if tasks.is_empty():
        raise InputError(_no_graph(findings))
    rows = [
        *_rules(read, findings),
        *_specs(inputs, read, findings),
        *_briefs(tasks),
        *_history(read.logs, tasks, findings),
    ]
    return Batch(tasks=tasks, items=_items(rows, settings), findings=_findings(findings)).validate()


def _parsed(inputs: Inputs, findings: list[Row]) -> _Read:
    graphs = list(map(read_graph, inputs.graphs))
    needed = scopes_of_all(path for graph in graphs for row in graph.rows for name in _WRITTEN for path in row[name])
    rules = [rule for rule in inputs.rules if rule.scope in needed]
    documents: dict[str, Document] = {}
    for file in (*(spec.file for spec in inputs.specs), *(rule.file for rule in rules)):
        if file.label not in documents:
            documents[file.label], odd = read_document(file)
            findings += odd
    logs: dict[str, LogRead] = {}
    for log in map(read_log, inputs.logs):
        findings += log.findings
        if log.namespace in logs:
            message = f"It is the same as {logs[log.namespace].label}, and was read once."
            findings.append(finding("info", "LOG_REPEATED", log.label, message))
        else:
            logs[log.namespace] = log
    return _Read(graphs, rules, list(logs.values()), documents)


def _masked(read: _Read) -> _Read:
    """The same without credentials, every distinct text scanned once. Graphs of one name are told apart after it."""
    masks = Masks(
        chain(
            chain.from_iterable((label, document.text) for label, document in read.documents.items()),
            (graph.feature for graph in read.graphs),
            chain.from_iterable((log.label, log.namespace) for log in read.logs),
            *(strings_of(graph.rows, TASK_TEXTS) for graph in read.graphs),
            *(strings_of(log.rows, LOG_TEXTS) for log in read.logs),
        )
    )
    graphs = [
        replace(graph, feature=masks.of(graph.feature).text, rows=[masks.row(row, TASK_TEXTS) for row in graph.rows])
        for graph in read.graphs
    ]
    logs = [
        replace(
            log,
            label=masks.of(log.label).text,
            namespace=masks.of(log.namespace).text,
            rows=[masks.row(row, LOG_TEXTS) for row in log.rows],
        )
        for log in read.logs
    ]
    documents = {
        label: replace(document, label=masks.of(label).text).with_redaction(masks.of(document.text))
        for label, document in read.documents.items()
    }
    return _Read(named_apart(graphs), read.rules, logs, documents)


def _no_graph(findings: Iterable[Row]) -> str:
    """Why there is nothing to build, in one sentence."""
    failed = sorted(
        {row["where"] for row in findings if row["severity"] == "error" and row["code"] != "TASK_UNREADABLE"}
    )
    where = f"in {', '.join(failed)}" if failed else "among the inputs"
    return f"There is no readable task graph {where}; name a JSON file with a list of tasks."


# ---- rows of items, each with its `order` in the build ----------------------------------------------------------


def _rules(read: _Read, findings: list[Row]) -> Iterator[dict[str, Any]]:
    """The rules that some task falls under: the core's first, then by scope."""
    for rule in read.rules:
        document = read.documents[rule.file.label]
        rows, odd = rule_items(document, rule.scope, rule.path)
        findings += [*odd, *_masked_in(document)]
        for count, row in enumerate(rows):
            yield {**row, "order": (_PLACES["rules"], rule.scope != CORE, rule.scope, count)}


def _specs(inputs: Inputs, read: _Read, findings: list[Row]) -> Iterator[dict[str, Any]]:
    """The passages of each graph's documents."""
    names = {graph.label: graph.feature for graph in read.graphs if graph.rows}
    for label in sorted({spec.file.label for spec in inputs.specs if spec.graph in names}):
        findings += _masked_in(read.documents[label])
    for spec in inputs.specs:
        if (graph := names.get(spec.graph)) is None:
            continue
        for count, row in enumerate(spec_items(read.documents[spec.file.label], graph, spec.section)):
            yield {**row, "order": (_PLACES[spec.section], graph, count)}


def _briefs(tasks: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """What each task says itself."""
    places = {(graph, task_id): place for graph, task_id, place in tasks.select("graph", "task_id", "position").rows()}
    for row in brief_items(tasks):
        key = row["graph"], row["task_id"]
        order = (_PLACES[row["section"]], row["graph"], places[key])
        yield {**row, "redactions": count_masked(row["text"]), "order": order}


def _history(logs: Iterable[LogRead], tasks: pl.DataFrame, findings: list[Row]) -> Iterator[dict[str, Any]]:
    """The events of all logs, in the order of their times."""
    graphs = frozenset(tasks["graph"])
    for log in logs:
        rows, odd = history_items(log)
        findings += odd
        strangers = {row["graph"] for row in rows if row["graph"] is not None} - graphs
        for name in sorted(strangers):
            message = f"Events belong to {shown(name)}, which is no graph of this build; no task sees them."
            findings.append(finding("info", "EVENT_GRAPH_UNKNOWN", log.label, message))
        for row in rows:
            yield {**row, "order": (_PLACES["history"], *row["order"])}


def _masked_in(document: Document) -> list[Row]:
    return [credential_finding(document.label, document.masked)] if document.masked else []


# ---- frames -----------------------------------------------------------------------------------------------------


def _items(rows: Sequence[dict[str, Any]], settings: Settings) -> pl.DataFrame:
    """All items in one frame: positions over all of them, ids unique, tokens counted by the build's counter."""
    ordered = sorted(rows, key=lambda row: row["order"])
    names = Names("~", reserved=(row["item_id"] for row in ordered))
    tokens = token_counter(settings.tokens).count([row["text"] for row in ordered])
    floor = LEVELS.index(settings.policy.sensitivity_floor)
    for position, (row, count) in enumerate(zip(ordered, tokens, strict=True)):
        row["item_id"] = names.claim(row["item_id"])
        row["position"] = position
        row["tokens"] = count
        row["content_hash"] = digest(row["text"], 64) if LEVELS.index(row["sensitivity"]) < floor else None
    return number(frame_of(Items, ordered, _COLUMNS), "item_id", "item")


def _findings(rows: Sequence[Row]) -> pl.DataFrame:
    """All findings, each once, sorted by value; what they quote from inputs is free of credentials too."""
    masks = Masks(text for row in rows for text in (row["where"], row["message"]))
    safe = [{**row, "where": masks.of(row["where"]).text, "message": masks.of(row["message"]).text} for row in rows]
    return frame_of(Findings, safe).unique().sort("severity", "code", "where", "message")
