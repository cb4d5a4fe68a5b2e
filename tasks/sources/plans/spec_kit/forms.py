"""How a task's line begins: the ids that plans print, the boxes before them, and lines that only speak of tasks."""

from __future__ import annotations

import re

#: A task's id as it is printed: `T001`, `T-001`, `T018b`, `TASK-001-002`.
ID = r"(?<![A-Za-z0-9_])(?:TASK-?\d{1,6}(?:[-.]\d{1,6}){0,3}|T-?\d{1,6}(?:\.\d{1,3})*)[a-z]?(?![A-Za-z0-9_])"
#: A number as the id of a task: `1`, `1.2`, `3.1.4`.
NUMBER = r"\d{1,4}(?:\.\d{1,4})*"
#: A word before the number of a task, as in «Task 3».
WORD = r"(?:tasks?|タスク|任务|任務|작업|tareas?|tarefas?|t[âa]ches?|aufgaben?|zadani[ea]|задач[аеи]|görev)"

#: What stands in the box of a task that is done.
DONE_MARKS = frozenset("xX✓✔✅☑")
#: Signs that stand for a box, and what they hold.
SIGNS = {"✅": "x", "☑": "x", "✔": "x", "✓": "x", "⬜": "", "☐": ""}

_BOX = r"(?:\[(?P<mark>[^\[\]\n]{0,2})\]\*?[ \t]*+|(?P<sign>[✅☑✔✓⬜☐])\ufe0f?[ \t]*+)"
_BEFORE = r"(?P<before>[*_`~\[]*)"
_AFTER = r"(?P<after>[*_`~\]]*)(?P<text>.*)"

#: A task by its id, with or without a box.
TASK = re.compile(rf"{_BOX}?{_BEFORE}(?P<id>{ID}){_AFTER}", re.DOTALL)
#: A task in a box by its number, which has a point in it or something after it.
NUMBERED = re.compile(
    rf"{_BOX}{_BEFORE}(?P<id>\d{{1,4}}(?:(?:\.\d{{1,4}})+|(?=[.):：])))[.)]?(?=[\s*_`~\]]|[:：](?:\s|$)){_AFTER}",
    re.DOTALL,
)
#: Anything in a box.
BOXED = re.compile(rf"{_BOX}(?P<text>.*\w.*)", re.DOTALL)
#: A heading that is a task: by its id, or by its number after the word for one.
HEADING = re.compile(
    rf"{_BOX}?{_BEFORE}(?:(?:{WORD}[ \t]+)?(?P<id>{ID})"
    rf"|{WORD}[ \t]*\#?[ \t]*(?P<number>{NUMBER})(?=[\s:：.)）—–*_-]|$)){_AFTER}",
    re.IGNORECASE | re.DOTALL,
)

#: What follows an id that a line only speaks of: a range, a list of ids, an arrow.
REFERENCE = re.compile(
    r"[ \t]*+(?:(?:[-–—~〜～,、,&+/∥]|\.\.+|to\b|through\b|and\b)[ \t]*(?:TASK-?|T-?)?\d|→|⇒|➔|➡|←|<?[-=]+>|∥)",
    re.IGNORECASE,
)
#: An entry of a list with a box, also where it is indented so far that Markdown takes it for text or code.
LINE = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(\[[^\[\]\n]{0,2}\]\*?.*)")

#: A text in which no line looks so has no task.
MAY_BE = re.compile(
    rf"^[ \t]*(?:(?:[-*+]|\d{{1,9}}[.)])[ \t]+(?:\[[^\[\]\n]{{0,2}}\]|[✅☑✔✓⬜☐]|[*_`~\[]*{ID})"
    rf"|#{{1,6}}[^\n]*(?:{ID}|{WORD}[ \t]*\#?[ \t]*\d)|\|[^\n]*{ID})",
    re.IGNORECASE | re.MULTILINE,
)
