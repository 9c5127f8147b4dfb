"""A worker with a library to preload (`warm_library`), started as ``python -m warm_peer``.

Its training writes its process's initial state (arguments, variables, signals, files, …) to ``start.json``,
then behaves as its algorithm says. Its operator writes the same to a file; its actions are the observations.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from mosaic_contract import (
    AgentSetup,
    Telemetry,
    TrainingConfig,
    Worker,
    WorkerCapabilities,
    WorkerMetadata,
    main,
)
from mosaic_contract.ready_process import start_python


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    return WorkerMetadata("warm_peer", "0.1"), WorkerCapabilities(algorithms=["walk"], modes=["operate"])


def resolve(config: TrainingConfig) -> dict[str, Any]:
    return config.to_dict(config.hyperparameters)


def from_start() -> dict[str, Any]:
    return {
        "argv": sys.argv,
        "name": Path("/proc/self/comm").read_text(),
        "path": sys.path,
        "main": str(getattr(sys.modules["__main__"].__spec__, "name", "")),
        "variables": dict(os.environ),
        "cwd": str(Path.cwd()),
        "temporary": tempfile.gettempdir(),
        "signals": [str(signal.getsignal(number)) for number in (signal.SIGCHLD, signal.SIGPIPE)],
        "blocked": len(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        "files": sorted(int(entry.name) for entry in Path("/proc/self/fd").iterdir())[:3],
        "limits": resource.getrlimit(resource.RLIMIT_NOFILE),
        "session": (os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid()),
        "stdin": sys.stdin.read(),
    }


def train(config: TrainingConfig, telemetry: Telemetry) -> dict[str, float]:
    import warm_library

    (config.run_dir / "start.json").write_text(json.dumps(from_start()))
    numbers = {"random": random.random(), "imported_by": warm_library.IMPORTED_BY, "pid": os.getpid()}
    (config.run_dir / "numbers.json").write_text(json.dumps(numbers))
    print("trains")
    telemetry.metrics(1, {"x": 1.0})
    if config.algorithm == "exit":
        os._exit(3)
    if config.algorithm == "script":
        pipe, end = os.pipe()
        env = {**os.environ, "A": "1"}
        script = start_python("warm_script", [str(end)], cwd=str(config.run_dir), env=env, pass_fds=[end])
        os.close(end)
        code, said = script.wait(20), json.loads(os.read(pipe, 9999))
        (config.run_dir / "script.json").write_text(json.dumps({"code": code, **said}))
    while config.algorithm == "stay":
        time.sleep(0.01)  # works until it is stopped
    while config.algorithm == "deaf":
        with suppress(BaseException):
            time.sleep(0.01)  # works until it is killed
    return {"x": 1.0}


class Echo:
    def __init__(self, setup: AgentSetup) -> None:
        import warm_library

        about = {**from_start(), "imported_here": os.getpid() == warm_library.IMPORTED_BY}
        Path(setup.settings["file"]).write_text(json.dumps(about))

    def select_action(self, observation: Any) -> Any:
        return observation


WORKER = Worker(
    get_worker_metadata, resolve, train, operate=Echo, preload=["warm_library"], starts_python=True
)

if __name__ == "__main__":
    os.environ["SET_BY_SHIM"] = "1"
    sys.exit(main(WORKER))
