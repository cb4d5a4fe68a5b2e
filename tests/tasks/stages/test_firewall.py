"""Stage 4: raw tool output is kept outside."""

from __future__ import annotations

import hashlib

from tasks.settings import load_settings
from tasks.stages.firewall import apply_firewall_to_batch
from tests.tasks.batches import SETTINGS, batch, said

RAW = b"\xffrow one\r\nrow two\n" + b"row of many\n" * 100
ITEMS = [
    said(
        "r1",
        "row one\nrow two\n" + "row of many\n" * 100,
        kind="tool_result",
        raw=RAW,
        sensitivity="internal",
        tags=["t"],
        parent="c1",
    ),
    said("r2", "row one\nrow two\n" + "row of many\n" * 100, kind="tool_result", raw=RAW, media_type="text/x-log"),
    said("r3", "", kind="tool_result", raw=b""),
    said("u1", "words"),
]


def test_the_summary_takes_the_place_of_the_text_and_the_rest_stays():
    before = batch(ITEMS)
    after = apply_firewall_to_batch(before, SETTINGS)
    row = after.items.row(0, named=True)
    assert row["artifact"] == "artifact:r1"
    assert row["raw"] is None
    assert len(row["text"]) < 600
    assert "artifact:r1" in row["text"]
    assert row["tokens"] < before.items["tokens"][0]
    kept = ("item_id", "sensitivity", "tags", "parent_id", "position", "kind", "content_hash")
    assert [row[name] for name in kept] == [before.items.row(0, named=True)[name] for name in kept]
    assert after.items.row(3, named=True) == before.items.row(3, named=True)


def test_the_bytes_are_kept_as_they_were():
    artifacts = apply_firewall_to_batch(batch(ITEMS), SETTINGS).artifacts
    assert artifacts["handle"].to_list() == ["artifact:r1", "artifact:r2", "artifact:r3"]
    assert artifacts["content"].to_list() == [RAW, RAW, b""]
    assert artifacts["sha256"].to_list() == [hashlib.sha256(content).hexdigest() for content in (RAW, RAW, b"")]
    assert artifacts["size_bytes"].to_list() == [len(RAW), len(RAW), 0]
    assert artifacts["lines"].to_list() == [102, 102, 0]
    assert artifacts["media_type"].to_list() == ["text/plain", "text/x-log", "text/plain"]


def test_a_second_time_changes_nothing():
    once = apply_firewall_to_batch(batch(ITEMS), SETTINGS)
    again = apply_firewall_to_batch(once, SETTINGS)
    assert again is once


def test_the_simple_summary_is_the_first_paragraph():
    items = [said("r", "First paragraph.\n\nSecond.", kind="tool_result", raw=b"x")]
    after = apply_firewall_to_batch(batch(items), load_settings(firewall={"summariser": "lead"}))
    assert after.items["text"].to_list() == ["First paragraph."]
