"""Environments in the server: stepped with actions from shared memory, into which their results go."""

from __future__ import annotations

from typing import Any, Mapping

from mosaic_contract.arena.environment_adapters import EnvironmentAdapter, mask_method
from mosaic_contract.arena.frame_publisher import seed_libraries
from mosaic_contract.environment_check import ReturnsCheck, check_first_returns
from mosaic_contract.environment_server.shared_arrays import Region


class ServedAlone:
    """A Gymnasium environment and its region of the memory."""

    def __init__(self, env: Any, env_id: str, region: Region) -> None:
        check_first_returns(env, env_id)
        self.env, self.env_id = env, env_id
        self._region = region
        self._check = ReturnsCheck(env.observation_space, env_id)
        self._masks = mask_method(env)

    @property
    def steps(self) -> int:
        return self._check.steps

    def reset(self, seed: int | None, options: Any) -> Any:
        """Reset the environment. Return what is not in memory, as in `step`."""
        self._check.begin(seed)
        if seed is not None:
            seed_libraries(seed)
        observation, info = self._check.reset(self.env.reset(seed=seed, options=options))
        return self._rest(observation, info)

    def step(self, message: Any) -> Any:
        """Play the action in memory. `message` has the parts of it that are not.

        Return what the environment has returned beside what is in memory now, None if nothing.
        """
        returned = self._check.step(self.env.step(self._region.action.read(message)))
        observation, reward, terminated, truncated, info = returned
        self._region.write_ends(reward, terminated, truncated)
        return self._rest(observation, info)

    def _rest(self, observation: Any, info: Mapping[str, Any]) -> Any:
        if self._masks is not None and "action_mask" not in info:
            info = {**info, "action_mask": self._masks()}
        return _parts(self._region.observation.write(observation), info)


class ServedTeam:
    """A PettingZoo environment and the regions of its agents."""

    def __init__(self, adapter: EnvironmentAdapter, regions: Mapping[str, Region]) -> None:
        self.env, self.env_id = adapter.env, adapter.check.env_id
        self._adapter, self._regions = adapter, regions

    @property
    def steps(self) -> int:
        return self._adapter.check.steps

    def reset(self, seed: int | None, options: Any) -> Any:
        """Reset the environment, without options. Return what is not in memory, as in `step`."""
        if seed is not None:
            seed_libraries(seed)
        self._adapter.reset(seed)
        return self._rest()

    def step(self, message: Any) -> Any:
        """Play the actions in memory of the agents whose turn it is. `message` has the parts of them that are
        not, by agent.

        Return what the environment has returned beside what is in memory now, None if nothing.
        """
        rest = message or {}
        turn = self._adapter.turn
        self._adapter.step({agent: self._regions[agent].action.read(rest.get(agent)) for agent in turn})
        return self._rest()

    def _rest(self) -> Any:
        adapter = self._adapter
        turn, present, observing = map(set, (adapter.turn, adapter.present(), adapter.observing()))
        returned = {}
        for agent, region in self._regions.items():
            region.write_ends(adapter.rewards[agent], adapter.terminated[agent], adapter.truncated[agent])
            parts, masked = None, False
            if agent in observing:
                seen = adapter.observe(agent)
                info = seen.info
                if "action_mask" in info and (masked := region.write_mask(info["action_mask"])):
                    info = {key: value for key, value in info.items() if key != "action_mask"}
                parts = _parts(region.observation.write(seen.observation), info)
            region.write_place(agent in present, agent in turn, agent in observing, masked)
            if parts is not None:
                returned[agent] = parts
        return {"agents": returned} if returned else None


def _parts(observation: Any, info: Mapping[str, Any]) -> Any:
    if observation is None:
        return {"info": info} if info else None
    return {"observation": observation, "info": info}
