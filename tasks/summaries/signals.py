# ruff: noqa: PLR2004 - thresholds are tuned and read best where they are used
# ruff: noqa: SIM905 - word lists read best as text
"""What makes a line worth keeping: words of failure, totals, states and identifiers, in any tool's output."""

from __future__ import annotations

import re

# Ranks: what is kept first has the lowest.
STATUS = 0.0  # the final state, the totals
FAILURE = 1.0
TROUBLE = 2.0  # what may well be a cause
WARNING = 2.6
FACT = 3.0  # an identifier, a number with a name
EDGE = 3.4  # first and last lines
REST = 5.0
NOISE = 8.0

DIGIT = re.compile(r"\d")
WORD = re.compile(r"[^\W\d_]+")
# Each byte that is no letter of ASCII becomes a space.
LETTERS = bytes(code if code < 128 and chr(code).isalpha() else 32 for code in range(256))
SEVERE_WORDS = frozenset(
    "fatal critical crit emerg alert error errors errored err exception panic panicked fail failed failing fails"
    " failure "
    "failures aborted abort denied refused unreachable timeout timeouts crashed crash killed oom segfault corrupt "
    "corrupted traceback unhealthy evicted backoff deadlock unauthorized forbidden severe undefined conflict conflicts "
    "rollback rejected destroyed destroy vulnerability vulnerabilities breaking overdue unpaid breach breached "
    "错误 失败 异常 致命 超时 拒绝 ошибка ошибки ошибок сбой отказано отказ фатальная критическая エラー 失敗 例外 "
    "오류 실패 fehler fehlgeschlagen erreur échec échoué fallo falló errore fallito falha erro błąd".split()
)
# With the space that follows each of the words that are looked at.
SEVERE_ENDS = ("error ", "exception ", "failure ", "failed ", "killed ", "backoff ", "panic ", "errpull ")
SEVERE_SIGNS = (
    "错误",
    "失败",
    "异常",
    "致命",
    "超时",
    "拒绝",
    "エラー",
    "失敗",
    "例外",
    "오류",
    "실패",
    "✗",
    "✘",
    "✖",
    "❌",
    "×",
)
TROUBLE_WORDS = frozenset(
    "cannot unable missing invalid unexpected expired lost leak leaked degraded unknown unresolved stale broken"
    " skipped "
    "outdated unsupported exceeded exhausted violation violates blocked dropped retry retries retrying pending"
    " diverged "
    "replaced forces unmet mismatch already untracked stopped dead inactive unmerged ahead behind dangling high "
    "не найден "
    "найдено".split()
)
WARNING_WORDS = frozenset(
    "warn warning warnings deprecated deprecation caution moderate "
    "警告 предупреждение 경고 warnung avertissement".split()
)
SEVERE_PHRASE = re.compile(
    r"(?i)already in use|already exists|no such|not permitted|no space|out of memory|too many|could not"
    r"|can't connect|permission|read-only"
    r"|not found|does not exist|is not defined|no module|no route"
)
PHRASE_WORDS = frozenset("already no out too not could permission can read does is".split())
TELLING_WORDS = SEVERE_WORDS | PHRASE_WORDS | TROUBLE_WORDS | WARNING_WORDS
BENIGN = re.compile(
    r"(?i)\b(?:0|no|zero|without|any)\s+(?:\w+\s+)?(?:errors?|failures?|failed|failing|warnings?|vulnerabilit\w+"
    r"|conflicts?|problems?|issues?|timeouts?|retries)\b"
    r"|\b\w*(?:errors?|failed|failures?|failing|warnings?|conflicts?|vulnerabilit\w+|timeouts?"
    r"|retries)\w*['\"]?\s*[:=]\s*['\"]?"
    r"(?:0(?![.\d])|none\b|null\b|false\b|\[\]|no\b)"
    r"|[\w./@-]*(?:error|exception|fail|warn|missing|abort|timeout|conflict|retry)[\w-]*\.[a-z]\w{0,5}\b(?!:\d+: )"
    r"|--[a-z][\w-]+|-W\w[\w-]*|\b(?:if|on)[ _-]?(?:error|failure)\b"
    r"|\btimeouts?\s?[=:]\s?\d+(?:ms|s|m)?(?![\w.])|#failures?=\d+|[\w./-]+:(?:NoExecute|NoSchedule|PreferNoSchedule)\b"
)
EXCEPTION = re.compile(
    r"\s*(?:E\s+|\(?node:\d+\)?\s*)?(?:(?:Uncaught|Unhandled|Caused by:|Exception in thread \"[^\"]*\")\s*)*"
    r"(?:[A-Za-z_$][\w$]*[.:/]+)*[A-Z][\w$]*(?:Error|Exception|Failure|Fault|Interrupt|Exit|Timeout"
    r"|Warning)(?:\s\[\w+\])?(?::|\s*$)"
    r"|\s*(?:Caused by:|panic:|fatal error:|fatal:|thread '.*' panicked|Uncaught |Unhandled )"
)
UNITS = (
    "errors?|warnings?|failed|failures?|passed|passing|failing|pending|skipped|rows?|files?|tests?|suites?|insertions?|deletions?"
    "|packages?|vulnerabilit\\w+|problems?|issues?|hosts?|objects?|total|entries|records?|items?|match(?:es)?|commits?"
    "|director(?:y|ies)|folders?|results?|to add|to change|to destroy|added|changed|removed|upgraded|newly"
    " installed|examples?"
    "|loaded units|containers?|users?|jobs?|steps?|modules?|lines?|pods?|nodes?|warnings? emitted|steps"
)
COUNTED = re.compile(rf"(?i)(?<![\w.:-])\d[\d,]*\s+(?:\w+\s+)?(?:{UNITS})\b")
CLOSING = re.compile(
    r"(?i)\W{0,12}(?:(?:sub|grand )?totals?|summary|sum|result|results|found|ran \d|finished|done|completed?"
    r"|success\w*|build success"
    r"|build fail\w*|exit(?:ed)?(?: code| status)?|process exited|installed|plan:|apply complete|overall"
    r"|conclusion|elapsed"
    r"|average|all checks|no issues|up to date|your branch|on branch|head detached|it's|real\s+\d|итого|всего|合计"
    r"|总计|共|合計|всего)(?![\w-])"
)
SUCCESS = re.compile(
    r"(?i)\b(?:success(?:ful(?:ly)?)?|succeeded|passed|completed|finished|up-to-date|up to date|deployed|healthy)\b"
)
# One of them is in whatever that finds, but for letters that only a pattern takes for those of ASCII.
SUCCESS_SIGNS = ("succe", "passed", "completed", "finished", "date", "deployed", "healthy")
KEYED = re.compile(r"\s*(?:[-*•●<>]\s+)?[\"']?([A-Za-z_][\w .()/-]{0,40}?)[\"']?\s*(?::|=)\s+?(?=\S)|\s*(\w+)=\S")
KEY_WORDS = frozenset(
    "status state active result error errors message reason code exit total totals count amount id ids name url"
    " path version "
    "branch commit author severity level failed host image digest sha tag revision plan region cause summary title"
    " customer "
    "updated created due balance pid loaded process namespace node ready restarts endpoint method score rate date size "
    "duration decision owner deadline fallback conclusion next action note usage synopsis default impact root "
    "deployed memory".split()
)
TOTAL_KEYS = frozenset(("total", "totals", "subtotal", "restart", "restarts"))
ID_KEYS = frozenset(("id", "ids", "reason", "code", "exit"))
PERCENT_FULL = re.compile(r"(?<![\d.])(?:9[0-9]|100)(?:\.\d+)?%")
UNEQUAL = re.compile(r"(?<![\d/.])(\d+)/(\d+)(?![\d/.])")
VARIABLE = re.compile(
    r"(?i)\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b|\b0x[0-9a-f]+\b|\b(?=[a-f]*\d)[0-9a-f]{7,}\b"
    r"|\d+(?:[.,:]\d+)*"
)
WEEKDAY = re.compile(r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b")
REPLACED = re.compile(r"\s*# \S.* (?:will be destroyed|must be replaced)\b|.*# forces replacement")
RESOURCE_CHANGE = re.compile(r"\s*# \S.* (?:will be|must be|has been|has changed)\b|.*# forces replacement")
# The first line of an answer or a request as HTTP has it, with the mark that a client prints before it.
ANSWER = re.compile(r"\s*(?:[<>*|]\s?)?HTTP/[\d.]+\s+([1-5])\d\d\b")
REQUEST = re.compile(r"\s*(?:[<>*|]\s?)?(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) \S+ HTTP/[\d.]+\s*$")
# A request and the status of its answer, as servers write them down.
SERVED = re.compile(r"\b(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) \S+ (?:HTTP/[\d.]+\"? )?([1-5])\d\d\b")
# What makes a query slow, as its plan says it.
COSTLY_SIGNS = ("Seq Scan on ", "Rows Removed by ", "Disk: ")
COSTLY = re.compile(r"\bSeq Scan on |\bRows Removed by [\w ]+: \d{4,}|\bDisk: \d+ ?kB")
BANNER = re.compile(r"\s*([=*_#~+-])\1{2,}\s*(.*?)\s*(?:([=*_#~+-])\3{2,})?\s*$")


def template(line: str) -> str:
    """The line with its numbers, hashes and times blanked: lines of one template say the same thing."""
    if "-" not in line and not DIGIT.search(line):  # what varies has a digit, or is a UUID
        return line
    served = SERVED.search(line)
    alike = VARIABLE.sub("#", line)
    return f"{alike} {served[1]}xx" if served else alike  # an answer of 500 is not like one of 200


def words_of(line: str) -> list[str]:
    """The words of a line in lower case."""
    lowered = line.lower()
    if line.isascii():  # what `WORD` finds, in a third of the time
        return lowered.encode().translate(LETTERS).decode().split()
    return WORD.findall(lowered)


def is_severe(words: list[str]) -> bool:
    """Whether one of the words (in lower case) names a failure."""
    if not SEVERE_WORDS.isdisjoint(words):
        return True
    return any(map(f"{' '.join(words)} ".__contains__, SEVERE_ENDS))


def severity(line: str) -> float:
    """FAILURE, TROUBLE, WARNING or REST, by the words of the line; "0 errors" and `errors.py` are no failures."""
    words = words_of(line)
    telling = TELLING_WORDS.intersection(words)
    severe = is_severe(words) or (not line.isascii() and any(map(line.__contains__, SEVERE_SIGNS)))
    if not severe and not PHRASE_WORDS.isdisjoint(telling):
        severe = SEVERE_PHRASE.search(line) is not None
    trouble = not TROUBLE_WORDS.isdisjoint(telling)
    warned = not WARNING_WORDS.isdisjoint(telling)
    if not (severe or trouble or warned):
        return REST
    rest = BENIGN.sub(" ", line)
    if rest != line:
        return severity(rest)
    return FAILURE if severe else TROUBLE if trouble else WARNING


def is_total(line: str) -> bool:
    """Whether a line gives totals or a final state."""
    return len(line) <= 300 and bool(CLOSING.match(line) or (COUNTED.search(line) and len(line) <= 160))


def names_something(line: str) -> bool:
    """Whether a line is a key that identifies, with its value; such lines differ in what matters."""
    keyed = KEYED.match(line[:200])
    return keyed is not None and not ID_KEYS.isdisjoint(words_of(keyed[1] or keyed[2]))


def rank_of(line: str) -> float:
    """How early a line of any tool's output is kept, by what it says alone."""
    head = line.strip()[:400]
    if EXCEPTION.match(head):
        return FAILURE - 0.1
    found = severity(line[:2_000])
    if found == FAILURE:
        return FAILURE + 0.1
    answer = ANSWER.match(head)
    if answer:
        return FAILURE if answer[1] in "45" else FACT - 0.3
    if REPLACED.match(head):
        return FAILURE + 0.15
    counts = DIGIT.search(head) is not None
    served = SERVED.search(head) if counts else None
    if served and served[1] in "45":
        return FAILURE + 0.2 if served[1] == "5" else TROUBLE
    if RESOURCE_CHANGE.match(head):
        return FAILURE + 0.6
    if counts and is_total(head):
        return FAILURE + 0.3
    if found < REST:
        return found
    if any(map(head.__contains__, COSTLY_SIGNS)) and COSTLY.search(head):
        return TROUBLE
    if REQUEST.match(head):
        return TROUBLE + 0.2
    if counts and "%" in head and PERCENT_FULL.search(head):
        return WARNING
    keyed = KEYED.match(head)
    if keyed:
        key = words_of(keyed[1] or keyed[2])
        if not TOTAL_KEYS.isdisjoint(key):
            return FAILURE + 0.5
        if not ID_KEYS.isdisjoint(key):
            return TROUBLE + 0.2
        if not KEY_WORDS.isdisjoint(key):
            return FACT
    return FACT if CLOSING.match(head) or says_success(head) else REST


def says_success(line: str) -> bool:
    """Whether a line says that something came to a good end."""
    lowered = line.lower()
    return (not line.isascii() or any(map(lowered.__contains__, SUCCESS_SIGNS))) and bool(SUCCESS.search(line))


def unbanner(line: str) -> str:
    """The words of a banner such as `==== 3 failed in 2s ====`; an ordinary line as it is."""
    found = BANNER.match(line)
    return found[2] if found and (found[3] or not found[2]) else line
