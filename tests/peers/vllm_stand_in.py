"""A stand-in for vLLM, which needs a GPU: `vllm serve MODEL …` on loopback, without a model.

It writes its arguments to `arguments.json` in its folder and starts a child process, as vLLM does for its
engine. The model's name selects the behaviour: `org/works` answers; `org/quits` answers until a `GET /quit`;
the names in `LOGS` print a line of vLLM's log, taken from its sources and issues, and exit with code 1,
`org/busy-port` the first time only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LOGS = {
    "busy-port": "OSError: [Errno 98] Address already in use",
    "too-large": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB.",
    "too-long": "ValueError: To serve at least one request with the models's max seq len (131072), (16 GiB "
    "KV cache is needed, which is larger than the available KV cache memory (3.21 GiB)",
    "no-cache": "ValueError: No available memory for the cache blocks. Try increasing "
    "`gpu_memory_utilization` when initializing the engine.",
    "in-use": "ValueError: Free memory on device (2.1/23.69 GiB) on startup is less than desired GPU memory "
    "utilization (0.9, 21.32 GiB).",
    "missing": "OSError: org/missing is not a local folder and is not a valid model identifier listed on the "
    "hub",
    "gated": "huggingface_hub.errors.GatedRepoError: 401 Client Error. Cannot access gated repo",
    "offline": "huggingface_hub.errors.LocalEntryNotFoundError: An error happened while trying to locate it",
    "no-gpu": "RuntimeError: Failed to infer device type, please set the environment variable",
    "odd": "ValueError: Model architectures ['OddForCausalLM'] are not supported for now.",
    "option": "vllm: error: unrecognized arguments: --max-modl-len 512",
    "crash": "Segmentation fault (core dumped)",
}
METRICS = """# HELP vllm:generation_tokens_total Number of generation tokens processed.
vllm:num_requests_running{engine="0",model_name="x"} 2.0
vllm:generation_tokens_total{engine="0",model_name="x"} 128.0
vllm:prompt_tokens_total{engine="0",model_name="x"} 4096.0
"""


class Handler(BaseHTTPRequestHandler):
    name = ""

    def do_GET(self) -> None:
        if self.path == "/quit":
            print(LOGS["crash"], file=sys.stderr, flush=True)
            os._exit(1)
        text = METRICS if self.path == "/metrics" else json.dumps({"data": [{"id": self.name}]})
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


if __name__ == "__main__":
    Path("arguments.json").write_text(json.dumps(sys.argv[1:]))
    kind = sys.argv[2].partition("/")[2]
    options = dict(zip(sys.argv[3::2], sys.argv[4::2], strict=False))
    before = Path("before")
    if kind in LOGS and not (kind == "busy-port" and before.exists()):
        before.touch()
        print("INFO [api_server.py:1] vLLM API server version 0.33.0", file=sys.stderr)
        sys.exit(LOGS[kind])
    Handler.name = options["--served-model-name"]
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])  # runs until terminated
    ThreadingHTTPServer((options["--host"], int(options["--port"])), Handler).serve_forever()
