from __future__ import annotations

import os
import socket

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.sources.files import Allowance, InputFile, Labels, decode, read_input, read_inside

MOST = Allowance(1000)


def decoded(data: bytes):
    text, findings = decode(InputFile.of("x.md", data))
    return text, [(row["severity"], row["code"]) for row in findings]


class TestReading:
    def test_a_file_is_read_under_its_label(self, tmp_path):
        (tmp_path / "a.md").write_bytes(b"text")
        file = read_input(tmp_path / "a.md", "docs/a.md", MOST)
        assert (file.label, file.data) == ("docs/a.md", b"text")
        assert file.sha256.startswith("982d9e3eb996f559")

    def test_what_is_missing_is_a_finding(self, tmp_path):
        assert read_input(tmp_path / "none", "none", MOST)["code"] == "INPUT_MISSING"
        (tmp_path / "a.md").write_bytes(b"")
        assert read_input(tmp_path / "a.md" / "b", "b", MOST)["code"] == "INPUT_MISSING"

    def test_a_name_that_no_system_allows_is_a_finding(self, tmp_path):
        assert read_input(tmp_path / "a\0b", "b", MOST)["code"] == "INPUT_UNREADABLE"
        assert read_input(tmp_path / ("x" * 5000), "b", MOST)["code"] == "INPUT_UNREADABLE"

    def test_a_file_that_may_not_be_read_is_a_finding(self, tmp_path, monkeypatch):
        path = tmp_path / "a.md"
        path.write_bytes(b"x")

        def refused(*_args, **_kwargs):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(os, "open", refused)
        row = read_input(path, "a.md", MOST)
        assert (row["code"], row["severity"]) == ("INPUT_UNREADABLE", "error")
        assert "Permission denied" in row["message"]

    def test_a_larger_file_than_allowed_is_left_out(self, tmp_path):
        (tmp_path / "a").write_bytes(b"x" * 1001)
        assert read_input(tmp_path / "a", "a", MOST)["code"] == "INPUT_TOO_LARGE"
        (tmp_path / "a").write_bytes(b"x" * 1000)
        assert read_input(tmp_path / "a", "a", MOST).data == b"x" * 1000

    def test_so_is_one_that_does_not_fit_with_those_before_it_and_a_smaller_one_still_does(self, tmp_path):
        for name, size in (("a", 1000), ("b", 600), ("c", 500), ("d", 1001)):
            (tmp_path / name).write_bytes(b"x" * size)
        allowance = Allowance(1000, 1500)
        a, b, d, c = (read_input(tmp_path / name, name, allowance) for name in "abdc")
        assert (len(a.data), len(c.data)) == (1000, 500)
        assert b["code"] == d["code"] == "INPUT_TOO_LARGE"
        assert "all inputs would be larger than 1500 bytes (reading.max_total_bytes)" in b["message"]
        assert "larger than 1000 bytes (reading.max_bytes)" in d["message"]

    def test_a_folder_a_pipe_a_socket_or_a_device_in_its_place_is_never_opened(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(tmp_path / "s"))
            for path in (tmp_path, tmp_path / "pipe", tmp_path / "s", "/dev/zero"):
                row = read_input(type(tmp_path)(path), "x", MOST)
                assert row["code"] == "INPUT_NOT_A_FILE"

    def test_a_link_may_not_lead_out_of_the_folder_that_was_named(self, tmp_path):
        (tmp_path / "secret").write_bytes(b"x")
        (tmp_path / "specs").mkdir()
        (tmp_path / "specs" / "design.md").symlink_to(tmp_path / "secret")
        (tmp_path / "specs" / "loop.md").symlink_to("loop.md")
        found = read_inside(tmp_path / "specs" / "design.md", tmp_path / "specs", "design.md", MOST)
        assert found["code"] == "INPUT_OUTSIDE"
        assert read_inside(tmp_path / "specs" / "loop.md", tmp_path / "specs", "l", MOST)["severity"] == "error"
        (tmp_path / "specs" / "real.md").write_bytes(b"y")
        (tmp_path / "specs" / "alias.md").symlink_to("real.md")
        assert read_inside(tmp_path / "specs" / "alias.md", tmp_path / "specs", "a", MOST).data == b"y"


class TestDecoding:
    def test_plain_utf8_has_no_findings(self):
        assert decoded("größe — 漢字\n".encode()) == ("größe — 漢字\n", [])
        assert decoded(b"") == ("", [])

    def test_a_byte_order_mark_goes(self):
        assert decoded(b"\xef\xbb\xbf# T") == ("# T", [("info", "INPUT_BOM")])

    def test_other_line_ends_become_newlines(self):
        assert decoded(b"a\r\nb\rc\n") == ("a\nb\nc\n", [("info", "INPUT_LINE_ENDS")])

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
    def test_wide_encodings_are_known_by_their_mark_or_their_nul_bytes(self, encoding):
        text = "# Title\n\nSome plain words with an ä.\n"
        assert decoded(text.encode(encoding)) == (text, [("info", "INPUT_ENCODING")])

    def test_latin_text_is_read_as_windows_1252_or_latin_1(self):
        assert decoded("Größe für 5 €".encode("cp1252")) == ("Größe für 5 €", [("warning", "INPUT_ENCODING")])
        assert decoded(b"caf\xe9 \x81") == ("café \x81", [("warning", "INPUT_ENCODING")])

    def test_one_bad_byte_does_not_garble_the_rest_of_a_utf8_file(self):
        text, found = decoded("naïve façade ".encode() + b"\xff end")
        assert text == "naïve façade \ufffd end"
        assert found == [("warning", "INPUT_BYTES")]

    @settings(deadline=None)
    @given(st.binary(max_size=300))
    def test_any_bytes_give_a_text_without_carriage_returns(self, data):
        text, _ = decoded(data)
        assert "\r" not in text


class TestLabels:
    def test_inside_the_working_folder_they_are_relative_to_it(self, tmp_path):
        labels = Labels([tmp_path / "w" / "specs"], tmp_path / "w")
        assert labels.of(tmp_path / "w" / "specs" / "x" / ".." / "a.md") == "specs/a.md"

    def test_outside_they_are_relative_to_the_deepest_common_folder(self, tmp_path):
        labels = Labels([tmp_path / "d" / "swarm" / "a", tmp_path / "d" / "rules"], tmp_path / "w")
        assert labels.of(tmp_path / "d" / "swarm" / "a" / "task-graph.json") == "swarm/a/task-graph.json"
        assert labels.of(tmp_path / "d" / "rules" / "_core" / "x.md") == "rules/_core/x.md"

    def test_a_single_file_outside_has_its_name(self, tmp_path):
        assert Labels([tmp_path / "d"], tmp_path / "w").of(tmp_path / "d" / "g.json") == "g.json"

    def test_two_files_never_share_a_label(self, tmp_path):
        labels = Labels([tmp_path / "w", tmp_path / "d"], tmp_path / "w")
        names = {labels.of(tmp_path / "w" / "g.json"), labels.of(tmp_path / "d" / "g.json")}
        assert names == {"g.json", "g.json~2"}

    def test_they_are_one_line_and_never_absolute(self, tmp_path):
        labels = Labels([tmp_path / "d"], tmp_path / "w")
        for path in (tmp_path / "d" / "a\nb.json", tmp_path / "elsewhere" / "c.json"):
            assert not labels.of(path).startswith("/")
            assert "\n" not in labels.of(path)
