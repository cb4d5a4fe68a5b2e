"""Text as every part of prebrief sees it: cleaning, words, keywords and similarity live here alone."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl  # imported where it is used: whoever only cleans names need not wait for it

Words = Literal["unicode", "ascii"]

#: English words that say nothing about a text's subject.
STOP_WORDS = frozenset(
    """a about above after again against all am an and any are as at be because been before being below between both
    but by can cannot could did do does doing down during each few for from further get had has have having he her here
    hers herself him himself his how if in into is it its itself just me more most my myself no nor not now of off on
    once only or other our ours ourselves out over own same she should so some such than that the their theirs them
    themselves then there these they this those through to too under until up us very was we were what when where which
    while who whom why will with would you your yours yourself yourselves""".split()  # noqa: SIM905 - words, not a list
)

#: Words that stand in most tasks of any plan, so that they pick no passage.
PLAN_WORDS = frozenset(
    """add adds added also change changes create creates created ensure existing file files implement implements
    implementation include includes make makes must need needs new one provide provides run runs set support supports
    task tasks update updates updated use used uses using via well within without work works write""".split()  # noqa: SIM905
)

_LEAST_WORD = 2  # characters of a word that counts, East Asian characters aside
_LEAST_KEYWORD = 4  # of a keyword in prose, acronyms aside
_LEAST_PART = 3  # of a keyword in a file's stem

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_PLAIN = re.compile("|".join(kind.pattern for kind in (_CONTROL, _INVISIBLE, _SURROGATE)))
_PLAIN_BYTES = bytes((9, 10, *range(32, 127)))
_SHORT = 100  # characters up to which it is faster to look at each


def clean(text: str) -> str:
    """A text in which nothing is hidden: only visible characters, spaces, tabs and newlines.

    Line ends become newlines, ANSI escapes (mere colour) go, a lone surrogate becomes U+FFFD; other control characters,
    zero-width ones and those that turn the direction of text around are shown as `[U+202E]`. Joiners within words and
    emoji (U+200C, U+200D, U+FE00 to U+FE0F) stay. Applying it twice changes nothing.
    """
    if is_plain(text) or not _NOT_PLAIN.search(text):
        return text
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    text = _SURROGATE.sub("\ufffd", _ANSI.sub("", text))
    text = _CONTROL.sub(lambda found: "\n" if found[0] in "\u2028\u2029\x0b\x0c\x85" else _shown(found), text)
    return _INVISIBLE.sub(_shown, text)


def is_plain(text: str) -> bool:
    """Whether a text has only visible characters of ASCII, spaces, tabs and newlines, as most; it costs little."""
    return holds_only(text, _PLAIN_BYTES)


def holds_only(text: str, plain: bytes) -> bool:
    """Whether a text has no characters but these of ASCII; ten times as fast as an expression."""
    return text.isascii() and not text.encode().translate(None, plain)


def _shown(found: re.Match[str]) -> str:
    return f"[U+{ord(found[0]):04X}]"


def one_line(text: str) -> str:
    """A cleaned text on one line, each run of white space a single space."""
    is_short_and_plain = len(text) <= _SHORT and text.isascii() and text.isprintable()  # as nearly all names are
    return " ".join((text if is_short_and_plain else clean(text)).split())


# ---- words ------------------------------------------------------------------------------------------------------

_ASCII_PIECES = r"[a-z0-9_./-]+"
_ANY_PIECES = r"[\p{L}\p{M}\p{N}_./-]+"
_JOINS = r"[./-]"
_EASTERN = r"[\p{Han}\p{Hiragana}\p{Katakana}]"


class WordTable(NamedTuple):
    """The distinct words of texts, by number, so that who compares texts compares numbers."""

    rows: pl.DataFrame
    """`id, word`, a row a distinct word of a text. A text without words has no row."""
    vocabulary: pl.Series
    """The words in their order; a word's number is its place."""


def word_table(texts: pl.DataFrame, words: Words) -> WordTable:
    """The distinct words of texts; the rows by text and word.

    Args:
        texts: `id` (32 bits) and `text`, a row a text.
        words: `ascii` is the plain rule: lower case, runs of `[a-z0-9_./-]`; a run joined by `.`, `/` or `-` counts as
            a whole and in parts; words of one character and stop words are out. `unicode` takes the letters and digits
            of any script, splits camelCase and snake_case too, and takes each East Asian character as a word.

    Cost: about 0.03 s a megabyte to find the runs of characters; which words are in a run is asked once a distinct run.
    """
    import polars as pl

    from tasks.pairs import distinct, looked_up, packed, unpacked

    column = pl.col("text").str.to_lowercase() if words == "ascii" else pl.col("text")
    runs = (
        texts.select("id", run=column.str.extract_all(_ASCII_PIECES if words == "ascii" else _ANY_PIECES))
        .explode("run", empty_as_null=False, keep_nulls=False)
        .with_columns(pl.col("run").cast(pl.Categorical(pl.Categories.random())))  # of their own: numbered from 0
    )
    known = runs["run"].unique()
    of_runs, vocabulary = numbered(
        _words_of(pl.DataFrame({"id": known.to_physical(), "token": known.cast(pl.String)}), words)
    )
    place, word = looked_up(of_runs["id"].to_numpy(), of_runs["word"].to_numpy(), runs["run"].to_physical().to_numpy())
    ids, held = unpacked(distinct(packed(runs["id"].to_numpy()[place], word)))
    return WordTable(pl.DataFrame({"id": ids, "word": held}), vocabulary)


def numbered(table: pl.DataFrame) -> WordTable:
    """Words that are spelled out, as `id, token`, each once a text; the rows by word."""
    import polars as pl

    rows = table.sort("token").select("id", "token", word=pl.col("token").rle_id())
    return WordTable(rows.select("id", "word"), rows["token"].unique(maintain_order=True))


def spelled(words: WordTable) -> pl.DataFrame:
    """The rows of a table as `id, token`."""
    return words.rows.select("id", token=words.vocabulary.gather(words.rows["word"]))


def token_table(texts: pl.DataFrame, words: Words) -> pl.DataFrame:
    """`id` and `token`, the distinct words that `word_table` finds in texts, spelled out."""
    return spelled(word_table(texts, words))


def _words_of(runs: pl.DataFrame, words: Words) -> pl.DataFrame:
    """`id, token`, the distinct words of runs of characters, which are given so, too."""
    import polars as pl

    pieces = runs.lazy().select("id", pl.col("token").str.strip_chars("./-"))
    parts = _parts(pieces.filter(pl.col("token").str.contains(_JOINS)), r"[^./-]+")
    if words == "ascii":
        found = [pieces, parts]
    else:
        whole = pl.concat([pieces, parts])
        named = _parts(
            whole.filter(pl.col("token").str.contains(r"_|\p{Ll}\p{Lu}|\p{Lu}\p{Lu}\p{Ll}")), r"[^_ ]+", camel=True
        )
        eastern = _parts(whole.filter(pl.col("token").str.contains(_EASTERN)), _EASTERN)
        found = [whole.filter(~pl.col("token").str.contains(_EASTERN)), named, eastern]
    token = pl.col("token").str.to_lowercase()
    long_enough = (pl.col("token").str.len_chars() >= _LEAST_WORD) | pl.col("token").str.contains(_EASTERN)
    return (
        pl.concat(found)
        .select("id", token)
        .filter(long_enough & ~pl.col("token").is_in(sorted(STOP_WORDS)))
        .unique()
        .collect()
    )


def _parts(tokens: pl.LazyFrame, part: str, *, camel: bool = False) -> pl.LazyFrame:
    import polars as pl

    token = pl.col("token")
    if camel:
        token = token.str.replace_all(r"(\p{Ll}|\p{N})(\p{Lu})", "${1} ${2}")
        token = token.str.replace_all(r"(\p{Lu})(\p{Lu}\p{Ll})", "${1} ${2}")
    return tokens.select("id", token.str.extract_all(part)).explode("token", empty_as_null=False, keep_nulls=False)


def tokenize(text: str, words: Words = "unicode") -> frozenset[str]:
    """The distinct words of one text, by the rules of `token_table`."""
    import polars as pl

    table = token_table(pl.DataFrame({"id": [0], "text": [text]}, schema={"id": pl.UInt32, "text": pl.String}), words)
    return frozenset(table["token"])


def jaccard(left: Iterable[str], right: Iterable[str]) -> float:
    """The share of all words that two sets have in common, 0 to 1; two empty sets have nothing in common."""
    one, other = frozenset(left), frozenset(right)
    return len(one & other) / len(one | other) if one or other else 0.0


class TfIdfScorer:
    """Cosine similarity of word sets, each word weighted by its rarity: idf = ln((1 + n) / (1 + df)) + 1."""

    def __init__(self, documents: Iterable[Iterable[str]]) -> None:
        sets = [frozenset(document) for document in documents]
        self._count = len(sets)
        frequency: dict[str, int] = {}
        for words in sets:
            for word in words:
                frequency[word] = frequency.get(word, 0) + 1
        self._frequency: Mapping[str, int] = frequency

    def idf(self, word: str) -> float:
        """The weight of a word: the rarer, the higher; at least 1."""
        return math.log((1 + self._count) / (1 + self._frequency.get(word, 0))) + 1

    def score(self, query: Iterable[str], document: Iterable[str]) -> float:
        """How alike two word sets are, 0 to 1."""
        one, other = sorted(frozenset(query)), sorted(frozenset(document))
        shared = sum(self.idf(word) ** 2 for word in sorted(frozenset(one) & frozenset(other)))
        norm = math.sqrt(sum(self.idf(word) ** 2 for word in one) * sum(self.idf(word) ** 2 for word in other))
        return shared / norm if norm else 0.0


_NEGATIONS = (
    r"\b(?:no|not|never|none|nor|neither|without|cannot|except|unless|nothing|nobody|nowhere)\b|\w+n['’]t\b"
    r"|[不没無无未非別勿]|\bне\b|\bнет\b"
)


def difference_marks(text: pl.Expr) -> pl.Expr:
    """What makes two nearly equal texts say different things: their numbers in order, negations and single letters.

    One string a text; two texts with different marks are no duplicates of each other.
    """
    import polars as pl

    lower = text.str.to_lowercase()
    numbers = lower.str.extract_all(r"\p{N}+(?:[.,:]\p{N}+)*").list.join(" ")
    negations = lower.str.extract_all(_NEGATIONS).list.join(" ")
    letters = text.str.extract_all(r"\b\p{L}\b").list.join(" ")
    return pl.concat_str(numbers, negations, letters, separator="\x1f")


# ---- keywords of a task -----------------------------------------------------------------------------------------

_ACRONYM = re.compile(r"^(?=.*[A-Z])[A-Z0-9]{2,3}s?$")
_PART = re.compile(r"[^\W_]+")
_ALPHANUMERIC = bytes(code if chr(code).isalnum() and chr(code).isascii() else 32 for code in range(256))
_EAST_ASIAN = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0002ffff\u30a1-\u30fa]|[\uac00-\ud7a3]{2,}")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def _alphanumeric(text: str) -> set[str]:
    """The distinct runs of letters and digits."""
    if text.isascii():  # what the expression finds, in a third of the time
        return set(text.encode().translate(_ALPHANUMERIC).decode().split())
    return set(_PART.findall(text))


def keywords(prose: str, paths: Iterable[str]) -> frozenset[str]:
    """The words by which a task picks its spec passages, lower case.

    Words of title and description over 3 characters (acronyms such as JWT, API or CI from 2), parts of file stems over
    2, whole and without punctuation; stop words and the words of every plan are out. East Asian text has no spaces:
    each of its characters counts, as it does in `token_table`, but for kana that mostly are grammar.
    """
    found: set[str] = set()
    for word in _alphanumeric(prose):
        if word.islower() and word.isascii():
            if len(word) >= _LEAST_KEYWORD:
                found.add(word)
            continue
        named = (word.removesuffix("s"),) if _ACRONYM.match(word) else _CAMEL.split(word)
        found.update(part.lower() for part in (word, *named) if len(part) >= _LEAST_KEYWORD or _ACRONYM.match(part))
        found.update(_EAST_ASIAN.findall(word))
    for path in paths:
        stem = path.rstrip("/").rsplit("/", 1)[-1]
        stem = stem.split(".", 1)[0] if not stem.startswith(".") else stem[1:].split(".", 1)[0]
        for word in _alphanumeric(stem):
            if word.islower() and word.isascii():
                if len(word) >= _LEAST_PART:
                    found.add(word)
                continue
            found.update(part.lower() for part in (word, *_CAMEL.split(word)) if len(part) >= _LEAST_PART)
    return frozenset(found - STOP_WORDS - PLAN_WORDS)
