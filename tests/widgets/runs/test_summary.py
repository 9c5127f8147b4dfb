"""Header of a group of runs: consistent remaining time, total time, speed and memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from mosaic_lab.keeper.states import Outcome, RunStatus, State, Transition
from mosaic_lab.runs import Run
from mosaic_lab.telemetry import RunFeed
from mosaic_lab.widgets.runs import summary
from mosaic_lab.widgets.runs.run_view import RunView

TOTAL = 200_000


@dataclass(eq=False)
class FixedView(RunView):
    """A view with given numbers instead of telemetry."""

    state: State = State.RUNNING
    step: int = 0
    per_second: float | None = None
    began: float = 0.0
    took: float | None = None
    memory: float | None = None
    feed: RunFeed = field(init=False)

    def __post_init__(self) -> None:
        history = (Transition(State.STARTING, "", self.began),) if self.took else ()
        outcome = Outcome(peak_memory_mb=self.memory) if self.state.finished else None
        self.status, self.reason = RunStatus(self.state, "", 0.0, history, outcome=outcome), ""
        left = (TOTAL - self.step) / self.per_second if self.per_second else None
        self.feed = cast("Any", SimpleNamespace(
            step=self.step, behind=False, episodes=1,
            progress=SimpleNamespace(steps_per_second=self.per_second, first=0),
            seconds_left=lambda total: left, memory_mb=self.memory, seconds=0.0,
            names=[], count=lambda name: 0,
        ))  # fmt: skip

    def elapsed(self) -> float | None:
        return self.took


def run_of(total: int | None) -> Run:
    steps = {"total_timesteps": total, "requested_timesteps": total, "session_seconds": lambda status: None}
    steps |= {"resumed_from": None, "resumed_step": None}
    return cast("Any", SimpleNamespace(**steps, path=Path("runs/one"), id="one", worker="cleanrl", config={}))


def facts(*views: dict[str, Any]) -> dict[str, str]:
    shown = [FixedView(run_of(TOTAL), "", "", **one) for one in views]
    header = summary.header_summary(shown, "title", "detail", "again", shown)
    return {name: value for value, name in header["facts"]}


def running(step: int, per_second: float | None) -> dict[str, Any]:
    return {"step": step, "per_second": per_second, "took": 30.0}


def test_a_queued_run_takes_its_time_after_the_first_that_ends() -> None:
    queued = {"state": State.QUEUED}
    assert facts(running(190_000, 5_000), running(180_000, 5_000), queued)["left"] == "42s"
    assert facts(running(100_000, 5_000), queued, queued)["left"] == "1m 40s"
    assert facts(running(100_000, 5_000), running(150_000, 5_000))["left"] == "20s"


def test_no_remaining_time_is_shown_while_a_part_of_it_is_unknown() -> None:
    assert "left" not in facts({"state": State.QUEUED}, {"state": State.QUEUED})
    assert "left" not in facts(running(100_000, 5_000), running(0, None))
    assert "left" not in facts({"state": State.COMPLETED, "took": 40.0})


def test_a_run_that_has_not_begun_shows_no_progress_whether_its_end_is_known_or_not() -> None:
    for total in (TOTAL, None):
        for state, progress in ((State.QUEUED, 0.0), (State.STARTING, 0.0), (State.COMPLETED, 1.0)):
            shown = [FixedView(run_of(total), "", "", state=state)]
            header = summary.header_summary(shown, "title", "detail", "again", shown)
            assert header["progress"] == progress


def test_steps_are_speed_times_time_when_all_is_over() -> None:
    ended = {"state": State.COMPLETED, "step": TOTAL}
    found = facts(
        {**ended, "began": 1_000.0, "took": 40.0},
        {**ended, "began": 1_000.5, "took": 42.0},
        {**ended, "began": 1_040.0, "took": 35.0},
    )
    assert found["total"] == "1m 15s"
    assert found["steps/s"] == "8,000"


def test_time_between_runs_counts_neither_as_total_nor_in_their_speed() -> None:
    ended = {"state": State.COMPLETED, "step": TOTAL}
    found = facts({**ended, "began": 1_000.0, "took": 20.0}, {**ended, "began": 1_300.0, "took": 20.0})
    assert (found["total"], found["steps/s"]) == ("40s", "10k")


def test_memory_is_what_running_views_use_and_after_the_end_the_highest_peak() -> None:
    first, second = {**running(100_000, 5_000), "memory": 400.0}, {**running(0, None), "memory": 300.0}
    ended = {"state": State.COMPLETED, "took": 40.0, "memory": 434.0}
    assert facts(first, second, ended, ended)["memory"] == "700 MB"
    assert "memory" not in facts({"state": State.QUEUED}, ended), "no run is alive to use memory"
    assert facts(ended, {**ended, "memory": 420.0})["peak"] == "434 MB"
