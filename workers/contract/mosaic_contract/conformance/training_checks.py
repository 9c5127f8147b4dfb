"""Checks of workers that train: dry run, bad configurations, a tiny training, its telemetry, SIGTERM."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Mapping, Sequence
from typing import Any

from mosaic_contract.codec import DEFAULT_LINE_LIMIT, decode_line
from mosaic_contract.conformance.observed_process import ObservedProcess
from mosaic_contract.conformance.subject import (
    START_SECONDS,
    CheckFailed,
    Checks,
    Subject,
    expect_exit,
    require,
)
from mosaic_contract.errors import BadLine, BadMessage
from mosaic_contract.messages import EVENTS, missing_fields, parse_message

TERMINAL = tuple(name for name, event_class in EVENTS.items() if event_class.TERMINAL)


class TrainingChecks:
    """Checks of trainings. `tiny` of the subject's configuration is complete, `long` has the fields to change
    in it."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.tiny = dict(subject.config.get("tiny") or {})
        self.long = {**self.tiny, **subject.config.get("long", {"total_timesteps": 10**9})}
        self.resolved: dict[str, Any] = {}
        self.training: ObservedProcess | None = None

    def checks(self) -> Checks:
        return {
            "dry run": self.dry_run,
            "bad configuration": self.bad_configuration,
            "tiny training": self.tiny_training,
            "telemetry": self.telemetry,
            "SIGTERM": self.sigterm,
        }

    def dry_run(self) -> str:
        require(self.tiny, 'a configuration "tiny" in conformance.json, to train with', self.subject.config)
        with self._start("dry-run", self.tiny, "--dry-run") as process:
            expect_exit(process, 0, START_SECONDS)
            lines = process.lines()
            try:
                self.resolved = json.loads(b"\n".join(lines))
            except ValueError:
                raise CheckFailed(
                    "one JSON object on stdout, nothing else", repr(lines[:3])[:500], process
                ) from None
        for field in ("env_id", "seed", "total_timesteps"):
            if field in self.tiny:
                matches = self.resolved.get(field) == self.tiny[field]
                require(matches, f"{field} {self.tiny[field]!r} in the resolved configuration", self.resolved)
        return f"{len(self.resolved.get('hyperparameters', {}))} hyperparameters resolved"

    def bad_configuration(self) -> str:
        longest = max(self.resolved.get("hyperparameters") or [""], key=len)
        misspelt = f"{longest}x" if longest else "no_such_hyperparameter"
        unknown = {**self.tiny, misspelt: 1}
        wrong_type = {**self.tiny, "total_timesteps": "many"}
        for label, config, arguments, field in (
            (f"unknown hyperparameter {misspelt!r}, dry", unknown, ["--dry-run"], longest or misspelt),
            (f"unknown hyperparameter {misspelt!r}", unknown, [], longest or misspelt),
            ('total_timesteps "many", dry', wrong_type, ["--dry-run"], "total_timesteps"),
            ("a file that is not JSON, dry", "{not json", ["--dry-run"], ""),
        ):
            with self._start("bad", config, *arguments) as process:
                expect_exit(process, 2, START_SECONDS, label)
                failed = [m for m in process.messages() if m.get("event") == "run_failed"]
            errors = [message.get("payload", {}) for message in failed]
            is_refused = [error.get("error_type") for error in errors] == ["ConfigError"]
            require(is_refused, f"one run_failed with error_type ConfigError ({label})", errors, process)
            error = errors[0].get("error")
            require(field in str(error), f"an error that names {field!r} ({label})", repr(error), process)
            require(process.log_tail(), f"the error on stderr too, for people ({label})", "nothing on stderr")
        return "4 kinds refused with exit code 2"

    def tiny_training(self) -> str:
        with self._start("tiny", self.tiny) as process:
            self.training = process
            expect_exit(process, 0, self.subject.deadline)
        _expect_terminal(process, "run_completed")
        manifest = self.subject.folder / "tiny" / "analytics.json"
        try:
            run_id = json.loads(manifest.read_text(encoding="utf-8"))["run_id"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CheckFailed("analytics.json in the run folder", repr(error), process) from None
        require(run_id == "tiny", "analytics.json with run_id 'tiny'", repr(run_id))
        return "completed"

    def telemetry(self) -> str:
        if self.training is None:
            raise CheckFailed("a training to look at", "none was started")
        problems = problems_of_stream(self.training.lines(), {**self.tiny, "run_id": "tiny"})
        if problems:
            omitted = f"\n… and {len(problems) - 10} more" if len(problems) > 10 else ""
            raise CheckFailed("a valid stream", "\n".join(problems[:10]) + omitted, self.training)
        return f"{len(self.training.lines())} lines"

    def sigterm(self) -> str:
        with self._start("long", self.long) as process:
            started = process.wait(self.subject.deadline, until=lambda: _is_training(process))
            require(started, f"metrics or an episode within {self.subject.deadline:g} s", "none", process)
            running, ending = process.code is None, f"{process.ending} before SIGTERM"
            require(running, "a long training that still runs", ending, process)
            process.signal(signal.SIGTERM)
            signalled = time.monotonic()
            if not process.wait(min(0.2, self.subject.grace)):
                process.signal(signal.SIGTERM)  # users and supervisors may send it repeatedly
            expect_exit(process, 143, self.subject.grace, "after SIGTERM")
            seconds = time.monotonic() - signalled
        _expect_terminal(process, "run_cancelled")
        return f"cancelled in {seconds:.1f} s"

    def _start(self, name: str, config: object, *arguments: str) -> ObservedProcess:
        folder = self.subject.empty_folder(name)
        if isinstance(config, dict):
            config = json.dumps({**config, "run_id": name, "run_dir": str(folder)})
        path = folder / "config.json"
        path.write_text(str(config), encoding="utf-8")
        return self.subject.start(name, "--config", str(path), *arguments)


def _expect_terminal(process: ObservedProcess, event: str) -> None:
    terminal = [m["event"] for m in process.messages() if m.get("event") in TERMINAL]
    require(terminal == [event], f"exactly one terminal event, {event}", terminal, process)


def _is_training(process: ObservedProcess) -> bool:
    return any(
        m.get("event") == "metrics" or m.get("type") in ("episode", "step") for m in process.messages()
    )


def problems_of_stream(lines: Sequence[bytes], config: Mapping[str, Any]) -> list[str]:
    """Return the problems of the stream of a training that ran `config` to its end, as sentences."""
    problems: list[str] = []
    messages: list[dict[str, Any]] = []
    for number, line in enumerate(lines, 1):
        try:
            if len(line) > DEFAULT_LINE_LIMIT:
                raise BadLine(f"{len(line)} bytes long, the limit is {DEFAULT_LINE_LIMIT}")
            message = decode_line(line)
            messages.append(message)
            parse_message(message)
            missing = missing_fields(message)
            if missing:
                raise BadMessage(f"{message.get('event') or message.get('type')} lacks {', '.join(missing)}")
        except (BadLine, BadMessage) as error:
            problems.append(f"line {number}: {error}: {line[:120]!r}")
    events = [message.get("event") for message in messages]
    if events[:1] != ["run_started"] or events.count("run_started") != 1:
        problems.append(f"run_started is not the first event and the only one of its kind: {events[:3]}")
    else:
        problems += _problems_of_start(messages[0].get("payload", {}), config)
    terminal = [event for event in events if event in TERMINAL]
    if len(terminal) != 1 or events[-1] != terminal[0]:
        problems.append(
            f"there is not exactly one terminal event, at the end: {terminal}, last {events[-1:]}"
        )
    if "heartbeat" not in events:
        problems.append("no heartbeat")
    if "metrics" not in events and not any(message.get("type") == "episode" for message in messages):
        problems.append("neither metrics nor an episode")
    foreign_ids = {str(message.get("run_id")) for message in messages} - {config["run_id"]}
    if foreign_ids:
        problems.append(f"run_id is not {config['run_id']!r} everywhere: {sorted(foreign_ids)}")
    timestamps = [message.get("timestamp") for message in messages if "event" in message]
    times = [stamp for stamp in timestamps if isinstance(stamp, (int, float))]
    if times != sorted(times):
        problems.append("timestamps go back")
    return problems


def _problems_of_start(payload: Any, config: Mapping[str, Any]) -> list[str]:
    if not isinstance(payload, Mapping):
        return []  # already reported as a problem of its line
    fields = {"algorithm": "algo", "algo": "algo", "env_id": "env_id", "seed": "seed"}
    expected = {reported: config[name] for name, reported in fields.items() if name in config}
    return [
        f"run_started says {name} {payload.get(name)!r}, the configuration {value!r}"
        for name, value in expected.items()
        if payload.get(name) != value
    ]
