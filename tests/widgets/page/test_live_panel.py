"""Life cycle of a live panel: it follows its runs and is drawn only while visible, until they have ended."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from ipywidgets import VBox
from support import wait_until

from mosaic_lab.errors import MosaicError
from mosaic_lab.widgets.page.live_panel import LivePanel, RefreshScheduler, Unsubscribe
from mosaic_lab.widgets.page.saved_form import Caption


class Counter(LivePanel):
    """A panel that shows a number and counts the calls of its hooks."""

    def __init__(self) -> None:
        super().__init__()
        self.title, self.again, self.box = "counter", "", VBox()
        self.ended = threading.Event()
        self.on_ended = self.ended.set
        self.number = self.drawn = self.looked = self.followers = 0
        self.rest_read = False
        self.messages: list[str] = []
        self._over = False

    @property
    def finished(self) -> bool:
        return self._over

    def read_state(self) -> None:
        self.looked += 1
        self._over = self.number == 9

    def draw(self) -> None:
        self.drawn = self.number

    def draw_again(self) -> None:
        self.messages.append("drawn again")

    def read_rest(self) -> None:
        self.rest_read = True

    def static_caption(self) -> Caption:
        return Caption(str(self.drawn))

    def static_picture(self) -> None:
        return None

    def show_message(self, level: str, text: str) -> None:
        self.messages.append(f"{level}: {text}")

    def subscribe(self) -> Iterator[Unsubscribe]:
        self.followers += 1

        def unsubscribe() -> None:
            self.followers -= 1

        yield unsubscribe


@pytest.fixture
def panel() -> Iterator[Counter]:
    panel = Counter()
    panel.start()
    yield panel
    panel.close()


def test_a_visible_panel_is_drawn_and_a_hidden_one_follows_nothing(panel: Counter) -> None:
    panel.on_presence([["view", 0, True]])
    panel.number = 1
    panel.notify()
    wait_until(lambda: panel.drawn == 1 and panel.followers == 1)
    panel.on_presence([["view", 1, False]])
    wait_until(lambda: panel.followers == 0)
    panel.number, looked = 2, panel.looked
    panel.notify()
    wait_until(lambda: panel.looked > looked + 1)
    assert panel.drawn == 1
    panel.on_presence([["view", 2, True]])
    wait_until(lambda: panel.drawn == 2 and panel.followers == 1)
    assert panel.messages == ["drawn again", "drawn again"], "not redrawn each time it appears"


def test_a_panel_that_has_ended_is_settled_and_closed(panel: Counter) -> None:
    assert not panel.settle() and not panel.rest_read
    panel.number = 9
    panel.notify()
    assert panel.ended.wait(10), "the refresh scheduler missed the end of a hidden panel"
    assert panel.settle() and panel.rest_read
    assert panel.static_caption() == Caption("9") and panel.followers == 0
    panel.close()
    assert panel.closed


def test_what_goes_wrong_in_a_control_is_shown_to_the_user(panel: Counter) -> None:
    def fail(error: Exception) -> None:
        raise error

    panel.attempt(fail, MosaicError("no such run"))
    panel.attempt(fail, ZeroDivisionError("unforeseen"))
    assert panel.messages == ["error: no such run", "error: ZeroDivisionError: unforeseen"]


class Timed:
    """Records when it is refreshed; its first refresh fails."""

    def __init__(self, interval: float) -> None:
        self.refreshed: list[tuple[float, bool]] = []
        self._interval = interval

    def interval(self) -> float:
        return self._interval

    def refresh(self, *, draw: bool) -> None:
        self.refreshed.append((time.monotonic(), draw))
        if len(self.refreshed) == 1:
            raise RuntimeError("the first time")


def test_one_scheduler_keeps_the_interval_of_each_panel(caplog: pytest.LogCaptureFixture) -> None:
    scheduler = RefreshScheduler()
    fast, hidden = Timed(0.02), Timed(float("inf"))
    for panel in (fast, hidden):
        scheduler.add(panel)

    def notified() -> bool:
        for panel in (fast, hidden):
            scheduler.notify(panel)
        return len(fast.refreshed) > 10 and len(hidden.refreshed) > 1

    wait_until(notified)
    for panel in (fast, hidden):
        scheduler.remove(panel)
    times = [at for at, _ in fast.refreshed]
    assert all(later - at >= 0.015 for at, later in pairwise(times))
    assert all(draw for _, draw in fast.refreshed)
    assert not any(draw for _, draw in hidden.refreshed), "a hidden panel was drawn"
    assert caplog.text.count("A panel could not be refreshed; trying again.") == 2, "not once per panel"


def test_sources_are_polled_when_the_first_is_due_until_removed() -> None:
    scheduler, polled = RefreshScheduler(), [0, 0]

    def counter(index: int) -> Callable[[], float]:
        def poll() -> float:
            polled[index] += 1
            return 0.0 if polled[0] < 100 else 0.02

        return poll

    removals = [scheduler.add_poll(counter(index)) for index in range(2)]
    wait_until(lambda: min(polled) > 100)
    removals[0]()
    removals[0]()  # harmless
    before = polled[1]
    wait_until(lambda: polled[1] > before + 2)
    counts = polled[0], polled[1]
    wait_until(lambda: polled[1] > counts[1])
    assert polled[0] == counts[0]
    scheduler.close()


def test_the_interpreter_ends_while_sources_are_polled() -> None:
    script = """
import threading
from mosaic_lab.widgets.page.live_panel import refresh_scheduler
called = threading.Event()
refresh_scheduler().add_poll(lambda: (called.set(), threading.Event().wait()))
assert called.wait(60)
"""
    done = subprocess.run([sys.executable, "-c", script], timeout=60, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
