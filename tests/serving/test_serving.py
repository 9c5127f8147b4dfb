"""Servers of language models as runs, with a stand-in for vLLM, which needs a GPU. llama.cpp is tested in its
worker's folder."""

from __future__ import annotations

import json
import re
import socket
import sys
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest
from peers.vllm_stand_in import LOGS
from support import PEERS, marked_processes, pretend_two_gpus, wait_until

import mosaic_lab as mosaic
from mosaic_lab.errors import ConfigurationError, MosaicError, RunFailed, RunTimeout
from mosaic_lab.runs.kinds import code_of
from mosaic_lab.serving import Server
from mosaic_lab.serving.engines import VLLM
from mosaic_lab.widgets.runs.run_panel import RunPanel


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The stand-in as an executable."""
    file = tmp_path / "programs" / "vllm"
    file.parent.mkdir()
    file.write_text(f'#!/bin/sh\nexec {sys.executable} {PEERS / "vllm_stand_in.py"} "$@"\n')
    file.chmod(0o755)
    return file


def arguments(server: Server) -> list[str]:
    return list(json.loads((server.path / "arguments.json").read_text()))


def test_a_server_answers_survives_its_kernel_and_ends_with_its_processes(
    lab: mosaic.Lab, program: Path
) -> None:
    server = lab.serve(
        "vllm",
        "org/works",
        program=program,
        max_model_len=512,
        enable_prefix_caching=False,
        enforce_eager=True,
    )
    llm = mosaic.operators.llm(server, name="Qwen")
    assert server.ready
    assert f"running, answers at {server.address}" in repr(server)
    assert (llm.settings["base_url"], llm.settings["model"]) == (server.address, "org/works")
    assert mosaic.models(server) == ["org/works"]
    port = server.address.split(":")[2].removesuffix("/v1")
    assert arguments(server) == [
        *("serve", "org/works", "--host", "127.0.0.1", "--port", port, "--served-model-name", "org/works"),
        *("--allowed-origins", '["http://localhost"]'),
        *("--max-model-len", "512", "--no-enable-prefix-caching", "--enforce-eager"),
    ]
    wait_until(lambda: server.progress_text == "128 tokens")
    assert server.metrics("requests_running")["value"].tolist() == [2]

    panel = RunPanel([server], alone=True)
    panel.read_rest()
    header = panel.summary()
    panel.close()
    assert header["reason"] == f"answers at {server.address}"
    assert ["128", "tokens"] in header["facts"]
    assert panel.controls.x == "time"

    found = mosaic.Lab(lab.root).run(server.id)
    assert isinstance(found, Server)
    assert found.address == server.address
    assert found.stop().reason == "stopped on request"
    assert not marked_processes(server.path), "processes of the server are left"
    assert not server.ready
    with pytest.raises(MosaicError, match=r"is cancelled: server\.resume\(\) starts it again"):
        mosaic.operators.llm(server)
    former = arguments(server)
    assert server.resume().wait_ready().ready
    with pytest.raises(MosaicError, match="can be resumed when it has ended"):
        server.resume()
    assert arguments(server) == former, "not the same arguments and port"
    assert code_of(server) == (
        f'lab.serve(\n    "vllm",\n    "org/works",\n    program="{program}",\n    max_model_len=512,\n'
        "    enable_prefix_caching=False,\n    enforce_eager=True,\n)"
    )


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("too-large", r"out of memory: choose a smaller .* \(max_model_len=\).*\(torch\.OutOfMemoryError"),
        ("too-long", "out of memory: choose a smaller"),
        ("no-cache", "or raise gpu_memory_utilization="),
        ("in-use", "the GPU's memory is in use: lower gpu_memory_utilization="),
        ("missing", "there is no such model: check its name"),
        ("gated", r'accept its licence, and pass_env_vars=\["HF_TOKEN"\]'),
        ("offline", "the model cannot be downloaded from here"),
        ("no-gpu", "it found no GPU: gpus=1 assigns one"),
        ("odd", r"use program= with a newer one \(ValueError: Model architectures \['Odd"),
        ("option", "it refuses an option .*--max-modl-len"),
        ("crash", "last log line: Segmentation fault"),
    ],
)
def test_a_failure_has_its_reason(kind: str, reason: str) -> None:
    assert re.search(reason, VLLM.failure(["INFO starts", LOGS[kind], ""], "exit code 1"))


@pytest.mark.parametrize("kind", ["too-large", "crash"])
def test_a_server_that_does_not_start(lab: mosaic.Lab, program: Path, kind: str) -> None:
    server = lab.serve("vllm", f"org/{kind}", program=program)
    reason = re.escape(VLLM.failure([LOGS[kind]], "exit code 1 before it answered"))
    with pytest.raises(RunFailed, match=f"failed: {reason}") as caught:
        server.wait_ready(60)
    assert "vLLM API server version 0.33.0" in str(caught.value), "the error lacks the last log lines"


def test_a_port_that_another_program_takes_first_is_changed(lab: mosaic.Lab, program: Path) -> None:
    server = lab.serve("vllm", "org/busy-port", program=program)
    assert server.wait_ready(60).ready
    assert "Address already in use" in server.log()


def test_a_server_that_ends_while_it_serves(lab: mosaic.Lab, program: Path) -> None:
    server = lab.serve("vllm", "org/quits", program=program).wait_ready(60)
    with suppress(OSError):
        urllib.request.urlopen(f"{server.address.removesuffix('/v1')}/quit", timeout=30).close()
    with pytest.raises(RunFailed, match="vllm ended with exit code 1; last log line: Segmentation fault"):
        server.wait(60)


def test_a_server_that_loads_is_waited_for_with_a_deadline(lab: mosaic.Lab, tmp_path: Path) -> None:
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\nexec sleep 600\n")
    silent.chmod(0o755)
    server = lab.serve("vllm", "org/slow", program=silent)
    wait_until(lambda: server.reason == "loads org/slow")
    with pytest.raises(RunTimeout, match=r"does not answer after 0\.1 s: loads org/slow"):
        server.wait_ready(0.1)
    with pytest.raises(MosaicError, match=r"server\.wait_ready\(\) waits for it"):
        _ = server.address


def test_gpus_are_assigned_and_share_the_model(
    lab: mosaic.Lab, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_two_gpus(tmp_path, monkeypatch)
    server = lab.serve("vllm", "org/works", program=program, gpus=2).wait_ready(60)
    assert server.gpus == (0, 1)
    assert arguments(server)[-2:] == ["--tensor-parallel-size", "2"]


def test_what_is_refused_before_anything_starts(lab: mosaic.Lab, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"engine='llamacpp': must be one of llama\.cpp, vllm; did you"
    ):
        lab.serve("llamacpp", "local")  # type: ignore[arg-type]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=rf"port={port}: taken by another program"):
            lab.serve("llama.cpp", "local", port=port)
    text = tmp_path / "text.gguf"
    text.write_text("text")
    (tmp_path / "empty").mkdir()
    for engine, model, said in (
        ("llama.cpp", tmp_path / "none.gguf", r"there is no file .*none\.gguf; give a \.gguf file"),
        ("llama.cpp", text, "not a GGUF file"),
        ("vllm", tmp_path / "none", "there is no such folder; a name looks like Qwen/Qwen3-8B"),
        ("vllm", tmp_path / "empty", r"the folder has no config\.json"),
    ):
        with pytest.raises(ConfigurationError, match=said):
            lab.serve(engine, model)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError) as caught:
        lab.serve(
            "llama.cpp",
            "local",
            program="no-such-program",
            port=0,
            api_key="abc",
            hf_token="abc",
            host="0.0.0.0",
            threads=0,
        )
    text_of_error = str(caught.value)
    for wrong in (
        "program='no-such-program'",
        "port=0",
        "api_key=: keys are",
        'hf_token=: keys are written to run folders; pass_env_vars=["HF_TOKEN"]',
        "host=: the server",
        "threads=0",
    ):
        assert wrong in text_of_error
    assert not list(lab.runs)
