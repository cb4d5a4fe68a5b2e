"""Token counts: one counter for a build, named in every row, and never reached over the network."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import os
import threading
from contextlib import suppress
from functools import cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tasks.errors import SettingsError, VocabularyError
from tasks.token_cache import TokenCache

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tiktoken import Encoding

    from tasks.settings import TokenSettings

_LOADING = threading.Lock()
_REMEMBERED = 200_000  # texts whose counts are kept in memory, by their text


#: Encodings that always part a text after a blank line that no white space or slash follows, so that a joined text
#: counts as much as its parts do with their separators. The patterns are those of tiktoken's `openai_public`.
_PARTED = ("o200k_base", "o200k_harmony", "cl100k_base")
_BLANK_LINE = "\n\n"


class TokenCounter(Protocol):
    """Counts the tokens of texts under a name that stands in every row it counted."""

    name: str

    def count(self, texts: Sequence[str]) -> list[int]:
        """The tokens of each text, in order."""
        ...

    def count_joined(self, units: Sequence[str], end: str) -> int:
        """The tokens of the text that units make, joined by blank lines and closed by `end`."""
        ...


class TiktokenCounter:
    """Counts with one of tiktoken's encodings, about 7 MB/s; special tokens in a text are counted as plain text.

    Where counts are kept, the vocabulary is loaded once a text has none.

    Raises:
        VocabularyError: no count is kept, and the encoding is unknown or its vocabulary damaged.
    """

    def __init__(self, name: str, cache: Path | None) -> None:
        self.name = name
        self._known: dict[str, int] = {}
        self._kept = TokenCache(cache, f"tokens-{name}-{version('tiktoken')}.counts") if cache else None
        if not self._kept:
            self._encoding = load_encoding(name)

    @cached_property
    def _encoding(self) -> Encoding:
        return load_encoding(self.name)

    def count(self, texts: Sequence[str]) -> list[int]:
        """The tokens of each text. A text is encoded once in the life of the counter, and of its cache."""
        known = self._known
        if len(known) > _REMEMBERED:
            known.clear()
        counts = []
        for text in texts:
            if (tokens := known.get(text)) is None:
                tokens = known[text] = self._counted(text)
            counts.append(tokens)
        return counts

    def keep(self) -> None:
        """Saves the counts for the next run."""
        if self._kept is not None:
            self._kept.save()

    def _counted(self, text: str) -> int:
        tokens = self._kept.get(text) if self._kept is not None else None
        if tokens is None:
            tokens = len(self._encoding.encode_ordinary(text))
            if self._kept is not None:
                self._kept.add(text, tokens)
        return tokens

    def count_joined(self, units: Sequence[str], end: str) -> int:
        """The tokens of the joined text, exact. Each unit is encoded once in the life of the counter where that is."""
        inside = units[1:]
        if self.name not in _PARTED or any(not unit or unit[0] == "/" or unit[0].isspace() for unit in inside):
            return self.count([_BLANK_LINE.join(units) + end])[0]
        return sum(self.count([*(unit + _BLANK_LINE for unit in units[:-1]), *(unit + end for unit in units[-1:])]))


class FunctionCounter:
    """Counts with a function `(text) -> int` that a user or a test names as `module:function`."""

    def __init__(self, name: str, function: Callable[[str], int]) -> None:
        self.name = name
        self._function = function

    def count(self, texts: Sequence[str]) -> list[int]:
        """The tokens of each text, one call a text."""
        return [self._function(text) for text in texts]

    def count_joined(self, units: Sequence[str], end: str) -> int:
        """The tokens of the joined text, one call."""
        return self._function(_BLANK_LINE.join(units) + end)


def token_counter(settings: TokenSettings) -> TokenCounter:
    """The counter that the settings name: `tiktoken`, or `module:function` for one of your own.

    Raises:
        SettingsError: the function cannot be imported.
        VocabularyError: the encoding is unknown or its vocabulary damaged.
    """
    return _counter(settings.counter, settings.tokenizer, settings.cache)


def keep_counts(settings: TokenSettings) -> None:
    """Saves what the counter of these settings has counted, where there is a cache."""
    counter = token_counter(settings)
    if isinstance(counter, TiktokenCounter):
        counter.keep()


@lru_cache(maxsize=8)
def _counter(counter: str, tokenizer: str, cache: bool) -> TokenCounter:
    if counter == "tiktoken":
        return TiktokenCounter(tokenizer, cache_folder() if cache else None)
    module, _, name = counter.partition(":")
    try:
        return FunctionCounter(counter, getattr(importlib.import_module(module), name))
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingsError(
            f"tokens.counter {counter!r} cannot be imported ({error}); use 'tiktoken' or module:function."
        ) from error


def cache_folder() -> Path:
    """Where counts and rules are kept between runs: `$XDG_CACHE_HOME/prebrief`, else the home's `.cache/prebrief`."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "prebrief"


def load_encoding(name: str) -> Encoding:
    """One of tiktoken's encodings, its vocabulary taken from the bundled file instead of a download.

    Takes about 0.3 s. The vocabulary must have the SHA-256 that tiktoken pins. A folder that `TIKTOKEN_CACHE_DIR` names
    is looked into first, as tiktoken does.

    Raises:
        VocabularyError: tiktoken does not know the name, or the vocabulary is missing or damaged.
    """
    from unittest.mock import patch

    import tiktoken
    import tiktoken_ext.openai_public as public

    with _LOADING, patch.object(public, "load_tiktoken_bpe", _ranks):
        try:
            return tiktoken.get_encoding(name)
        except ValueError as error:
            known = ", ".join(tiktoken.list_encoding_names())
            raise VocabularyError(f"tokens.tokenizer {name!r} is unknown; use one of {known}.") from error


def _ranks(url: str, expected_hash: str | None = None) -> dict[bytes, int]:
    """The tokens of a vocabulary and their ranks, a pair a line: the token in base64 and its rank."""
    import polars as pl  # a hook that only asks where the cache is need not wait for it

    columns = {"token": pl.String, "rank": pl.UInt32}
    pairs = pl.read_csv(
        _vocabulary(url, expected_hash), has_header=False, separator=" ", quote_char=None, schema=columns
    )
    return dict(zip(pairs["token"].str.decode("base64").to_list(), pairs["rank"].to_list(), strict=True))


def _vocabulary(url: str, expected_hash: str | None) -> bytes:
    given = os.environ.get("TIKTOKEN_CACHE_DIR")
    if given:
        kept = Path(given) / hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
        with suppress(OSError):
            data = kept.read_bytes()
            if _has_hash(data, expected_hash):
                return data
    data = _bundled(url)
    if not _has_hash(data, expected_hash):
        raise VocabularyError(
            f"the bundled vocabulary of {url.rsplit('/', 1)[1]} has a wrong SHA-256; reinstall bpe-openai."
        )
    return data


def _has_hash(data: bytes, expected_hash: str | None) -> bool:
    return expected_hash in (None, hashlib.sha256(data).hexdigest())


def _bundled(url: str) -> bytes:
    """The vocabulary that bpe-openai brings along. Importing that package would load all of its tables: seconds."""
    name = url.rsplit("/", 1)[1] + ".gz"
    package = importlib.util.find_spec("bpe_openai")
    folders = list(package.submodule_search_locations or ()) if package else []
    try:
        return gzip.decompress(Path(*folders[:1], "data", name).read_bytes())
    except (OSError, EOFError) as error:
        raise VocabularyError(
            f"the vocabulary {name} is not bundled; use o200k_base or cl100k_base, or set TIKTOKEN_CACHE_DIR."
        ) from error
