"""Does a worker keep the protocol? Checks that any shim author can run against a command.

`python -m mosaic_contract.conformance NAME` in the worker's environment, or `check_worker` from a test. The
package holds a `conformance.json`: `tiny` is a whole configuration that trains to its end within seconds,
`long` are the fields to change in it so that it trains for many minutes. A stream, an exit code and the table
of processes are all that is looked at; the worker needs not be written with this package.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .trial import Trial
from .validity import TERMINAL, problems_of_stream

_START_SECONDS = 120.0  # for a command that only checks: imports of a large library, on a slow disk


@dataclass(frozen=True)
class CheckResult:
    """One check. `detail` says what was expected and seen, with the last log lines where it failed."""

    name: str
    passed: bool
    detail: str
    seconds: float


class _Unmet(Exception):
    def __init__(self, expected: str, seen: str, trial: Trial | None = None) -> None:
        log = trial.log_tail() if trial else ""
        super().__init__(f"expected: {expected}\nseen: {seen}" + (f"\nlast log lines:\n{log}" if log else ""))


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

    `config` holds `tiny` and `long` as in `conformance.json`; `python` is the interpreter of the worker's
    environment; the worker must obey SIGTERM within `grace` seconds; the tiny training must end, and the long
    one must report progress, within `deadline` seconds. `on_result` is called after each check.
    """
    folder = Path(tempfile.mkdtemp(prefix="mosaic-conformance-"))
    suite = _Suite(list(command), config, python, grace, deadline, folder)
    results = []
    try:
        for name, check in suite.checks().items():
            started = time.monotonic()
            try:
                detail, passed = check(), True
            except _Unmet as unmet:
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
    """`run_conformance` for an installed worker, by its entry point's name (None: the only one there is).

    `python` is the interpreter of its environment, `options` are those of `run_conformance`. Raises
    `LookupError` where the worker is not found or its package holds no `conformance.json`.
    """
    workers = _discovered(python)
    found = [worker for worker in workers if name in (None, worker["name"])]
    if len(found) != 1:
        names = ", ".join(worker["name"] for worker in workers) or "none"
        raise LookupError(f"no single worker {name or ''} in this environment; it has: {names}")
    if "error" in found[0]:
        raise LookupError(f"the metadata of {found[0]['name']} cannot be read: {found[0]['error']}")
    path = Path(found[0]["folder"], "conformance.json")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LookupError(f"the suite needs {path} with a tiny configuration: {error}") from None
    options.setdefault("config", config)
    return run_conformance([python, "-m", f"{found[0]['module']}.cli"], python=python, **options)


def format_report(results: Sequence[CheckResult]) -> str:
    """The results as text, one line for each check, details of failures indented below."""
    return "\n".join(map(_format, results))


class _Suite:
    def __init__(
        self,
        command: list[str],
        config: Mapping[str, Any],
        python: str,
        grace: float,
        deadline: float,
        folder: Path,
    ) -> None:
        self.command, self.python = command, python
        self.tiny = dict(config["tiny"])
        self.long = {**self.tiny, **config.get("long", {"total_timesteps": 10**9})}
        self.grace, self.deadline, self.folder = grace, deadline, folder
        self.resolved: dict[str, Any] = {}
        self.training: Trial | None = None
        self.stopped: Trial | None = None

    def checks(self) -> dict[str, Callable[[], str]]:
        return {
            "discovery": self.discovery,
            "dry run": self.dry_run,
            "bad configuration": self.bad_configuration,
            "tiny training": self.tiny_training,
            "telemetry": self.telemetry,
            "SIGTERM": self.sigterm,
            "no process left": self.no_process_left,
        }

    def discovery(self) -> str:
        module = self.command[-1].rpartition(".")[0]
        expected = f"an entry point of the group mosaic.workers in {module}, found by {self.python}"
        try:
            workers = _discovered(self.python)
        except LookupError as error:
            raise _Unmet(expected, str(error)) from None
        worker = next((worker for worker in workers if worker.get("module") == module), None)
        if worker is None:
            raise _Unmet(expected, f"workers {[worker['name'] for worker in workers]}")
        if "error" in worker:
            raise _Unmet("metadata", worker["error"])
        about, capabilities = worker["metadata"], worker["capabilities"]
        for field in ("name", "version", "upstream_library"):
            if not about.get(field):
                raise _Unmet(f"metadata that says its {field}", repr(about))
        if "train" not in capabilities.get("modes", ["train"]):
            raise _Unmet('"train" among the modes of its capabilities', repr(capabilities))
        upstream = about["upstream_library"].lower().replace("-", "_")
        heavy = {upstream, "torch", "tensorflow", "jax"} & {top.lower() for top in worker["imports"]}
        if heavy:
            raise _Unmet("metadata that is read without importing upstream", f"it imported {sorted(heavy)}")
        return f"{worker['name']} {about['version']}"

    def dry_run(self) -> str:
        with self._start("dry-run", self.tiny, "--dry-run") as trial:
            trial.wait(_START_SECONDS)
            self._expect_code(trial, 0, _START_SECONDS)
            lines = trial.lines()
            try:
                self.resolved = json.loads(b"\n".join(lines))
            except ValueError:
                raise _Unmet(
                    "one JSON object on stdout, nothing else", repr(lines[:3])[:500], trial
                ) from None
        for field in ("env_id", "seed", "total_timesteps"):
            if field in self.tiny and self.resolved.get(field) != self.tiny[field]:
                raise _Unmet(
                    f"{field} {self.tiny[field]!r} in the resolved configuration", repr(self.resolved)
                )
        return f"{len(self.resolved.get('hyperparameters', {}))} hyperparameters resolved"

    def bad_configuration(self) -> str:
        known = max(self.resolved.get("hyperparameters") or [""], key=len)
        misspelt = f"{known}x" if known else "no_such_hyperparameter"
        unknown = {**self.tiny, misspelt: 1}
        wrong_type = {**self.tiny, "total_timesteps": "many"}
        for what, config, arguments, named in (
            (f"unknown hyperparameter {misspelt!r}, dry", unknown, ["--dry-run"], known or misspelt),
            (f"unknown hyperparameter {misspelt!r}", unknown, [], known or misspelt),
            ('total_timesteps "many", dry', wrong_type, ["--dry-run"], "total_timesteps"),
            ("a file that is not JSON, dry", "{not json", ["--dry-run"], ""),
        ):
            with self._start("bad", config, *arguments) as trial:
                trial.wait(_START_SECONDS)
                self._expect_code(trial, 2, _START_SECONDS, what)
                failed = [m for m in trial.messages() if m.get("event") == "run_failed"]
            errors = [message.get("payload", {}) for message in failed]
            if len(errors) != 1 or errors[0].get("error_type") != "ConfigError":
                raise _Unmet(f"one run_failed with error_type ConfigError ({what})", repr(errors), trial)
            if named not in str(errors[0].get("error")):
                raise _Unmet(f"an error that names {named!r} ({what})", repr(errors[0].get("error")), trial)
            if not trial.log_tail():
                raise _Unmet(f"the error on stderr too, for people ({what})", "nothing on stderr")
        return "4 kinds refused with exit code 2"

    def tiny_training(self) -> str:
        with self._start("tiny", self.tiny) as self.training:
            trial = self.training
            trial.wait(self.deadline)
            self._expect_code(trial, 0, self.deadline)
        ends = [m["event"] for m in trial.messages() if m.get("event") in TERMINAL]
        if ends != ["run_completed"]:
            raise _Unmet("exactly one terminal event, run_completed", repr(ends), trial)
        manifest = self.folder / "tiny" / "analytics.json"
        try:
            run_id = json.loads(manifest.read_text(encoding="utf-8"))["run_id"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise _Unmet("analytics.json in the run folder", repr(error), trial) from None
        if run_id != "tiny":
            raise _Unmet("analytics.json with run_id 'tiny'", repr(run_id))
        return "completed"

    def telemetry(self) -> str:
        if self.training is None:
            raise _Unmet("a training to look at", "none was started")
        problems = problems_of_stream(self.training.lines(), {**self.tiny, "run_id": "tiny"})
        if problems:
            more = f"\n… and {len(problems) - 10} more" if len(problems) > 10 else ""
            raise _Unmet("a valid stream", "\n".join(problems[:10]) + more, self.training)
        return f"{len(self.training.lines())} lines"

    def sigterm(self) -> str:
        with self._start("long", self.long) as self.stopped:
            trial = self.stopped
            if not trial.wait(self.deadline, until=lambda: _is_training(trial)):
                raise _Unmet(f"metrics or an episode within {self.deadline:g} s", "none", trial)
            if trial.code is not None:
                raise _Unmet("a long training that still runs", f"{trial.ending} before SIGTERM", trial)
            trial.signal(signal.SIGTERM)
            asked = time.monotonic()
            if not trial.wait(min(0.2, self.grace)):
                trial.signal(signal.SIGTERM)  # people and supervisors repeat themselves
            trial.wait(self.grace)
            took = time.monotonic() - asked
            self._expect_code(trial, 143, self.grace, "after SIGTERM")
        ends = [m["event"] for m in trial.messages() if m.get("event") in TERMINAL]
        if ends != ["run_cancelled"]:
            raise _Unmet("exactly one terminal event, run_cancelled", repr(ends), trial)
        return f"cancelled in {took:.1f} s"

    def no_process_left(self) -> str:
        trials = [trial for trial in (self.training, self.stopped) if trial is not None]
        left = [process for trial in trials for process in trial.leftovers]
        if left or not trials:
            raise _Unmet(
                "no process after the end of the worker", "\n".join(left) or "no training was started"
            )
        return "none"

    def _start(self, name: str, config: object, *arguments: str) -> Trial:
        folder = self.folder / name
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir()
        if isinstance(config, dict):
            config = json.dumps({**config, "run_id": name, "run_dir": str(folder)})
        path = folder / "config.json"
        path.write_text(str(config), encoding="utf-8")
        return Trial([*self.command, "--config", str(path), *arguments], folder)

    def _expect_code(self, trial: Trial, code: int, seconds: float, what: str = "") -> None:
        if trial.code != code:
            late = f" after {seconds:g} s" if trial.code is None else ""
            raise _Unmet(f"exit code {code} {what}".rstrip(), f"{trial.ending}{late}", trial)


def _is_training(trial: Trial) -> bool:
    return any(m.get("event") == "metrics" or m.get("type") in ("episode", "step") for m in trial.messages())


def _discovered(python: str) -> list[dict[str, Any]]:
    command = [python, "-m", "mosaic_contract.discovery"]
    try:
        done = subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, timeout=_START_SECONDS, check=False
        )
        return json.loads(done.stdout)  # type: ignore[no-any-return]
    except subprocess.TimeoutExpired:
        raise LookupError(f"{' '.join(command)} gave no answer in {_START_SECONDS:g} s") from None
    except ValueError:
        log = done.stderr.decode("utf-8", "replace")[-2000:]
        raise LookupError(f"{' '.join(command)} gave no list of workers:\n{log}") from None


def _format(result: CheckResult) -> str:
    head = f"{'ok  ' if result.passed else 'FAIL'}  {result.name:<18} {result.seconds:6.1f} s  "
    if result.passed:
        return head + result.detail
    return head.rstrip() + "".join(f"\n        {line}" for line in result.detail.splitlines())


def _main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m mosaic_contract.conformance", description="Check a worker against the protocol."
    )
    parser.add_argument("name", nargs="?", help="the worker's entry point; needed where there are several")
    parser.add_argument("--grace", type=float, default=10.0, help="seconds a worker has after SIGTERM")
    parser.add_argument("--deadline", type=float, default=300.0, help="seconds for the tiny training")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    arguments = parser.parse_args(argv)

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


if __name__ == "__main__":
    sys.exit(_main())
