"""A page's actions on the runs of a store, executed by a kernel.

Some open live panels in tabs of the page's main area instead of cells. These are closed with their tab and
never saved.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from msgspec import UNSET, Meta, UnsetType

from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.evaluation import Evaluation
from mosaic_lab.overview.curve_model import Name
from mosaic_lab.overview.service import Params, RunId, RunParams, Service, converted_params
from mosaic_lab.runs import Run, RunGroup, Supervisor
from mosaic_lab.runs.continuation import continue_training
from mosaic_lab.runs.curriculum import Curriculum
from mosaic_lab.runs.kinds import as_kind, kind_of, of_class
from mosaic_lab.runs.run_labels import distinct_names
from mosaic_lab.runs.training import Trainer
from mosaic_lab.widgets.comparison import followed_panel
from mosaic_lab.widgets.notebook_display import NotebookDisplay
from mosaic_lab.widgets.page.background import in_background

if TYPE_CHECKING:
    from ipywidgets import Widget

    from mosaic_lab.arenas import Comparison
    from mosaic_lab.arenas.replays import Replay
    from mosaic_lab.widgets.page.live_panel import LivePanel


Report = Callable[[dict[str, Any]], None]
"""Sends progress to the page."""

MAX_RUNS_PER_ACTION = 1000
"""Maximum number of runs in one request."""
SEEDS = range(5)
"""Episode seeds of a comparison requested by the page."""
MAX_OPEN = 32
"""Maximum number of tabs of one store. A reloaded or closed page never closes its tabs, so the oldest is
dropped."""


class ActedOnParams(Params):
    runs: Annotated[list[RunId], Meta(min_length=1, max_length=MAX_RUNS_PER_ACTION)]


class RemoveParams(ActedOnParams):
    trials: bool = False


class AnnotateParams(RunParams):
    name: Annotated[str, Meta(max_length=300)] | UnsetType = UNSET
    tags: list[Annotated[str, Meta(min_length=1, max_length=100)]] | UnsetType = UNSET
    notes: Annotated[str, Meta(max_length=100_000)] | UnsetType = UNSET


class ReplayParams(RunParams):
    operator: Name
    seed: int
    episode: int
    step: Annotated[int, Meta(ge=0)]


class CloseParams(Params):
    model_id: Name


class WorkerParams(Params):
    worker: Name


class RunActions:
    """Actions on the runs of one store. Methods may be called on any thread except the main one."""

    def __init__(self, root: Path, service: Service, display: NotebookDisplay) -> None:
        self._root = root
        self._service = service
        self._display = display
        self._tabs = Tabs()

    def act(self, method: str, params: object, report: Report) -> dict[str, Any]:
        """Execute an action requested by the page, and return the answer. Raises MosaicError."""
        action = ACTIONS[method]
        return action.act(self, converted_params(method, params, action.params), report) or {}

    def stop(self, params: ActedOnParams, report: Report) -> None:
        """Request the runs to stop, and return at once; the page sees them end."""
        for run in self._runs(params.runs):
            run.stop(wait=False)

    def resume(self, params: ActedOnParams, report: Report) -> dict[str, Any]:
        """Resume a run, or the trainings of a group that ended early, and return the ids of the runs.

        Evaluations, sweeps and curricula resume in their folders. A training continues from its newest
        checkpoint as a new run of the same name; the continued trainings of a group form a new group.
        """
        first, *remaining = runs = self._runs(params.runs)
        if remaining:
            return {"runs": [run.id for run in RunGroup(runs, first.group).resume()]}
        trainer = Trainer(
            Supervisor(self._root, display=self._display),
            lambda: nullcontext(lambda line: report({"worker": first.worker, "line": line})),
        )
        return {"runs": [continue_training(trainer, first).id]}

    def remove(self, params: RemoveParams, report: Report) -> None:
        """Delete ended runs and, on request, the trials of sweeps and the stages of curricula.

        Raises MosaicError, without deleting any, if one is alive.
        """
        runs = self._runs(params.runs)
        if params.trials:
            runs = self._trials(runs) + runs
        if alive := [run.id for run in runs if run.alive]:
            ids = ", ".join(alive[:5]) + (", …" if len(alive) > 5 else "")
            raise MosaicError(f"nothing was removed: these runs are alive, stop them first ({ids})")
        for run in runs:
            run.remove()

    def annotate(self, params: AnnotateParams, report: Report) -> None:
        (run,) = self._runs([params.run])
        for field in ("name", "tags", "notes"):
            if (value := getattr(params, field)) is not UNSET:
                setattr(run, field, value)

    def panel(self, params: ActedOnParams, report: Report) -> dict[str, Any]:
        """Create the panel that a cell would show, for a tab; see `Tabs`."""
        return {"model_id": self._tabs.open_panel(self._runs(params.runs))}

    def compare(self, params: ActedOnParams, report: Report) -> dict[str, Any]:
        """Compare the newest checkpoints of trainings on their environment, side by side in a tab. An open
        comparison of the same runs is shown again."""
        from mosaic_lab import arenas, operators

        ids = tuple(params.runs)
        if tab := self._tabs.comparison_of(ids):
            return {"model_id": tab}
        runs = self._runs(params.runs)
        environments = sorted({str(run.config.get("env_id")) for run in runs})
        if len(environments) > 1:
            raise ConfigurationError(
                "only trainings in the same environment can be compared; these are in "
                f"{', '.join(environments)}"
            )
        lanes = {name: operators.rl(run) for name, run in zip(distinct_names(runs), runs, strict=True)}
        request = arenas.CompareRequest(env=environments[0], operators=lanes, seeds=SEEDS)
        comparison = arenas.compare(self._root, request, lambda line: report({"line": line}))
        return {"model_id": self._tabs.open_comparison(ids, comparison)}

    def replay(self, params: ReplayParams, report: Report) -> dict[str, Any]:
        """Replay an episode of an evaluation, and show its player at a step in a tab."""
        (run,) = self._runs([params.run])
        replay = of_class(run, Evaluation).replay(params.operator, params.seed, params.episode)
        return {"model_id": self._tabs.open_replay(replay, params.step)}

    def close(self, params: CloseParams, report: Report) -> None:
        """Close a tab opened by `panel`, `compare` or `replay`. No effect if it is already closed."""
        self._tabs.close(params.model_id)

    def install(self, params: WorkerParams, report: Report) -> None:
        from mosaic_lab import workers

        workers.install(params.worker, progress=lambda line: report({"worker": params.worker, "line": line}))

    def check(self, params: WorkerParams, report: Report) -> None:
        """Run the conformance suite on an installed worker; `worker_rows` has the result."""
        from mosaic_contract.conformance import format_report

        from mosaic_lab import workers

        workers.check(
            params.worker,
            on_result=lambda result: report({"worker": params.worker, "line": format_report([result])}),
        )

    def _trials(self, runs: list[Run]) -> list[Run]:
        """Return the trials of sweeps and the stages of curricula, except those among ``runs``."""
        from mosaic_lab.sweeps import Sweep

        chosen = {run.id for run in runs}
        parts: list[Run] = []
        for run in map(as_kind, runs):
            parts += run.trial_runs if isinstance(run, Sweep) else ()
            parts += run.stage_runs if isinstance(run, Curriculum) else ()
        return [run for run in parts if run.id not in chosen]

    def _runs(self, ids: list[str]) -> list[Run]:
        return [Run(self._service.run(run_id).folder, self._display) for run_id in dict.fromkeys(ids)]


class Action(NamedTuple):
    """An action: its parameters and its method."""

    params: type[Params]
    act: Callable[[RunActions, Any, Report], dict[str, Any] | None]


ACTIONS = {
    "stop": Action(ActedOnParams, RunActions.stop),
    "resume": Action(ActedOnParams, RunActions.resume),
    "remove": Action(RemoveParams, RunActions.remove),
    "annotate": Action(AnnotateParams, RunActions.annotate),
    "panel": Action(ActedOnParams, RunActions.panel),
    "compare": Action(ActedOnParams, RunActions.compare),
    "replay": Action(ReplayParams, RunActions.replay),
    "close": Action(CloseParams, RunActions.close),
    "install": Action(WorkerParams, RunActions.install),
    "check": Action(WorkerParams, RunActions.check),
}
"""The actions that only a kernel provides, by their names in `js/src/shared/run-api.ts`."""


class Tabs:
    """The panels open in tabs, by the model ids of their widgets."""

    def __init__(self) -> None:
        self._open: dict[str, Callable[[], object]] = {}
        self._comparisons: dict[tuple[str, ...], str] = {}
        self._lock = threading.Lock()

    def open_panel(self, runs: list[Run]) -> str:
        """Create the panel of one run, several runs, an evaluation or a sweep, and return its model id."""
        from mosaic_lab.widgets.runs.run_panel import RunPanel

        panel: LivePanel
        panels = [kind.panel for run in runs if (kind := kind_of(run)).panel]
        if not panels:
            panel = RunPanel(runs, alone=len(runs) == 1)
        elif len(runs) == 1:
            panel = resolve_name(panels[0])(runs[0].folder)
        else:
            raise ConfigurationError(
                "an evaluation or a sweep has a panel of its own: select it alone, or only trainings"
            )
        panel.on_ended = partial(in_background, panel.settle)
        panel.start()
        if panel.finished:
            panel.on_ended()
        return self._add(panel.box, panel.close)

    def comparison_of(self, runs: tuple[str, ...]) -> str | None:
        """Return the model id of the open comparison of these runs, so that a reloaded page shows it
        again."""
        with self._lock:
            return self._comparisons.get(runs)

    def open_comparison(self, runs: tuple[str, ...], comparison: Comparison) -> str:
        """Create the panel of a comparison, which ends with its tab, and return its model id."""
        panel = followed_panel(comparison)
        model_id = self._add(panel.box, partial(_end, comparison, panel))
        with self._lock:
            self._comparisons[runs] = model_id
        return model_id

    def open_replay(self, replay: Replay, step: int) -> str:
        """Create the player of a replay at a step, and return its model id."""
        from mosaic_lab.widgets.replays.replay_player import ReplayView

        view = ReplayView(replay, followed_panel)
        view.player.at = step
        return self._add(view.box, view.close)

    def close(self, model_id: str) -> None:
        with self._lock:
            close = self._open.pop(model_id, None)
            self._comparisons = {runs: tab for runs, tab in self._comparisons.items() if tab != model_id}
        if close is not None:
            close()

    def _add(self, widget: Widget, close: Callable[[], object]) -> str:
        model_id = str(widget.model_id)
        with self._lock:
            self._open[model_id] = close
            oldest = list(self._open)[:-MAX_OPEN]
        for old in oldest:
            self.close(old)
        return model_id


def _end(comparison: Comparison, panel: LivePanel) -> None:
    comparison.stop(timeout=0)
    panel.close()
