"""The conformance suite: checks that a worker follows the protocol, for authors of shims.

`python -m mosaic_contract.conformance NAME` in the worker's environment, or `check_worker` from a test. The
package of one that trains holds a `conformance.json`: `tiny` is a whole configuration that trains to its end
within seconds, `long` are the fields to change in it so that it trains for many minutes. One whose operators
need settings, or spaces of their own, says so there under `operate`: `settings`, `observation_space`,
`action_space`, and `hints`, which come with every observation (a `description` say); "{checkpoint}" in a
setting becomes the path of what the tiny training saved last. One that provides environments may name under
`environment` the one to play in. "{package}" anywhere is the folder of the package.

There are two levels. Operators that answer "ping" but not "hello" are checked for the plain protocol; their
checks are called so, and `operate` may also have the `game_name` and the `observation` that they are sent.

The suite looks at streams, exit codes and the table of processes only; a worker need not be written with this
package.
"""

from __future__ import annotations

from mosaic_contract.conformance.suite import CheckResult, check_worker, format_report, level, run_conformance

__all__ = ["CheckResult", "check_worker", "format_report", "level", "run_conformance"]
