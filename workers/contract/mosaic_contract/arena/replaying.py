"""The replay of a recorded episode: the environment plays given actions, without operators."""

from __future__ import annotations

import binascii
import zlib
from typing import Any, Mapping

from mosaic_contract.arena.environment_adapters import EnvironmentAdapter
from mosaic_contract.arena.environment_description import EnvironmentDescription
from mosaic_contract.arena.episode import ArenaEpisode
from mosaic_contract.arena.errors import ArenaError, Unusable
from mosaic_contract.arena.frame_publisher import FramePublisher
from mosaic_contract.arena.observation_hash import observation_hash
from mosaic_contract.arrays import pack, unpack
from mosaic_contract.errors import one_line


def play_recorded(
    environment: EnvironmentAdapter, description: EnvironmentDescription, actions: Mapping[str, Any]
) -> dict[str, str]:
    """Step the environment with recorded actions, and return their names in this state, if they have any.
    Raises `ArenaError` if they do not fit the state."""
    if sorted(actions) != sorted(environment.turn):
        turn = ", ".join(environment.turn) or "no agent"
        raise ArenaError(f"actions of {', '.join(actions)} were recorded; it is the turn of {turn}")
    try:
        accepted = {
            agent: description.rules[agent].accept(unpack(action), None) for agent, action in actions.items()
        }
    except Unusable as error:
        raise ArenaError(str(error)) from None
    names: dict[str, str] = {}
    for agent, action in accepted.items():
        moves = description.state(agent).get("legal_moves") or {}
        names.update((agent, name) for name, move in moves.items() if move == action)
    try:
        environment.step(accepted)
    except Exception as error:  # environments raise arbitrary exceptions
        raise ArenaError.of_environment("the environment's step failed", error) from error
    return names


def state_message(
    environment: EnvironmentAdapter, episode: ArenaEpisode, command: Mapping[str, Any], frames: FramePublisher
) -> dict[str, Any]:
    """Return the answer to "replay": the last step, and the state in which the agents of `turn` act next. At
    the end of the episode, the observations are the final ones of all agents.

    The command requests `observations` and a `picture`, whose pixels are compressed by zlib. A picture that
    cannot be drawn is null, and `no_picture` is the reason.
    """
    turn = [] if episode.done else environment.turn
    if episode.done:
        observed = environment.last_observations()
    else:
        observed = {agent: environment.observe(agent).observation for agent in turn}
    message = {
        "type": "replayed",
        "step_index": episode.steps,
        "rewards": environment.rewards,
        "terminated": environment.terminated,
        "truncated": {
            agent: truncated or (episode.done and episode.truncated)
            for agent, truncated in environment.truncated.items()
        },
        "done": episode.done,
        "turn": turn,
        "hashes": {agent: observation_hash(observation) for agent, observation in observed.items()},
    }
    if command.get("observations"):
        message["observations"] = {agent: pack(observation) for agent, observation in observed.items()}
    if command.get("picture"):
        try:
            pixels = frames.frame()
            data = binascii.b2a_base64(zlib.compress(pixels.tobytes(), 1), newline=False).decode("ascii")
            message["picture"] = {"shape": list(pixels.shape), "data": data}
        except Exception as error:  # environments raise arbitrary exceptions
            message.update(picture=None, no_picture=one_line(error))
    return message
