"""The conformance suite: selection of a worker's checks, run one after another."""

from __future__ import annotations

import argparse
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mosaic_contract.conformance.arena_checks import ArenaChecks
from mosaic_contract.conformance.operator_checks import PLAIN, operator_checks
from mosaic_contract.conformance.subject import (
    START_SECONDS,
    CheckFailed,
    Checks,
    Subject,
    expect_exit,
    require,
)
from mosaic_contract.conformance.training_checks import TrainingChecks
from mosaic_contract.fastlane import LINK, clear
from mosaic_contract.stdio import reserve_standard_streams

_RUN = {"id": "conformance", "name": "a tiny run", "hyperparameters": {"learning_rate": 0.5}}
_POLL_SECONDS = 0.05  # between requests to a server that loads its model
_POINTS = [[0, 1000.0, {"loss": 1.0}], [1, None, {"loss": float("nan"), "return": 2.0}]]


def export_checks(subject: Subject) -> Checks:
    """Return the checks of an exporter. `formats` of the subject's configuration are its values of
    `--export`."""
    formats = map(str, subject.config.get("formats", []))
    return {f"export {form}": partial(_export, subject, form) for form in formats}


def _export(subject: Subject, form: str) -> str:
    out = subject.empty_folder(f"exported-{form}")
    with subject.start(form, "--export", form, "--out", str(out), pipes_input=True) as process:
        process.feed("".join(f"{json.dumps(line)}\n" for line in (_RUN, *_POINTS)).encode())
        expect_exit(process, 0, subject.deadline)
        answers = process.messages()
    is_answered = [answer.get("run") for answer in answers] == ["conformance"]
    require(is_answered, 'one line on stdout: {"run": "conformance", "path"}', answers, process)
    path = Path(str(answers[0].get("path")))
    require(out in path.parents and path.exists(), f"a path below {out} that exists", str(path), process)
    return path.name


def _refuse_missing_recording(subject: Subject) -> str:
    """Check that a worker that writes datasets of recorded episodes refuses a missing recording."""
    folder = subject.empty_folder("dataset")
    recording, out = folder / "missing.npz", folder / "conformance-v0"
    episode = {"file": str(recording), "sha256": "", "metadata": {}}
    request = {"out": str(out), "dataset_id": out.name, "metadata": {}, "facts": {}, "episodes": [episode]}
    with subject.start("dataset", "--dataset", pipes_input=True) as process:
        process.feed(json.dumps(request).encode())
        expect_exit(process, 2, subject.deadline, "for a recording that is missing")
    require(not out.exists(), "no dataset of a missing recording", str(out), process)
    return f"refused: {recording.name}"


def serve_checks(subject: Subject) -> Checks:
    """Return the checks of a server of language models. The subject's configuration has its arguments at
    "serve"; without them, such as of a server that needs a GPU, nothing is checked."""
    return {"serving": partial(_serve, subject)} if "serve" in subject.config else {}


def _serve(subject: Subject) -> str:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = ["--host", "127.0.0.1", "--port", str(port)]
    with subject.start("serve", "--serve", *address, *subject.config["serve"]) as process:
        deadline = time.monotonic() + subject.deadline
        while (status := _status(port)) != 200:
            is_starting = process.code is None and time.monotonic() <= deadline
            require(is_starting, "an answer at /v1/models", f"{process.ending}, status {status}", process)
            time.sleep(_POLL_SECONDS)
        process.signal(signal.SIGTERM)
        ended = process.wait(subject.grace)
        require(ended, f"its end {subject.grace:g} s after SIGTERM", process.ending, process)
    return f"answers at port {port}, and ends by SIGTERM"


def _status(port: int) -> int | None:
    """Return the status of a request for the models of a server on this machine; None without an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=START_SECONDS)
    try:
        connection.request("GET", "/v1/models")
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


@dataclass(frozen=True)
class CheckResult:
    """The result of a check. `detail` has the expectation and observation, with the last log lines on
    failure."""

    name: str
    passed: bool
    detail: str
    seconds: float


def run_conformance(
    command: Sequence[str],
    *,
    config: Mapping[str, Any],
    python: str = sys.executable,
    grace: float = 10.0,
    deadline: float = 300.0,
    on_result: Callable[[CheckResult], None] = lambda result: None,
) -> list[CheckResult]:
    """Run all checks against `command` (`[python, "-m", "<package>.cli"]`) and return one result for each.

    The modes of the worker's capabilities determine the checks. `config` is as in `conformance.json`;
    `python` is the interpreter of the worker's environment. The worker must obey SIGTERM within `grace`
    seconds. Within `deadline` seconds the tiny training must end, the long one must report progress, and an
    operator must answer. `on_result` is called after each check.
    """
    folder = Path(tempfile.mkdtemp(prefix="mosaic-conformance-"))
    subject = Subject(list(command), config, folder, python, grace, deadline)
    results = []
    try:
        for name, check in _checks(subject):
            started = time.monotonic()
            try:
                detail, passed = check(), True
            except CheckFailed as unmet:
                detail, passed = str(unmet), False
            except OSError as error:
                detail, passed = f"{' '.join(command)} cannot be run: {error}", False
            result = CheckResult(name, passed, detail, time.monotonic() - started)
            results.append(result)
            on_result(result)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return results


def check_worker(
    name: str | None = None, *, python: str = sys.executable, **options: Any
) -> list[CheckResult]:
    """Call `run_conformance` for an installed worker, by its entry point's name (None: the only worker).

    `python` is the interpreter of its environment, `options` the other arguments of `run_conformance`. Raises
    `LookupError` if the worker is not found, or if it trains and its package contains no `conformance.json`.
    """
    workers = _discover_workers(python)
    matching = [worker for worker in workers if name in (None, worker["name"])]
    if len(matching) != 1:
        names = ", ".join(worker["name"] for worker in workers) or "none"
        raise LookupError(f"no single worker {name or ''} in this environment; it has: {names}")
    if "error" in matching[0]:
        raise LookupError(f"the metadata of {matching[0]['name']} cannot be read: {matching[0]['error']}")
    path = Path(matching[0]["folder"], "conformance.json")
    if path.exists() or "train" in matching[0]["capabilities"].get("modes", []):
        try:
            text = path.read_text(encoding="utf-8")
            options.setdefault("config", json.loads(text.replace("{package}", str(path.parent))))
        except (OSError, ValueError) as error:
            raise LookupError(f"the suite needs {path} with a tiny configuration: {error}") from None
    options.setdefault("config", {})
    return run_conformance([python, "-m", matching[0]["program"]], python=python, **options)


def format_report(results: Sequence[CheckResult]) -> str:
    """Return the results as text, one line per check, with details of failures indented below."""
    return "\n".join(map(_format, results))


def level(results: Sequence[CheckResult]) -> str:
    """Return the level of the protocol that was checked, in words."""
    plain = any(result.name.startswith(PLAIN) for result in results)
    return "the plain protocol" if plain else "the whole protocol"


_PARTS: dict[str, Callable[[Subject], Checks]] = {  # by mode
    "train": lambda subject: TrainingChecks(subject).checks(),
    "operate": operator_checks,
    "arena": lambda subject: ArenaChecks(subject).checks(),
    "export": export_checks,
    "dataset": lambda subject: {"a missing recording": partial(_refuse_missing_recording, subject)},
    "serve": serve_checks,
}


def _checks(subject: Subject) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield every check of the worker, in order. The first check determines the others."""
    yield "discovery", lambda: _discovery(subject)
    for mode in subject.modes or ["train"]:
        if mode in _PARTS:  # the metadata may list modes unknown to the suite
            yield from _PARTS[mode](subject).items()
    yield "nothing left", lambda: _nothing_left(subject)


def _discovery(subject: Subject) -> str:
    program = subject.command[-1]
    expected = f"an entry point of the group mosaic.workers of {program}, found by {subject.python}"
    try:
        workers = _discover_workers(subject.python)
    except LookupError as error:
        raise CheckFailed(expected, str(error)) from None
    worker = next((worker for worker in workers if worker.get("program") == program), None)
    if worker is None:
        raise CheckFailed(expected, f"workers {[worker['name'] for worker in workers]}")
    if "error" in worker:
        raise CheckFailed("metadata", worker["error"])
    metadata, subject.capabilities = worker["metadata"], worker["capabilities"]
    subject.name = worker["name"]
    foreign = "modes" not in subject.capabilities  # metadata of classes other than the contract's
    # A worker that declares none acts, and trains if the suite can try it.
    default_modes = [*(["train"] if subject.config.get("tiny") else []), "operate"]
    subject.modes = subject.capabilities.get("modes", default_modes)
    for field in ("name", "version", *([] if foreign else ["upstream_library"])):
        require(metadata.get(field), f"metadata with its {field}", metadata)
    modes = _PARTS.keys() & subject.modes
    require(modes, f"one of {sorted(_PARTS)} among the modes of its capabilities", subject.capabilities)
    upstream = (metadata.get("upstream_library") or "").lower().replace("-", "_")
    loaded = {upstream, "torch", "tensorflow", "jax"} & {top.lower() for top in worker["imports"]}
    require(not loaded, "metadata that is read without importing upstream", f"it imported {sorted(loaded)}")
    return f"{worker['name']} {metadata['version']}, {' and '.join(subject.modes)}"


def _nothing_left(subject: Subject) -> str:
    started = [process for process in subject.processes if process.ran]
    leftovers = [leftover for process in started for leftover in process.leftovers]
    observed = "\n".join(leftovers) or "nothing could be started"
    require(started and not leftovers, "no process after the end of the worker", observed)
    rings = [folder for folder in sorted(subject.folder.iterdir()) if os.path.lexists(folder / LINK)]
    for folder in rings:
        clear(folder)
    expected = "no shared memory of frames after the end of the worker (FrameWriter.close in a finally)"
    require(not rings, expected, f"that of {' and '.join(folder.name for folder in rings)}")
    return "no process, no shared memory"


def _discover_workers(python: str) -> list[dict[str, Any]]:
    command = [python, "-m", "mosaic_contract.discovery"]
    try:
        completed = subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, timeout=START_SECONDS, check=False
        )
        return json.loads(completed.stdout)
    except subprocess.TimeoutExpired:
        raise LookupError(f"{' '.join(command)} gave no answer in {START_SECONDS:g} s") from None
    except ValueError:
        log = completed.stderr.decode("utf-8", "replace")[-2000:]
        raise LookupError(f"{' '.join(command)} gave no list of workers:\n{log}") from None


def _format(result: CheckResult) -> str:
    head = f"{'ok  ' if result.passed else 'FAIL'}  {result.name:<18} {result.seconds:6.1f} s  "
    if result.passed:
        return head + result.detail
    return head.rstrip() + "".join(f"\n        {line}" for line in result.detail.splitlines())


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m mosaic_contract.conformance", description="Check a worker against the protocol."
    )
    parser.add_argument("name", nargs="?", help="the worker's entry point; needed where there are several")
    parser.add_argument("--grace", type=float, default=10.0, help="seconds a worker has after SIGTERM")
    parser.add_argument("--deadline", type=float, default=300.0, help="seconds for the tiny training")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    arguments = parser.parse_args(argv)
    reserve_standard_streams()

    def show(result: CheckResult) -> None:
        print(json.dumps(vars(result)) if arguments.json else _format(result), flush=True)

    try:
        results = check_worker(
            arguments.name, grace=arguments.grace, deadline=arguments.deadline, on_result=show
        )
    except LookupError as error:
        print(error, file=sys.stderr)
        return 2
    return 0 if all(result.passed for result in results) else 1
