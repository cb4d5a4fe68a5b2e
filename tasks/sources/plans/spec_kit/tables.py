"""Tasks in tables: rows with a column for ids and one for titles."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tasks.sources.plans.spec_kit.forms import ID

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it.token import Token

_ID = re.compile(rf"[*_`~\[]*({ID})[*_`~\]]*")
_IDS = frozenset(("id", "task", "task id", "#", "编号", "任务id", "任务编号", "タスクid", "番号"))
_TITLES = (
    *("title", "task", "name", "description", "subject", "summary", "what", "任务", "任务名称", "标题", "名称", "描述"),
    *("タスク", "内容", "タイトル", "tarea", "descripción", "tâche", "tarefa", "aufgabe", "zadanie", "задача"),
)
_LABELS = re.compile(r"\[?(P|US[ \t-]?\d+(?:[ \t]*[+,&][ \t]*US[ \t-]?\d+)*)\]?", re.IGNORECASE)


@dataclass(frozen=True)
class Row:
    """A row that is a task: its id, its title with labels before it, and what the other cells say, as a list."""

    line: int
    task_id: str
    text: str
    others: str


def table_rows(tokens: Sequence[Token], index: int) -> Iterator[Row]:
    """The tasks in the table that opens at a token; none where it has no columns for ids and titles."""
    rows = _cells(tokens, index)
    _, names = next(rows, (0, []))
    header = [" ".join(name.strip("*_` ").lower().split()) for name in names]
    key = next((at for at, name in enumerate(header) if name in _IDS), None)
    titles = [at for at, name in enumerate(header) if name in _TITLES and at != key]
    if key is None or not titles:
        return
    title = min(titles, key=lambda at: _TITLES.index(header[at]))
    for line, cells in rows:
        if (found := _ID.fullmatch(cells[key])) and cells[title]:
            others = [at for at, cell in enumerate(cells) if at not in (key, title) and cell.strip(" -–—")]
            labels = "".join(f"[{cells[at].strip('[]')}] " for at in others if _LABELS.fullmatch(cells[at]))
            said = [f"- {names[at]}: {cells[at]}" for at in others if not _LABELS.fullmatch(cells[at])]
            yield Row(line, found[1], f"{labels}{cells[title]}", "\n".join(said))


def _cells(tokens: Sequence[Token], index: int) -> Iterator[tuple[int, list[str]]]:
    """The rows of a table, the header first: the line, and what stands in each cell."""
    line, cells = 0, list[str]()
    for token in tokens[index + 1 :]:
        if token.type == "table_close":
            return
        if token.type == "tr_open":
            line, cells = (token.map or (0, 0))[0], []
        elif token.type == "inline":
            cells.append(token.content.strip())
        elif token.type == "tr_close":
            yield line, cells
