"""The telemetry of an arena: every step and every episode of every agent, in `<folder>/telemetry.jsonl`."""

from __future__ import annotations

import contextlib
import json
import os
from math import isfinite
from pathlib import Path
from typing import Any, Mapping, Sequence

from mosaic_contract.arena.calls import Call
from mosaic_contract.arena.environment_adapters import EnvironmentAdapter
from mosaic_contract.arena.episode import ArenaEpisode
from mosaic_contract.arena.observation_hash import observation_hash
from mosaic_contract.arena.operators import ArenaOperator
from mosaic_contract.telemetry import Telemetry

FILE = "telemetry.jsonl"
_MAX_BUFFERED = 256  # lines


class ArenaTelemetry:
    """The telemetry writer of one arena, from seating to close.

    `hold`: steps may be buffered and written together, at the latest at the end of their episode.
    """

    def __init__(self, folder: Path, run_id: str) -> None:
        self.hold = False
        self._buffered: list[str] = []
        self._names: dict[str, str] = {}  # of agents, encoded as JSON
        self._head = f'{{"type":"step","run_id":{json.dumps(run_id)},"step_index":'
        self._file = os.open(folder / FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        self._telemetry = Telemetry(run_id, self._file)

    def started(
        self,
        worker_type: str,
        env_id: str,
        settings: Mapping[str, Any],
        operators: Mapping[str, ArenaOperator],
        seats: Mapping[str, str],
    ) -> None:
        self._names = {agent: json.dumps(agent) for agent in seats}
        operator_fields = {
            key: {
                "name": operator.name,
                "category": operator.category,
                "worker": operator.worker,
                "deadline": operator.deadline,
                "fallback": operator.fallback,
            }
            for key, operator in operators.items()
        }
        self._telemetry.run_started(
            worker_type=worker_type,
            algo=", ".join(operator.name for operator in operators.values()),
            env_id=env_id,
            seed=None,
            config={"settings": dict(settings), "operators": operator_fields, "seats": dict(seats)},
        )

    def step(self, episode: ArenaEpisode, environment: EnvironmentAdapter, calls: Sequence[Call]) -> None:
        """Write a line for each agent that acted, and for each other agent that received a reward."""
        if len(calls) == 1 == len(environment.rewards) and self._write_plain(episode, environment, calls[0]):
            return
        self.flush()
        acted = {call.agent: call for call in calls}
        last = environment.last_observations() if episode.done else {}
        for agent, reward in environment.rewards.items():
            call = acted.get(agent)
            if call is not None or reward:
                self._telemetry.step(
                    step_index=episode.steps - 1,
                    episode_index=episode.index,
                    action=None if call is None else call.action,
                    reward=reward,
                    terminated=environment.terminated.get(agent, False),
                    truncated=environment.truncated.get(agent, False) or (episode.done and episode.truncated),
                    episode_seed=episode.seed,
                    agent_id=agent,
                    messages=() if call is None else call.messages,
                    observation_hash=None if call is None else call.observation_hash,
                    fault="" if call is None else call.fault_line,
                    end_hash=observation_hash(last[agent]) if agent in last else None,
                )

    def _write_plain(self, episode: ArenaEpisode, environment: EnvironmentAdapter, call: Call) -> bool:
        """Write the most common kind of step directly: one agent, an integer action, and an episode that
        continues. Return False for any other step.

        The line equals that of `Telemetry.step`, which takes several times as long.
        """
        action, reward = call.action, environment.rewards[call.agent]
        if episode.done or type(action) is not int or not isfinite(reward) or call.messages or call.fault:
            return False
        hash_field = "" if call.observation_hash is None else f',"observation_hash":{call.observation_hash}'
        self._buffered.append(
            f'{self._head}{episode.steps - 1},"episode_index":{episode.index},"agent_id":'
            f'{self._names[call.agent]},"action":{action},"reward":{reward!r},"terminated":false'
            f',"truncated":false,"episode_seed":{episode.seed},"ts_unix_ns":{self._telemetry.now_ns()}{hash_field}}}\n'
        )
        if not self.hold or len(self._buffered) >= _MAX_BUFFERED:
            self.flush()
        return True

    def flush(self) -> None:
        """Write buffered lines."""
        if self._buffered:
            lines, self._buffered = "".join(self._buffered), []
            self._telemetry.steps(lines.encode())

    def episode(
        self, episode: ArenaEpisode, operators: Mapping[str, ArenaOperator], environment: EnvironmentAdapter
    ) -> None:
        self.flush()
        for agent, total in episode.returns.items():
            operator = operators[agent]
            self._telemetry.episode(
                total_reward=total,
                steps=episode.steps,
                episode_index=episode.index,
                terminated=environment.terminated.get(agent, False),
                truncated=episode.truncated or environment.truncated.get(agent, False),
                episode_seed=episode.seed,
                duration_seconds=round(episode.seconds, 6),
                agent_id=agent,
                metadata={
                    "operator": operator.key,
                    "seed": episode.seed,
                    "forfeit": episode.forfeit,
                    "faults": episode.faults.get(operator.key, 0),
                },
            )

    def close(self, reason: str | None) -> None:
        """Write the terminal event: completed, or cancelled for a reason."""
        self.flush()
        if reason is None:
            self._telemetry.run_completed()
        else:
            self._telemetry.run_cancelled(reason)
        with contextlib.suppress(OSError):
            os.close(self._file)
