"""The episodes of an evaluation within its panel, initially collapsed; a click on one replays it."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from ipywidgets import VBox, Widget

from mosaic_lab.chart_style import color
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation import Evaluation
from mosaic_lab.evaluation.plan import episode_text
from mosaic_lab.evaluation.replaying import replay
from mosaic_lab.number_format import number
from mosaic_lab.widgets.comparison import followed_panel
from mosaic_lab.widgets.frames.collapsible import Collapsible
from mosaic_lab.widgets.page.panel_widgets import Table
from mosaic_lab.widgets.page.widget_tree import close_widgets, widgets_stay_on_subshell
from mosaic_lab.widgets.replays.replay_area import ReplayArea, Say

MAX_ROWS = 500
"""Maximum number of episodes in the list, which shows the newest."""
REFRESH_SECONDS = 2.0
_COLUMNS = {"#": True, "Operator": False, "Seed": True, "Return": True, "Length": True, "End": False}


class EpisodeList:
    """The episodes of ``evaluation``, a handle that nothing else uses. ``widgets`` belong below each other in
    a panel. While collapsed, the list reads nothing."""

    def __init__(self, evaluation: Evaluation, say: Say) -> None:
        self.head = Collapsible(title="Episodes")
        self.table = Table()
        self.replays = ReplayArea(say, followed_panel)
        self._evaluation = evaluation
        self._content = VBox([])
        self._lock = threading.Lock()
        self._shown_count = -1
        self._next_draw = 0.0
        widgets_stay_on_subshell(*self.widgets, self.table, self.replays.box)

    @property
    def widgets(self) -> list[Widget]:
        return [self.head, self._content]

    def expand(self, on: bool) -> None:
        """Show or hide the list."""
        self.draw(force=True)
        self._content.children = [self.table, self.replays.box] if on else []

    def draw(self, *, force: bool = False) -> None:
        """Send new episodes while the list is expanded, at most every `REFRESH_SECONDS`."""
        with self._lock:
            if not self.head.opened or not (force or time.monotonic() >= self._next_draw):
                return
            self._next_draw = time.monotonic() + REFRESH_SECONDS
            if (done := self._evaluation.done) != self._shown_count:
                self._shown_count = done
                self.table.table = self._rows()

    def choose(self, chosen: Mapping[str, Any]) -> None:
        """Replay an episode whose row was clicked. Raises ConfigurationError for an unknown episode."""
        operator, seed, episode = chosen["id"]
        evaluation = Evaluation(self._evaluation.folder)  # its own: a handle serves one reader at a time
        if not isinstance(operator, str) or type(seed) is not int or type(episode) is not int:
            raise ConfigurationError(f"no episode {chosen['id']!r:.200}")
        self.replays.request(
            episode_text(operator, seed, episode),
            lambda install, progress: replay(evaluation, operator, seed, episode, install, progress),
        )

    def close(self) -> None:
        """Close the widgets."""
        self.replays.close()
        close_widgets([*self.widgets, self.table])

    def _rows(self) -> dict[str, Any]:
        records = [] if self._evaluation.damage else self._evaluation.records()
        several = self._evaluation.plan.request.episodes > 1
        colors = {lane: color(index) for index, lane in enumerate(self._evaluation.plan.lanes)}
        first = max(0, len(records) - MAX_ROWS)
        caption = f"The last {MAX_ROWS:,} of {len(records):,} episodes; ev.replay replays any"
        rows = []
        for position, record in enumerate(records[first:], first + 1):
            succeeded = record["status"] == "ok"
            seed = f"{record['seed']}" + (f", episode {record['episode']}" if several else "")
            end = "terminated" if record["terminated"] else "truncated"
            cells: list[dict[str, Any]] = [
                {"text": f"{position:,}", "key": position},
                {"text": record["operator"], "color": colors[record["operator"]], "key": record["operator"]},
                {"text": seed, "key": record["seed"]},
                {"text": number(record["return"]), "key": record["return"] if succeeded else None},
                {"text": f"{record['steps']:,}" if succeeded else "–", "key": record["steps"]},
                {"text": end if succeeded else "failed", "hint": record["error"], "key": end},
            ]
            if succeeded:
                episode = [record["operator"], record["seed"], record["episode"]]
                cells[0] |= {"choose": episode, "hint": "Replay this episode"}
            rows.append(cells)
        columns = [{"title": title, "numeric": numeric} for title, numeric in _COLUMNS.items()]
        return {"columns": columns, "rows": rows, "caption": caption if first else "", "sortable": True}
