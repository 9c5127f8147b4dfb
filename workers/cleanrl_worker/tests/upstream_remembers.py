"""Run by a worker's interpreter: a checkpoint of `ppo_atari_lstm` plays a game through the contract's player,
beside upstream's own network on the environment that its script makes.

Upstream's network gets its memory and `done` as in the script's loop. Prints one JSON object: the actions
drawn by each, and the number of lost lives.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from cleanrl.ppo_atari_lstm import Agent, make_env
from cleanrl_worker.operator import operate
from mosaic_contract import AgentSetup
from mosaic_contract.registry import register

NOOPS, SEED = 3, 5


class Noted:
    """Records the actions of the operator inside the player."""

    def __init__(self, operator: Any) -> None:
        self.actions: list[int] = []
        self._operator = operator

    def __getattr__(self, name: str) -> Any:
        return getattr(self._operator, name)

    def select_action(self, observation: Any) -> int:
        self.actions.append(self._operator.select_action(observation))
        return self.actions[-1]


def main(path: Path, decisions: int) -> dict[str, Any]:
    described = json.loads(path.with_suffix(".json").read_text())
    register(described["env_id"])
    upstream, lives = beside(path, described["env_id"], decisions)
    return {"upstream": upstream, "played": played(path, described, decisions), "lives": lives}


def beside(path: Path, env_id: str, decisions: int) -> tuple[list[int], int]:
    envs: Any = gymnasium.vector.SyncVectorEnv([make_env(env_id, 0, False, "")])
    inner: Any = envs.envs[0]
    while type(inner).__name__ != "NoopResetEnv":
        inner = inner.env
    inner.override_num_noops = NOOPS
    agent: Any = Agent(envs)
    agent.load_state_dict(torch.load(path, weights_only=True)["modules"]["agent"])
    torch.manual_seed(SEED)
    observation, _ = envs.reset(seed=SEED)
    done, actions, lost = torch.zeros(1), [], 0
    memory = (torch.zeros(agent.lstm.num_layers, 1, agent.lstm.hidden_size),) * 2
    while len(actions) < decisions:
        with torch.no_grad():
            action, *_, memory = agent.get_action_and_value(torch.Tensor(observation), memory, done)
        actions.append(int(action[0]))
        observation, _, terminated, truncated, _ = envs.step(action.numpy())
        ended = np.logical_or(terminated, truncated)
        done, lost = torch.Tensor(ended), lost + int(ended[0])
    return actions, lost


def played(path: Path, described: dict[str, Any], decisions: int) -> list[int]:
    spaces = {name: described[name] for name in ("observation_space", "action_space")}
    settings = {"checkpoint": str(path), "deterministic": False}
    player: Any = operate(AgentSetup("agent_0", seed=SEED, settings=settings, **spaces))
    player._most_noops = 1
    noted = player._operator = Noted(player._operator)
    env: Any = gymnasium.make(described["env_id"], frameskip=1)
    env.reset(seed=SEED)
    for _ in range(NOOPS - 1):
        frame, *_, info = env.step(0)
    player.episode_begin(SEED, 0)
    while len(noted.actions) < decisions:
        frame, _, terminated, truncated, info = env.step(player.select_action(frame, info=info))
        assert not (terminated or truncated), "the game is over: compare fewer decisions"
    return noted.actions


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]))))
