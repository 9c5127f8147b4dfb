"""The conformance suite: checks that a worker follows the protocol, for authors of shims.

Run `python -m mosaic_contract.conformance NAME` in the worker's Python environment, or call `check_worker` in
a test. The package of a worker that trains contains a `conformance.json`: `tiny` is a complete configuration
that trains to its end within seconds, `long` has the fields to change so that it trains for many minutes. A
worker with operators that need settings or particular spaces lists them under `operate`: `settings`,
`observation_space`, `action_space`, and `hints`, sent with every observation (such as a `description`);
"{checkpoint}" in a setting is replaced by the path of the tiny training's last checkpoint. A worker that
provides environments may name the environment to play in under `environment`. In all values, "{package}"
is replaced by the folder of the package.

The protocol has two levels. Operators that answer "ping" but not "hello" are checked for the plain protocol;
the names of their checks say so, and `operate` may also have the `game_name` and the `observation` sent to
them.

The suite examines only streams, exit codes and the process table; a worker need not use this package.
"""

from __future__ import annotations

from mosaic_contract.conformance.suite import CheckResult, check_worker, format_report, level, run_conformance

__all__ = ["CheckResult", "check_worker", "format_report", "level", "run_conformance"]
