"""The standard preprocessing of Atari games: the wrapper "atari".

Each action is repeated for four frames of the emulator. A policy observes the last four images (CleanRL's
recurrent policy: the last one), one per decision; each image is the pixel-wise maximum of two consecutive
frames, in grayscale, 84×84 pixels. Trainings use the signs of rewards.

For a training, `preprocessed` and `wrappers.wrap` preprocess the environment. An operator receives whole
frames from an arena, and `as_trained` applies the same preprocessing to it. NumPy, Gymnasium and OpenCV are
imported on first use.
"""

from __future__ import annotations

import functools
import random
from importlib import import_module
from typing import Any, Mapping, Sequence

from mosaic_contract.errors import ConfigError
from mosaic_contract.operators import Operator
from mosaic_contract.registry import register
from mosaic_contract.spaces import make_space

ATARI = "atari"
"""The wrapper's name."""

HELD, STACKED, SIZE, MAX_NOOPS = 4, 4, 84, 30
"""Frames per action, images per observation, image height and width in pixels, and the maximum number of
no-ops at the start of an episode (Mnih et al., 2015, doi:10.1038/nature14236)."""

SPACE = {"type": "Box", "shape": [STACKED, SIZE, SIZE], "dtype": "uint8", "low": 0, "high": 255}
"""The observation space of a policy, (frames, height, width), in the form of `describe_space`."""

_NOOP, _FIRE, _AFTER_FIRE = 0, 1, 2
_NUMBER = "episode_frame_number"  # in the info of the Arcade Learning Environment
_STICKY = "repeat_action_probability"  # a keyword of its environments


def describe_preprocessing(
    env_id: str, settings: Mapping[str, Any], *, restarts: bool = False
) -> dict[str, Any]:
    """Return the preprocessing as stored in a checkpoint's description.

    `settings`: the keywords that the environment was made with. `restarts`: the training ended episodes at
    the loss of a life, and pressed FIRE at the start of the next one. The probability of sticky actions is
    None if neither `settings` nor this process knows it.
    """
    return {
        "held_frames": HELD,
        "brighter_of_frames": 2,
        "size": [SIZE, SIZE],
        "grey": True,
        "stacked": STACKED,
        "signs_of_rewards": True,
        "most_noops": MAX_NOOPS,
        "restarts": restarts,
        "fires": restarts and _fires(env_id),
        "sticky_actions": settings.get(_STICKY, _sticky_by_default(env_id)),
    }


def _fires(env_id: str) -> bool:
    register(env_id)
    env = import_module("gymnasium").make(env_id)
    meanings = env.unwrapped.get_action_meanings()
    env.close()
    return meanings[_FIRE : _FIRE + 1] == ["FIRE"] and len(meanings) > _AFTER_FIRE


def _sticky_by_default(env_id: str) -> float | None:
    gymnasium = import_module("gymnasium")
    register(env_id)
    try:
        return gymnasium.spec(env_id).kwargs.get(_STICKY, 0.0)
    except gymnasium.error.UnregisteredEnv:  # only the environment server has it
        return None


class FrameStack:
    """The observation of a policy, built from the frames at which it decides."""

    def __init__(self, stacked: int = STACKED) -> None:
        self._stacked = stacked
        try:
            self._cv2 = import_module("cv2")
        except ModuleNotFoundError:
            raise ConfigError(
                "Atari's frames are resized by OpenCV, which is not installed in this environment: install "
                "the worker again"
            ) from None
        self._numpy = import_module("numpy")
        self._stack: Any = None

    def begin(self, frame: Any, previous: Any = None) -> Any:
        """Return the observation at the start of an episode, uint8 of shape (stacked, 84, 84). Arguments as
        in `add`."""
        self._stack = self._numpy.stack([self._reduce(frame, previous)] * self._stacked)
        return self._stack

    def add(self, frame: Any, previous: Any = None) -> Any:
        """Return the observation with this frame (height, width, 3) as its newest; `previous` is the frame
        before it, if it was observed."""
        self._stack = self._numpy.concatenate([self._stack[1:], self._reduce(frame, previous)[None]])
        return self._stack

    def _reduce(self, frame: Any, previous: Any) -> Any:
        cv2 = self._cv2
        combined = frame if previous is None else self._numpy.maximum(frame, previous)
        small = cv2.resize(combined, (SIZE, SIZE), interpolation=cv2.INTER_AREA)
        return cv2.cvtColor(small, cv2.COLOR_RGB2GRAY)


def preprocessed(env: Any) -> Any:
    """Return a game with preprocessed steps and observations; its rewards are the game's own."""
    return _game_class()(env)


def signs_of_rewards(env: Any) -> Any:
    """Return the environment with rewards replaced by their signs."""
    numpy, gymnasium = import_module("numpy"), import_module("gymnasium")
    return gymnasium.wrappers.TransformReward(env, lambda reward: float(numpy.sign(reward)))


@functools.lru_cache(None)
def _game_class() -> Any:
    gymnasium = import_module("gymnasium")

    class Game(gymnasium.Wrapper):  # type: ignore[name-defined]
        """A game with repeated actions and up to 30 no-ops at the start of an episode."""

        def __init__(self, env: Any) -> None:
            super().__init__(env)
            self.observation_space = make_space(SPACE)
            self._pictures = FrameStack()
            self._number = 0

        def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
            frame, info = self.env.reset(**options)
            for _ in range(int(self.unwrapped.np_random.integers(1, MAX_NOOPS + 1))):
                frame, _, terminated, truncated, info = self.env.step(_NOOP)
                if terminated or truncated:
                    frame, info = self.env.reset()
            self._number = info[_NUMBER]
            return self._pictures.begin(frame), info

        def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            end, total, frame, ended = self._number + HELD, 0.0, None, False
            while self._number < end and not ended:
                previous, number = frame, self._number
                frame, reward, terminated, truncated, info = self.env.step(action)
                total, ended = total + float(reward), terminated or truncated
                self._number = info[_NUMBER]
            is_next = self._number == number + 1
            observation = self._pictures.add(frame, previous if is_next else None)
            return observation, total, terminated, truncated, info

    return Game


def as_trained(described: Mapping[str, Any], operator: Operator) -> Operator:
    """Return an operator that starts with no-ops, receives whole frames and repeats actions as in its
    training; the operator itself if the described training did not use "atari"."""
    recorded = described.get(ATARI)
    if not isinstance(recorded, Mapping):
        return operator
    return _Player(
        operator,
        stacked=int(recorded["stacked"]),
        most_noops=int(recorded["most_noops"]),
        restarts=bool(recorded["restarts"]),
        fires=bool(recorded["fires"]),
    )


class _Player:
    """A player that acts at every frame, through an operator that decides at every fourth.

    An episode begins with 1 to `most_noops` no-ops, drawn from its seed: without sticky actions a game would
    be the same for every seed. With `restarts`, the player repeats the training's behaviour after the loss of
    a life: a no-op and then, as at the start of an episode, FIRE and the next action in games that have them
    (`fires`). For its operator, the next life is another episode.
    """

    def __init__(
        self, operator: Operator, *, stacked: int, most_noops: int, restarts: bool, fires: bool
    ) -> None:
        self._operator, self._most_noops = operator, most_noops
        self._generator = random.Random(0)
        self._restarts, self._opening = restarts, [_FIRE, _AFTER_FIRE] if fires else []
        self._pictures = FrameStack(stacked)
        self._begin(0)

    def _begin(self, episode_index: int) -> None:
        self._episode_index = episode_index
        self._noops = self._generator.randint(1, self._most_noops)
        self._prepared: Sequence[int] = self._opening
        self._is_first = True
        self._action: Any = _NOOP
        self._hold_end, self._lives = 0, 0
        self._last_frame: tuple[int, Any] = (-1, None)

    def episode_begin(self, seed: int | None, episode_index: int) -> None:
        if seed is not None:
            self._generator.seed(seed)
        self._begin(episode_index)
        self._pass_on("episode_begin", seed, episode_index)

    def episode_end(self, total_reward: float, steps: int) -> None:
        self._pass_on("episode_end", total_reward, steps)

    def close(self) -> None:
        self._pass_on("close")

    def _pass_on(self, name: str, *values: Any) -> None:
        method = getattr(self._operator, name, None)
        if method is not None:
            method(*values)

    def select_action(self, observation: Any, info: Mapping[str, Any] | None = None) -> Any:
        """Return the action of this frame. Raises `ConfigError` if frames are not numbered."""
        if info is None or _NUMBER not in info:
            raise ConfigError(
                f"this policy acts by frame numbers, and the environment's info has no {_NUMBER!r}: "
                "play it in an environment of the Arcade Learning Environment, such as ALE/Pong-v5"
            )
        if self._noops:
            self._noops -= 1
            return _NOOP
        number, (earlier, frame) = info[_NUMBER], self._last_frame
        self._last_frame = number, observation
        if number >= self._hold_end:
            previous = frame if number == earlier + 1 else None
            self._action = self._next_action(observation, previous, info.get("lives", 0))
            self._hold_end = number + HELD
        return self._action

    def _next_action(self, frame: Any, previous: Any, lives: int) -> Any:
        if self._restarts and 0 < lives < self._lives:
            self._prepared, self._is_first = [_NOOP, *self._opening], True
            self._pass_on("episode_begin", None, self._episode_index)
        self._lives = lives
        if self._prepared:
            action, *self._prepared = self._prepared
            return action
        observe = self._pictures.begin if self._is_first else self._pictures.add
        self._is_first = False
        return self._operator.select_action(observe(frame, previous))
