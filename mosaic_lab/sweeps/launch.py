"""Start a sweep: plan and check it, install its worker, launch its process.

A TOML file may define a sweep; reading it executes no code. ``mosaic-lab sweep --help`` shows an example.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mosaic_contract.config import nearest

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.runs import Supervisor
from mosaic_lab.runs.train_request import TrainRequest
from mosaic_lab.runs.training import Trainer
from mosaic_lab.sweeps.plan import plan_sweep
from mosaic_lab.sweeps.request import SweepRequest
from mosaic_lab.sweeps.space import integer, loguniform, uniform
from mosaic_lab.sweeps.sweep import Sweep, start
from mosaic_lab.validation import Problems, read_toml, seed_range

_RANGE = ("low", "high", "log", "whole")


def sweep(trainer: Trainer, request: SweepRequest, progress: Callable[[str], None] = print) -> Sweep:
    """Plan and start a sweep; see `mosaic_lab.Lab.sweep`, also for errors. ``progress`` is called with a line
    for each step of an installation.
    """
    return start(trainer.supervisor, plan_sweep(trainer, request, progress), request.training.environ)


def sweep_file(supervisor: Supervisor, path: Path | str) -> Sweep:
    """Start the sweep defined by a file. Raises the errors of `mosaic_lab.Lab.sweep`."""
    return sweep(Trainer(supervisor), read_sweep(path))


def read_sweep(path: Path | str) -> SweepRequest:
    """Return the request in a file.

    Raises ConfigurationError for an invalid file, with all problems of its search.
    """
    path = Path(path)
    document = read_toml(path, "sweep")
    problems = Problems(path.name)
    if not isinstance(document.get("worker"), str):
        problems.add("worker", 'worker: give the name of one, such as worker = "cleanrl"')
    search = document.get("search")
    if not isinstance(search, dict):
        problems.add("search", "search: give a table, such as [search] with num_envs = [4, 8]")
        search = {}
    document["search"] = {name: _searched(name, value, problems) for name, value in search.items()}
    if isinstance(document.get("seeds"), Mapping):
        document["seeds"] = seed_range(document["seeds"], problems)
    problems.check()
    own = {name: document.pop(name) for name in SweepRequest.__struct_fields__ if name in document}
    return SweepRequest(training=TrainRequest.of(document), **own)


def _searched(name: str, value: Any, problems: Problems) -> Any:
    """Return a list unchanged, or the range described by a table."""
    if not isinstance(value, Mapping):
        return value
    place = f"search.{name}"
    for key in value:
        if key not in _RANGE:
            problems.add(place, f"{place} has no {key!r}{nearest(key, _RANGE)}")
    if missing := [key for key in _RANGE[:2] if key not in value]:
        problems.add(place, f"{place} has no {missing[0]!r}: give both, such as {{low = 1e-5, high = 1e-2}}")
        return None
    low, high = value["low"], value["high"]
    try:
        if value.get("whole"):
            return integer(low, high, log=bool(value.get("log")))
        return (loguniform if value.get("log") else uniform)(low, high)
    except ConfigurationError as error:
        problems.add(place, f"{place}: {error}")
        return None
