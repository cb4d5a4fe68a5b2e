"""Counts that outlive a run never change one."""

from __future__ import annotations

import stat
import struct

import pytest

from tasks import token_cache, tokens
from tasks.token_cache import TokenCache
from tasks.tokens import TiktokenCounter

LONG = [
    f"Passage number {number} of a text that is worth a place in the cache, since it is long." for number in range(5)
]


@pytest.fixture
def counted(tmp_path):
    """What a first run counted and left in the folder."""
    counter = TiktokenCounter("o200k_base", tmp_path)
    counts = counter.count(LONG)
    counter.keep()
    return counts


def file_in(folder):
    return next(folder.glob("tokens-*.counts"))


def test_the_next_run_finds_the_counts(tmp_path, counted):
    again = TiktokenCounter("o200k_base", tmp_path)
    again._encoding = None  # so that it cannot encode
    assert again.count(LONG) == counted


def test_the_vocabulary_waits_for_a_text_that_was_never_counted(tmp_path, counted, monkeypatch):
    loaded = []
    real = tokens.load_encoding
    monkeypatch.setattr(tokens, "load_encoding", lambda name: loaded.append(name) or real(name))
    again = TiktokenCounter("o200k_base", tmp_path)
    again.count(LONG)
    assert loaded == []
    assert again.count(["something new", "something else"]) == [2, 2]
    assert loaded == ["o200k_base"]


def test_each_encoding_has_its_own(tmp_path, counted):
    TiktokenCounter("cl100k_base", tmp_path).count(LONG)
    other = TiktokenCounter("cl100k_base", tmp_path)
    other.count(LONG)
    other.keep()
    assert len(list(tmp_path.glob("tokens-*.counts"))) == 2


@pytest.mark.parametrize("place", [0, 40, -1])
def test_a_damaged_file_is_passed_over_and_written_anew(tmp_path, counted, place):
    file = file_in(tmp_path)
    whole = file.read_bytes()
    damaged = bytearray(whole)
    damaged[place] ^= 1
    file.write_bytes(damaged)
    counter = TiktokenCounter("o200k_base", tmp_path)
    assert counter.count(LONG) == counted
    counter.keep()
    assert sorted(file.read_bytes()) == sorted(whole)


@pytest.mark.parametrize("data", [b"", b"short", b"\0" * 32, b"\0" * 33])
def test_a_cut_file_is_passed_over(tmp_path, counted, data):
    file_in(tmp_path).write_bytes(data)
    assert TiktokenCounter("o200k_base", tmp_path).count(LONG) == counted


def test_it_holds_no_text_and_is_for_its_owner_alone(tmp_path):
    counter = TiktokenCounter("o200k_base", tmp_path)
    counter.count([*LONG, "hunter2"])
    counter.keep()
    data = file_in(tmp_path).read_bytes()
    assert b"Passage" not in data
    assert b"hunter2" not in data
    assert len(data) == 32 + 24 * (len(LONG) + 1)
    assert stat.S_IMODE(file_in(tmp_path).stat().st_mode) == 0o600


def test_its_size_is_bounded_and_what_was_used_stays(tmp_path, monkeypatch):
    monkeypatch.setattr("tasks.token_cache._MOST", 3)
    for texts in (LONG[:3], LONG[3:]):
        cache = TokenCache(tmp_path, "x")
        for text in texts:
            cache.add(text, 7)
        cache.save()
    kept = TokenCache(tmp_path, "x")
    assert [kept.get(text) for text in LONG[3:]] == [7, 7]
    assert sum(kept.get(text) is not None for text in LONG) == 3


def test_every_count_is_found_among_many(tmp_path):
    for run in range(3):
        cache = TokenCache(tmp_path, "x")
        for number in range(3_000 * run, 3_000 * run + 4_000):
            if cache.get(f"text {number}") is None:
                cache.add(f"text {number}", number)
        cache.save()
    kept = TokenCache(tmp_path, "x")
    assert len(kept) == 10_000
    assert [kept.get(f"text {number}") for number in range(10_001)] == [*range(10_000), None]


def test_a_key_across_two_rows_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr("tasks.token_cache._key", lambda text: bytes.fromhex(text).ljust(16, b"\0"))
    cache = TokenCache(tmp_path, "x")
    cache.add("0000", 1)
    cache.add("0000ff", 2)
    cache.save()
    kept = TokenCache(tmp_path, "x")
    across = "00000001" + "0000ff"  # the run of the one row, and what the other begins with
    assert bytes.fromhex(across).ljust(16, b"\0") in kept._rows
    assert [kept.get("0000"), kept.get("0000ff"), kept.get(across)] == [1, 2, None]


def test_a_file_of_another_layout_is_as_good_as_none(tmp_path, counted, monkeypatch):
    monkeypatch.setattr("tasks.token_cache._ROW", struct.Struct("<16sII"))
    assert len(TokenCache(tmp_path, file_in(tmp_path).name)) == 0


def test_without_a_cache_nothing_is_kept(tmp_path):
    counter = TiktokenCounter("o200k_base", None)
    counter.count(LONG)
    counter.keep()
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_no_fault(tmp_path):
    (tmp_path / "file").write_text("")
    cache = TokenCache(tmp_path / "file" / "folder", "x")
    cache.add(LONG[0], 1)
    cache.save()
    assert cache.get(LONG[0]) == 1


def test_the_last_run_that_a_row_can_name_is_followed_by_itself(tmp_path, counted):
    file = file_in(tmp_path)
    row = token_cache._ROW.pack(b"a" * 16, 1, 2**32 - 1)
    file.write_bytes(token_cache._seal(row) + row)
    counter = TiktokenCounter("o200k_base", tmp_path)
    assert counter.count(LONG) == counted
    counter.keep()
    again = TiktokenCounter("o200k_base", tmp_path)
    again._encoding = None  # so that it cannot encode
    assert again.count(LONG) == counted
