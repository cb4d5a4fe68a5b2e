# ruff: noqa: PLR2004 - thresholds are tuned and read best where they are used
# ruff: noqa: SIM905 - word lists read best as text
# ruff: noqa: ANN401 - JSON holds anything
"""JSON, JSON lines, and an HTTP answer or a line of words with JSON behind it."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

from tasks.summaries.pieces import Digest, Piece, graded, line_piece, lines_by
from tasks.summaries.signals import FACT, FAILURE, REST, STATUS, TROUBLE, severity, words_of
from tasks.summaries.source import Source, byte_length

if TYPE_CHECKING:
    from collections.abc import Iterator

STRING_LIMIT = 160  # characters; a longer string is withheld whole
RECORD_LIMIT = 330  # characters of one record as shown
CATEGORIES = 8  # different values that a field may have to be counted by value
DEPTH = 12
MOST_HELD = 5_000  # objects within records that are looked at
RELATED = 6  # records at most that one value relates
NOTHING = (None, False, "", "0", "null", "none", "None", "false")
FIRST_KEYS = (
    "error errors message msg detail details reason exception status state conclusion result code exit_code"
    " exitcode failed failure "
    "failures severity level phase total count number id name key title url path file filename version"
).split()
KEY_RANK = {key: index / len(FIRST_KEYS) for index, key in enumerate(FIRST_KEYS)}
STATE_KEYS = frozenset(
    "status state level severity phase result conclusion type kind outcome code priority environment region "
    "health".split()
)
START = re.compile(r"[\[{]")


class Number(str):
    """A number as it was written."""

    __slots__ = ()


def parse(text: str) -> Any:
    """The value of a JSON text, numbers as they were written."""
    return json.loads(text, parse_float=Number, parse_int=Number, parse_constant=Number)


def found_in(source: Source) -> tuple[str, Any, str, int] | None:
    """What stands before the JSON, its value, the unit it counts in and how many of them; None where it is no JSON."""
    text = source.text.strip()
    if text[:1] in ("{", "["):
        try:
            value = parse(text)
        except ValueError:
            return json_lines(source)
        return "", value, *counted(value)
    for found in islice(START.finditer(text, 0, 3_000), 4):
        try:
            value = parse(text[found.start() :])
        except ValueError:
            continue
        if len(text) - found.start() > len(text) / 2 and isinstance(value, dict | list):
            return text[: found.start()].rstrip(), value, *counted(value)
    return None


def counted(value: Any) -> tuple[str, int]:
    """What a value counts in: records of an array, values of everything else."""
    if isinstance(value, list):
        return ("records" if value and isinstance(value[0], dict) else "entries"), len(value)
    return "values", sum(1 for _ in leaves(value))


def leaves(value: Any) -> Iterator[Any]:
    """Every scalar inside a value, without recursion."""
    stack = [value]
    while stack:
        top = stack.pop()
        if isinstance(top, dict):
            stack.extend(top.values())
        elif isinstance(top, list):
            stack.extend(top)
        else:
            yield top


def json_lines(source: Source) -> tuple[str, Any, str, int] | None:
    """JSON lines: nearly every line an object or array of its own."""
    if len(source.filled) < 3:
        return None
    values: list[Any] = []
    odd: list[str] = []
    for place in source.filled:
        line = source.lines[place].strip()
        try:
            if line[:1] in ("{", "["):
                values.append(parse(line))
            else:
                odd.append(line)
        except ValueError:
            odd.append(line)
        if len(odd) > 20 + len(source.filled) // 10:
            return None
    if len(odd) * 5 > len(values):
        return None
    return "\n".join(odd), values, "records", len(source.filled)


def detect(source: Source) -> bool:
    """JSON as a whole, line by line, or behind a few words."""
    source.found["json"] = found_in(source)
    return source.found["json"] is not None


def digest(source: Source) -> Digest:
    """Scalars by how much their key and value say; arrays with counts by state, rare and failed records first."""
    found = source.found["json"] if "json" in source.found else found_in(source)
    if found is None:
        raise ValueError("no JSON")
    before, value, unit, units = found
    writer = Writer(compact=source.text.count('":"') > source.text.count('": "'))
    walk = Walk(writer, by_record=unit == "records")
    walk.value("", value, 0)
    pieces = walk.pieces
    if before:
        head = Source.of(before)
        opening = line_piece(head, head.filled[0], FAILURE - 0.3)
        pieces += [
            Piece(piece.text, piece.rank - 0.2, -1.0 + piece.place / 1e6, None, piece.size)
            for piece in [opening, *lines_by(head, slope=0.2, places=head.filled[1:])]
        ]
    return Digest(pieces, unit, units, walk.labels)


class Writer:
    """Writes values as JSON, in the spacing of the source; what is too long is named by its size, never cut."""

    def __init__(self, *, compact: bool) -> None:
        self.colon, self.comma = (":", ",") if compact else (": ", ", ")

    def scalar(self, value: Any) -> str:
        """A scalar as JSON; a long string as `<string, n characters>`."""
        if isinstance(value, Number):
            return str(value)
        if isinstance(value, str):
            written = json.dumps(value, ensure_ascii=False)
            return written if len(written) <= STRING_LIMIT else f"<string, {len(value)} characters>"
        return json.dumps(value)

    def short(self, value: Any) -> str:
        """Any value on a few characters."""
        if isinstance(value, dict):
            return (
                self.object(value, 100)
                if value and all(is_scalar(one) for one in value.values())
                else f"<object, {plural(len(value), 'key')}>"
            )
        if isinstance(value, list):
            if value and all(is_scalar(one) for one in value):
                written = f"[{self.comma.join(self.scalar(one) for one in value[:12])}]"
                if len(value) <= 12 and len(written) <= 120:
                    return written
            return "[]" if not value else f"<array, {plural(len(value), 'entry', 'entries')}>"
        return self.scalar(value)

    def pair(self, key: str, value: Any) -> str:
        """`"key": value`."""
        return f"{json.dumps(key, ensure_ascii=False)}{self.colon}{self.short(value)}"

    def object(self, record: dict[str, Any], limit: int = RECORD_LIMIT) -> str:
        """A record: all of it if that is short, else its weightiest pairs and how many more it has."""
        pairs = [(key, self.pair(key, value)) for key, value in list(record.items())[:200] if len(key) <= STRING_LIMIT]
        kept: set[int] = set()
        left = limit - 20
        order = sorted(range(len(pairs)), key=lambda index: (weight(pairs[index][0], record[pairs[index][0]]), index))
        for index in order:
            if len(pairs[index][1]) + 2 <= left:
                kept.add(index)
                left -= len(pairs[index][1]) + 2
        more = len(record) - len(kept)
        shown = [pairs[index][1] for index in sorted(kept)]
        if more:
            shown.append(f"<{more} more of {plural(len(record), 'key')}>" if shown else f"<{plural(more, 'key')}>")
        return f"{{{self.comma.join(shown)}}}"


def is_scalar(value: Any) -> bool:
    """Whether a value is neither an object nor an array."""
    return not isinstance(value, dict | list)


def plural(count: int, one: str, many: str = "") -> str:
    """A number with its noun."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def weight(key: str, value: Any) -> float:
    """How early a pair is kept: by its key, and by words of failure in its value."""
    last = key.rpartition(".")[2]
    name = last.lower()
    rank = KEY_RANK.get(name)
    if rank is None:
        parts = words_of(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", last))
        rank = min((KEY_RANK[part] + 0.3 for part in parts if part in KEY_RANK), default=2.0)
    if isinstance(value, Number):
        rank -= 0.2
    elif isinstance(value, str):
        if severity(value[:400]) <= FAILURE:
            rank -= 1.0
        rank += min(1.0, len(value) / 400)
    elif value is None or isinstance(value, dict | list):
        rank += 1.0
    return rank


def telling(key: str, value: Any) -> float:
    """The rank of one scalar among a whole document's."""
    name = key.rpartition(".")[2].lower()
    empty = value in (None, False, "", "0", "null") or (
        isinstance(value, str) and value.lower() in ("none", "ok", "no")
    )
    words = isinstance(value, str) and not isinstance(value, Number) and not value.startswith(("http://", "https://"))
    if words and severity(value[:400]) <= FAILURE:
        return FAILURE
    if not empty and severity(name.replace("_", " ")) <= FAILURE:
        return FAILURE + 0.1
    if name in KEY_RANK:
        return TROUBLE + KEY_RANK[name]
    part = min((KEY_RANK[word] for word in words_of(name) if word in KEY_RANK), default=None)
    if part is not None:
        return TROUBLE + 0.4 + part
    if isinstance(value, str) and severity(value[:400]) < REST:
        return TROUBLE
    return FACT + 0.4 + min(1.0, weight(key, value) / 4)


class Walk:
    """Goes through a document once and lays its pieces out in its own order."""

    def __init__(self, writer: Writer, *, by_record: bool) -> None:
        self.writer = writer
        self.by_record = by_record
        self.pieces: list[Piece] = []
        self.labels: Counter[str] = Counter()
        self.failing: dict[str, bool] = {}
        self.place = 0.0

    def add(self, text: str, rank: float, size: int = 0, units: int = 0) -> None:
        """One more line below the last."""
        self.place += 1
        self.pieces.append(Piece(text, rank, self.place, None, size, units))

    def value(self, path: str, value: Any, depth: int) -> None:
        """One value under its path."""
        if len(self.pieces) > 4_000 or depth > DEPTH:
            if not is_scalar(value):
                self.add(f"- {path}: {self.writer.short(value)}", REST + depth)
        elif isinstance(value, dict):
            self.mapping(path, value, depth)
        elif isinstance(value, list):
            self.array(path, value, depth)
        else:
            self.add(
                f"- {path}: {self.writer.scalar(value)}" if path else self.writer.scalar(value),
                telling(path, value),
                byte_length(str(value)),
                1,
            )

    def mapping(self, path: str, value: dict[str, Any], depth: int) -> None:
        """An object: its scalars by rank, several on a line; then what it holds."""
        nested = {key: one for key, one in value.items() if not is_scalar(one) and one}
        if len(nested) >= 5 and len(nested) == len(value) and alike(list(nested.values())):
            self.records(path, list(nested.items()), depth)
            return
        groups: dict[int, list[tuple[float, str, Any]]] = {}
        troubled = bool(path) and severity(path.replace("_", " ").replace(".", " ")) <= FAILURE
        for key, one in value.items():
            if key not in nested:
                rank = telling(key, one) + 0.12 * depth
                if depth == 0 and one is not None:
                    # What stands at the top of a document says what it is about.
                    rank = min(rank, TROUBLE - 0.4 + max(0.0, weight(key, one)) / 4)
                if troubled:
                    rank = min(rank, FAILURE + 0.2 + max(0.0, weight(key, one)) / 3)
                groups.setdefault(int(rank * 2), []).append((rank, key, one))
        prefix = f"- {path}: " if path else "- "
        for _, group in sorted(groups.items()):
            line = prefix
            size = units = 0
            for rank, key, one in group:
                pair = self.writer.pair(key, one)
                if units and len(line) + len(pair) > 150:
                    self.add(line, rank + 0.02 * len(self.pieces) / 50, size, units)
                    line, size, units = prefix, 0, 0
                line += f"{', ' if units else ''}{pair}"
                size += byte_length(pair)
                units += 1
            if units:
                self.add(line, group[0][0], size, units)
        for key, one in nested.items():
            self.value(f"{path}.{key}" if path else key, one, depth + 1)

    def array(self, path: str, value: list[Any], depth: int) -> None:
        """An array: records, or scalars of which the first and the telling ones are shown."""
        objects = [one for one in value if isinstance(one, dict)]
        name = path or "array"
        if objects and len(objects) * 2 >= len(value):
            if len(value) == 1:
                self.value(f"{path}[0]", value[0], depth)
            else:
                self.records(path, [(f"[{index}]", one) for index, one in enumerate(value)], depth)
            return
        if not value:
            return
        if len(value) == 1 and not is_scalar(value[0]):
            self.value(f"{path}[0]", value[0], depth + 1)
            return
        ranked = sorted(
            range(len(value)),
            key=lambda index: (severity(str(value[index])[:200]) if is_scalar(value[index]) else REST, index),
        )
        kept: list[int] = []
        left = 150
        for index in ranked[:60]:
            if (cost := len(self.writer.short(value[index])) + 2) <= left:
                kept.append(index)
                left -= cost
        shown = self.writer.comma.join(self.writer.short(value[index]) for index in sorted(kept))
        of = "" if len(kept) == len(value) else f" ({len(kept)} of {len(value)} entries shown)"
        trouble = min((severity(str(one)[:200]) for one in value[:500] if is_scalar(one)), default=REST)
        self.add(f"- {name}: [{shown}]{of}", min(trouble, FACT + 0.5) + 0.1 * depth, byte_length(shown), len(kept))

    def records(self, path: str, records: list[tuple[str, Any]], depth: int) -> None:
        """Records alike: how many, counts by state, then the failed, the rare, the first and the last of them."""
        name = path or "records"
        flat = [flattened(record) for _, record in records]
        counts = by_category(flat)
        counted = "".join(
            f"; {field}: {', '.join(f'{value} {count}' for value, count in tally.most_common(CATEGORIES))}"
            for field, tally in counts[:3]
        )
        self.add(f"- {name}: {len(records)} entries{counted}", STATUS + 0.3 + 0.3 * depth)
        first = min(len(self.pieces), 3) * 0.05
        troubled = severity(path.replace("_", " ").replace(".", " ")) <= FAILURE
        label = "" if self.by_record and not path else name
        if label:
            self.labels[label] = len(records)
        ranks = [self.record_rank(record, counts, len(records)) for record in flat]
        told = beside_failures(flat, ranks)
        scored = [(FAILURE + 0.25 if index in told else rank, index) for index, rank in enumerate(ranks)]
        chosen: dict[float, list[Piece]] = {}
        shown_first: dict[tuple[str, ...], int] = {}
        for found, index in sorted(scored)[:80]:
            key, record = records[index]
            group = tuple(str(flat[index].get(field, "")) for field, _ in counts)
            repeated = shown_first[group] = shown_first.get(group, -1) + 1
            shown = self.writer.object(flat[index]) if isinstance(record, dict) else self.writer.short(record)
            text = f"  - {key} {shown}"
            later = found + first + (0.4 if found < TROUBLE else 0.7) * min(repeated, 4)
            rank = min(later, FAILURE + 0.3 + 0.2 * index) if troubled else later + 0.3 * depth
            chosen.setdefault(rank, []).append(
                Piece(
                    text,
                    rank,
                    self.place + 1 + index / (len(records) + 1),
                    None,
                    byte_length(text) - 4,
                    1 if self.by_record else max(1, len(flat[index])),
                    label,
                )
            )
        for piece in self.failed_inside(records):
            chosen.setdefault(piece.rank, []).append(piece)
        for rank, pieces in sorted(chosen.items()):
            self.pieces += graded(pieces, rank, 0.15)
        self.place += 2

    def failed_inside(self, records: list[tuple[str, Any]]) -> Iterator[Piece]:
        """What failed in lists within records, which are themselves shown by their size: each under its path.

        Only where few failed of many; else the counts say it.
        """
        inside = (
            (key, at, where, one) for at, (key, record) in enumerate(records) for where, one in objects_in(record)
        )
        held = list(islice(inside, MOST_HELD))
        failed = [
            (f"{key}{where}", at, flat)
            for key, at, where, one in held
            if self.record_rank(flat := flattened(one), [], len(held)) <= FAILURE + 0.2
        ]
        if len(failed) > max(3, len(held) // 5):
            return
        for count, (name, at, flat) in enumerate(failed[:20]):
            text = f"  - {name} {self.writer.object(flat)}"
            place = self.place + 1 + (at + 0.5) / (len(records) + 1)
            yield Piece(text, FAILURE + 0.15 + 0.4 * min(count, 4), place, None, byte_length(text) - 4, len(flat))

    def record_rank(self, record: dict[str, Any], counts: list[tuple[str, Counter[str]]], total: int) -> float:
        """How early a record is kept: failures and rare states first."""
        few = max(1, total // 50)
        rare = any(tally[str(record.get(name, "∅"))] <= few for name, tally in counts if name in record)
        words = " ; ".join(
            value[:200] for value in record.values() if isinstance(value, str) and value.__class__ is str
        )
        worst = severity(words[:4_000])
        if worst > FAILURE and any(
            self.fails(key) and value not in NOTHING for key, value in record.items() if is_scalar(value)
        ):
            worst = FAILURE
        if worst <= FAILURE:
            return FAILURE if rare else FAILURE + 0.2
        if rare:
            return FAILURE + 0.3
        return worst + 0.3 if worst < REST else FACT + 0.4

    def fails(self, key: str) -> bool:
        """Whether a key names a failure, such as `errors`."""
        known = self.failing.get(key)
        if known is None:
            known = self.failing[key] = severity(key.replace("_", " ").replace(".", " ")) <= FAILURE
        return known


def objects_in(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects in lists within an object, each with its path from there, innermost ones alone."""
    if depth > DEPTH or not isinstance(value, dict):
        return
    for key, one in value.items():
        if isinstance(one, dict):
            yield from objects_in(one, f"{path}.{key}", depth + 1)
        for index, entry in enumerate(one if isinstance(one, list) else ()):
            if isinstance(entry, dict):
                where = f"{path}.{key}[{index}]"
                inner = list(objects_in(entry, where, depth + 1))
                yield from inner or [(where, entry)]


def beside_failures(records: list[dict[str, Any]], ranks: list[float]) -> set[int]:
    """The records that say why another failed: those few that share a value with a failed one, such as a test's name.

    Streams of events tell of a failure in one record and of its cause in the record before.
    """
    if len(records) <= RELATED * 2:
        return set()
    failed = [index for index, rank in enumerate(ranks) if rank <= FAILURE + 0.2]
    if not failed or len(failed) * 5 > len(records):
        return set()
    holders: dict[tuple[str, str], list[int]] = {}
    for index, record in enumerate(records):
        for key, value in record.items():
            if value.__class__ is str and 2 < len(value) <= 200:
                holders.setdefault((key, value), []).append(index)
    shared = [places for places in holders.values() if len(places) <= RELATED]
    known = set(failed)
    return {place for places in shared if not known.isdisjoint(places) for place in places} - known


def alike(values: list[Any]) -> bool:
    """Whether values are objects that share most of their keys."""
    if not all(isinstance(value, dict) for value in values):
        return False
    keys = Counter(key for value in values[:50] for key in value)
    some = min(len(values), 50)
    return sum(1 for count in keys.values() if count * 2 >= some) * 2 >= max(1, len(keys) if len(keys) < 40 else 1)


def flattened(record: Any) -> dict[str, Any]:
    """A record's scalars under dotted keys, a few levels deep; long inner arrays stay as they are."""
    if not isinstance(record, dict):
        return {"": record}
    flat: dict[str, Any] = {}
    stack: list[tuple[str, Any, int]] = [(str(key), value, 0) for key, value in reversed(record.items())]
    while stack and len(flat) < 60:
        key, value, depth = stack.pop()
        if isinstance(value, dict) and value and depth < 4:
            stack.extend((f"{key}.{inner}", one, depth + 1) for inner, one in reversed(value.items()))
        elif isinstance(value, list) and 0 < len(value) <= 3 and depth < 4 and isinstance(value[0], dict):
            stack.extend((f"{key}[{index}]", one, depth + 1) for index, one in reversed(list(enumerate(value))))
        else:
            flat[key] = value
    return flat


def by_category(records: list[dict[str, Any]]) -> list[tuple[str, Counter[str]]]:
    """Fields with few different values, counted by value, the ones that tell a state first."""
    if len(records) < 4:
        return []
    tallies: dict[str, Counter[str]] = {}
    for record in records:
        for key, value in record.items():
            if is_scalar(value) and len(str(value)) <= 32:
                tally = tallies.setdefault(key, Counter())
                if len(tally) <= CATEGORIES * 2:
                    tally[
                        "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
                    ] += 1
    found = [
        (key, tally)
        for key, tally in tallies.items()
        if 2 <= len(tally) <= CATEGORIES
        and sum(tally.values()) * 2 >= len(records)
        and len(tally) * 2 <= len(records) + 1
    ]

    def order(one: tuple[str, Counter[str]]) -> tuple[bool, bool, int]:
        name = one[0].rpartition(".")[2].lower()
        return name not in STATE_KEYS, not any(severity(value) < REST for value in one[1]), len(one[1])

    return sorted(found, key=order)
