"""llama.cpp's own server in this process, with the most common options of `llama-server`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from mosaic_contract.errors import ConfigError
from mosaic_contract.language.local import model_path

_FIELDS = {  # options of `llama-server`, and the fields of `CommonParams` that they set
    "batch-size": "n_batch",
    "cache-ram": "cache_ram_mib",
    "cache-reuse": "n_cache_reuse",
    "chat-template": "chat_template",
    "context-shift": "ctx_shift",
    "ctx-size": "n_ctx",
    "fit": "fit_params",
    "jinja": "use_jinja",
    "kv-unified": "kv_unified",
    "main-gpu": "main_gpu",
    "metrics": "endpoint_metrics",
    "mmproj": "mmproj.path",
    "n-gpu-layers": "n_gpu_layers",
    "n-predict": "n_predict",
    "parallel": "n_parallel",
    "port": "port",
    "rope-freq-base": "rope_freq_base",
    "rope-freq-scale": "rope_freq_scale",
    "seed": "sampling.seed",
    "swa-full": "swa_full",
    "threads": "cpuparams.n_threads",
    "threads-batch": "cpuparams_batch.n_threads",
    "ubatch-size": "n_ubatch",
    "warmup": "warmup",
}


def parse(arguments: Sequence[str]) -> Any:
    """Return llama.cpp's parameters. Exits with status 2 for options that do not exist."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parser = argparse.ArgumentParser(prog="llama.cpp", allow_abbrev=False)
    parser.add_argument("--serve", action="store_true", required=True)
    parser.add_argument("--model", required=True, metavar="GGUF")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--alias")
    for option, field in _FIELDS.items():
        default = attrgetter(field)(parameters)
        option_type: dict[str, Any] = {"type": type(default)}
        if isinstance(default, bool):
            option_type = {"action": argparse.BooleanOptionalAction}
        parser.add_argument(f"--{option}", dest=field, default=default, **option_type)
    options = vars(parser.parse_args(arguments))
    try:
        parameters.model.path = str(model_path(options["model"]))
    except ConfigError as error:
        parser.error(str(error))
    for field in _FIELDS.values():
        owner_path, _, name = field.rpartition(".")
        setattr(attrgetter(owner_path)(parameters) if owner_path else parameters, name, options[field])
    parameters.hostnames = [options["host"]]
    parameters.model_alias = {options["alias"] or options["model"]}
    parameters.ui = False
    parameters.cors_origins = "http://localhost"  # pages of other sites may not use it
    return parameters


def serve(parameters: Any) -> int:
    """Serve until a signal ends the process. Return the exit status if the server cannot start."""
    import xllamacpp

    gpus = os.environ.get("CUDA_VISIBLE_DEVICES")
    if gpus and all(device["name"] == "CPU" for device in xllamacpp.get_device_info()):
        print("this llama.cpp is built for CPUs only", file=sys.stderr)
        return 1
    try:
        server = xllamacpp.Server(parameters)
    except RuntimeError as error:  # the log has the reason
        print(f"llama.cpp did not start: {error}", file=sys.stderr)
        return 1
    print(f"serves at {server.listening_address}", file=sys.stderr)
    while True:
        signal.pause()
