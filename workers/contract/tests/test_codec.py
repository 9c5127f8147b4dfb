"""Encoding and decoding of messages: strict JSON, one line each, of bounded length."""

import json
import math
import os
import tempfile
import unittest
from pathlib import Path

from mosaic_contract import BadLine, LineSplitter, as_number, decode_line, encode_line, read_document
from mosaic_contract.codec import DOCUMENT_LIMIT
from mosaic_contract.errors import LineTooLong


class Array:
    """The part of a NumPy array that encode_line uses: tolist()."""

    def tolist(self):
        return [1.0, math.nan]


def strict(text):
    def refuse(token):
        raise AssertionError(f"{token} is not JSON")

    return json.loads(text, parse_constant=refuse)


class Encoding(unittest.TestCase):
    def test_a_message_is_one_line_of_utf8(self):
        line = encode_line({"text": "a\nb\u2028 é"})
        assert line.endswith(b"\n") and line.count(b"\n") == 1
        assert decode_line(line) == {"text": "a\nb\u2028 é"}

    def test_nan_and_infinity_are_strings_on_the_wire_and_numbers_after(self):
        values = {"nan": math.nan, "up": math.inf, "down": [-math.inf], "fine": 0.5, "array": Array()}
        sent = strict(encode_line({"values": values}))["values"]
        assert sent == {
            "nan": "NaN",
            "up": "Infinity",
            "down": ["-Infinity"],
            "fine": 0.5,
            "array": [1.0, "NaN"],
        }
        assert math.isnan(as_number(sent["nan"]))
        assert as_number(sent["up"]) == math.inf and as_number(sent["down"][0]) == -math.inf

    def test_paths_are_written_as_text(self):
        assert decode_line(encode_line({"path": Path("a/b")})) == {"path": "a/b"}

    def test_a_lone_surrogate_does_not_cost_the_line(self):
        assert decode_line(encode_line({"name": "bad \ud800 name"}))["name"].startswith("bad ")

    def test_what_json_cannot_hold_is_named(self):
        with self.assertRaisesRegex(TypeError, "complex"):
            encode_line({"value": 1j})

    def test_a_message_over_the_limit_is_refused(self):
        with self.assertRaisesRegex(LineTooLong, "limit|line of 50"):
            encode_line({"text": "x" * 100}, limit=50)


class Decoding(unittest.TestCase):
    def test_bare_tokens_of_pythons_json_are_accepted(self):
        assert decode_line(b'{"a": Infinity}') == {"a": math.inf}

    def test_what_is_no_object_says_why(self):
        for line, reason in (
            (b"\xff{}", "not UTF-8"),
            (b"hello", "not JSON"),
            (b"", "not JSON"),
            (b"[1]", "not a JSON object"),
            (b"[" * 100_000, "not JSON"),
            (b'{"a": ' + b"9" * 10_000 + b"x}", "not JSON"),
        ):
            with self.assertRaises(BadLine) as caught:
                decode_line(line)
            assert caught.exception.reason == reason, line[:20]

    def test_only_numbers_are_numbers(self):
        assert as_number(3) == 3.0 and as_number(10**400) == math.inf
        for value in ("3", "nan", None, [1]):
            with self.assertRaises(ValueError):
                as_number(value)


class Splitting(unittest.TestCase):
    def test_lines_come_out_whole_however_the_bytes_are_cut(self):
        stream = b'{"a": 1}\n{"b": "\xc3\xa9"}\n\n{"c": 3}\n'
        for size in range(1, len(stream) + 1):
            splitter = LineSplitter()
            chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
            lines = [line for chunk in chunks for line in splitter.feed(chunk)]
            assert lines == [b'{"a": 1}', b'{"b": "\xc3\xa9"}', b'{"c": 3}'], size

    def test_a_torn_tail_waits_for_its_newline(self):
        splitter = LineSplitter()
        assert splitter.feed(b'{"a"') == [] and splitter.pending == 4
        assert splitter.feed(b": 1}\n") == [b'{"a": 1}'] and splitter.pending == 0

    def test_an_oversize_line_is_counted_and_never_held(self):
        splitter = LineSplitter(limit=100)
        for _ in range(1000):
            assert splitter.feed(b"x" * 1000) == []
            assert splitter.pending <= 100
        assert splitter.feed(b"end\nshort\n" + b"y" * 101 + b"\nlast\n") == [b"short", b"last"]
        assert splitter.oversize == 2

    def test_a_line_of_exactly_the_limit_passes(self):
        splitter = LineSplitter(limit=5)
        assert splitter.feed(b"12345\n123456\n") == [b"12345"]
        assert splitter.oversize == 1


class Documents(unittest.TestCase):
    def test_a_document_is_read_within_bounds(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "description.json")
            file.write_text('{"step": 7}')
            assert read_document(file) == {"step": 7}
            for text, why in (
                ("[]", "not a JSON object"),
                ("{", "not JSON"),
                ("[" * 100_000, "not JSON"),
                ('{"x": "' + "x" * DOCUMENT_LIMIT + '"}', "larger than 16 MiB"),
            ):
                file.write_text(text)
                with self.assertRaisesRegex(ValueError, why):
                    read_document(file)
            file.unlink()
            os.mkfifo(file)  # a plain open() of a FIFO blocks until a writer opens it
            with self.assertRaisesRegex(ValueError, "not a file"):
                read_document(file)
