"""The fields below a task: what it depends on, when it is done, how far it is. All else is its description."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tasks.sources.plans.parsed import parsed
from tasks.sources.plans.spec_kit.forms import DONE_MARKS, SIGNS
from tasks.sources.plans.spec_kit.stories import MARK
from tasks.sources.plans.statuses import status_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it.token import Token

_KINDS = {
    "criteria": """ac; acceptance; acceptance criteria; acceptance criterion; done when; 受け入れ基準; 受入基準;
        完了条件; 验收标准; 验收条件; 驗收標準; 완료 조건; 인수 기준; criterios de aceptación; critérios de aceitação;
        critères d'acceptation; akzeptanzkriterien; kryteria akceptacji; criteri di accettazione; критерии приёмки;
        критерии приемки""",
    "depends": """depends on; depends; dependencies; dependency; blocked by; prerequisite tasks; 依存; 依存関係;
        依存タスク; 前提タスク; 依赖; 依赖任务; 依赖关系; 依赖项; 前置任务; 依賴; 依賴任務; 의존; 의존성;
        depende de; dependencias; dependências; dépend de; dépendances; abhängig von; abhängigkeiten; zależy od;
        zależności; dipende da; dipendenze; зависит от; зависимости""",
    "status": "status; state; 状态; 狀態; ステータス; 状態; 상태; estado; statut; stato; статус",
}
_KIND_OF = {" ".join(name.split()): kind for kind, names in _KINDS.items() for name in names.split(";")}
_FIELD = re.compile(
    r"[ \t]*(?:[-*+][ \t]+)?(?P<bold>\*\*|__)?(?P<name>[^\W\d_][^*_:：\n]{1,30}?)[ \t]*"
    r"(?:[:：][ \t]*(?(bold)(?:\*\*|__))|(?(bold)(?:\*\*|__)[ \t]*[:：]|(?!)))[ \t]*(?P<value>.*)",
    re.DOTALL,
)
_BOX = re.compile(r"[\s*_`]*\[([^\[\]\n]{0,2})\]")
_WORDS = {
    "done": """已完成 完成 完了 완료 completado completada hecho terminé fait feito concluído erledigt fertig gotowe
        готово""",
    "in-progress": "进行中 進行中 진행중 实施中 対応中",
    "pending": "待开始 未开始 待办 待处理 未着手 대기 pendiente pendente ausstehend offen",
    "blocked": "阻塞 已阻塞 ブロック中 bloqueado bloqué blockiert",
}
_STATUS_OF = {word: status for status, words in _WORDS.items() for word in words.split()}


@dataclass
class Fields:
    """What the fields of a task say, and the text without them. `tests` and `checkpoints` as phases have them."""

    rest: str = ""
    criteria: list[str] = field(default_factory=list)
    depends: list[str] = field(default_factory=list)
    status: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    checkpoints: list[str] = field(default_factory=list)


def fields_of(text: str, *, boxed: bool = False) -> Fields:
    """The fields among the lines below a task, which are entries of lists, lines of paragraphs or headings.

    A status that is not known stays in the text, as does any of a task whose box says it.
    """
    lines = text.split("\n")
    if not any(line[:1] == "#" or known_field(line) for line in lines):
        return Fields(rest=re.sub(r"\n{3,}", "\n\n", text).strip("\n"))
    found = Fields()
    kept = [True] * len(lines)
    for first, end, kind, value in _fields(text, lines):
        if kind == "status" and (boxed or found.status or status_in(value) is None):
            continue
        getattr(found, kind).append(value)
        kept[first:end] = [False] * (end - first)
    rest = "\n".join(line for line, keep in zip(lines, kept, strict=True) if keep)
    found.rest = re.sub(r"\n{3,}", "\n\n", rest).strip("\n")
    return found


def known_field(line: str) -> tuple[str, str] | None:
    """The kind of field that a line begins, and what stands in it."""
    if mark := MARK.match(line):
        return ("tests" if mark["test"] else "checkpoints"), mark["text"].strip()
    found = _FIELD.fullmatch(line)
    kind = _KIND_OF.get(" ".join(found["name"].lower().split())) if found else None
    return (kind, found["value"].strip()) if found and kind else None


def status_in(value: str) -> str | None:
    """The status that a field gives, by its box, its sign or its first words; None where none is known."""
    if box := _BOX.match(value):
        return "done" if box[1] in DONE_MARKS and box[1].strip() else "pending"
    sign = value.strip("*_` \n")[:1]
    if phrase := re.search(r"[^\W_]+(?:[ -][^\W_]+)*", value.lower()):
        first = re.split("[ -]", phrase[0])[0]
        found = status_of(phrase[0]) or _STATUS_OF.get(phrase[0]) or status_of(first) or _STATUS_OF.get(first)
        if found and found != "deleted":
            return found
    return ("done" if SIGNS[sign] else "pending") if sign in SIGNS else None


def dedented(lines: Sequence[str]) -> str:
    """Lines without the indentation that they share; tabs at their beginnings are four blanks wide."""
    widened = [re.sub(r"^[ \t]+", lambda found: found[0].expandtabs(4), line).rstrip() for line in lines]
    shared = min((len(line) - len(line.lstrip(" ")) for line in widened if line), default=0)
    return "\n".join(line[shared:] for line in widened).strip("\n")


def _fields(text: str, lines: Sequence[str]) -> Iterator[tuple[int, int, str, str]]:
    """First line, end, kind and value of each known field."""
    tokens = parsed(text)
    reached = 0
    for index, token in enumerate(tokens):
        if token.map is None or token.map[0] < reached:
            continue
        first, end = token.map[0], min(token.map[1], len(lines))
        if token.type == "list_item_open" and token.level == 1:
            while end > first + 1 and not lines[end - 1].strip():
                end -= 1
            if (found := known_field(lines[first])) is not None:
                reached = end
                yield first, end, found[0], "\n".join([found[1], dedented(lines[first + 1 : end])]).strip("\n")
        elif token.type == "heading_open" and token.level == 0:
            kind = _KIND_OF.get(" ".join(tokens[index + 1].content.strip("*_:： ").lower().split()))
            if kind is not None:
                reached = _section_end(tokens[index + 1 :], token.tag, len(lines))
                yield first, reached, kind, "\n".join(lines[end:reached]).strip("\n")
        elif token.type == "paragraph_open" and token.level == 0:
            starts = [at for at in range(first, end) if _FIELD.fullmatch(lines[at]) or MARK.match(lines[at])]
            for place, at in enumerate(starts):
                stop = starts[place + 1] if place + 1 < len(starts) else end
                following = _list_after(tokens, index, stop, end, len(lines))
                if (found := known_field(lines[at])) is not None:
                    stop = following if not found[1] else stop
                    reached = max(reached, stop)
                    yield at, stop, found[0], "\n".join([found[1], *lines[at + 1 : stop]]).strip("\n")


def _section_end(tokens: Sequence[Token], tag: str, last: int) -> int:
    """Where the section of a heading ends: at the next heading that is as high."""
    higher = (token.map[0] for token in tokens if token.type == "heading_open" and token.tag <= tag and token.map)
    return min(next(higher, last), last)


def _list_after(tokens: Sequence[Token], index: int, stop: int, end: int, count: int) -> int:
    """Where a field without a value on its line ends: with the list that follows its paragraph."""
    after = tokens[index + 3] if stop == end and index + 3 < len(tokens) else None
    if after is None or after.map is None or after.type not in ("bullet_list_open", "ordered_list_open"):
        return stop
    return min(after.map[1], count)
