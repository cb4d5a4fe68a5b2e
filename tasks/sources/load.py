"""From the files of a build to its first batch: parsed, cleaned, free of credentials, counted and numbered."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, replace
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import polars as pl

from tasks.batch import LEVEL, Batch, Findings, Items, frame_of, number
from tasks.budgets import allocate
from tasks.errors import InputError
from tasks.lineage import closed_items
from tasks.scopes import CORE, scopes_of_all
from tasks.sources.brief import brief_items
from tasks.sources.commands import CommandText, command_items, read_command
from tasks.sources.documents import Document, as_markdown, read_document
from tasks.sources.engineering import ENGINEERING_TEXTS, EngineeringRead, engineering_items, read_engineering
from tasks.sources.findings import Row, finding, shown
from tasks.sources.graph import named_apart, settled, with_status
from tasks.sources.history import LOG_TEXTS, LogRead, history_items, read_log
from tasks.sources.identity import Names, digest
from tasks.sources.inputs import Inputs, Request, RuleFile, discover
from tasks.sources.masking import MASKED, Masks, count_masked, credential_finding, strings_of
from tasks.sources.plan_items import note_items, said_items
from tasks.sources.plans.plan import TASK_TEXTS
from tasks.sources.plans.statuses import wanted_statuses
from tasks.sources.rules import rule_items
from tasks.sources.specs import spec_items
from tasks.sources.tools import read_tools, unknown_tools
from tasks.terms import LEVELS, SECTIONS, placeholder
from tasks.tokens import token_counter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from polars._typing import PolarsDataType

    from tasks.settings import Settings
    from tasks.sources.plan_files import PlanFile
    from tasks.sources.plans.plan import GraphRead
    from tasks.sources.plugin_items import PluginRead

__all__ = ["Inputs", "Request", "discover", "load"]

_COLUMNS = tuple(name for name in Items.columns() if name != "item")
_LEAST_REPEATED = 12  # characters; shorter texts say the same by chance
_LAST = 9  # among the sources of a section
_WRITTEN = ("files_create", "files_modify")
_PLACES = {section: place for place, section in enumerate(SECTIONS)}


@dataclass(frozen=True)
class _Read:
    """What the files of a build say: its plans, the rules that these need, and by label the text of each document."""

    graphs: list[GraphRead]
    rules: list[RuleFile]
    logs: list[LogRead]
    documents: dict[str, Document]
    commands: list[CommandText]
    engineering: list[EngineeringRead]
    plugins: list[PluginRead]


def load(inputs: Inputs, settings: Settings) -> Batch:
    """The first batch of a build: all tasks, all items that any of them may need, all findings.

    Credentials are masked in whole texts before anything is cut, hashed, counted or named after them; `raw` alone keeps
    them. 10,000 events of 500 characters take about a second apart from masking and counting.

    Raises:
        InputError: no file holds a graph with a readable task.
    """
    findings = list(inputs.findings)
    read = _masked(inputs, _parsed(inputs, findings))
    plans = settled(read.graphs)
    findings += plans.findings
    if plans.tasks.is_empty():
        raise InputError(_no_graph(findings))
    tasks, odd = allocate(_wanted(plans.tasks, settings, findings), settings)
    findings += odd
    rows = [
        *_rules(read, findings),
        *_engineering(read, findings),
        *_specs(inputs, read, findings),
        *_briefs(plans.tasks, tasks),
        *_said(plans.said, tasks),
        *_commands(read, findings),
        *_history(read.logs, findings),
        *note_items(plans.said, _PLACES["history"]),
        *_plugins(read.plugins, findings),
    ]
    tools, odd = read_tools(inputs.tools) if inputs.tools else (None, [])
    findings += odd if tools is None else [*odd, *unknown_tools(tasks, tools)]
    ordered = _ordered(rows)
    closed = _closed(ordered, settings)
    findings += _strangers(ordered, closed, frozenset(tasks["graph"]))
    told = _findings(row for row in findings if row["where"] not in closed)
    items = _items(ordered, closed, settings)
    return Batch(tasks=tasks, earlier=plans.earlier, items=items, findings=told, tools=tools).validate()


def _wanted(tasks: pl.DataFrame, settings: Settings, findings: list[Row]) -> pl.DataFrame:
    """The tasks that get a context. A plan in which nothing is left to do is no fault."""
    built = with_status(tasks, wanted_statuses(settings.plan.status))
    left = tasks.join(built, on=["graph", "task_id"], how="anti").group_by("graph", "progress").len()
    for graph, counts in left.sort("graph", "progress").partition_by("graph", as_dict=True).items():
        listed = ", ".join(f"{count} {status}" for status, count in counts.select("progress", "len").rows())
        message = f"Tasks that get no context, as --status was not asked for them: {listed}."
        findings.append(finding("info", "PLAN_TASKS_LEFT_OUT", str(graph[0]), message))
    return built


def _parsed(inputs: Inputs, findings: list[Row]) -> _Read:
    graphs = [plan.read for plan in inputs.graphs]
    needed = scopes_of_all(path for graph in graphs for row in graph.rows for name in _WRITTEN for path in row[name])
    rules = [rule for rule in inputs.rules if rule.scope in needed]
    documents: dict[str, Document] = {}
    for file in (*(spec.file for spec in inputs.specs), *(rule.file for rule in rules)):
        if file.label not in documents:
            documents[file.label], odd = read_document(file)
            findings += odd
    commands: list[CommandText] = []
    for command in inputs.commands:
        text, odd = read_command(command)
        commands.append(text)
        findings += odd
    logs: dict[str, LogRead] = {}
    for log in map(read_log, inputs.logs):
        findings += log.findings
        if log.namespace in logs:
            message = f"It is the same as {logs[log.namespace].label}, and was read once."
            findings.append(finding("info", "LOG_REPEATED", log.label, message))
        else:
            logs[log.namespace] = log
    engineering = list(map(read_engineering, inputs.engineering))
    findings += chain.from_iterable(part.findings for part in engineering)
    findings += chain.from_iterable(plugin.findings for plugin in inputs.plugins)
    return _Read(graphs, rules, list(logs.values()), documents, commands, engineering, list(inputs.plugins))


def _masked(inputs: Inputs, read: _Read) -> _Read:
    """The same without credentials, every distinct text scanned once. Graphs of one name are told apart after it."""
    masks = Masks(
        chain(
            chain.from_iterable((label, document.text) for label, document in read.documents.items()),
            chain.from_iterable(command.strings for command in read.commands),
            (graph.feature for graph in read.graphs),
            chain.from_iterable((log.label, log.namespace) for log in read.logs),
            chain.from_iterable(plan.strings for plan in inputs.graphs),
            *map(_texts_of, read.graphs),
            *(strings_of(log.rows, LOG_TEXTS) for log in read.logs),
            (part.label for part in read.engineering),
            *(strings_of(part.rows, ENGINEERING_TEXTS) for part in read.engineering),
            *(plugin.strings for plugin in read.plugins),
        )
    )
    graphs = [_masked_graph(plan, masks) for plan in inputs.graphs]
    logs = [
        replace(
            log,
            label=masks.of(log.label).text,
            namespace=masks.of(log.namespace).text,
            rows=masks.rows(log.rows, LOG_TEXTS),
        )
        for log in read.logs
    ]
    documents = {
        label: replace(document, label=masks.of(label).text).with_redaction(masks.of(document.text))
        for label, document in read.documents.items()
    }
    commands = [command.masked(masks) for command in read.commands]
    engineering = [part.masked(masks) for part in read.engineering]
    plugins = [plugin.masked(masks) for plugin in read.plugins]
    return _Read(named_apart(graphs), read.rules, logs, documents, commands, engineering, plugins)


def _masked_graph(plan: PlanFile, masks: Masks) -> GraphRead:
    """What a plan says without credentials: those in its own strings, and those that only a reader's texts show."""
    found = masks.among(plan.strings)
    read = plan.cleared(found)
    again = Masks(_texts_of(read)) if found else masks  # what was cut from masked strings was not scanned yet
    rows = []
    for row, masked in zip(read.rows, again.rows(read.rows, TASK_TEXTS), strict=True):
        said = again.rows(row["said"], ("text",))
        counts = Counter(row.get(MASKED, {}))
        for part in (masked, *said):
            counts.update(part[MASKED])
        rows.append({**masked, "said": said, MASKED: dict(sorted(counts.items()))})
    return replace(read, feature=masks.of(read.feature).text, rows=rows)


def _texts_of(graph: GraphRead) -> Iterator[str]:
    yield from strings_of(graph.rows, TASK_TEXTS)
    yield from strings_of([text for row in graph.rows for text in row["said"]], ("text",))


def _no_graph(findings: Iterable[Row]) -> str:
    """Why there is nothing to build, in one sentence."""
    failed = sorted(
        {
            (row["where"], row["message"])
            for row in findings
            if row["severity"] == "error" and row["code"].startswith(("INPUT_", "GRAPH_", "PLAN_"))
        }
    )
    why = f"{failed[0][0]}: {failed[0][1].rstrip('.')}" if failed else "none was named"
    more = f" ({len(failed) - 1} more like it)" if len(failed) > 1 else ""
    return f"There is no readable task graph, {why}{more}; name a plan: a task graph, or one of a tool that is known."


# ---- rows of items, each with its `order` in the build ----------------------------------------------------------


def _rules(read: _Read, findings: list[Row]) -> Iterator[dict[str, Any]]:
    """The rules that some task falls under: the core's first, then by scope."""
    for rule in read.rules:
        document = read.documents[rule.file.label]
        rows, odd = rule_items(document, rule.scope, rule.path)
        findings += [*odd, *_masked_in(document)]
        for count, row in enumerate(rows):
            yield {**row, "order": (_PLACES["rules"], rule.scope != CORE, rule.scope, count)}


def _engineering(read: _Read, findings: list[Row]) -> Iterator[dict[str, Any]]:
    """The engineering rules, in order of priority, after those of security."""
    rows, odd = engineering_items(read.engineering)
    findings += odd
    for count, row in enumerate(rows):
        yield {**row, "order": (_PLACES["rules"], 2, "", count)}


def _specs(inputs: Inputs, read: _Read, findings: list[Row]) -> Iterator[dict[str, Any]]:
    """The passages of each graph's documents."""
    names = {graph.label: graph.feature for graph in read.graphs if graph.rows}
    for label in sorted({spec.file.label for spec in inputs.specs if spec.graph in names}):
        findings += _masked_in(read.documents[label])
    for place, spec in enumerate(inputs.specs):
        if (graph := names.get(spec.graph)) is None:
            continue
        document = as_markdown(read.documents[spec.file.label])
        for count, row in enumerate(spec_items(document, graph, spec.section)):
            yield {**row, "order": (_PLACES[spec.section], *_spec_order(spec.section, graph, place, count))}


def _spec_order(section: str, graph: str, place: int, count: int) -> tuple[Any, ...]:
    """Documents of a graph one after the other; what a graph has of rules comes after the rules for all."""
    return (3, graph, place, count) if section == "rules" else (graph, place, count)


def _briefs(plan: pl.DataFrame, tasks: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """What each task that gets a context says itself; the others of its plan are named in it."""
    places = {(graph, task_id): place for graph, task_id, place in tasks.select("graph", "task_id", "position").rows()}
    for row in brief_items(plan):
        key = row["graph"], row["task_id"]
        if key in places:
            order = _own_order(row["section"], row["graph"], places[key], 0)
            yield {**row, "redactions": count_masked(row["text"]), "order": order}


def _said(said: Iterable[dict[str, Any]], tasks: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """What plans say of the tasks that get a context beside their briefs."""
    known = frozenset(tasks.select("graph", "task_id").iter_rows())
    for count, row in enumerate(said_items(text for text in said if (text["graph"], text["task_id"]) in known)):
        order = _own_order(row["section"], row["graph"], row.pop("place"), 1 + count)
        yield {**row, "redactions": count_masked(row["text"]), "order": order}


def _own_order(section: str, graph: str, place: int, count: int) -> tuple[Any, ...]:
    """The place of what belongs to one task: in documents' sections after the documents that all tasks share."""
    if section in ("requirements", "design"):
        return _PLACES[section], graph, sys.maxsize - 1, place, count
    return _PLACES[section], 0, graph, place, count


def _commands(read: _Read, findings: list[Row]) -> Iterator[dict[str, Any]]:
    """The passages of all command files, by name; in the reference they come after what planners wrote."""
    for command in read.commands:
        findings += _masked_in(command.document)
    for name, texts in groupby(read.commands, key=lambda command: command.name):
        for count, row in enumerate(command_items(list(texts))):
            yield {**row, "order": (_PLACES[row["section"]], 1, name, count)}


def _history(logs: Iterable[LogRead], findings: list[Row]) -> Iterator[dict[str, Any]]:
    """The events of all logs, in the order of their times."""
    for log in logs:
        rows, odd = history_items(log)
        findings += odd
        for row in rows:
            row["order"] = (_PLACES["history"], *row["order"])
        yield from rows


def _plugins(plugins: Iterable[PluginRead], findings: list[Row]) -> Iterator[dict[str, Any]]:
    """What plugins gave, by name: after everything else of its section, in the history before what has a time."""
    for plugin in plugins:
        rows, odd = plugin.items()
        findings += odd
        for count, row in enumerate(rows):
            yield {**row, "order": (_PLACES[row["section"]], *_order(row, plugin.name, count))}


def _order(row: dict[str, Any], name: str, count: int) -> tuple[Any, ...]:
    """The place of a plugin's row within its section, in the form that the section's own rows have."""
    if row["section"] == "history":
        return False, 0, f"plugin/{name}", count
    if row["section"] in ("requirements", "design"):
        return row["graph"] or "", sys.maxsize, name, count
    return _LAST, name, count


def _strangers(rows: Iterable[dict[str, Any]], closed: Mapping[str, str], graphs: frozenset[str]) -> list[Row]:
    """Findings on graphs that rows belong to and the build does not have; what is closed names none."""
    names = {
        (row["source"], row["path"] if row["source"] == "history" else None, row["graph"])
        for row in rows
        if row.get("graph") is not None and row["graph"] not in graphs and row["item_id"] not in closed
    }
    found = []
    for source, label, graph in sorted(names, key=str):
        event = source == "history"
        what, code = ("Events", "EVENT_GRAPH_UNKNOWN") if event else ("Rows", "PLUGIN_GRAPH_UNKNOWN")
        message = f"{what} belong to {shown(graph)}, which is no graph of this build; no task sees them."
        found.append(finding("info", code, str(label) if event else f"plugin:{source}", message))
    return found


def _masked_in(document: Document) -> list[Row]:
    return [credential_finding(document.label, document.masked)] if document.masked else []


# ---- frames -----------------------------------------------------------------------------------------------------


def _ordered(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """All rows in the build's order: positions over all of them, ids unique."""
    ordered = sorted(rows, key=itemgetter("order"))
    names = Names("~", reserved=(row["item_id"] for row in ordered))
    for place, row in enumerate(ordered):
        row["item_id"] = names.claim(row["item_id"])
        row["position"] = place
    return ordered


def _closed(rows: Sequence[dict[str, Any]], settings: Settings) -> dict[str, str]:
    """By id the highest label above each item that is at or above the floor, or descends from one that is.

    The sensitivity filter takes their texts out, and comes after stages that count: nothing is made of them before.
    What repeats one of them word for word takes its label too, be it labelled public; but for what the project's own
    people wrote, which no log can close.
    """
    floor = LEVELS.index(settings.policy.sensitivity_floor)
    closed: dict[str, str] = {}
    while True:
        if all(LEVELS.index(row["sensitivity"]) < floor for row in rows):
            return closed
        closed = _descending(rows, floor)
        said: dict[str, str] = {}
        for row in rows:
            if (level := closed.get(row["item_id"])) is not None and len(
                text := row["text"].strip()
            ) >= _LEAST_REPEATED:
                said[text] = max(level, said.get(text, level), key=LEVELS.index)
        repeating = [
            row for row in rows if row["item_id"] not in closed and not row["trusted"] and row["text"].strip() in said
        ]
        if not repeating:
            return closed
        for row in repeating:
            row["sensitivity"] = said[row["text"].strip()]


def _descending(rows: Sequence[dict[str, Any]], floor: int) -> dict[str, str]:
    columns = ("item_id", "parent_id", "position", "sensitivity")
    types: dict[str, PolarsDataType] = {
        "item_id": pl.String,
        "parent_id": pl.String,
        "position": pl.UInt32,
        "sensitivity": LEVEL,
    }
    links = pl.DataFrame({name: [row.get(name) for row in rows] for name in columns}, schema=types)
    numbered = number(links, "item_id", "item")
    ranks = closed_items(numbered, floor).join(numbered, on="item").select("item_id", "rank")
    return {item_id: LEVELS[rank] for item_id, rank in ranks.iter_rows()}


def _items(rows: Sequence[dict[str, Any]], closed: Mapping[str, str], settings: Settings) -> pl.DataFrame:
    """All items in one frame, tokens counted by the build's counter: of what is closed, those that will stand there."""
    redact = settings.policy.sensitivity_action == "redact"
    counted = [
        row["text"] if (level := closed.get(row["item_id"])) is None else placeholder(level) if redact else ""
        for row in rows
    ]
    tokens = token_counter(settings.tokens).count(counted)
    for row, count in zip(rows, tokens, strict=True):
        row["tokens"] = count
        row["content_hash"] = None if row["item_id"] in closed else digest(row["text"], 64)
    return number(frame_of(Items, rows, _COLUMNS), "item_id", "item")


def _findings(found: Iterable[Row]) -> pl.DataFrame:
    """All findings, each once, sorted by value; what they quote from inputs is free of credentials too."""
    rows = list(found)
    masks = Masks(text for row in rows for text in (row["where"], row["message"]))
    safe = [{**row, "where": masks.of(row["where"]).text, "message": masks.of(row["message"]).text} for row in rows]
    return frame_of(Findings, safe).unique().sort("severity", "code", "where", "message")
