"""The keeper of a run on a cluster: it records what the bridge reports of the run, and passes stops on.

The run's own keeper lives on the node. This one owns the run's state here, and outlives the kernel as any.
"""

from __future__ import annotations

import time

from mosaic_lab.keeper.bridge_link import BridgeLink
from mosaic_lab.keeper.keeper import TICK, Keeper
from mosaic_lab.keeper.states import Outcome, State

UNREACHABLE = 3600.0
"""Seconds for which a cluster that a stop cannot reach is tried."""
_End = tuple[State, str, Outcome]


class RemoteKeeper(Keeper):
    """The life of a run on a cluster; `live` is called once."""

    def live(self) -> None:
        """Follow the run to its end; always reaches a final state."""
        end: _End = State.FAILED, "its keeper failed", Outcome()
        try:
            end = self._follow()
        except Exception as error:
            end = State.FAILED, f"its keeper failed: {type(error).__name__}: {error}", Outcome()
            raise
        finally:
            if self.folder.path.exists():
                self.record.finish(*end)

    def _follow(self) -> _End:
        assert self.launch.bridge is not None
        link = BridgeLink(self.launch.bridge, self.folder.path)
        heard = time.monotonic()
        try:
            while True:
                self._check_requests()
                if self.stop is not None:
                    self._pass_on_stop(link)
                for message in link.receive():
                    heard = time.monotonic()
                    if (end := self._take(message)) is not None:
                        return end
                if self.stop is not None and time.monotonic() - heard > UNREACHABLE:
                    reason = (
                        f"{self.stop}; its cluster could not be reached: the run may still be running there"
                    )
                    return State.LOST, reason, Outcome()
                self.record.flush()
                self.wakes = [link.fileno()] if link.fileno() >= 0 else []
                self._sleep(TICK if self.wakes else TICK / 5)
        finally:
            link.close()

    def _pass_on_stop(self, link: BridgeLink) -> None:
        if self.stopped_by is None:
            self.stopped_by = "cluster"
            self.record.move(State.STOPPING, f"{self.stop}: the stop is being sent to the cluster")
        link.stop(self.grace, self.why)

    def _take(self, message: dict[str, object]) -> _End | None:
        """Record a state that the bridge reports; return the final one."""
        state, reason = State(str(message["state"])), str(message["reason"])
        if state.finished:
            outcome = message.get("outcome")
            return state, reason, Outcome(**outcome) if isinstance(outcome, dict) else Outcome()
        if state in (State.STARTING, State.RUNNING) and self.record.status.started_monotonic is None:
            self.record.started_elsewhere(time.monotonic())
        if self.stop is None or state is State.STOPPING:
            self.record.move(state, reason)
        return None
