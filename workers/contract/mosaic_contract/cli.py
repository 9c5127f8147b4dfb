"""The command line of every worker: `python -m <name>_worker.cli` with `--config FILE` (a training),
`--interactive` (operators), `--arena` (an environment) or `--environments` (environments of a training).

A shim calls `main` with a `Worker`; the protocol is implemented here. Exit codes: 0 completed, 1 failed, 2
bad configuration, 130 cancelled by SIGINT, 143 by SIGTERM.
"""

from __future__ import annotations

import argparse
import fcntl
import functools
import logging
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

from mosaic_contract.analytics import write_analytics
from mosaic_contract.codec import encode_line
from mosaic_contract.config import TrainingConfig, read_config_file
from mosaic_contract.errors import Cancelled, ConfigError, EnvironmentMissing, UpstreamFailed
from mosaic_contract.heartbeat import Heartbeats
from mosaic_contract.metadata import WorkerCapabilities
from mosaic_contract.operator_server import OperatorServer
from mosaic_contract.priority import extend_priority_to_session
from mosaic_contract.process_exits import (
    ERROR_TYPE,
    Lines,
    exit_error,
    leave_within,
    lines_of,
    report_os_exit,
    stack_text,
    watch_parent,
)
from mosaic_contract.pytorch import defer_compiler
from mosaic_contract.registry import assign, max_processes
from mosaic_contract.signals import CancelOnSignal
from mosaic_contract.stdio import reserve_standard_streams
from mosaic_contract.telemetry import Telemetry
from mosaic_contract.training_recorder import check_recorded, record_training
from mosaic_contract.worker import Results, Worker

COMPLETED, FAILED, BAD_CONFIGURATION = 0, 1, 2

_LEAVE_SECONDS = 60.0  # for the exit hooks of libraries
_LEAVE_SECONDS_CANCELLED = 3.0

log = logging.getLogger("mosaic_contract")


def main(worker: Worker, argv: Sequence[str] | None = None) -> int:
    """Run the command line (`sys.argv` by default) and return the exit code.

    Call it once, in the main thread. It owns the process: fd 1 and signal handlers are not restored. Threads
    and exit hooks of libraries may delay the exit but cannot prevent it.
    """
    reserve_standard_streams()
    arguments = _parser().parse_args(argv)
    defer_compiler()
    if arguments.warm is not None:
        from mosaic_contract.warm import serve  # needed by warm workers only

        work = functools.partial(main, worker)  # in its forks
        return serve(arguments.warm, worker.preload, work, standby=worker.starts_python)
    extend_priority_to_session()
    signals = CancelOnSignal()
    telemetry = Telemetry.take_stdout(arguments.run_id or "unknown")
    _set_up_logging(arguments)
    if arguments.interactive:
        return _interactive(worker, telemetry, signals)
    if arguments.arena:
        return _arena(worker, telemetry, signals)
    if arguments.environments:
        return _environments(worker, telemetry, signals)
    exited = functools.partial(_exited, telemetry, signals, arguments.dry_run)
    report_os_exit(exited)
    code = _guarded(worker, arguments, telemetry, signals, exited)
    trains = code in (COMPLETED, FAILED) and not arguments.dry_run
    leave_within(_LEAVE_SECONDS if trains else _LEAVE_SECONDS_CANCELLED, code)
    return code


def _guarded(
    worker: Worker,
    arguments: argparse.Namespace,
    telemetry: Telemetry,
    signals: CancelOnSignal,
    exited: Callable[[object, Lines], int],
) -> int:
    """Run the command; turn every outcome into one terminal event and its exit code."""
    results: Results = None

    def work() -> None:
        nonlocal results
        results = _dispatch(worker, arguments, telemetry)

    failure = signals.run(work)
    if isinstance(failure, SystemExit):
        return exited(failure.code, lines_of(failure.__traceback__))
    if signals.cancelled is not None:  # an exception of train after the signal is a consequence of the signal
        telemetry.run_cancelled(signals.cancelled.reason, results)
        return signals.cancelled.exit_code
    if failure is not None:
        return _failed(failure, telemetry)
    if arguments.config and not arguments.dry_run:
        telemetry.run_completed(results)
    return COMPLETED


def _exited(telemetry: Telemetry, signals: CancelOnSignal, dry_run: bool, code: object, lines: Lines) -> int:
    """Report that the training's code ended the process; return the exit code."""
    if signals.cancelled is not None:
        telemetry.run_cancelled(signals.cancelled.reason)
        return signals.cancelled.exit_code
    if not code and telemetry.trained:
        telemetry.run_completed()
        return COMPLETED
    error = exit_error(code, lines, telemetry.reached)
    telemetry.run_failed(error, error_type=ERROR_TYPE, traceback=stack_text(lines))
    log.error("the run failed: %s\n%s", error, stack_text(lines))
    return BAD_CONFIGURATION if dry_run else FAILED


def _interactive(worker: Worker, telemetry: Telemetry, signals: CancelOnSignal) -> int:
    """Serve operators until stdin ends or a signal arrives."""
    if worker.operate is None:
        log.error("this worker has no operators: it cannot be started with --interactive")
        return BAD_CONFIGURATION
    server = OperatorServer(worker.metadata, worker.operate, worker.concurrent)
    code = _answer(server.serve, telemetry, signals)
    if not server.close():
        os._exit(code)  # threads in a call could delay the interpreter's exit
    return code


def _arena(worker: Worker, telemetry: Telemetry, signals: CancelOnSignal) -> int:
    """Serve an environment until the kernel closes it or exits, or a signal arrives."""
    if worker.make_environment is None:
        log.error("this worker has no environments: it cannot be started with --arena")
        return BAD_CONFIGURATION
    from mosaic_contract.arena import serve_arena  # needed by arenas only

    make, facts = worker.make_environment, worker.environment_facts
    local_operators = (worker.metadata, worker.operate) if worker.inside and worker.operate else None
    serve = functools.partial(serve_arena, worker.metadata()[0], make, facts, local_operators)
    return _answer(serve, telemetry, signals)


def _environments(worker: Worker, telemetry: Telemetry, signals: CancelOnSignal) -> int:
    """Serve environments to a training until it ends. Signals are ignored here: the training decides what
    they end."""
    if worker.make_environment is None:
        log.error("this worker has no environments: it cannot be started with --environments")
        return BAD_CONFIGURATION
    signals.disarm()
    from mosaic_contract.environment_server.server import serve_environments  # needed by servers only

    serve = functools.partial(serve_environments, worker.metadata()[0], worker.make_environment)
    return _answer(serve, telemetry, signals)


def _answer(serve: Callable[[int, int], None], telemetry: Telemetry, signals: CancelOnSignal) -> int:
    """Serve commands from stdin on stdout, both passed as descriptors, until stdin ends or a signal arrives.
    The process then exits within seconds."""
    with suppress(Cancelled):  # `signals` records it
        watch_parent()
        try:
            serve(_take_stdin(), telemetry.fileno())
        finally:
            signals.disarm()
    code = signals.cancelled.exit_code if signals.cancelled else COMPLETED
    leave_within(_LEAVE_SECONDS_CANCELLED, code)
    return code


def _take_stdin() -> int:
    """Move stdin to a private descriptor for the commands; all other readers of stdin find it empty."""
    private = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return private


def _dispatch(worker: Worker, arguments: argparse.Namespace, telemetry: Telemetry) -> Results:
    if arguments.describe:
        _print(telemetry, _described(worker))
        return None
    metadata, capabilities = worker.metadata()
    if worker.resolve is None or worker.train is None:
        raise ConfigError(f"{metadata.name} does not train; its modes: {', '.join(capabilities.modes)}")
    raw = read_config_file(arguments.config)
    if isinstance(raw.get("run_id"), str):
        telemetry.run_id = raw["run_id"]
    config = TrainingConfig.from_dict(raw, arguments.config.resolve().parent, worker.optional)
    telemetry.run_id = config.run_id
    _check_capabilities(config, worker, metadata.name, capabilities)
    if config.environment_server:
        assign(
            config.env_id,
            {
                "processes": max_processes() if capabilities.steps_together else 1,
                **config.environment_server,
                "paradigms": capabilities.supported_paradigms,
            },
        )
        _provide_servers(config, 1)
    plan = worker.resolve(config)
    resolved = plan if isinstance(plan, dict) else plan.resolved()
    if config.record and not isinstance(plan, dict):
        check_recorded(plan.own_spec)
    if arguments.dry_run:
        _print(telemetry, resolved)
        return None
    config = replace(
        config,
        algorithm=resolved.get("algorithm", config.algorithm),
        hyperparameters=resolved.get("hyperparameters", config.hyperparameters),
    )
    if not isinstance(plan, dict):
        _provide_servers(config, plan.environments)  # while the library is imported
    if config.record:
        record_training(config.run_dir)
    train = functools.partial(worker.train, config if plan is resolved else plan)
    return _train(train, metadata.name, config, resolved, telemetry)


def _described(worker: Worker) -> dict[str, Any]:
    """Return the answer to `--describe`."""
    metadata, capabilities = worker.metadata()
    return {
        "metadata": metadata.to_dict(),
        "capabilities": capabilities.to_dict(),
        "hyperparameters": {
            algorithm: [parameter.to_dict() for parameter in parameters]
            for algorithm, parameters in worker.hyperparameters().items()
        },
        "environments": list(worker.environments()),
    }


def _check_capabilities(
    config: TrainingConfig, worker: Worker, name: str, capabilities: WorkerCapabilities
) -> None:
    """Raise `ConfigError` for what the worker's trainings do not support."""
    if config.wrappers and not worker.wraps:
        raise ConfigError(
            f"{name} takes no wrappers: leave wrappers={list(config.wrappers)} out, or train with a worker "
            "that takes them, such as cleanrl or tianshou"
        )
    if config.record and not capabilities.records_observations:
        raise ConfigError(
            f"record={config.record!r}: trainings of {name} step their environments where observations "
            "cannot be recorded. Train with cleanrl or sb3, or record episodes of the trained policy: "
            f"lab.evaluate(…, record={config.record!r})"
        )
    if config.environment_server and not capabilities.uses_environment_servers:
        raise ConfigError(f"{name} trains in environments of its own only, without a server")


def _provide_servers(config: TrainingConfig, environments: int) -> None:
    if config.environment_server:
        from mosaic_contract.environment_server.client import provide_servers  # needed by few trainings

        provide_servers(config.env_id, environments)


def _train(
    train: Callable[[Telemetry], Results],
    worker_type: str,
    config: TrainingConfig,
    resolved: dict[str, Any],
    telemetry: Telemetry,
) -> Results:
    config.run_dir.mkdir(parents=True, exist_ok=True)
    telemetry.end_step = resolved.get("steps", config.end_step)
    telemetry.run_started(
        worker_type=worker_type,
        algo=config.algorithm,
        env_id=config.env_id,
        seed=config.seed,
        config=resolved,
    )
    try:
        with Heartbeats(telemetry):
            results = train(telemetry)
        if telemetry.unsaved is not None:
            raise telemetry.unsaved
        return results
    finally:
        _provide_servers(config, 0)
        if not (config.run_dir / "analytics.json").exists():
            try:
                _write_manifest(worker_type, config, resolved, telemetry)
            except OSError as error:  # a full disk must not fail a completed training
                log.warning("analytics.json could not be written: %s", error)


def _write_manifest(
    worker_type: str, config: TrainingConfig, resolved: Mapping[str, Any], telemetry: Telemetry
) -> None:
    """Write `analytics.json`. The best checkpoint has the highest mean return when it was saved."""
    saved = telemetry.checkpoints
    with_return = [checkpoint for checkpoint in saved if "mean_episode_return" in checkpoint.metrics]
    best = max(with_return, key=lambda checkpoint: checkpoint.metrics["mean_episode_return"], default=None)
    write_analytics(
        config.run_dir,
        run_id=config.run_id,
        worker_type=worker_type,
        tensorboard_dir=config.tensorboard_dir if config.tensorboard_dir.exists() else None,
        checkpoints_dir=config.checkpoints_dir if saved else None,
        checkpoints=[checkpoint.checkpoint_path for checkpoint in saved],
        checkpoint_format=saved[-1].format if saved else "",
        best_checkpoint=best.checkpoint_path if best else None,
        videos_dir=config.videos_dir if config.videos_dir.exists() else None,
        metadata={
            "algorithm": config.algorithm,
            "env_id": config.env_id,
            "seed": config.seed,
            **{name: resolved[name] for name in ("upstream",) if name in resolved},
        },
    )


def _failed(failure: BaseException, telemetry: Telemetry) -> int:
    if isinstance(failure, ConfigError):
        missing = isinstance(failure, EnvironmentMissing)
        error_class = EnvironmentMissing if missing else ConfigError  # the types in the protocol
        telemetry.run_failed(failure, error_type=error_class.__name__)
        for problem in failure.problems:
            log.error("bad configuration: %s", problem)
        return BAD_CONFIGURATION
    if isinstance(failure, UpstreamFailed):
        telemetry.run_failed(failure, traceback=failure.traceback)
        log.error("the run failed: %s", failure)
        return FAILED
    telemetry.run_failed(failure)
    log.error("the run failed", exc_info=failure)
    return FAILED


def _print(telemetry: Telemetry, document: Mapping[str, Any]) -> None:
    data = encode_line(document)
    while data:
        data = data[os.write(telemetry.fileno(), data) :]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="A MOSAIC Lab worker: messages on stdout.")
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--config", type=Path, metavar="FILE", help="the configuration of the training, JSON")
    mode.add_argument("--interactive", action="store_true", help="serve operators: commands on stdin")
    mode.add_argument("--arena", action="store_true", help="serve an environment: commands on stdin")
    mode.add_argument(
        "--environments", action="store_true", help="serve environments of a training: commands on stdin"
    )
    mode.add_argument("--warm", type=int, metavar="DESCRIPTOR", help="fork trainings (mosaic_contract.warm)")
    mode.add_argument("--describe", action="store_true", help="print metadata and hyperparameters, and exit")
    parser.add_argument("--dry-run", action="store_true", help="print the resolved configuration, and exit")
    parser.add_argument("--verbose", action="store_true", help="log everything to stderr")
    parser.add_argument("--run-id", default="", metavar="ID", help="the run that --interactive belongs to")
    parser.add_argument("--worker-id", default="", metavar="ID", help="a name to put before log lines")
    return parser


def _set_up_logging(arguments: argparse.Namespace) -> None:
    prefix = f"[{arguments.worker_id}] ".replace("%", "%%") if arguments.worker_id else ""
    logging.basicConfig(
        level=logging.DEBUG if arguments.verbose else logging.INFO,
        format=f"{prefix}%(levelname)s %(name)s: %(message)s",
    )
