"""What a reader can still do with a summary: judged on realistic outputs of common tools."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import os
import re
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

import pytest
import tiktoken
import tiktoken_ext.openai_public as public
from tiktoken.load import load_tiktoken_bpe

from tasks.summaries import LONGEST_RUN, summarise

spec = importlib.util.spec_from_file_location("firewall_expander", Path(__file__).with_name("expander.py"))
assert spec is not None
assert spec.loader is not None
expander = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = expander
spec.loader.exec_module(expander)

# Found without importing the package, which warns.
VOCABULARIES = Path(importlib.util.find_spec("bpe_openai").origin).parent / "data"
CASES = expander.load()
LARGE = [case for case in CASES if len(case.output) > 2_000]
LAST = re.compile(
    r"\[withheld: (?:[\d,]+ of [\d,]+ \w+, )?[\d,]+ of [\d,]+ lines?, [\d,]+ of [\d,]+ bytes; the source is intact: artifact:h/\w+\]"
)


def summary_of(case) -> str:
    return summarise(case.output, handle=f"artifact:h/{case.name}", media_type=case.media_type)


@pytest.fixture(scope="module")
def count():
    """Tokens of a text in o200k, the vocabulary taken from a file on this machine."""

    def load(url: str, expected_hash: str | None = None):
        folder = Path(tempfile.mkdtemp())
        shipped = VOCABULARIES / f"{url.rsplit('/', 1)[1]}.gz"
        (folder / hashlib.sha1(url.encode()).hexdigest()).write_bytes(gzip.decompress(shipped.read_bytes()))
        with patch.dict(os.environ, TIKTOKEN_CACHE_DIR=str(folder)):
            return load_tiktoken_bpe(url, expected_hash)

    with patch.object(public, "load_tiktoken_bpe", load):
        encoding = tiktoken.Encoding(**public.o200k_base())
    return lambda text: len(encoding.encode(text, disallowed_special=()))


def test_there_are_enough_cases_to_judge_by():
    assert len(CASES) >= 40
    assert len(LARGE) >= 40


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_says_what_must_survive_and_what_may_go(case):
    assert case.facts
    assert case.may_go
    assert [fact for fact in case.may_go if fact not in case.output] == []
    assert not set(case.facts) & set(case.may_go)


def test_large_outputs_keep_their_facts_at_a_quarter_of_their_tokens(count):
    """All of them together: facts kept and tokens spent."""
    kept = sum(fact in summary_of(case) for case in LARGE for fact in case.facts)
    assert kept >= 0.95 * sum(len(case.facts) for case in LARGE)
    spent = sum(count(summary_of(case)) for case in LARGE)
    assert spent <= 0.25 * sum(count(case.output) for case in LARGE)


def test_facts_survive():
    missing = {case.name: [fact for fact in case.facts if fact not in summary_of(case)] for case in CASES}
    missing = {name: facts for name, facts in missing.items() if facts}
    lost, total = sum(map(len, missing.values())), sum(len(case.facts) for case in CASES)
    assert (total - lost) / total >= 0.95, missing


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_case_loses_most_of_its_facts(case):
    kept = [fact for fact in case.facts if fact in summary_of(case)]
    assert len(kept) * 2 >= len(case.facts)


def test_large_outputs_cost_at_most_a_quarter_of_their_tokens(count):
    ratios = {case.name: count(summary_of(case)) / count(case.output) for case in LARGE}
    assert sum(ratios.values()) / len(ratios) <= 0.25, ratios
    assert {name: ratio for name, ratio in ratios.items() if ratio > 0.35} == {}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_ends_with_what_was_withheld(case):
    summary = summary_of(case)
    assert LAST.fullmatch(summary.rsplit("\n", 1)[1])
    assert summary.count("[withheld: ") == 1
    assert summary.endswith(f"; the source is intact: artifact:h/{case.name}]")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_long_run_of_the_source_stands_in_it(case):
    summary = summary_of(case)
    assert len(summary) < len(case.output)
    for start in range(len(summary) - LONGEST_RUN):
        assert summary[start : start + LONGEST_RUN + 1] not in case.output


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_brings_no_heading_and_no_fence_of_its_own(case):
    for line in summary_of(case).split("\n"):
        assert not re.match(r"\s{0,3}(?:```|~~~)", line)
        assert not re.match(r"#{1,6} ", line) or line in case.output.replace("\r\n", "\n").split("\n")
