"""Counting: offline, exact, once a text."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks import tokens
from tasks.errors import SettingsError, VocabularyError
from tasks.settings import TokenSettings
from tasks.tokens import TiktokenCounter, cache_folder, load_encoding, token_counter


def words_of(text: str) -> int:
    return len(text.split())


class TestCounting:
    def test_is_that_of_the_encoding(self):
        counter = token_counter(TokenSettings())
        assert counter.name == "o200k_base"
        assert counter.count(["hello world", "", "hello world"]) == [2, 0, 2]

    def test_takes_special_tokens_for_text(self):
        assert token_counter(TokenSettings()).count(["<|endoftext|>"])[0] > 1

    def test_survives_a_lone_surrogate(self):
        assert token_counter(TokenSettings()).count(["\ud800"])[0] >= 1

    def test_each_text_is_encoded_once(self):
        counter = TiktokenCounter("o200k_base", None)
        real, calls = counter._encoding, []

        class Spy:
            def encode_ordinary(self, text):
                calls.append(text)
                return real.encode_ordinary(text)

        counter._encoding = Spy()
        counter.count(["a b", "c"])
        counter.count(["a b"])
        assert calls == ["a b", "c"]

    def test_two_texts_joined_by_a_separator_cost_their_sum(self):
        """Packing adds up what rendering joins."""
        counter = token_counter(TokenSettings())
        blocks = [
            "## Title",
            "A sentence.",
            "```\ncode\n```",
            "- a\n- b",
            "ends with !!!",
            "数据",
            "\\/ slash",
            "x" * 50,
        ]
        whole = "\n\n".join(blocks) + "\n"
        assert counter.count([whole])[0] <= sum(counter.count([block + "\n\n" for block in blocks]))

    def test_a_counter_of_ones_own(self):
        counter = token_counter(TokenSettings(counter=f"{__name__}:words_of"))
        assert counter.count(["one two", ""]) == [2, 0]

    @pytest.mark.parametrize("name", ["nowhere:x", "tasks.text:nothing", "plain", ":"])
    def test_an_unknown_counter_is_refused(self, name):
        with pytest.raises(SettingsError, match="module:function"):
            token_counter(TokenSettings(counter=name))

    def test_an_unknown_encoding_is_refused(self):
        with pytest.raises(VocabularyError, match="o200k_base"):
            token_counter(TokenSettings(tokenizer="no-such"))


class TestVocabulary:
    @pytest.fixture
    def url(self):
        return "https://example.invalid/encodings/o200k_base.tiktoken"

    def test_needs_no_network(self):
        script = "import socket\nfrom tasks.tokens import load_encoding\n"
        script += "def refused(*a, **k): raise SystemExit('network')\nsocket.socket.connect = refused\nsocket.getaddrinfo = refused\n"
        script += "print(len(load_encoding('cl100k_base').encode('hello world')))\n"
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", script],
            capture_output=True,
            text=True,
            cwd=Path(__file__).parents[2],
            check=False,
        )
        assert done.stdout.strip() == "2", done.stderr

    def test_a_folder_of_tiktoken_s_is_looked_into_first(self, tmp_path, url, monkeypatch):
        kept = tmp_path / hashlib.sha1(url.encode()).hexdigest()
        kept.write_bytes(b"YQ== 0\nYg== 1\n")
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
        digest = hashlib.sha256(kept.read_bytes()).hexdigest()
        assert tokens._ranks(url, digest) == {b"a": 0, b"b": 1}

    def test_what_is_damaged_there_is_passed_over(self, tmp_path, url, monkeypatch):
        data = tokens._bundled(url)
        (tmp_path / hashlib.sha1(url.encode()).hexdigest()).write_bytes(b"damaged")
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
        assert tokens._vocabulary(url, hashlib.sha256(data).hexdigest()) == data

    def test_it_is_read_as_tiktoken_reads_it(self, tmp_path, url, monkeypatch):
        from tiktoken.load import load_tiktoken_bpe

        data = tokens._bundled(url)
        (tmp_path / hashlib.sha1(url.encode()).hexdigest()).write_bytes(data)
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
        assert tokens._ranks(url) == load_tiktoken_bpe(url)

    def test_a_wrong_bundle_is_refused(self, url):
        with pytest.raises(VocabularyError, match="SHA-256"):
            tokens._ranks(url, "0" * 64)

    def test_what_is_not_bundled_is_said(self):
        with pytest.raises(VocabularyError, match="p50k_base"):
            tokens._bundled("https://example.invalid/p50k_base.tiktoken")

    def test_the_bundle_is_read_without_importing_its_package(self, url, monkeypatch):
        monkeypatch.delitem(sys.modules, "bpe_openai", raising=False)
        assert tokens._bundled(url)
        assert "bpe_openai" not in sys.modules

    def test_its_cache_follows_the_environment(self, monkeypatch, tmp_path):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert cache_folder() == tmp_path / "prebrief"
        monkeypatch.delenv("XDG_CACHE_HOME")
        assert cache_folder() == Path.home() / ".cache" / "prebrief"

    def test_an_encoding_is_the_same_object_again(self):
        assert load_encoding("o200k_base") is load_encoding("o200k_base")


_PIECES = ["foo", "bar.", "(x)", "`code`", "**b**:", "- a", "```", "#### h", "| a |", "\u3000全角", "é", "don't", " ", "\t", "\n", "\n\n", "/p", "...", "日本語", "🙂", "A1b2", "'ll", "1234567", "\u00a0"]  # fmt: skip


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
@given(units=st.lists(st.lists(st.sampled_from(_PIECES), min_size=1, max_size=8).map("".join), min_size=1, max_size=6))
def test_joined_units_count_as_the_text_that_they_make(name, units):
    counter = token_counter(TokenSettings(tokenizer=name))
    encoded = load_encoding(name).encode_ordinary("\n\n".join(units) + "\n")
    assert counter.count_joined(units, "\n") == len(encoded)
