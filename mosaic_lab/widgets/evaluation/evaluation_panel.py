"""The live panel of an evaluation: its progress, each operator's results so far, and failures."""

from __future__ import annotations

from mosaic_lab.errors import MosaicError
from mosaic_lab.evaluation import Evaluation
from mosaic_lab.evaluation.reports.plot import Plot, plot_picture
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.keeper.states import State
from mosaic_lab.number_format import duration
from mosaic_lab.runs import Run
from mosaic_lab.widgets.charts.static_chart import stacked
from mosaic_lab.widgets.evaluation.episode_list import EpisodeList
from mosaic_lab.widgets.evaluation.result_panel import ResultPanel
from mosaic_lab.widgets.evaluation.snapshot_reader import EvaluationSnapshot, SnapshotReader
from mosaic_lab.widgets.frames.collapsible import CollapsibleFrames
from mosaic_lab.widgets.page.saved_form import Caption, html_notes, table_html
from mosaic_lab.widgets.runs.run_view import Notice, warning_notice

MAX_FAILURES = 5
MAX_STALLS = 3


class EvaluationPanel(ResultPanel[EvaluationSnapshot]):
    """The live panel of the evaluation in ``folder``."""

    def __init__(self, folder: RunFolder) -> None:
        self._evaluation = evaluation = Evaluation(folder)  # its own: a handle serves one reader at a time
        self.title = f"Evaluation · {evaluation.environment}"
        frames = CollapsibleFrames("Frames of the arenas that play now", self._arenas)
        super().__init__(evaluation, SnapshotReader(evaluation, self.notify), frames)
        self.episodes = EpisodeList(Evaluation(folder), self.show_message)
        self.observe(self.episodes.head, "opened", self.episodes.expand)
        self.observe(self.episodes.table, "chosen", self.episodes.choose)
        self.arrange(self.table, self.plots.box, *self.episodes.widgets, *frames.widgets)

    def close(self) -> None:
        self.episodes.close()
        super().close()

    def draw_content(self) -> None:
        super().draw_content()
        self.episodes.draw()

    def static_caption(self) -> Caption:
        """Return the progress, the table and the failures."""
        snapshot = self.snapshot()
        text = f"{self._progress(snapshot)}, {self.view.status.state}"
        text += f", {snapshot.spent} spent" if snapshot.spent else ""
        table = table_html(snapshot.table, snapshot.table["rows"])
        notes = html_notes(dict.fromkeys(plot.note for plot in snapshot.plots))
        return Caption(text, table + notes + self.saved_notices())

    def static_picture(self) -> bytes | None:
        return stacked([plot_picture(plot) for plot in self.snapshot().plots if _has_points(plot)])

    def _arenas(self) -> list[Run]:
        """Return the arenas with an episode in progress. Raises MosaicError if there are none."""
        if (on := self._evaluation.plan.request.on) is not None:
            raise MosaicError(f"its episodes are played on {on}: their frames stay there")
        if not (playing := [arena for arena in self._evaluation.arenas if arena.alive]):
            raise MosaicError("no arena plays at this moment: there are no frames to see")
        return playing

    def facts(self, snapshot: EvaluationSnapshot) -> list[list[str]]:
        facts = [self._progress(snapshot).rsplit(" ", 1)]
        facts += [[f"{snapshot.failed:,}", "failed"]] if snapshot.failed else []
        facts += [[snapshot.spent, "spent"]] if snapshot.spent else []
        live = self.view.status.state is State.RUNNING and snapshot.seconds_left is not None
        return facts + ([[duration(snapshot.seconds_left), "left"]] if live else [])

    def progress(self, snapshot: EvaluationSnapshot) -> float | None:
        total = self._evaluation.total
        return snapshot.done / total if total else None

    def reason(self) -> str:
        parts = self.reader.latest.parts if self.reader.latest is not None and not self.finished else ""
        return "; ".join(filter(None, [super().reason(), parts]))

    def _progress(self, snapshot: EvaluationSnapshot) -> str:
        return f"{snapshot.done:,} of {self._evaluation.total:,} episodes"

    def notices(self) -> list[Notice]:
        notices = super().notices()
        stalls = self._evaluation.stalls
        notices += [warning_notice(str(stall)) for stall in stalls[:MAX_STALLS]]
        if len(stalls) > MAX_STALLS:
            notices.append(warning_notice(f"and {_counted(len(stalls) - MAX_STALLS)} more"))
        snapshot = self.reader.latest
        if snapshot is not None and snapshot.damage:
            notices.append({"level": "error", "text": snapshot.damage})
        notice_text = " ".join(notice["text"] for notice in notices)
        failures = (
            []
            if snapshot is None
            else [failure for failure in snapshot.failures if not _is_reported(failure, notice_text)]
        )
        notices += [
            warning_notice(f"{_counted(count)} failed: {text}") for text, count in failures[:MAX_FAILURES]
        ]
        if omitted := sum(count for _, count in failures[MAX_FAILURES:]):
            notices.append(warning_notice(f"and {_counted(omitted)} more failed in other ways"))
        return notices


def _has_points(plot: Plot) -> bool:
    return any(mark.points is not None for facet in plot.facets for mark in facet.marks)


def _is_reported(failure: tuple[str, int], notice_text: str) -> bool:
    """Return whether the failure of one episode is part of the run's own reason."""
    text, count = failure
    return count == 1 and text.partition(": ")[2] in notice_text


def _counted(episodes: int) -> str:
    return "1 episode" if episodes == 1 else f"{episodes:,} episodes"
