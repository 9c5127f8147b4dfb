"""What a node sends of a run's files, and in which order."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mosaic_lab.engines import node, pieces
from mosaic_lab.engines.engine import Known, Piece
from mosaic_lab.engines.job import Job

STEPS = "arenas/0-random.1/telemetry.jsonl"


def test_the_steps_of_an_episode_come_before_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "PIECE", 8)
    run = node.NodeRun(Job("a-part", "evaluation", {}, str(tmp_path), 1.0), "node")
    steps = run.folder.path / STEPS
    steps.parent.mkdir(parents=True)
    steps.write_bytes(b"step\n" * 3)
    run.folder.telemetry_path.write_bytes(b"episode\n")
    received: list[tuple[str, int]] = []
    sizes: dict[str, int] = {}
    while new := read(run, sizes):
        for piece in new:
            assert piece.offset == sizes.get(piece.path, 0)  # none is sent again as the file grows
            sizes[piece.path] = piece.offset + len(piece.data)
            received.append((piece.path, sizes[piece.path]))
        if len(received) == 1:
            with steps.open("ab") as file:
                file.write(b"step\n")
    assert received == [(STEPS, 8), (STEPS, 16), (STEPS, 20), ("telemetry.jsonl", 8)]


def read(run: node.NodeRun, sizes: dict[str, int]) -> tuple[Piece, ...]:
    return asyncio.run(run.read(Known(dict(sizes)), 0.0)).pieces
