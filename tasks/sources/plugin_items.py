"""What plugins give, as rows of items: checked, named apart and settled, whatever the plugin did."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from tasks.batch import empty
from tasks.plugins import Found, find_plugins
from tasks.sources.files import InputFile
from tasks.sources.findings import Findings, Row, shown
from tasks.sources.identity import Names, digest, shortened
from tasks.sources.masking import MASKED, credential_finding, strings_of
from tasks.sources.shelter import sheltered
from tasks.terms import KINDS, LEVELS, SECTIONS, SEVERITIES
from tasks.text import clean, one_line
from tasks.typed_frames import dy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasks.settings import Settings
    from tasks.sources.findings import Severity
    from tasks.sources.inputs import Request
    from tasks.sources.masking import Masks

#: The columns of a row that hold text from the plugin, in which credentials are masked.
_TEXTS = ("own_id", "parent", "graph", "task_id", "text", "tags", "path", "media_type")

_OPEN_SECTIONS = tuple(section for section in SECTIONS if section != "brief")
_CODE = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}\b")
_LONGEST_REASON = 200


class PluginRows(dy.Schema):
    """The rows that a plugin may give; see `tasks.plugins.SourcePlugin`."""

    text = dy.String(min_length=1, check=lambda text: text.str.contains(r"\S"))
    kind = dy.String(check=lambda kind: kind.is_in(list(KINDS)))
    section = dy.String(check=lambda section: section.is_in(list(_OPEN_SECTIONS)))
    item_id = dy.String(nullable=True)
    parent_id = dy.String(nullable=True)
    graph = dy.String(nullable=True)
    task_id = dy.String(nullable=True)
    sensitivity = dy.String(nullable=True)
    tags = dy.List(dy.String(nullable=True), nullable=True)
    path = dy.String(nullable=True)
    media_type = dy.String(nullable=True)


class _PlacedRows(PluginRows):
    place = dy.UInt32()


_COLUMNS = tuple(PluginRows.columns())
_SCHEMA = empty(_PlacedRows).schema
_WRONG = object()


@dataclass(frozen=True)
class PluginRead:
    """What a plugin gave: rows with `own_id` and `parent` as it names them, and what is odd about them.

    `file` stands for it among a build's inputs: its bytes are the rows, the findings and the package's version.
    """

    name: str
    rows: list[dict[str, Any]]
    findings: list[Row]
    file: InputFile

    def masked(self, masks: Masks) -> PluginRead:
        """The same without credentials."""
        return replace(self, rows=masks.rows(self.rows, _TEXTS))

    @property
    def strings(self) -> list[str]:
        """Every string in which a credential might stand."""
        return strings_of(self.rows, _TEXTS)

    def items(self) -> tuple[list[dict[str, Any]], list[Row]]:
        """The rows of items without number, position and tokens, ids under `plugin/<name>/`.

        Of rows with one id, the first is what others name as their parent.
        """
        findings: list[Row] = []
        space = f"plugin/{self.name}"
        names = Names("~", reserved=(row["own_id"] for row in self.rows))
        items: list[dict[str, Any]] = []
        for row in self.rows:
            item_id = f"{space}/{shortened(names.claim(row['own_id']))}"
            masked = row.get(MASKED, {})
            if masked:
                findings.append(credential_finding(item_id, masked))
            items.append(
                {
                    **row,
                    "item_id": item_id,
                    "parent_id": None if row["parent"] is None else f"{space}/{shortened(row['parent'])}",
                    "source": self.name,
                    "trusted": False,
                    "redactions": sum(masked.values()),
                }
            )
        return items, findings


def read_plugins(request: Request, settings: Settings) -> list[PluginRead]:
    """Runs the plugins that the settings ask for, by name.

    Nothing that a plugin raises is passed on, but for the user's own interrupt. What it prints goes to stderr, and the
    working folder is the same afterwards.
    """
    return [_read(found, request) for found in find_plugins(settings)]


def _read(found: Found, request: Request) -> PluginRead:
    findings = Findings(f"plugin:{found.name}")
    rows: list[dict[str, Any]] = []
    try:
        with sheltered():
            plugin = found.make()
            given, odd = plugin.load(request)
            rows = list(_rows(given, request, findings))
            for row in odd:
                _pass_on(row, findings)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - exits, cancellations and panics of libraries are no `Exception`
        rows = []
        message = f"It failed ({_reason(error, request)}); nothing of it was taken."
        findings.add("error", "PLUGIN_FAILED", message)
    else:
        if found.trouble:
            findings.add("warning", "PLUGIN_SAME_NAME", f"It is there twice: {found.trouble}")
    content = {"distribution": found.distribution, "rows": [_plain(row) for row in rows], "findings": findings.rows}
    data = json.dumps(content, ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode()
    return PluginRead(found.name, rows, findings.rows, InputFile.of(f"plugin:{one_line(found.name)}", data))


def _reason(error: BaseException, request: Request) -> str:
    """The kind of an error and the first line of what it says, without what differs from run to run."""
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - an error of a plugin's own may fail at that, too
        said = ""
    said = one_line(said.strip().partition("\n")[0]).replace(f"{request.cwd}/", "")
    said = _ADDRESS.sub("0x…", said)[:_LONGEST_REASON]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in row.items()}


def _pass_on(row: object, findings: Findings) -> None:
    """A finding of the plugin's own, under its name."""
    given = row if isinstance(row, Mapping) else {"message": row}
    severity, code, message = given.get("severity"), str(given.get("code")), one_line(str(given.get("message") or ""))
    known = cast("Severity", severity if severity in SEVERITIES else "warning")
    place = one_line(str(given.get("where") or ""))
    findings.add(known, code if _CODE.fullmatch(code) else "PLUGIN_FINDING", message or "It says nothing.", place)


# ---- rows -------------------------------------------------------------------------------------------------------


def _rows(given: object, request: Request, findings: Findings) -> Iterator[dict[str, Any]]:
    """The rows that can be used, in the order given; all others are counted by what is wrong with them."""
    frame = _frame(given, findings)
    good, failed = _PlacedRows.filter(frame)
    for rule, count in sorted(failed.counts().items()):
        column, _, broken = rule.partition("|")
        message = f"{count} of {len(frame)} rows break the rule {broken!r} of {column!r}; they were left out."
        findings.add("error", "PLUGIN_ROW", message)
    unknown = 0
    for row in good.sort("place").iter_rows(named=True):
        level = _level(row["sensitivity"])
        unknown += level is None
        text = row["text"]
        yield {
            "own_id": one_line(row["item_id"] or "") or _invented_id(row, level),
            "parent": one_line(row["parent_id"] or "") or None,
            "graph": one_line(row["graph"] or "") or None,
            "task_id": one_line(row["task_id"] or "") or None,
            "kind": row["kind"],
            "section": row["section"],
            "text": clean(text),
            "raw": text.encode() if row["kind"] == "tool_result" else None,
            "sensitivity": level or LEVELS[-1],
            "tags": list(dict.fromkeys(tag for tag in map(one_line, row["tags"] or ()) if tag)),
            "path": _path(row["path"], request),
            "media_type": one_line(row["media_type"] or "") or None,
        }
    if unknown:
        message = f"{unknown} rows have an unknown label; they count as restricted."
        findings.add("warning", "PLUGIN_SENSITIVITY", message)


def _frame(given: object, findings: Findings) -> pl.DataFrame:
    """What was given as a frame of the columns that are read, each row with its place.

    A row with a value of another type than its column's is left out: half of what it says would widen whom it is for.
    """
    rows = _listed(given)
    odd: Counter[str] = Counter()
    ignored: set[str] = set()
    columns: dict[str, list[Any]] = {name: [] for name in ("place", *_COLUMNS)}
    for place, row in enumerate(rows):
        values = {name: _value(name, row.get(name)) for name in _COLUMNS} if isinstance(row, Mapping) else {}
        wrong = [name for name, value in values.items() if value is _WRONG] if values else ["row"]
        odd.update(wrong)
        if not wrong:
            ignored.update(str(name) for name in row if name not in values)
            columns["place"].append(place)
            for name, value in values.items():
                columns[name].append(value)
    for name, count in sorted(odd.items()):
        message = f"{count} of {len(rows)} rows have a {name!r} of the wrong type; they were left out."
        findings.add("error", "PLUGIN_ROW", message)
    if ignored:
        findings.add("info", "PLUGIN_COLUMN", f"Its columns {', '.join(map(shown, sorted(ignored)))} are not read.")
    return pl.DataFrame(columns, schema=_SCHEMA)


def _listed(given: object) -> list[Any]:
    if isinstance(given, pl.LazyFrame):
        given = given.collect()
    if isinstance(given, pl.DataFrame):
        return given.to_dicts()
    if isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping):
        return list(given)
    raise TypeError("items are neither a frame nor rows")


def _value(name: str, value: object) -> object:
    """A value as its column's type, or `_WRONG`. A label of the wrong type is a label that nobody knows."""
    if value is None:
        return None
    if name == "tags":
        entries = list(value) if isinstance(value, list | tuple) else [value]
        texts = [_text(entry) for entry in entries if entry is not None]
        return texts if all(isinstance(entry, str) for entry in texts) else _WRONG
    return _text(value) if isinstance(value, str) or name != "sensitivity" else "?"


def _text(value: object) -> object:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else _WRONG


def _level(label: str | None) -> str | None:
    """A known label; public where there is none, None where it is unknown."""
    if label is None:
        return LEVELS[0]
    word = label.lower()
    return word if word in LEVELS else None


def _invented_id(row: Mapping[str, Any], level: str | None) -> str:
    """An id that stays while the content does; of what may be closed the place alone, as a hash would tell of it."""
    if level != LEVELS[0] or row["parent_id"] is not None:
        return f"row-{row['place'] + 1}"
    parts = [str(row[name]) for name in ("section", "kind", "graph", "task_id", "text")]
    return digest("\0".join(parts), 12)


def _path(path: str | None, request: Request) -> str | None:
    """A path as a build may name it: never from the root of this machine."""
    text = one_line(path or "").replace("\\", "/")
    if not text:
        return None
    place = PurePath(text)
    if place.is_absolute() or re.match(r"[A-Za-z]:", text):
        base = PurePath(request.cwd)
        return place.relative_to(base).as_posix() if place.is_relative_to(base) else place.name or None
    return text
