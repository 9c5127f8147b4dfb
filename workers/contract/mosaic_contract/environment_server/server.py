"""The process that serves environments, with the virtual environment of the worker that makes them.

Actions are read from shared memory, and results are written to it.
"""

from __future__ import annotations

import faulthandler
import logging
from typing import Any, Mapping

from mosaic_contract.arena.channels import KernelChannel
from mosaic_contract.arena.environment_adapters import EnvironmentAdapter, adapt
from mosaic_contract.arena.environment_factory import MakeEnvironment
from mosaic_contract.arena.errors import ArenaError, KernelDisconnected
from mosaic_contract.arena.frame_publisher import seed_libraries
from mosaic_contract.arena.watchdog import RENDER, RESET, STEP, Watchdog
from mosaic_contract.arrays import pack, unpack
from mosaic_contract.codec import OPERATING_LINE_LIMIT, encode_line, with_tuples
from mosaic_contract.environment_check import ReturnsCheck, check_first_returns, close, mask_method, offers
from mosaic_contract.environment_server.shared_arrays import Region, reserve_region
from mosaic_contract.errors import ConfigError, EnvironmentFault, LineTooLong, one_line, traceback_of
from mosaic_contract.fastlane.render import draw
from mosaic_contract.messages import PROTOCOL
from mosaic_contract.metadata import WorkerMetadata
from mosaic_contract.process_exits import ERROR_TYPE, Lines, exit_error, lines_of, report_os_exit
from mosaic_contract.shared_values import SharedValues
from mosaic_contract.spaces import describe_space

_RETURNED = b'{"type":"returned"}\n'
"""The answer to a step whose results are all in shared memory."""

_ACTING = {"parallel": "which act at once", "aec": "which act in turns"}
_TRAINERS = {
    "parallel": "Train teams with worker 'xuance' or 'rllib'",
    "aec": "Train games of turns with worker 'rllib' or 'tianshou'",
}
_LONGEST = ("max_cycles", "max_steps", "horizon")
"""Names of attributes for the maximum number of steps in an episode."""

_PLAIN = (EnvironmentFault, ConfigError)
"""Errors that are complete sentences, without a traceback."""

log = logging.getLogger("mosaic_contract")


class SteppedAlone:
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
        """Reset the environment. Return the same as `step`."""
        self._check.begin(seed)
        if seed is not None:
            seed_libraries(seed)
        observation, info = self._check.reset(self.env.reset(seed=seed, options=options))
        return self._write_answer(observation, info)

    def step(self, message: Any) -> Any:
        """Play the action in the region; `message` has the parts that were sent in a message.

        Return the parts of the answer that must be sent in a message, None if there are none.
        """
        returned = self._check.step(self.env.step(self._region.action.read(message)))
        observation, reward, terminated, truncated, info = returned
        self._region.write_outcome(reward, terminated, truncated)
        return self._write_answer(observation, info)

    def _write_answer(self, observation: Any, info: Mapping[str, Any]) -> Any:
        if self._masks is not None and "action_mask" not in info:
            info = {**info, "action_mask": self._masks()}
        observation_parts = self._region.observation.write(observation)
        return _parts(observation_parts, info) if info or observation_parts is not None else None


class SteppedTeam:
    """A PettingZoo environment and the regions of its agents."""

    def __init__(self, adapter: EnvironmentAdapter, regions: Mapping[str, Region]) -> None:
        self.env, self.env_id = adapter.env, adapter.check.env_id
        self._adapter, self._regions = adapter, regions

    @property
    def steps(self) -> int:
        return self._adapter.check.steps

    def reset(self, seed: int | None, options: Any) -> Any:
        """Reset the environment, without options. Return the same as `step`."""
        if seed is not None:
            seed_libraries(seed)
        self._adapter.reset(seed)
        return self._write_answer()

    def step(self, message: Any) -> Any:
        """Play the actions of the agents to act; `message` has the parts of them that were sent in a message,
        by agent. Return the same as `SteppedAlone.step`."""
        parts, turn = message or {}, self._adapter.turn
        self._adapter.step({agent: self._regions[agent].action.read(parts.get(agent)) for agent in turn})
        return self._write_answer()

    def _write_answer(self) -> Any:
        adapter = self._adapter
        turn, present = set(adapter.turn), set(adapter.present_agents())
        observing = set(adapter.observing_agents())
        returned = {}
        for agent, region in self._regions.items():
            region.write_outcome(adapter.rewards[agent], adapter.terminated[agent], adapter.truncated[agent])
            parts, masked = None, False
            if agent in observing:
                observed = adapter.observe(agent)
                info = observed.info
                if "action_mask" in info and (masked := region.write_mask(info["action_mask"])):
                    info = {key: value for key, value in info.items() if key != "action_mask"}
                parts = _parts(region.observation.write(observed.observation), info)
            region.write_status(agent in present, agent in turn, agent in observing, masked)
            if parts is not None:
                returned[agent] = parts
        return {"agents": returned} if returned else None


def _parts(observation: Any, info: Mapping[str, Any]) -> Any:
    if observation is None:
        return {"info": info} if info else None
    return {"observation": observation, "info": info}


class EnvironmentServer:
    """All environments of one process of a training. The shim provides `make`."""

    def __init__(self, channel: KernelChannel, worker: WorkerMetadata, make: MakeEnvironment) -> None:
        self._channel, self._worker, self._make = channel, worker, make
        self._environments: dict[int, SteppedAlone | SteppedTeam] = {}
        self._memory, self._end, self._next_index = -1, 0, 0
        self._values = SharedValues(-1)
        self._shares_values = False
        self._command = ""
        self._current: SteppedAlone | SteppedTeam | None = None
        self._dropped: set[str] = set()
        self._watchdog = Watchdog(channel.send, self._steps)

    def serve(self) -> None:
        """Execute commands until `KernelDisconnected` is raised at the end of the training."""
        commands = {
            "open": self._open,
            "make": self._make_one,
            "reset": self._reset,
            "step": self._step,
            "render": self._render,
            "close": self._close,
        }
        report_os_exit(self._report_exit)
        while True:
            command = self._channel.command(None)
            if command is None:
                continue
            name = self._command = str(command.get("cmd"))
            try:
                if name not in commands:
                    raise ConfigError(f"unknown command {name!r:.100}; known: {', '.join(commands)}")
                with self._watchdog.command(name):
                    commands[name](command)
            except KernelDisconnected:
                raise
            except SystemExit as error:
                self._report_exit(error.code, lines_of(error.__traceback__))
            except Exception as error:  # environments raise arbitrary exceptions
                self._fail(error)

    def close(self) -> None:
        """Close the environments."""
        self._watchdog.stop()
        for served in self._environments.values():
            close(served.env, served.env_id)

    def _report_exit(self, code: object, lines: Lines) -> int:
        """Report that the environment's code ended the process; return the exit code."""
        reached = f"at step {self._steps()} of an episode"
        self._send_error(ArenaError(exit_error(code, lines, reached), error_type=ERROR_TYPE))
        return code if isinstance(code, int) else 1

    def _fail(self, error: Exception) -> None:
        kind = "ConfigError" if isinstance(error, ConfigError) else type(error).__name__
        trace = "" if isinstance(error, _PLAIN) else traceback_of(error)
        if trace:
            log.error("%s has failed", self._command, exc_info=error)
        self._send_error(ArenaError(str(error), error_type=kind, log=trace))

    def _send_error(self, error: ArenaError) -> None:
        self._channel.send(error.to_message(self._command))

    def _steps(self) -> int:
        return 0 if self._current is None else self._current.steps

    # ------------------------------------------------------------------ commands

    def _open(self, command: Mapping[str, Any]) -> None:
        if command.get("protocol", PROTOCOL) != PROTOCOL:
            raise ConfigError(f"this server speaks protocol {PROTOCOL}, not {command['protocol']!r}")
        self._memory = int(command["memory"])
        self._values = SharedValues(self._memory)
        self._shares_values = bool(command.get("shared_values"))
        self._watchdog.start(command.get("step_timeout"))
        self._channel.send({"type": "opened", "worker": self._worker.name, "version": self._worker.version})

    def _make_one(self, command: Mapping[str, Any]) -> None:
        env_id, settings = str(command["env_id"]), with_tuples(command.get("settings") or {})
        env = self._make(env_id, settings, command.get("render_mode"))
        inner: Any = getattr(env, "unwrapped", env)  # a user's team may lack it
        metadata = getattr(inner, "metadata", {})
        paradigms = command.get("paradigms")
        description = {
            "index": self._next_index,
            "max_episode_steps": _longest_episode(env, inner),
            "metadata": {"render_modes": list(metadata.get("render_modes") or [])},
        }
        if offers(env, "possible_agents"):
            description.update(self._make_team(env, env_id, paradigms))
        else:
            region, described = self._region(env.observation_space, env.action_space)
            self._environments[self._next_index] = SteppedAlone(env, env_id, region)
            description.update(described)
            if command.get("render_mode") is not None:
                inner.render_mode = None  # with it, a step does more work in some environments
        self._next_index += 1
        self._channel.send({"type": "made", **description})

    def _make_team(self, env: Any, env_id: str, paradigms: Any) -> dict[str, Any]:
        """Return the description of a team. Raises `ConfigError` if the training's `paradigms` exclude it."""
        adapter = adapt(env, env_id)
        if paradigms is not None and adapter.paradigm not in paradigms:
            raise ConfigError(
                f"{env_id} has several agents ({', '.join(adapter.agents)}), {_ACTING[adapter.paradigm]}: "
                f"this worker does not train them. {_TRAINERS[adapter.paradigm]}"
            )
        regions, agents = {}, {}
        for agent in adapter.agents:
            regions[agent], agents[agent] = self._region(*adapter.spaces(agent))
        self._environments[self._next_index] = SteppedTeam(adapter, regions)
        return {"paradigm": adapter.paradigm, "agents": agents}

    def _region(self, observation_space: Any, action_space: Any) -> tuple[Region, dict[str, Any]]:
        """Make room for an agent. Return its region and the region's description."""
        observations, actions = describe_space(observation_space), describe_space(action_space)
        start, self._end = self._end, reserve_region(self._memory, self._end, observations, actions)
        described = {"start": start, "observation_space": observations, "action_space": actions}
        return Region(self._memory, start, observations, actions), described

    def _reset(self, command: Mapping[str, Any]) -> None:
        self._watchdog.enter(RESET)
        index = command["index"]
        served = self._current = self._environments[index]
        parts = served.reset(command.get("seed"), command.get("options"))
        self._send_returned({} if parts is None else {str(index): parts})

    def _step(self, command: Mapping[str, Any]) -> None:
        self._watchdog.enter(STEP)
        environments, returned = self._environments, {}
        actions = unpack(command["actions"]) if "actions" in command else None
        for index in command["indices"]:
            served = self._current = environments[index]
            parts = served.step(actions and actions.get(str(index)))
            if parts is not None:
                returned[str(index)] = parts
        self._send_returned(returned)

    def _send_returned(self, parts: Mapping[str, Any]) -> None:
        """Send the parts of answers that are not in the regions, by the environments' indices."""
        if not parts:
            self._channel.send_line(_RETURNED)
            return
        try:
            returned = self._form(parts)
            line = encode_line({"type": "returned", "returned": returned}, OPERATING_LINE_LIMIT)
        except (OSError, TypeError, ValueError, RecursionError, LineTooLong):
            returned = pack(self._sendable(parts))
            line = encode_line({"type": "returned", "returned": returned}, OPERATING_LINE_LIMIT)
        self._channel.send_line(line)

    def _form(self, value: Any) -> Any:
        """Return a value in the form of messages: its arrays as references to shared memory, if the training
        reads those."""
        return self._values.write(value, self._end) if self._shares_values else pack(value)

    def _sendable(self, parts_by_index: Mapping[str, Any]) -> dict[str, Any]:
        """Return the results without the values of infos that JSON cannot represent."""

        def sendable(parts: Mapping[str, Any]) -> dict[str, Any]:
            if "agents" in parts:
                return {"agents": {agent: sendable(part) for agent, part in parts["agents"].items()}}
            info = {key: value for key, value in parts["info"].items() if self._can_send(key, value)}
            return {**parts, "info": info}

        return {index: sendable(parts) for index, parts in parts_by_index.items()}

    def _can_send(self, key: Any, value: Any) -> bool:
        try:
            encode_line({key: pack(value)}, OPERATING_LINE_LIMIT)
        except (TypeError, ValueError, RecursionError, LineTooLong) as error:
            if str(key) not in self._dropped:
                self._dropped.add(str(key))
                log.warning("info[%r] is not passed to the training: %s", key, one_line(error))
            return False
        return True

    def _render(self, command: Mapping[str, Any]) -> None:
        self._watchdog.enter(RENDER)
        picture = draw([self._environments[command["index"]].env])
        self._channel.send({"type": "rendered", "picture": self._form(picture)})

    def _close(self, command: Mapping[str, Any]) -> None:
        served = self._environments.pop(command["index"])
        close(served.env, served.env_id)
        self._channel.send({"type": "closed", "index": command["index"]})


def _longest_episode(env: Any, inner: Any) -> int | None:
    """Return the maximum number of steps in an episode, None if neither an environment nor the `inner` one
    without its wrappers declares it."""
    spec = getattr(env, "spec", None) or getattr(inner, "spec", None)
    declared = [getattr(spec, "max_episode_steps", None), *(getattr(inner, name, None) for name in _LONGEST)]
    return next((steps for steps in declared if isinstance(steps, int)), None)


def serve_environments(worker: WorkerMetadata, make: MakeEnvironment, commands: int, messages: int) -> None:
    """Execute commands from the descriptor `commands` until its end; answers go to `messages`."""
    faulthandler.enable()  # the stack of a crash in an environment's own code goes to the log
    server = EnvironmentServer(KernelChannel(commands, messages), worker, make)
    try:
        server.serve()
    except KernelDisconnected:
        log.debug("the training has ended")
    finally:
        server.close()
