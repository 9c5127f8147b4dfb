"""Live panels that follow runs: a header, Stop, frames, notices and the log around their own content."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from mosaic_lab.widgets.frames.collapsible import CollapsibleFrames
from mosaic_lab.widgets.page.live_panel import LivePanel, Unsubscribe, refresh_scheduler
from mosaic_lab.widgets.page.panel_widgets import Footer, Header
from mosaic_lab.widgets.page.saved_form import html_notes
from mosaic_lab.widgets.runs.run_view import Notice, RunView

LOG_LINES = 200
IDLE_SECONDS = 0.1
"""Polling interval of idle runs."""
BUSY_SECONDS = 0.025
"""Polling interval of runs that are changing."""
BUSY_FOR_SECONDS = 1.0
"""Time for which a run counts as changing after a change."""


class FollowingPanel(LivePanel):
    """A live panel that follows the runs of ``views`` until all have ended; ``frames`` shows their frames."""

    def __init__(
        self, views: Sequence[RunView], frames: CollapsibleFrames | None = None, *, has_log: bool = True
    ) -> None:
        super().__init__()
        self.views = views
        self.header = Header()
        self.frames = frames
        self.footer = Footer(has_log=has_log)
        self._message: Notice | None = None
        self.observe(self.header, "presence", self.on_presence)
        self.observe(self.header, "stops", self._stop)
        self.observe(self.footer, "opened", self.redraw)
        if frames is not None:
            self.observe(frames.head, "opened", frames.expand)

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """Return the content of the header; see `summary.header_summary`."""

    @abstractmethod
    def draw_content(self) -> None:
        """Update the content between header and footer."""

    @property
    def finished(self) -> bool:
        return all(view.finished for view in self.views)

    @property
    def outdated(self) -> bool:
        return any(view.resumed for view in self.views)

    def read_state(self) -> None:
        for view in self.views:
            view.read_state()

    def subscribe(self) -> Iterable[Unsubscribe]:
        for view in self.views:
            view.news_at = time.monotonic()
        yield refresh_scheduler().add_poll(self._poll)

    def draw(self) -> None:
        self.header.summary = self.summary()
        self.header.beat += 1
        self.draw_content()
        if self.frames is not None and self.finished:
            self.frames.hide_unused()
        self._draw_footer()

    def close(self) -> None:
        if self.frames is not None:
            self.frames.close()
        super().close()

    def show_message(self, level: str, text: str) -> None:
        with self._lock:
            self._message = {"level": level, "text": text} if text else None
            self._draw_footer()

    def notices(self) -> list[Notice]:
        """Return notices for the user, the latest message first."""
        notices = [self._message] if self._message else []
        for view in self.views:
            prefix = f"{view.label}: " if len(self.views) > 1 else ""
            notices += [{**notice, "text": prefix + notice["text"]} for notice in view.notices()]
        return notices

    def saved_notices(self) -> str:
        """Return the notices as HTML for a caption."""
        return html_notes(notice["text"] for notice in self.notices())

    def _draw_footer(self) -> None:
        self.footer.notices = self.notices()
        if self.footer.has_log:
            lines = LOG_LINES if self.footer.opened else 1
            self.footer.lines = self.views[0].run.log(lines).splitlines()

    def _poll(self) -> float:
        """Read new telemetry; return the seconds after which more may be there."""
        changes = [view.poll() for view in self.views]
        if any(changes):
            self.notify()
        if any(view.feed.behind for view in self.views):
            return 0.0
        quiet_seconds = time.monotonic() - max(view.news_at for view in self.views)
        return BUSY_SECONDS if quiet_seconds < BUSY_FOR_SECONDS else IDLE_SECONDS

    def _stop(self, _: int) -> None:
        self.header.summary = {
            **self.header.summary,
            "state": "stopping",
            "chips": [{"state": "stopping", "text": "stopping"}],
            "reason": "stop requested",
        }
        for view in self.views:
            if not view.finished:
                view.run.stop(wait=False)
        self.notify()
