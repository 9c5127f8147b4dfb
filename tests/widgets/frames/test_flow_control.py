"""Flow control on a simulated clock: high frame rate and fresh frames at any latency, bounded in flight."""

from __future__ import annotations

import math
from collections import deque
from random import Random

import pytest

from mosaic_lab.widgets.frames.flow_control import (
    JUDGE_SECONDS,
    LOW_SECONDS,
    MAX_STRIDE,
    MAX_WINDOW,
    MIN_WINDOW,
    Bandwidth,
    Credit,
)

TICK = 0.001
SMALL, LARGE = 1_000, 100_000
"""Message sizes in bytes."""


class Line:
    """A simulated page: ``latency`` is the round trip; each message occupies the page for ``service``."""

    def __init__(
        self, fps: float, latency: float, service: float = 0.0, drawing: float = 1 / 60, nbytes: int = LARGE
    ) -> None:
        self.now = 0.0
        self.credit = Credit(0.0, 1 / fps)
        self.latency, self.service, self.drawing, self.nbytes = latency, service, drawing, nbytes
        self.ages: list[float] = []
        self.requested = 0
        self.largest = 0
        self._due = 0.0
        self._free = 0.0  # when the page has processed all messages
        self._answers: deque[tuple[float, int]] = deque()

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while self.now < end:
            self.now += TICK
            while self._answers and self._answers[0][0] <= self.now:
                self.credit.acknowledge(self._answers.popleft()[1], self.now)
            if self.now >= self._due and self.credit.may_send(self.now):
                self._send()
            assert self._answers or self.credit.may_send(self.now), "stalled: no acknowledgement is pending"
            self.largest = max(self.largest, self.credit.in_flight)

    def _send(self) -> None:
        ticket = self.credit.send(self.now, self.nbytes)
        self._due = max(self._due + self.credit.interval, self.now)
        self._free = max(self.now + self.latency / 2, self._free) + self.service
        drawn = math.ceil(self._free / self.drawing) * self.drawing  # on the next animation frame
        self.ages.append(drawn - self.now)
        if ticket.requests_ack:
            self.requested += 1
            self._answers.append((drawn + self.latency / 2, ticket.number))


@pytest.mark.parametrize("fps", [1, 5, 30, 60])
@pytest.mark.parametrize("latency", [0.002, 0.046, 0.1])
@pytest.mark.parametrize("nbytes", [SMALL, LARGE])
def test_as_many_frames_arrive_as_are_requested_whatever_the_latency(
    fps: int, latency: float, nbytes: int
) -> None:
    line = Line(fps, latency, nbytes=nbytes)
    line.run(5)
    line.ages.clear()
    line.run(20)
    assert len(line.ages) > 0.93 * 20 * fps
    assert max(line.ages) < latency / 2 + 2 / 60


@pytest.mark.parametrize("service", [0.05, 0.1, 0.5])
@pytest.mark.parametrize("latency", [0.002, 0.046])
def test_a_slow_page_gets_what_it_can_draw_and_nothing_queues_up(service: float, latency: float) -> None:
    line = Line(60, latency, service)
    line.run(60)
    late = line.ages[len(line.ages) // 2 :]
    assert len(line.ages) > 0.9 * 60 / (service + 1 / 60)
    assert max(late) < latency + 3 * (service + 1 / 60)


def test_a_connection_that_becomes_slow_and_fast_again_is_followed() -> None:
    line = Line(30, 0.002)
    line.run(10)
    line.service = 0.2
    line.run(30)
    slow = len(line.ages)
    assert max(line.ages[-20:]) < 0.8
    line.service = 0.0
    line.run(5)
    line.ages.clear()
    line.run(10)
    assert len(line.ages) > 280
    assert slow < 300 + 30 * 8


def test_changes_of_a_connections_speed_never_stall_it() -> None:
    random = Random(1)
    line = Line(60, 0.002, drawing=0.001, nbytes=SMALL)
    for _ in range(300):
        line.service = random.choice([0.0, 0.0, 0.02, 0.1])
        line.run(0.3)
    assert len(line.ages) > 1000


def test_few_messages_are_in_flight_whatever_happens() -> None:
    for latency in (0.0, 0.05, 0.5, 5.0):
        line = Line(60, latency, drawing=0.001)
        line.run(30)
        assert line.largest <= MAX_WINDOW + MAX_STRIDE - 1


def test_a_page_that_never_answers_is_sent_two_messages() -> None:
    credit = Credit(0.0, 1 / 30)
    sent = 0
    while credit.may_send(0.1 * sent) and sent < 100:
        credit.send(0.1 * sent, LARGE)
        sent += 1
    assert sent == MIN_WINDOW


@pytest.mark.parametrize(
    ("fps", "least", "most"), [(5, 1.0, 1.0), (10, 1.0, 1.0), (30, 0.3, 0.4), (60, 0.2, 0.3)]
)
def test_a_fast_connection_needs_few_acknowledgements(fps: int, least: float, most: float) -> None:
    line = Line(fps, 0.002, drawing=0.004)
    line.run(2)
    line.ages.clear()
    line.requested = 0
    line.run(10)
    assert least <= line.requested / len(line.ages) <= most


def test_a_lost_acknowledgement_is_replaced_by_the_next() -> None:
    credit = Credit(0.0, 1 / 30)
    first, second = credit.send(0.0, LARGE), credit.send(0.03, LARGE)
    assert first.requests_ack and second.requests_ack and not credit.may_send(0.05)
    credit.acknowledge(second.number, 0.06)
    assert credit.in_flight == 0 and credit.may_send(0.06)


def test_lost_acknowledgements_are_replaced_by_that_of_one_more_message() -> None:
    credit = Credit(0.0, 1 / 30)
    credit.send(0.0, LARGE)
    credit.send(0.5, LARGE)
    assert not credit.may_send(1.5) and credit.probe_at() == 1.5
    probe = credit.send(1.5, LARGE)
    assert probe.requests_ack and not credit.may_send(1.6) and credit.probe_at() == 2.5
    credit.acknowledge(probe.number, 1.6)
    assert credit.may_send(1.6)


def test_invalid_acknowledgements_are_ignored() -> None:
    credit = Credit(0.0, 1 / 30)
    credit.send(0.0, LARGE)
    credit.send(0.0, LARGE)
    for number in (0, -1, 3, 10**12):
        credit.acknowledge(number, 1.0)
    assert credit.in_flight == 2
    credit.acknowledge(2, 1.0)
    credit.acknowledge(1, 1.0)
    assert credit.in_flight == 0


def test_large_frames_that_are_held_up_come_smaller_for_a_while_and_ever_longer() -> None:
    bandwidth = Bandwidth(0.0)
    now, periods, since = 0.0, [], None
    while len(periods) < 3 and now < 1000:
        now += 0.5
        bandwidth.delay(now - 0.4)
        bandwidth.send(900_000, now)
        bandwidth.judge(now)
        if bandwidth.low and since is None:
            since = now
        if not bandwidth.low and since is not None:
            periods.append(now - since)
            since = None
    assert [round(period / LOW_SECONDS) for period in periods] == [1, 2, 4]


@pytest.mark.parametrize(("nbytes", "held"), [(20_000, 0.4), (900_000, 0.0), (900_000, 0.1)])
def test_small_frames_and_frames_in_time_stay_as_they_are(nbytes: int, held: float) -> None:
    bandwidth = Bandwidth(0.0)
    for half in range(100):
        now = half / 2
        if held:
            bandwidth.delay(now - held)
        bandwidth.send(nbytes, now)
        bandwidth.judge(now)
        assert not bandwidth.low


def test_bandwidth_is_low_at_once_where_nothing_arrives_at_first() -> None:
    bandwidth = Bandwidth(0.0)
    bandwidth.send(900_000, 0.0)
    bandwidth.send(900_000, 0.03)
    bandwidth.delay(0.06)
    bandwidth.judge(JUDGE_SECONDS + 0.01)
    assert bandwidth.low
