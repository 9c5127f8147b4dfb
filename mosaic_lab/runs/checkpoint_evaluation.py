"""Evaluate the checkpoints of a training while it runs: a background run in the same store that follows it.

Its process is `mosaic_lab.checkpoint_evaluation`. It adds a line for each checkpoint to the training's
``evaluations.jsonl``, whose metrics are those of the training. It does not count towards ``max_running``,
ends with the training, and its failures do not affect the training.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mosaic_contract.config import nearest

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.runs.background_runs import EVALUATIONS
from mosaic_lab.runs.checkpoint_players import CheckpointPlayers, start_background_run
from mosaic_lab.runs.run import Run
from mosaic_lab.runs.supervisor import Supervisor
from mosaic_lab.runs.training_arguments import whole_number

_PACKAGE = "mosaic_lab.checkpoint_evaluation"
_SETTINGS = ("seeds", "until", "patience")


def checked_settings(evaluate: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of an evaluation of checkpoints as JSON-compatible data. Raises
    ConfigurationError."""
    if not isinstance(evaluate, Mapping):
        raise ConfigurationError(
            f'evaluate={evaluate!r:.100}: give a mapping, such as {{"seeds": range(10)}}'
        )
    for name in evaluate:
        if name not in _SETTINGS:
            raise ConfigurationError(f"evaluate has no {name!r}{nearest(str(name), _SETTINGS)}")
    given = evaluate.get("seeds", range(10))
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise ConfigurationError(f"evaluate: seeds={given!r:.100} must be several integers, as range(10)")
    seeds = [whole_number("evaluate: seeds", seed) for seed in given]
    if not seeds or min(seeds) < 0 or len(set(seeds)) < len(seeds):
        raise ConfigurationError("evaluate: seeds must be distinct integers ≥ 0, as range(10)")
    until, patience = evaluate.get("until"), evaluate.get("patience")
    if until is not None and (isinstance(until, bool) or not isinstance(until, int | float)):
        raise ConfigurationError(f"evaluate: until={until!r} must be a mean return, a number")
    if until is not None and len(seeds) < 2:
        raise ConfigurationError("evaluate: until needs at least two seeds, for an interval of the return")
    if patience is not None and (type(patience) is not int or patience < 1):
        raise ConfigurationError(f"evaluate: patience={patience!r} must be a number of evaluations, ≥ 1")
    settings = {"seeds": seeds, "until": until, "patience": patience}
    return {name: value for name, value in settings.items() if value is not None}


def start(
    supervisor: Supervisor,
    run: Run,
    settings: Mapping[str, Any],
    players: CheckpointPlayers,
    **variables: Any,
) -> Run:
    """Start evaluating the checkpoints of ``run``, with `checked_settings`; see `start_background_run`."""
    return start_background_run(
        supervisor,
        run,
        players,
        _PACKAGE,
        worker=EVALUATIONS,
        label="evaluations",
        evaluate=dict(settings),
        **variables,
    )
