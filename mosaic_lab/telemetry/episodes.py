"""The count of episodes that a stream of telemetry reports."""

from __future__ import annotations

from mosaic_lab.telemetry.decoding import Message


class EpisodeCount:
    """Counts ended episodes: the agents of one episode, which write a line each, count once."""

    def __init__(self) -> None:
        self.ended = 0
        """Episodes ended so far."""
        self.agents = 0
        """The largest number of agents reported for one episode."""
        self._episode: tuple[object, object] | None = None
        self._lines = 0  # of that episode

    def observe(self, message: Message) -> None:
        """Take in the line of an ended episode."""
        # The agents of one episode write a line each, under the same index.
        episode = self._episode
        if episode is None or message.episode_index != episode[0] or message.agent_id == episode[1]:
            self.ended += 1
            self._episode, self._lines = (message.episode_index, message.agent_id), 0
        self._lines += 1
        self.agents = max(self.agents, self._lines)

    def at_least(self, ended: int) -> None:
        """Take in the number of episodes that a heartbeat reports."""
        self.ended = max(self.ended, ended)
