"""User stories of a spec-kit feature: how tasks and headings name them, and what `spec.md` says of each."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tasks.sources.documents import blocks
from tasks.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from markdown_it.token import Token

_MOST_OF_A_RANGE = 50

#: A word for a user story, in the languages that plans were seen in or are likely to come in.
_WORD = (
    r"(?:user[ \t-]*stor(?:y|ies)|(?<![^\W_])US[ \t-]?(?=\d)|ユーザー?ストーリー|用户故事|使用者故事|사용자[ \t]*스토리"
    r"|historias?[ \t]+de[ \t]+usuario|récits?[ \t]+utilisateurs?|hist[óo]rias?[ \t]+de[ \t]+usu[áa]rio"
    r"|пользовательск\w+[ \t]+истори\w+|histori[ae][ \t]+użytkownika|storie?[ \t]+utente)"
)
_ONE = r"\d{1,3}(?!\w|\.\d)"
_NUMBERS = rf"#?{_ONE}(?:[ \t]*(?:[+&,/、]|and\b|und\b|y\b|и\b)[ \t]*(?:US[ \t-]?)?{_ONE}|[-–](?:US)?{_ONE})*"
_STORIES = re.compile(rf"{_WORD}[ \t]*({_NUMBERS})", re.IGNORECASE)
_LABEL = re.compile(rf"(?:{_WORD}|story|stories)[ \t]*({_NUMBERS}(?:[ \t]*[+&,/][ \t]*US[ \t-]?\d+)*)", re.IGNORECASE)
_NUMBER = re.compile(r"(\d+)(?:[-–](?:US)?(\d+))?", re.IGNORECASE)

_TEST = (
    r"independent[ \t]+tests?(?:[ \t]+criteri(?:a|on))?|独立(?:した)?テスト|独立测试|獨立測試|독립[ \t]*테스트"
    r"|niezależny[ \t]+test|prueba[ \t]+independiente|teste[ \t]+independente|tests?[ \t]+indépendants?"
    r"|unabhängiger[ \t]+test|test[ \t]+indipendente|onafhankelijke[ \t]+test|независим\w+[ \t]+(?:тест|проверк)\w*"
    r"|bağımsız[ \t]+test|kiểm[ \t]+thử[ \t]+độc[ \t]+lập"
)
_CHECKPOINT = (
    r"(?:final[ \t]+)?checkpoint|チェックポイント|检查点|檢查點|체크포인트|punkt[ \t]+kontrolny"
    r"|punto[ \t]+de[ \t]+control|ponto[ \t]+de[ \t]+(?:verificação|controle)|point[ \t]+de[ \t]+contrôle"
    r"|kontrollpunkt|контрольная[ \t]+точка"
)
#: What must hold when a story or a phase is done.
MARK = re.compile(
    rf"[^\w\[(]*(?:(?P<test>{_TEST})|{_CHECKPOINT})"
    r"[ \t*_]*(?:[(（][^()（）\n]{0,80}[)）])?[ \t*_]*[:：][ \t*_]*(?P<text>\S.*)",
    re.IGNORECASE,
)
_FIELD = re.compile(r"[ \t]*(?:[-*+][ \t]+)?(?:\*\*|__)[^*_\n]{1,80}(?:[:：][ \t]*(?:\*\*|__)|(?:\*\*|__)[ \t]*[:：])")
_ACCEPTANCE = re.compile(
    r"\W*(?:acceptance|受け?入れ|验收|驗收|인수|критерии приёмки|aceptación|aceitação)", re.IGNORECASE
)
_GIVEN = re.compile(
    r"[\W_]*(?:given|前提(?:条件)?|假设|假設|给定|給定|dad[oa]s?|étant donné|gegeben|angenommen"
    r"|zakładając|mając|дано)\b",
    re.IGNORECASE,
)
_STEP = re.compile(r"[\W_]*(?:when|then|and|but)\b", re.IGNORECASE)
_THEN = re.compile(r"\bthen\b", re.IGNORECASE)
_BOLD = re.compile(r"\*\*[^*\n]{1,20}\*\*")
_LISTS = {"bullet_list_open": 1, "ordered_list_open": 1, "bullet_list_close": -1, "ordered_list_close": -1}


@dataclass
class Story:
    """What a specification says of a story: how it is tested on its own, and its scenarios, a line each."""

    tests: list[str] = field(default_factory=list)
    scenarios: list[str] = field(default_factory=list)


def stories_in(text: str) -> tuple[int, ...]:
    """The numbers of the user stories that a heading names, each once, in its order."""
    return tuple(dict.fromkeys(number for found in _STORIES.finditer(text) for number in _expanded(found[1])))


def stories_of_label(label: str) -> tuple[int, ...]:
    """The numbers in a task's label such as `US1` or `US1+US2`; none where it is another label."""
    found = _LABEL.fullmatch(label.strip())
    return tuple(dict.fromkeys(_expanded(found[1]))) if found else ()


def _expanded(numbers: str) -> Iterator[int]:
    for found in _NUMBER.finditer(numbers):
        first, last = int(found[1]), int(found[2] or found[1])
        if 0 <= last - first <= _MOST_OF_A_RANGE:
            yield from range(first, last + 1)
        else:
            yield from (first, last)


def marks_in(paragraph: Iterable[str]) -> Iterator[tuple[bool, str]]:
    """The independent tests (True) and checkpoints (False) among the lines of a paragraph, each on one line."""
    open_mark: tuple[bool, list[str]] | None = None
    for line in paragraph:
        found = MARK.match(line)
        if (found or _FIELD.match(line)) and open_mark:
            yield open_mark[0], one_line(" ".join(open_mark[1]))
            open_mark = None
        if found:
            open_mark = found["test"] is not None, [found["text"]]
        elif open_mark:
            open_mark[1].append(line)
    if open_mark:
        yield open_mark[0], one_line(" ".join(open_mark[1]))


def stories_of(specification: str) -> dict[int, Story]:
    """The stories of a `spec.md` by number. Of a number that is given twice, both count."""
    found: dict[int, Story] = {}
    here: list[tuple[int, tuple[int, ...]]] = []  # the open headings: how deep they are, and the stories they name
    accepting = False
    lists = 0
    tokens = blocks(specification)
    entries: list[tuple[Story, str]] = []
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            depth, title = int(token.tag[1:]), tokens[index + 1].content
            here = [entry for entry in here if entry[0] < depth] + [(depth, stories_in(title))]
            accepting = bool(_ACCEPTANCE.match(title))
        lists += _LISTS.get(token.type, 0)
        numbers = next((numbers for _, numbers in reversed(here) if numbers), ())
        for story in [found.setdefault(number, Story()) for number in numbers]:
            if token.type == "inline" and not lists and tokens[index - 1].type == "paragraph_open":
                story.tests += [text for is_test, text in marks_in(token.content.split("\n")) if is_test]
            elif token.type == "list_item_open" and lists == 1:
                text = _item_text(tokens, index)
                if accepting or _GIVEN.match(text) or _STEP.match(text) or len(_BOLD.findall(text)) > 1:
                    entries.append((story, text))
            elif token.type == "fence" and not lists:
                entries += [(story, text) for text in _gherkin(token.content)]
        if token.type == "inline" and not lists and tokens[index - 1].type == "paragraph_open":
            accepting = bool(_ACCEPTANCE.match(token.content.split("\n")[-1]))
    _join_steps(entries)
    return found


def _item_text(tokens: Sequence[Token], index: int) -> str:
    """All text of a list's entry, on one line."""
    level = tokens[index].level
    parts: list[str] = []
    for token in tokens[index + 1 :]:
        if token.type == "list_item_close" and token.level == level:
            break
        if token.type in ("inline", "fence", "code_block"):
            parts.append(token.content)
    return one_line(" ".join(parts))


def _join_steps(entries: Iterable[tuple[Story, str]]) -> None:
    """Scenarios into their stories; steps that are entries of their own become one."""
    for story, text in entries:
        last = story.scenarios[-1] if story.scenarios else ""
        if (
            _STEP.match(text)
            and _GIVEN.match(last)
            and (not _THEN.search(last) or text.strip("*_ ")[:3].lower() == "and")
        ):
            story.scenarios[-1] = f"{last} {text}"
        else:
            story.scenarios.append(text)


def _gherkin(code: str) -> Iterator[str]:
    """The scenarios of a fence in Gherkin, each on one line."""
    if not (re.search(r"^\s*Given\b", code, re.MULTILINE) and re.search(r"^\s*Then\b", code, re.MULTILINE)):
        return
    for part in re.split(r"^(?=\s*Scenario\b)", code, flags=re.MULTILINE):
        lines = [line for line in part.split("\n") if not re.match(r"\s*(?:Feature|Background|@|#)", line)]
        if re.search(r"^\s*Given\b", part, re.MULTILINE) and (text := one_line(" ".join(lines))):
            yield text
