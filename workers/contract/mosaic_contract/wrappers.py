"""Wrappers of an environment, by name. `gymnasium_wrappers` has those with parameters; the others are
transforms of single observations.

A training applies them to its environment, an operator to the observations that an arena sends. NumPy is
imported when a transform is made.

"flat" converts any observation to a vector: arrays are flattened, a discrete value becomes one-hot, a
MiniGrid mission becomes word counts (word order is lost), and the parts of a dict are concatenated in the
order of their names. "one_hot", used before it, encodes each cell of an image of MiniGrid, multigrid or
mosaic-multigrid as one-hot object, colour and state. "image" is the image of a dict alone, for convolutions.
"atari", used first, is the standard preprocessing of Atari games; `atari` defines its actions and frames.
"channels_last", used after it, is for libraries whose convolutions expect (height, width, channels), "scaled"
for libraries that expect values from -1 to 1.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Callable, Iterable, Iterator, Mapping, Optional, Sequence

from mosaic_contract.atari import ATARI, SPACE, signs_of_rewards
from mosaic_contract.checked_environment import TeamWrapper
from mosaic_contract.config import nearest
from mosaic_contract.environment_check import offers
from mosaic_contract.errors import ConfigError
from mosaic_contract.gymnasium_wrappers import (
    NAMES,
    PICTURE_WRAPPERS,
    TIME_LIMIT,
    TRAINING_ONLY,
    Statistics,
    Wrapper,
    apply,
    is_user_defined,
    name_of,
    observing_class,
    outside_class,
    training_statistics,
)
from mosaic_contract.registry import is_atari_game
from mosaic_contract.space_compatibility import text_of
from mosaic_contract.spaces import describe_space, make_space

CHANNELS_LAST, SCALED = "channels_last", "scaled"

Description = Mapping[str, Any]
Observe = Callable[[Any], Any]

_ADVISED: tuple[tuple[Wrapper, ...], ...] = (("one_hot", "flat"), ("flat",))
_REDUCED_SIDE = 32
_REDUCED: tuple[Wrapper, ...] = ("grey", {"resize": [_REDUCED_SIDE, _REDUCED_SIDE]}, "flat")
"""Of a large picture, about a thousand numbers."""
_CELLS: Mapping[str, tuple[Sequence[int], ...]] = {
    "uint8": (range(11), range(6), range(3)),
    "int64": (range(14), range(6), (*range(4), *range(100, 104))),
}
"""The objects, colours and states that a cell of an image can have, by its dtype: MiniGrid's, and those of
multigrid and mosaic-multigrid, in which 100 is added to the direction of an agent with a ball."""
_WORDS = (
    "a", "after", "and", "at", "avoid", "ball", "behind", "blue", "box", "door", "end", "fetch", "find",
    "from", "front", "get", "go", "goal", "green", "grey", "hallway", "in", "key", "lava", "left", "matching",
    "must", "near", "next", "object", "of", "on", "open", "opening", "pick", "purple", "put", "reach", "red",
    "right", "room", "rooms", "square", "the", "then", "to", "traverse", "unlock", "up", "use", "yellow",
    "you", "your",
)  # fmt: skip
"""All words of the missions of MiniGrid and BabyAI. All other words share one additional count."""
_WORD_INDICES = {word: index for index, word in enumerate(_WORDS)}
_MAX_CACHED_MISSIONS = 256


@dataclass(frozen=True)
class ObservationTransform:
    """A description of the transformed observation space, and the function that transforms an observation."""

    space: Description
    observe: Observe


class _Misfit(Exception):
    """Raised if a wrapper cannot be used on a space; the message says what it needs."""


def observation_transform(
    space: Description, wrappers: Sequence[Wrapper], env_id: str
) -> ObservationTransform:
    """Return the transform of wrappers of single observations (`is_of_observations`), applied in this order;
    the identity for none.

    `space` is a description (`describe_space`); `env_id` appears in errors. Raises `ConfigError` for an
    unknown wrapper, and for a wrapper that cannot be used on the space.
    """
    check_names(wrappers)
    names = list(map(name_of, wrappers))
    if ATARI in names and not (names[0] == ATARI and is_atari_game(env_id)):
        raise ConfigError(
            f"the observation wrapper {ATARI!r} comes first, and is for games such as ALE/Pong-v5; got "
            f"{list(names)} for {env_id}"
        )
    steps: list[Observe] = []
    for index, (name, wrapper) in enumerate(zip(names, wrappers)):
        try:
            transform = _MAKERS[name](space) if is_plain(wrapper) else _of_picture(space, wrapper)
        except _Misfit as misfit:
            previous = f" after {', '.join(names[:index])}" if index else ""
            raise ConfigError(
                f"the observation wrapper {name!r} {misfit}; the observations of {env_id}{previous} are "
                f"{text_of(space)}"
            ) from None
        space = transform.space
        steps.append(transform.observe)
    return ObservationTransform(space, steps[0] if len(steps) == 1 else functools.partial(_apply, steps))


def is_plain(wrapper: Wrapper) -> bool:
    """Return whether a wrapper is a transform of single observations, which `observation_transform` makes."""
    return isinstance(wrapper, str) and wrapper in _MAKERS


def is_of_observations(wrapper: Wrapper) -> bool:
    """Return whether a wrapper changes each observation by itself, so that it can be used on each agent of a
    team: a plain one, or one of Gymnasium's for pictures."""
    return is_plain(wrapper) or name_of(wrapper) in PICTURE_WRAPPERS


def wrap(env: Any, wrappers: Sequence[Wrapper], env_id: str, statistics: Optional[Statistics] = None) -> Any:
    """Return a Gymnasium or parallel PettingZoo environment within wrappers; `env` itself without any. A team
    accepts wrappers of single observations only.

    With "atari" or a time limit, `env` must come from `make_for_training`, which applies them; for "atari",
    rewards are replaced here by their signs. `statistics` are by default the training's; for a policy that
    plays, `env` only passes observations and actions on. Raises `ConfigError` like `observation_transform`.
    """
    if wrappers and offers(env, "possible_agents"):
        return WrappedTeam(env, wrappers, env_id)
    statistics = training_statistics() if statistics is None else statistics
    if ATARI in wrappers and not statistics.plays:
        env = signs_of_rewards(env)
    skipped = (ATARI, *TRAINING_ONLY) if statistics.plays else (ATARI, TIME_LIMIT)
    applied = [wrapper for wrapper in wrappers if name_of(wrapper) not in skipped]
    for plain, group in itertools.groupby(applied, is_plain):
        if plain:
            transform = observation_transform(describe_space(env.observation_space), list(group), env_id)
            env = observing_class()(env, make_space(transform.space), transform.observe)
        else:
            env = functools.reduce(lambda inner, wrapper: apply(inner, wrapper, statistics), group, env)
    return env


def check_names(wrappers: Iterable[Wrapper]) -> None:
    """Raise `ConfigError` for an unknown wrapper, with the nearest name."""
    names = (*_MAKERS, *NAMES)
    for wrapper in wrappers:
        name = name_of(wrapper)
        if name not in names and not is_user_defined(wrapper):
            raise ConfigError(f"unknown wrapper {name!r:.100}{nearest(name, names)}")
        if not isinstance(wrapper, str) and name in _MAKERS:
            raise ConfigError(f"the wrapper {name!r} has no parameters; got {wrapper[name]!r:.100}")


def advice(space: Any, env_id: str) -> str:
    """Return the end of an error about a space that a library cannot use: the wrappers that turn its
    observations into vectors, the wrapper for Atari games, or ""."""
    if is_atari_game(env_id):
        return f"; lab.train's wrappers={[ATARI]} turns them into images for convolutional networks"
    reduces = is_picture(space) and min(space.shape[:2]) > _REDUCED_SIDE
    advised = (_REDUCED, *_ADVISED) if reduces else _ADVISED
    usable = [repr(list(names)) for names in advised if _can_apply(describe_space(space), names)]
    return f"; lab.train's wrappers= makes vectors of them: {' or '.join(usable)}" if usable else ""


def is_picture(space: Any) -> bool:
    """Return whether observations are pictures, channels last or first."""
    return type(space).__name__ == "Box" and len(space.shape) == 3


def _can_apply(space: Description, names: Sequence[Wrapper]) -> bool:
    try:
        observation_transform(space, names, "")
    except ConfigError:
        return False
    return True


def _apply(steps: Sequence[Observe], observation: Any) -> Any:
    for step in steps:
        observation = step(observation)
    return observation


class WrappedTeam(TeamWrapper):
    """A parallel PettingZoo environment with wrapped observations."""

    def __init__(self, env: Any, wrappers: Sequence[Any], env_id: str) -> None:
        super().__init__(env)
        self._transforms = {
            agent: observation_transform(describe_space(env.observation_space(agent)), wrappers, env_id)
            for agent in env.possible_agents
        }
        self._spaces = {agent: make_space(transform.space) for agent, transform in self._transforms.items()}

    def observation_space(self, agent: Any) -> Any:
        return self._spaces[agent]

    def reset(self, seed: Any = None, options: Any = None) -> tuple[dict[Any, Any], Any]:
        observations, infos = self.env.reset(seed=seed, options=options)
        return self._transformed(observations), infos

    def step(self, actions: Mapping[Any, Any]) -> tuple[Any, ...]:
        observations, *outcome = self.env.step(actions)
        return self._transformed(observations), *outcome

    def _transformed(self, observations: Mapping[Any, Any]) -> dict[Any, Any]:
        return {agent: self._transforms[agent].observe(value) for agent, value in observations.items()}


def _of_picture(space: Description, wrapper: Wrapper) -> ObservationTransform:
    """Return the transform of one of Gymnasium's wrappers of pictures."""
    outside = outside_class()(make_space(space), make_space({"type": "Discrete", "n": 1}))
    env = apply(outside, wrapper, Statistics(plays=True))

    def observe(observation: Any) -> Any:
        outside.observation = observation
        return env.reset()[0]

    return ObservationTransform(describe_space(env.observation_space), observe)


def _one_hot(space: Description) -> ObservationTransform:
    inner = space.get("spaces")
    parts = inner if isinstance(inner, Mapping) and "mission" in inner else {}
    image = parts.get("image", {})
    shape = image.get("shape", ())
    cell = _CELLS.get(image.get("dtype", ""), ())
    if len(shape) != 3 or shape[2] != len(cell):
        raise _Misfit(
            "needs MiniGrid's encoded 'image', a Box(height×width×3) of uint8 (of multigrid, int64), beside "
            "a 'mission'"
        )
    numpy = import_module("numpy")
    choices = [numpy.array(values, image["dtype"]) for values in cell]
    encoded = {
        "type": "Box", "shape": [*shape[:2], sum(map(len, cell))], "dtype": "uint8", "low": 0, "high": 1,
    }  # fmt: skip

    def observe(observation: Any) -> Any:
        cells = numpy.asarray(observation["image"])
        ones = [cells[..., index, None] == choice for index, choice in enumerate(choices)]
        return {**observation, "image": numpy.concatenate(ones, axis=-1).astype(numpy.uint8)}

    return ObservationTransform({**space, "spaces": {**parts, "image": encoded}}, observe)


def _image(space: Description) -> ObservationTransform:
    inner = space.get("spaces")
    parts = inner if isinstance(inner, Mapping) else {}
    images = [name for name, part in parts.items() if len(part.get("shape", ())) == 3]
    name = "image" if "image" in images or len(images) != 1 else images[0]
    if name not in images:
        raise _Misfit("needs a Dict with an 'image', or one other part, of three dimensions")
    return ObservationTransform(parts[name], lambda observation: observation[name])


def _flat(space: Description) -> ObservationTransform:
    parts = list(_flattened(space))
    if not parts:
        raise _Misfit("needs observations with at least one part")
    size = sum(count for count, _ in parts)
    flat = {"type": "Box", "shape": [size], "dtype": "float32", "low": "-Infinity", "high": "Infinity"}
    numpy = import_module("numpy")

    def observe(observation: Any) -> Any:
        pieces = [part(observation) for _, part in parts]
        return numpy.concatenate(pieces, dtype=numpy.float32, casting="unsafe")

    return ObservationTransform(flat, observe)


Part = Callable[[Any], Any]


def _flattened(space: Description) -> Iterator[tuple[int, Part]]:
    """Yield each part's length as a vector, and the function that extracts it from the whole observation."""
    kind, inner = str(space.get("type")), space.get("spaces")
    if isinstance(inner, (Mapping, list)):
        keys: Iterable[Any] = sorted(inner) if isinstance(inner, Mapping) else range(len(inner))
        for key in keys:
            for size, part in _flattened(inner[key]):
                yield size, _of_key(key, part)
    elif kind in _FLAT:
        yield _FLAT[kind](space)
    else:
        raise _Misfit(f"cannot make numbers of a {kind}")


def _of_key(key: Any, part: Part) -> Part:
    return lambda observation: part(observation[key])


def _array(space: Description) -> tuple[int, Part]:
    numpy, size = import_module("numpy"), math.prod(space["shape"])

    def part(observation: Any) -> Any:
        vector = numpy.asarray(observation).reshape(-1)
        if vector.size != size:
            raise ValueError(f"the policy takes {size} numbers here, this observation has {vector.size}")
        return vector

    return size, part


def _choices(space: Description) -> tuple[int, Part]:
    """Return the one-hot encoding of one discrete value or the concatenated encodings of several."""
    numpy = import_module("numpy")
    counts = numpy.reshape(space["n"] if space["type"] == "Discrete" else space["nvec"], -1)
    size = int(counts.sum())
    offsets = numpy.cumsum([0, *counts[:-1]]) - numpy.reshape(space.get("start", 0), -1)

    def part(observation: Any) -> Any:
        vector = numpy.zeros(size, numpy.float32)
        vector[offsets + numpy.asarray(observation).reshape(-1)] = 1.0
        return vector

    return size, part


def _mission(space: Description) -> tuple[int, Part]:
    return len(_WORDS) + 1, lambda observation: _word_counts(str(observation))


@functools.lru_cache(_MAX_CACHED_MISSIONS)
def _word_counts(mission: str) -> Any:
    counts = import_module("numpy").zeros(len(_WORDS) + 1, "float32")
    for word in re.findall(r"[a-z0-9']+", mission.lower()):
        counts[_WORD_INDICES.get(word, len(_WORDS))] += 1.0
    return counts


_FLAT: Mapping[str, Callable[[Description], tuple[int, Part]]] = {
    "Box": _array, "MultiBinary": _array, "Discrete": _choices, "MultiDiscrete": _choices,
    "MissionSpace": _mission,
}  # fmt: skip


def _atari(space: Description) -> ObservationTransform:
    """Return the images, which `atari` has already stacked, unchanged."""
    shape = space.get("shape", ())
    if len(shape) != 3 or shape[2] != 3 or space["dtype"] != "uint8":
        raise _Misfit("needs whole frames of an Atari game, a Box(height×width×3) of uint8")
    return ObservationTransform(SPACE, lambda observation: observation)


def _channels_last(space: Description) -> ObservationTransform:
    shape = space.get("shape", ())
    if len(shape) != 3:
        raise _Misfit("needs pictures, a Box of three dimensions")
    numpy = import_module("numpy")
    last = {**space, "shape": [*shape[1:], shape[0]]}
    return ObservationTransform(last, lambda observation: numpy.moveaxis(observation, 0, -1))


_MAX_RANGE = 2**16  # finer steps would be lost in float32


def _scaled(space: Description) -> ObservationTransform:
    numpy = import_module("numpy")
    if not numpy.issubdtype(space.get("dtype"), numpy.integer):
        raise _Misfit("needs integers")
    low, high = float(numpy.min(space["low"])), float(numpy.max(space["high"]))
    if not 0 < high - low <= _MAX_RANGE:
        raise _Misfit(f"needs integers within a range of at most {_MAX_RANGE:,}")
    half = numpy.float32((high - low) / 2)
    scaled = {**space, "dtype": "float32", "low": -1.0, "high": 1.0}
    return ObservationTransform(
        scaled, lambda integers: (integers - numpy.float32(low)).astype(numpy.float32) / half - 1
    )


_MAKERS: Mapping[str, Callable[[Description], ObservationTransform]] = {
    ATARI: _atari, CHANNELS_LAST: _channels_last, SCALED: _scaled, "flat": _flat, "image": _image,
    "one_hot": _one_hot,
}  # fmt: skip
