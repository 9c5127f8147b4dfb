"""The flow control of one view of a page: how many frames may be in flight, and how large they may be.

It sends nothing and knows no frames, only times, in seconds of a monotonic clock, sizes and numbers of
messages: so every case can be tested with a clock of the test's own.

The protocol of `Credit`:

- Messages are numbered from 1. The page acknowledges number n once everything up to n was drawn, or overtaken
  by something newer. A message that is sent and not acknowledged is *in flight*.
- At most ``window`` messages are in flight. There is no queue: what is sent when that is possible again is
  the newest frame of that moment.
- The window is what the connection holds, there and back, at the rate that is wanted and arrives (bandwidth
  times delay) and a quarter more, to find out whether more would arrive; at least 2, because one at a time
  leaves the connection idle for half of every round trip, and at most 8. Of small messages it is twice what
  the connection holds: on a server without our extension they wait for each other (Nagle's algorithm),
  several leave together, and only more in flight shows that more would arrive. The delay is that of messages
  which had the connection to themselves: one that stood in a queue would make the queue longer. Where there
  are no such messages, the connection is let run idle every ten seconds, and one is sent alone.
- An acknowledgement costs the kernel more than a small frame does. While nothing queues, only every second
  to fourth message requests one, and the window is larger by those that do not.
- Acknowledgements are cumulative, so that a lost one is made up for by the next. When all are lost the page
  is sent a ping of a few bytes, after four round trips or a second, then after twice as long, and so on. Its
  answer settles everything that was sent before: it arrived, or it never will.
"""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple

LEAST, MOST = 2, 8
"""Messages in flight."""
GAIN, SMALL_GAIN = 1.25, 2.0
SMALL_BYTES = 16 << 10
"""Of a message, for the second gain."""
IDLE_SECONDS = 10.0
ACK_SECONDS = 0.1
"""Between two messages that request an acknowledgement, while nothing queues; and at most:"""
MOST_STRIDE = 4
PATIENCE = 1.0
MOST_PATIENCE = 16.0
"""Seconds until an acknowledgement is missed, at least; between two pings, at most."""
STALE_SECONDS = 5.0
"""An answer after longer than this is due to a page that was hidden, not to the connection."""
LOW_SECONDS, MOST_LOW_SECONDS = 15.0, 240.0
"""How long the bandwidth counts as low until it is tried again: each time twice as long."""
JUDGE_SECONDS = 1.0
HELD_UP = 0.4
"""Share of the time in which a frame was due and had to wait."""
LARGE_BYTES = 64 << 10
"""Of a message, on average: smaller ones are not held up for their size."""


class _Flight(NamedTuple):
    number: int
    at: float
    gap: float
    """Seconds since the message before it; infinite when nothing else was in flight."""
    acked: int


class Ticket(NamedTuple):
    """The header of a message: its number, and whether it requests an acknowledgement."""

    number: int
    requests_ack: bool


class Credit:
    """The flow control of one view. ``interval``: seconds between two frames that are wanted, at least."""

    def __init__(self, now: float, interval: float) -> None:
        self.interval = interval
        self.delay: float | None = None
        """Seconds there and back for a message that has the connection to itself; None before the first."""
        self.round_trip: float | None = None
        """The same for all messages, smoothed."""
        self._rate = 1 / interval  # messages a second that arrive
        self._bytes = 0  # of the last message
        self._sent = self._acked = self._requested = self._pinged = 0
        self._flights: deque[_Flight] = deque()
        self._last = -math.inf  # when the last message was sent
        self._alone = now  # when one last had the connection to itself
        self._pings = 0
        self._ping_at = 0.0

    @property
    def in_flight(self) -> int:
        return len(self._flights)

    @property
    def window(self) -> int:
        """Messages that may be in flight."""
        return self._capacity + self._stride - 1

    def may_send(self, now: float) -> bool:
        if self._flights and self._requested == self._sent and now - self._alone > IDLE_SECONDS:
            return False  # until it has run idle; and then one alone
        return self.in_flight < self.window

    def send(self, now: float, nbytes: int) -> Ticket:
        """Return the ticket for a message of so many bytes that is sent now."""
        number = self._sent = self._sent + 1
        self._bytes = nbytes
        gap = now - self._last if self._flights else math.inf
        requests_ack = (
            number - self._requested >= self._stride
            or self.in_flight + 1 >= self.window
            or now - self._alone > IDLE_SECONDS
        )
        if requests_ack:
            self._requested = number
        self._flights.append(_Flight(number, now, gap, self._acked))
        self._last = now
        return Ticket(number, requests_ack)

    def acknowledge(self, number: int, now: float) -> None:
        """Note that everything up to ``number`` has arrived. Old and impossible numbers mean nothing."""
        if not self._acked < number <= self._sent:
            return
        flight = None
        while self._flights and self._flights[0].number <= number:
            flight = self._flights.popleft()
        self._acked, self._pings = number, 0
        if flight is None or number == self._pinged:  # the answer to a ping says nothing about the connection
            return
        took = max(now - flight.at, 1e-4)
        if took < STALE_SECONDS:
            self._measure(flight, took, now)

    def ping_at(self) -> float:
        """Return when a ping is due; infinite while no acknowledgement is missing."""
        if not self._flights:
            return math.inf
        patience = max(PATIENCE, 4 * (self.round_trip or 0.0))
        if not self._pings:
            return self._flights[0].at + patience
        return self._ping_at + min(MOST_PATIENCE, patience * 2.0**self._pings)

    def ping(self, now: float) -> int:
        """Return the number for a ping that is sent now: the page acknowledges it at once."""
        self._pings += 1
        self._ping_at = now
        self._pinged = self._sent
        return self._sent

    def restart(self, now: float) -> None:
        """Start again: what was in flight is not waited for any more."""
        self._flights.clear()
        self._acked, self._pings, self._alone = self._sent, 0, now

    @property
    def _capacity(self) -> int:
        """Messages that the connection holds, there and back, and a little more."""
        if self.delay is None:
            return LEAST
        rate = min(self._rate, 1 / self.interval)
        gain = SMALL_GAIN if self._bytes < SMALL_BYTES else GAIN
        return min(MOST, max(LEAST, math.ceil(gain * rate * self.delay)))

    @property
    def _stride(self) -> int:
        """One message of so many requests an acknowledgement."""
        if self.round_trip is None or self.round_trip > 2 * self.interval:
            return 1
        return min(MOST_STRIDE, max(1, round(ACK_SECONDS / self.interval)))

    def _measure(self, flight: _Flight, took: float, now: float) -> None:
        if flight.gap >= took:
            self._alone = now
            self.delay = _smoothed(self.delay, took)
        self.round_trip = _smoothed(self.round_trip, took)
        self._rate += ((flight.number - flight.acked) / took - self._rate) / 4


def _smoothed(value: float | None, sample: float) -> float:
    return sample if value is None else value + (sample - value) / 4


class Bandwidth:
    """The bandwidth to one view of a page; ``low``: too low for large frames, found out by sending them.

    What a connection carries is unknown while it is hardly used; so frames go in the form that costs the
    kernel least, and come smaller for a while once they are held up much of the time.
    """

    def __init__(self, now: float) -> None:
        self.low = False
        self._until = 0.0
        self._seconds = LOW_SECONDS
        self._judged_at = now
        self._held_since: float | None = None
        self._held = 0.0
        self._messages = self._bytes = 0

    def delay(self, now: float) -> None:
        """Note that a frame is due and may not be sent yet."""
        if self._held_since is None:
            self._held_since = now

    def send(self, nbytes: int, now: float) -> None:
        """Note that a message of so many bytes is sent."""
        self._release(now)
        self._held_since = None
        self._messages += 1
        self._bytes += nbytes

    def judge(self, now: float) -> None:
        """Decide again whether it is ``low``; to be called now and then while frames are sent."""
        passed = now - self._judged_at
        if passed < JUDGE_SECONDS:
            return
        self._release(now)
        if self.low:
            self.low = now < self._until
        elif self._held > HELD_UP * passed and self._bytes > LARGE_BYTES * self._messages:
            self.low, self._until = True, now + self._seconds
            self._seconds = min(MOST_LOW_SECONDS, 2 * self._seconds)
        self._judged_at, self._held = now, 0.0
        if self._messages > 1:  # what is on its way for longer than this still counts
            self._bytes, self._messages = self._bytes // self._messages, 1

    def _release(self, now: float) -> None:
        if self._held_since is not None:
            self._held += now - max(self._held_since, self._judged_at)
            self._held_since = now
