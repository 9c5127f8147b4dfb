"""Bound logs while other processes append to them. Repeated lines are counted instead of kept, and the
beginning of a file that grows too large is dropped."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from pathlib import Path

from mosaic_lab.keeper.files import open_file, open_for_appending

LIMIT = 32 << 20
"""Maximum size of a log in bytes; a larger one is cut within seconds."""
KEPT = 8 << 20
"""Bytes kept at the end of a log that is cut."""
FOLDED_FROM = 1 << 20
"""Size in bytes at which repetitions are first folded, then again whenever the log has doubled."""
_KEPT_REPEATS = 10  # first occurrences of a repeated line to keep, and as many of the last
_VARYING = re.compile(rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,]?\d*|\bpid=\d+")
_DROPPED = re.compile(rb"\[([\d,]+) MB of older lines were dropped here\]\n")
_MARK = re.compile(rb"\[the line above came ([\d,]+) more times\]")


class BoundedLog:
    """The log of one run. Call `bound` regularly while others write it."""

    def __init__(self) -> None:
        self._folded_at = FOLDED_FROM

    def bound(self, path: Path) -> None:
        """Fold repetitions if the log has grown, and drop its beginning if it is still too large."""
        with suppress(OSError):
            if path.stat().st_size >= self._folded_at:
                fold(path)
                self._folded_at = max(FOLDED_FROM, 2 * path.stat().st_size)
        cut(path)


def fold(path: Path) -> None:
    """Remove most repetitions of lines that differ only in time and process id, near the end of a log, and
    add a count after the first ones kept.

    The log is left unchanged if less than half would be removed. Raises OSError.
    """
    with open_file(path) as file:
        content = file.read(2 * LIMIT)
        folded = _folded(content[-KEPT:])
        if len(folded) > len(content[-KEPT:]) // 2:
            return
        newer = file.read(2 * LIMIT)
    with open_for_appending(path) as log:
        log.truncate(0)
        log.write(content[:-KEPT] + folded + newer)


def _folded(content: bytes) -> bytes:
    lines = content.split(b"\n")
    keys = [_VARYING.sub(b"", line) for line in lines]
    total, seen, before = Counter(keys), Counter[bytes](), Counter[bytes]()
    for key, line in zip(keys, lines[1:], strict=False):
        if mark := _MARK.fullmatch(line):
            before[key] += int(mark[1].replace(b",", b""))
    output: list[bytes] = []
    for key, line in zip(keys, lines, strict=True):
        if _MARK.fullmatch(line):
            continue
        seen[key] += 1
        left_out = total[key] - 2 * _KEPT_REPEATS
        if left_out <= 0 or seen[key] <= _KEPT_REPEATS or seen[key] > total[key] - _KEPT_REPEATS or not key:
            output.append(line)
        if seen[key] == min(_KEPT_REPEATS, total[key]) and key and (count := max(0, left_out) + before[key]):
            output.append(b"[the line above came %s more times]" % f"{count:,}".encode())
    return b"\n".join(output)


def cut(path: Path) -> None:
    """Drop the beginning of a log that is too large; a first line states the amount.

    Writers must have opened it for appending. Lines written at the same moment may be lost too. A log that is
    missing or cannot be written is left unchanged.
    """
    with suppress(OSError):
        if path.stat().st_size <= LIMIT:
            return
        with open_file(path) as file:
            before = _DROPPED.match(file.read(100))
            size = file.seek(0, 2)
            file.seek(size - KEPT)
            end = file.read(2 * KEPT).partition(b"\n")[2]
        earlier = int(before[1].replace(b",", b"")) if before else 0
        dropped = f"[{earlier + (size - len(end)) / 1e6:,.0f} MB of older lines were dropped here]\n"
        with open_for_appending(path) as file:
            file.truncate(0)
            file.write(dropped.encode() + end)
