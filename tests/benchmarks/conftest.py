"""The fixtures that several benchmarks share."""

from benchmarks.own_chromium import chromium  # noqa: F401
