"""The programs that serve language models: their command lines, metrics and failures."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

HOST = "127.0.0.1"
PORT_TAKEN = "its port is taken by another program"
_LONGEST_LINE = 300  # characters of a log line in a failure


@dataclass(frozen=True)
class ServingEngine:
    """A program that serves a model with OpenAI's API.

    ``subcommand`` starts the server and ``always`` are arguments it is always given. The others are options:
    ``model`` for the model (empty: a positional argument), ``alias`` for its name in requests, ``split`` for
    the number of GPUs that share it, and ``threads`` for CPU threads (both empty if there is none).
    ``metrics`` maps the names of metrics at /metrics to ours. ``faults`` maps the reasons why it may end,
    with advice, to patterns of log lines; the first match is reported.
    """

    name: str
    subcommand: Sequence[str]
    model: str
    alias: str
    split: str
    threads: str
    always: Sequence[str]
    metrics: Mapping[str, str]
    faults: Mapping[str, str]

    def arguments(
        self, model: str, name: str, port: int, gpus: int, threads: int, options: Mapping[str, Any]
    ) -> list[str]:
        """Return the arguments of the program, without the subcommand."""
        words = [self.model, model] if self.model else [model]
        words += ["--host", HOST, "--port", str(port), self.alias, name, *self.always]
        words += [self.split, str(gpus)] if self.split and gpus > 1 else []
        words += [self.threads, str(threads)] if self.threads else []
        for option, value in options.items():
            words += _words(option.replace("_", "-"), value)
        return words

    def failure(self, lines: Sequence[str], ending: str) -> str:
        """Return why the program ended, from the last lines of its log and its exit described in words."""
        ended = f"{self.name} ended with {ending}"
        for reason, pattern in self.faults.items():
            if matches := [line for line in lines if re.search(pattern, line, re.I)]:
                return f"{ended}: {reason} ({matches[0].strip():.{_LONGEST_LINE}})"
        if "SIGKILL" in ending:
            return f"{ended}: probably {_SMALLER}"
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"{ended}; last log line: {last:.{_LONGEST_LINE}}" if last else ended


def _words(option: str, value: Any) -> list[str]:
    """Return an option of a command line."""
    if isinstance(value, bool):
        return [f"--{option}" if value else f"--no-{option}"]
    if isinstance(value, list | tuple):
        return [f"--{option}", *map(str, value)]
    return [f"--{option}", json.dumps(value) if isinstance(value, dict) else str(value)]


_OLD = "this version does not support the architecture: use program= with a newer one"
_SMALLER = "out of memory: choose a smaller or more quantized model, or less context"
_FAULTS = {
    PORT_TAKEN: "couldn't bind|address already in use|failed to bind",
    "it refuses an option": "unrecognized arguments|error: invalid argument|error: argument ",
}

LLAMA_CPP = ServingEngine(
    "llama.cpp",
    subcommand=(),
    model="--model",
    alias="--alias",
    split="",
    threads="--threads",
    always=("--metrics",),
    metrics={
        "llamacpp:tokens_predicted_total": "tokens",
        "llamacpp:prompt_tokens_total": "prompt_tokens",
        "llamacpp:requests_processing": "requests_running",
        "llamacpp:requests_deferred": "requests_waiting",
    },
    faults={
        **_FAULTS,
        "gpus= needs another build: the README of worker llama.cpp names two": "built for CPUs only",
        "the model's file cannot be read": "no such file|cannot be read",
        _OLD: "unknown model architecture",
        f"{_SMALLER} (ctx_size=)": "out of memory|insufficient memory|failed to allocate|unable to allocate",
        "the model's file is damaged: download it again": "gguf_init_from|invalid magic|not within the file",
    },
)

VLLM = ServingEngine(
    "vllm",
    subcommand=("serve",),
    model="",
    alias="--served-model-name",
    split="--tensor-parallel-size",
    threads="",
    always=("--allowed-origins", '["http://localhost"]'),  # pages of other sites may not use it
    metrics={
        "vllm:generation_tokens_total": "tokens",
        "vllm:prompt_tokens_total": "prompt_tokens",
        "vllm:num_requests_running": "requests_running",
        "vllm:num_requests_waiting": "requests_waiting",
    },
    faults={
        **_FAULTS,
        "the GPU's memory is in use: lower gpu_memory_utilization=": "less than desired GPU memory",
        f"{_SMALLER} (max_model_len=), or raise gpu_memory_utilization=": (
            "out ?of ?memory|No available memory for|KV cache (is|memory)|larger than the (available|maximum)"
        ),
        'the model needs a key: accept its licence, and pass_env_vars=["HF_TOKEN"]': (
            "gated ?repo|40[13] client error"
        ),
        "there is no such model: check its name or folder": (
            "not a valid model identifier|repository ?not ?found|404 client error|can't load the config"
        ),
        "the model cannot be downloaded from here": (
            "MaxRetryError|failed to resolve|couldn't connect to|LocalEntryNotFound"
        ),
        "it found no GPU: gpus=1 assigns one": (
            "No CUDA GPUs are available|failed to infer device type|libcuda|no CUDA-capable"
        ),
        "the GPU does not support this precision: dtype='half' may help": "compute capability",
        _OLD: "Model architectures .* not supported",
    },
)

ENGINES = {engine.name: engine for engine in (LLAMA_CPP, VLLM)}


def read_metrics(text: str, names: Mapping[str, str]) -> dict[str, float]:
    """Return the numbers in Prometheus's text format under our names, summed over labels."""
    numbers: dict[str, float] = {}
    for line in text.splitlines():
        metric, _, value = line.rpartition(" ")
        if (name := names.get(metric.partition("{")[0])) is not None:
            try:
                numbers[name] = numbers.get(name, 0.0) + float(value)
            except ValueError:
                continue
    return numbers
