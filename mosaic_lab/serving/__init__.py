"""Servers of language models on this machine, as runs: `Lab.serve`."""

from mosaic_lab.serving.server import Server

__all__ = ["Server"]
