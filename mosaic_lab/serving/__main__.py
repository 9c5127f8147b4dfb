"""A server's process: ``python -m mosaic_lab.serving --config <run folder>/config.json``.

It starts the program that serves the model, records its port once it answers, and reports its speed until it
ends. See `runs.run_process`.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress

from mosaic_contract.heartbeat import Heartbeats
from mosaic_contract.programs import signal_name
from mosaic_contract.telemetry import Telemetry

from mosaic_lab.keeper.run_store import RunFolder, write_json
from mosaic_lab.keeper.tail import last_lines, progress
from mosaic_lab.runs.run_process import RunAborted, Runner, run_to_end
from mosaic_lab.serving.engines import ENGINES, HOST, PORT_TAKEN, read_metrics
from mosaic_lab.serving.request import is_free
from mosaic_lab.serving.server import ADDRESS

_START_POLL, _METRICS_POLL = 0.1, 2.0  # seconds
_ANSWER_SECONDS = 5.0
_MAX_BYTES = 4 << 20  # of an answer
_PORTS = 3  # attempts, because another program may take a free port first
_LINES = 400  # of the log, searched for the cause of a failure
_RATES = {"tokens": "tokens_per_second", "prompt_tokens": "prompt_tokens_per_second"}


class ServerEnded(RunAborted):
    """Raised when the program that serves has ended."""

    error_type = "ServerEnded"


class ServerRunner(Runner):
    """Serves the model of the run in ``folder``."""

    def __init__(self, folder: RunFolder, telemetry: Telemetry) -> None:
        self._folder = folder
        self._telemetry = telemetry
        self._config = json.loads(folder.config_path.read_bytes())
        self._engine = ENGINES[self._config["engine"]]
        self._tokens = progress(folder.telemetry_path).get("step", 0)  # before it was resumed
        self._server: subprocess.Popen[bytes] | None = None

    def run(self) -> None:
        config = {"model": self._config["model"]}
        self._telemetry.run_started(
            worker_type=self._engine.name, algo="", env_id="", seed=None, config=config
        )
        with Heartbeats(self._telemetry):
            server, port = self._begin()
            write_json(self._folder.path / ADDRESS, {"port": port})
            self._report(server, port)
        raise ServerEnded(self._failure(server))

    def _begin(self) -> tuple[subprocess.Popen[bytes], int]:
        """Start the program, on another port if a free one was taken in the meantime. Return it with its port
        once it answers. Raises ServerEnded."""
        for attempt in range(_PORTS):
            port = self._config["port"] or self._free_port(attempt)
            server = self._server = self._start(port)
            if self._answers(server, port):
                return server, port
            failure = self._failure(server, " before it answered")
            if PORT_TAKEN not in failure or self._config["port"] is not None:
                break
        raise ServerEnded(failure)

    def stop(self, deadline: float) -> None:
        if self._server is not None:
            with suppress(ProcessLookupError):
                self._server.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._server.wait(max(0.0, deadline - time.monotonic()))

    def _free_port(self, attempt: int) -> int:
        former = self._config.get("former_port")
        if attempt == 0 and isinstance(former, int) and is_free(former):
            return former
        with socket.create_server((HOST, 0)) as free:
            port: int = free.getsockname()[1]
            return port

    def _start(self, port: int) -> subprocess.Popen[bytes]:
        config = self._config
        gpus = len([gpu for gpu in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if gpu])
        arguments = self._engine.arguments(
            config["model"], config["name"], port, gpus, config["threads"], config["options"]
        )
        return subprocess.Popen(
            [*config["command"], *arguments],
            stdin=subprocess.DEVNULL,
            stdout=2,  # the run's log
            stderr=2,
            env=dict(os.environ) if config.get("own_program") else {**os.environ, "PYTHONNOUSERSITE": "1"},
        )

    def _answers(self, server: subprocess.Popen[bytes], port: int) -> bool:
        """Wait until the server lists its model. Return False if it ends first."""
        while server.poll() is None:
            status, text = _get(port, "/v1/models")
            if status == 200 and self._config["name"] in text:
                return True
            time.sleep(_START_POLL)
        return False

    def _report(self, server: subprocess.Popen[bytes], port: int) -> None:
        """Report the server's speed and queue as metrics until it ends."""
        former: Mapping[str, float] = {}
        reported: Mapping[str, float] | None = None
        began = time.monotonic()
        while server.poll() is None:
            status, text = _get(port, "/metrics")
            now = time.monotonic()
            numbers = read_metrics(text, self._engine.metrics) if status == 200 else {}
            values = {name: value for name, value in numbers.items() if name not in _RATES}
            for name, rate in _RATES.items():
                if name in numbers and name in former:
                    values[rate] = max(0.0, numbers[name] - former[name]) / (now - began)
            if values and values != reported:
                self._telemetry.metrics(self._tokens + int(numbers.get("tokens", 0)), values)
                reported = values
            former, began = numbers, now
            with suppress(subprocess.TimeoutExpired):
                server.wait(_METRICS_POLL)

    def _failure(self, server: subprocess.Popen[bytes], when: str = "") -> str:
        code = server.wait()
        ending = f"exit code {code}" if code >= 0 else signal_name(-code)
        return self._engine.failure(last_lines(self._folder.log_path, _LINES), f"{ending}{when}")


def _get(port: int, path: str) -> tuple[int, str]:
    """Return the status and text of the server's answer; status 0 without an answer."""
    connection = http.client.HTTPConnection(HOST, port, timeout=_ANSWER_SECONDS)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read(_MAX_BYTES).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        return 0, ""
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(run_to_end("mosaic_lab.serving", ServerRunner))
