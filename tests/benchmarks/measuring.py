"""Helpers for the benchmarks: paired ratios and a table.

Speeds on a shared machine drift, so compared measurements run in pairs, in alternating order, and the ratio
is taken within each pair. A benchmark fails only if the measured code is broken, never because of a speed:
the last column of its table says whether the target was met, or by how much it was missed.

Without ``MOSAIC_BENCHMARKS=full`` benchmarks measure just enough to show that they still work. With
``MOSAIC_BENCHMARKS=record`` they measure in full, and write their tables into the README.
"""

from __future__ import annotations

import os
import platform
import re
import resource
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import TypeVar

T = TypeVar("T")

RECORD = "record"
PAGE = Path(__file__).with_name("README.md")


def size(full: T, smoke: T) -> T:
    """Return how much to measure: ``full`` on request, else enough to show that the benchmark works."""
    return full if os.environ.get("MOSAIC_BENCHMARKS") in ("full", RECORD) else smoke


def paired(ours: Callable[[], float], theirs: Callable[[], float], pairs: int) -> list[tuple[float, float]]:
    """Return ``pairs`` measurements ``(ours, theirs)``; which one runs first alternates."""
    measured = []
    for index in range(pairs):
        if index % 2:
            second = theirs()
            measured.append((ours(), second))
        else:
            first = ours()
            measured.append((first, theirs()))
    return measured


def judged(value: float, target: str) -> list[str]:
    """Return two cells for a table: the target, such as ``<= 1.3`` or ``>= 15 fps``, and the verdict."""
    if not target:
        return ["", ""]
    relation, number = re.match(r"(<=|>=) ([\d.,]+)", target).groups()  # type: ignore[union-attr]
    bound = float(number.replace(",", ""))
    if value <= bound if relation == "<=" else value >= bound:
        return [target, "met"]
    return [target, f"MISSED by {abs(value / bound - 1):.0%}"]


def figure_row(name: str, value: float, target: str, form: str = "{:.3g}") -> list[str]:
    """Return a table row: name, figure, target, verdict."""
    return [name, form.format(value), *judged(value, target)]


def ratio_row(name: str, measured: Sequence[tuple[float, float]], target: str) -> list[str]:
    """Return a table row: name, medians of both sides, median and range of the ratios, target, verdict."""
    ratios = sorted(a / b for a, b in measured)
    ours, theirs = (median(side) for side in zip(*measured, strict=True))
    spread = f"{median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})"
    return [name, f"{ours:.4g}", f"{theirs:.4g}", spread, *judged(median(ratios), target)]


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    print(f"\n\n{title}")
    for row in (header, ["-" * width for width in widths], *rows):
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    if os.environ.get("MOSAIC_BENCHMARKS") == RECORD:
        record(title, header, rows)


def record(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write a table to the README, replacing the one with the same title."""
    lines = ("| " + " | ".join(row) + " |" for row in (header, ["---"] * len(header), *rows))
    about = f"{datetime.now(UTC):%Y-%m-%d}, {machine()}"
    before, *tables = PAGE.read_text(encoding="utf-8").rstrip().split("\n\n### ")
    tables = [table for table in tables if table.partition("\n")[0] != title]
    tables.append("\n".join([title, "", about, "", *lines]))
    PAGE.write_text("\n\n### ".join([before, *sorted(tables)]) + "\n", encoding="utf-8")


def machine() -> str:
    """Return the processor, its cores and the memory of this machine."""
    processor = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    name = processor[1].strip() if processor else platform.machine()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return f"{os.cpu_count()} cores of {name}, {memory:.0f} GB"


def cpu_seconds(action: Callable[[], object]) -> float:
    """Return the CPU time of this process (all threads) that ``action`` takes."""
    before = time.process_time()
    action()
    return time.process_time() - before


def seconds(action: Callable[[], object]) -> float:
    """Return the time that ``action`` takes."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def children_cpu_seconds() -> float:
    """Return the CPU time of all child processes that have been waited for so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
