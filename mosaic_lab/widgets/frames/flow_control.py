"""Flow control for one view of a page: how many frames may be in flight, and how large they may be.

This module sends nothing and handles no frames. It works only with times (seconds of a monotonic clock),
sizes and message numbers, so that tests can use their own clock.

The protocol of `Credit`:

- Messages are numbered from 1. The page acknowledges number n once everything up to n was drawn or
  superseded. A message sent and not acknowledged is *in flight*.
- At most ``window`` messages are in flight. There is no queue: when the window opens, the newest frame is
  sent.
- The window is the bandwidth-delay product at the requested and achieved rate, plus a quarter to probe for
  more. It is at least 2, because a single message leaves the connection idle for half of every round trip,
  and at most 8. For small messages it is twice the bandwidth-delay product: on a server without our extension
  they wait for each other (Nagle's algorithm), several leave together, and only more in flight shows that
  more would arrive. The delay is measured on messages that had the connection to themselves, because the
  delay of a queued message would lengthen the queue. If there are no such messages, the connection is left
  idle every ten seconds, and one message is sent alone.
- An acknowledgement costs the kernel more than a small frame. While nothing queues, only every second to
  fourth message requests one, and the window grows by the others.
- Acknowledgements are cumulative, so the next one makes up for a lost one. If all are lost, one
  more message is sent after a second, or four round trips if that is longer, and its acknowledgement counts
  for everything before.
"""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple

MIN_WINDOW, MAX_WINDOW = 2, 8
"""Minimum and maximum number of messages in flight."""
GAIN, SMALL_GAIN = 1.25, 2.0
SMALL_BYTES = 16 << 10
"""Messages up to this size use the second gain."""
IDLE_SECONDS = 10.0
ACK_SECONDS = 0.1
"""Interval between two messages that request an acknowledgement while nothing queues."""
MAX_STRIDE = 4
"""Maximum number of messages for each acknowledgement requested."""
PATIENCE = 1.0
"""Minimum seconds after the last message before another is sent although the window is full."""
STALE_SECONDS = 5.0
"""A longer delay is attributed to a hidden page, not to the connection."""
LOW_SECONDS, MAX_LOW_SECONDS = 15.0, 240.0
"""Seconds before high bandwidth is assumed again after it was judged low: initially, and at most. They double
each time."""
JUDGE_SECONDS = 1.0
HELD_UP_FRACTION = 0.4
"""If due frames wait for more than this fraction of the time, the bandwidth counts as low."""
LARGE_BYTES = 64 << 10
"""Minimum mean message size at which large frames can be the cause of a delay."""


class _Flight(NamedTuple):
    number: int
    sent_at: float
    gap: float
    """Seconds since the previous message; infinite if nothing else was in flight."""
    acked: int


class Ticket(NamedTuple):
    """The header of a message: its number, and whether it requests an acknowledgement."""

    number: int
    requests_ack: bool


class Credit:
    """The flow control of one view. ``interval``: minimum seconds between two requested frames."""

    def __init__(self, now: float, interval: float) -> None:
        self.interval = interval
        self.delay: float | None = None
        """Round-trip seconds of a message that has the connection to itself; None before the first."""
        self.round_trip: float | None = None
        """The smoothed round-trip seconds of all messages."""
        self._rate = 1 / interval  # messages per second that arrive
        self._bytes = 0  # of the last message
        self._sent_number = self._acked_number = self._requested_number = 0
        self._flights: deque[_Flight] = deque()
        self._last_sent_at = -math.inf  # when the last message was sent
        self._alone_at = now  # when a message last had the connection to itself

    @property
    def in_flight(self) -> int:
        return len(self._flights)

    @property
    def window(self) -> int:
        """The number of messages that may be in flight."""
        return self._capacity + self._stride - 1

    def may_send(self, now: float) -> bool:
        if (
            self._flights
            and self._requested_number == self._sent_number
            and now - self._alone_at > IDLE_SECONDS
        ):
            return False  # wait until the connection is idle, then send one alone
        return (
            self.in_flight < self.window or self._requested_number <= self._acked_number
        )  # the window may have shrunk

    def probe_at(self) -> float:
        """Return when a message is sent although the window is full, in case acknowledgements were lost."""
        return self._last_sent_at + max(PATIENCE, 4 * (self.round_trip or 0.0))

    def send(self, now: float, nbytes: int) -> Ticket:
        """Return the ticket for a message of this many bytes, sent now."""
        number = self._sent_number = self._sent_number + 1
        self._bytes = nbytes
        gap = now - self._last_sent_at if self._flights else math.inf
        requests_ack = (
            number - self._requested_number >= self._stride
            or self.in_flight + 1 >= self.window
            or now - self._alone_at > IDLE_SECONDS
        )
        if requests_ack:
            self._requested_number = number
        self._flights.append(_Flight(number, now, gap, self._acked_number))
        self._last_sent_at = now
        return Ticket(number, requests_ack)

    def acknowledge(self, number: int, now: float) -> None:
        """Record that everything up to ``number`` has arrived. Old and impossible numbers are ignored."""
        if not self._acked_number < number <= self._sent_number:
            return
        flight = None
        while self._flights and self._flights[0].number <= number:
            flight = self._flights.popleft()
        self._acked_number = number
        if flight is None:
            return
        delay = max(now - flight.sent_at, 1e-4)
        if delay < STALE_SECONDS:
            self._measure(flight, delay, now)

    def restart(self, now: float) -> None:
        """Start again: stop waiting for messages in flight."""
        self._flights.clear()
        self._acked_number, self._alone_at = self._sent_number, now

    @property
    def _capacity(self) -> int:
        """Return the bandwidth-delay product in messages, plus a margin."""
        if self.delay is None:
            return MIN_WINDOW
        rate = min(self._rate, 1 / self.interval)
        gain = SMALL_GAIN if self._bytes < SMALL_BYTES else GAIN
        return min(MAX_WINDOW, max(MIN_WINDOW, math.ceil(gain * rate * self.delay)))

    @property
    def _stride(self) -> int:
        """Return the stride of acknowledgements: one in this many messages requests one."""
        if self.round_trip is None or self.round_trip > 2 * self.interval:
            return 1
        return min(MAX_STRIDE, max(1, round(ACK_SECONDS / self.interval)))

    def _measure(self, flight: _Flight, delay: float, now: float) -> None:
        if flight.gap >= delay:
            self._alone_at = now
            self.delay = _smoothed(self.delay, delay)
        self.round_trip = _smoothed(self.round_trip, delay)
        self._rate += ((flight.number - flight.acked) / delay - self._rate) / 4


def _smoothed(value: float | None, sample: float) -> float:
    return sample if value is None else value + (sample - value) / 4


class Bandwidth:
    """The bandwidth to one view of a page; ``low``: too low for large frames, as measured by sending them.

    The capacity of a connection is unknown while it is hardly used. Frames are therefore sent in the form
    cheapest for the kernel, and made smaller for a while if they are held up much of the time.
    """

    def __init__(self, now: float) -> None:
        self.low = False
        self._low_until = 0.0
        self._low_seconds = LOW_SECONDS
        self._judged_at = now
        self._held_since: float | None = None
        self._held = 0.0
        self._messages = self._bytes = 0

    def delay(self, now: float) -> None:
        """Record that a frame is due and may not be sent yet."""
        if self._held_since is None:
            self._held_since = now

    def send(self, nbytes: int, now: float) -> None:
        """Record that a message of this many bytes is sent."""
        self._release(now)
        self._held_since = None
        self._messages += 1
        self._bytes += nbytes

    def judge(self, now: float) -> None:
        """Update ``low``; call it regularly while frames are sent."""
        elapsed = now - self._judged_at
        if elapsed < JUDGE_SECONDS:
            return
        self._release(now)
        if self.low:
            self.low = now < self._low_until
        elif self._held > HELD_UP_FRACTION * elapsed and self._bytes > LARGE_BYTES * self._messages:
            self.low, self._low_until = True, now + self._low_seconds
            self._low_seconds = min(MAX_LOW_SECONDS, 2 * self._low_seconds)
        self._judged_at, self._held = now, 0.0
        if self._messages > 1:  # messages in flight for longer than this still count
            self._bytes, self._messages = self._bytes // self._messages, 1

    def _release(self, now: float) -> None:
        if self._held_since is not None:
            self._held += now - max(self._held_since, self._judged_at)
            self._held_since = now
