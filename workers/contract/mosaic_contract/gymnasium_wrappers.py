"""Gymnasium's own wrappers, and the user's, by name and with parameters.

A wrapper of a training is a name, or a table of its name and parameters: `{"frame_stack": 4}`, `{"resize":
[64, 64]}`, `{"rescale_action": {"low": 0}}`. "FILE.py:Class" is a user-defined wrapper in a file.

Gymnasium and NumPy are imported when a wrapper is made. Gymnasium 0.29 has these classes as experimental.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
from importlib import import_module
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Mapping, Union

from mosaic_contract.config import nearest
from mosaic_contract.errors import ConfigError, one_line

Wrapper = Union[str, Mapping[str, Any]]

TIME_LIMIT = "time_limit"
NORMALIZE_OBSERVATION, NORMALIZE_REWARD = "normalize_observation", "normalize_reward"
TRAINING_ONLY = (TIME_LIMIT, NORMALIZE_REWARD)
"""Wrappers that change no observation and no action, so that a policy plays without them."""
PICTURE_WRAPPERS = ("grey", "resize")
"""Wrappers of a picture by itself."""
_NORMALIZING = {
    NORMALIZE_OBSERVATION: ("NormalizeObservation", "obs_rms"),
    NORMALIZE_REWARD: ("NormalizeReward", "return_rms"),
}
"""Gymnasium's wrapper classes with statistics, and the attributes that hold these."""
_USER_CODE_MARK = ".py:"
_user_classes: set[type] = set()


def name_of(wrapper: Wrapper) -> str:
    """Return a wrapper's name; a user-defined one is named by its file and class."""
    return wrapper if isinstance(wrapper, str) else next(iter(wrapper))


def in_short(wrapper: Wrapper) -> str:
    """Return a wrapper as text: "flat", "frame_stack(4)"."""
    if isinstance(wrapper, str):
        return wrapper
    ((name, parameters),) = wrapper.items()
    if isinstance(parameters, Mapping):
        texts = [f"{key}={value}" for key, value in parameters.items()]
    else:
        texts = list(map(str, parameters if isinstance(parameters, list) else [parameters]))
    return f"{name}({', '.join(texts)})"


def is_user_defined(wrapper: Wrapper) -> bool:
    """Return whether a wrapper is user-defined, in a file."""
    return _USER_CODE_MARK in name_of(wrapper)


def is_user_wrapper(env: Any) -> bool:
    """Return whether an environment's outermost wrapper is user-defined, from a file."""
    return type(env) in _user_classes


def check_user_code(described: Mapping[str, Any], allowed: bool) -> None:
    """Raise `ConfigError` if a policy plays through user-defined code that may not be executed."""
    user_wrappers = list(map(name_of, filter(is_user_defined, described.get("wrappers") or ())))
    if user_wrappers and not allowed:
        raise ConfigError(
            f"the policy was trained through {', '.join(user_wrappers)}, code that would be executed: give "
            "operators.rl(..., run_code=True) to allow it"
        )


def with_statistics(wrappers: Iterable[Wrapper]) -> list[str]:
    """Return the names of the wrappers that have running statistics."""
    return [name_of(wrapper) for wrapper in wrappers if name_of(wrapper) in _NORMALIZING]


class Statistics:
    """The running statistics of wrappers, shared by the environments of a training. They begin with those
    `recorded` in a checkpoint; a policy that `plays` does not change them."""

    def __init__(self, recorded: Mapping[str, Any] = {}, *, plays: bool = False) -> None:
        self.plays = plays
        self._recorded = recorded
        self._moments: dict[str, Any] = {}

    def shared(self, name: str, moments: Any) -> Any:
        """Return a wrapper's statistics: `moments` for the first environment, the same object for all later
        ones."""
        if name not in self._moments:
            numpy = import_module("numpy")
            saved = self._recorded.get(name)
            if saved is not None:
                moments.mean, moments.var = numpy.asarray(saved["mean"]), numpy.asarray(saved["var"])
                moments.count = saved["count"]
            if self.plays:
                moments.update = lambda values: None
            self._moments[name] = moments
        return self._moments[name]

    def describe(self) -> dict[str, Any]:
        """Return the statistics as JSON, {} if there are none."""
        if not self._moments:
            return {}
        asarray = import_module("numpy").asarray
        return {
            name: {"mean": asarray(moments.mean).tolist(), "var": asarray(moments.var).tolist(),
                   "count": float(moments.count)}
            for name, moments in self._moments.items()
        }  # fmt: skip


_training_statistics = Statistics()


def training_statistics() -> Statistics:
    """Return the statistics of the training in this process."""
    return _training_statistics


def resume_statistics(recorded: Mapping[str, Any]) -> None:
    """Begin the training in this process with recorded statistics, {} for none."""
    global _training_statistics
    _training_statistics = Statistics(recorded)


def with_time_limit(env: Any, wrappers: Iterable[Wrapper]) -> Any:
    """Return an environment with the time limit among the wrappers, if any: it belongs below the counting of
    episodes."""
    for wrapper in wrappers:
        if name_of(wrapper) == TIME_LIMIT:
            env = apply(env, wrapper, training_statistics())
    return env


def apply(env: Any, wrapper: Wrapper, statistics: Statistics) -> Any:
    """Return a Gymnasium environment within a wrapper. Raises `ConfigError` for unknown wrappers, wrong
    parameters, and unsuitable environments."""
    name, values = (wrapper, []) if isinstance(wrapper, str) else next(iter(wrapper.items()))
    of_user = is_user_defined(name)
    maker, leading = (_user_class(name), (env,)) if of_user else (_MAKERS[name], (env, statistics))
    parameters = list(inspect.signature(maker).parameters.values())[len(leading) :]
    arguments = _arguments(name, values, parameters)
    try:
        wrapped = maker(*leading, **arguments)
    except Exception as error:  # Gymnasium's assertions, and any error of the user's code
        raise ConfigError(
            f"the wrapper {in_short(wrapper)} cannot be used on observations {env.observation_space} and "
            f"actions {env.action_space}: {one_line(error)}"
        ) from None
    if of_user:
        if not isinstance(wrapped, import_module("gymnasium").Env):
            raise ConfigError(
                f"the wrapper {name} is not a Gymnasium wrapper: it is {type(wrapped).__name__}"
            )
        _user_classes.add(type(wrapped))
    return wrapped


def _arguments(name: str, values: Any, parameters: list[inspect.Parameter]) -> dict[str, Any]:
    """Return a wrapper's arguments by name, given as one value, a list in the order of the parameters, or a
    table."""
    names = [parameter.name for parameter in parameters]
    if isinstance(values, Mapping):
        arguments = dict(values)
    else:
        listed = values if isinstance(values, list) else [values]
        if len(listed) > len(names):
            has = f"takes {', '.join(names)}" if names else "has no parameters"
            raise ConfigError(f"the wrapper {name!r} {has}; got {values!r:.100}")
        arguments = dict(zip(names, listed))
    any_name = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    for key in arguments:
        if key not in names and not any_name:
            raise ConfigError(f"the wrapper {name!r} has no parameter {key!r}{nearest(str(key), names)}")
    for parameter in parameters:
        value = arguments.get(parameter.name, parameter.default)
        if value is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD:
            raise ConfigError(f"the wrapper {name!r} needs {parameter.name}: give {{{name!r}: …}}")
        is_int, is_number = type(value) is int, type(value) in (int, float)
        if (parameter.annotation == "int" and not (is_int and value > 0)) or (
            parameter.annotation == "float" and not is_number
        ):
            needed = "an integer ≥ 1" if parameter.annotation == "int" else "a number"
            raise ConfigError(f"the wrapper {name!r}: {parameter.name} must be {needed}, got {value!r:.100}")
    return arguments


@functools.lru_cache(None)
def _user_class(name: str) -> Any:
    file, _, attribute = name.rpartition(":")
    path = Path(file)
    if not path.is_file():
        raise ConfigError(f"the wrapper {name}: there is no file {path}")
    spec = importlib.util.spec_from_file_location(f"mosaic_wrapper_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the user's code raises arbitrary exceptions
        raise ConfigError(f"the wrapper {name}: {path.name} cannot be imported: {one_line(error)}") from error
    classes = [key for key, value in vars(module).items() if inspect.isclass(value)]
    if attribute not in classes:
        raise ConfigError(f"the wrapper {name}: {path.name} has no class {attribute!r}"
                          f"{nearest(attribute, classes)}")  # fmt: skip
    return getattr(module, attribute)


def _gymnasium_class(name: str) -> Any:
    wrappers = import_module("gymnasium.wrappers")
    if hasattr(wrappers, "FrameStackObservation") or name == "TimeLimit":
        return getattr(wrappers, name)
    version = 1 if name == "NormalizeReward" else 0
    return getattr(import_module("gymnasium.experimental.wrappers"), f"{name}V{version}")


def _frame_stack(env: Any, statistics: Statistics, k: int = 4) -> Any:
    stacked = _gymnasium_class("FrameStackObservation")(env, k)
    if len(env.observation_space.shape or ()) != 3:
        return stacked
    concatenate = import_module("numpy").concatenate
    return _reshaped(stacked, lambda pictures: concatenate(list(pictures), axis=-1))


def _time_limit(env: Any, statistics: Statistics, steps: int) -> Any:
    return _gymnasium_class("TimeLimit")(env, steps)


def _grey(env: Any, statistics: Statistics) -> Any:
    return _gymnasium_class("GrayscaleObservation")(env, keep_dim=True)


def _resize(env: Any, statistics: Statistics, height: int = 84, width: int = 84) -> Any:
    resized = _gymnasium_class("ResizeObservation")(env, (height, width))
    if env.observation_space.shape[2:] != (1,):
        return resized
    # OpenCV drops a single channel, which some versions of Gymnasium restore, in the space or the pictures.
    return _reshaped(resized, lambda picture: picture.reshape(height, width, 1))


def _rescale_action(env: Any, statistics: Statistics, low: float = -1.0, high: float = 1.0) -> Any:
    full, space = import_module("numpy").full, env.action_space
    bounds = [full(space.shape, bound, space.dtype) for bound in (low, high)]
    return _gymnasium_class("RescaleAction")(env, *bounds)


def _normalize_observation(env: Any, statistics: Statistics, epsilon: float = 1e-8) -> Any:
    normalized = _normalizing_class(NORMALIZE_OBSERVATION)(env, statistics, epsilon=epsilon)
    numpy, Box = import_module("numpy"), import_module("gymnasium.spaces").Box
    space = Box(-numpy.inf, numpy.inf, env.observation_space.shape, numpy.float32)
    return observing_class()(normalized, space, numpy.float32)


def _normalize_reward(env: Any, statistics: Statistics, gamma: float = 0.99, epsilon: float = 1e-8) -> Any:
    return _normalizing_class(NORMALIZE_REWARD)(env, statistics, gamma=gamma, epsilon=epsilon)


_MAKERS: Mapping[str, Callable[..., Any]] = {
    "frame_stack": _frame_stack, TIME_LIMIT: _time_limit, "grey": _grey, "resize": _resize,
    "rescale_action": _rescale_action, NORMALIZE_OBSERVATION: _normalize_observation,
    NORMALIZE_REWARD: _normalize_reward,
}  # fmt: skip
NAMES = tuple(_MAKERS)


@functools.lru_cache(None)
def _normalizing_class(name: str) -> Any:
    base, attribute = _NORMALIZING[name]
    upstream = getattr(import_module("gymnasium.wrappers"), base)

    class Normalizing(upstream):  # type: ignore[misc, valid-type]
        """Gymnasium's wrapper, with statistics that the environments of a training share."""

        def __init__(self, env: Any, statistics: Statistics, **parameters: Any) -> None:
            self._statistics = statistics
            super().__init__(env, **parameters)

    def shared(self: Any) -> Any:
        return self._statistics.shared(name, None)

    setattr(Normalizing, attribute, property(shared, lambda self, new: self._statistics.shared(name, new)))
    return Normalizing


@functools.lru_cache(None)
def observing_class() -> Any:
    gymnasium = import_module("gymnasium")

    class Observing(gymnasium.ObservationWrapper):  # type: ignore[name-defined]
        """An environment with transformed observations."""

        def __init__(self, env: Any, space: Any, observe: Callable[[Any], Any]) -> None:
            super().__init__(env)
            self.observation_space = space
            self._observe = observe

        def observation(self, observation: Any) -> Any:
            return self._observe(observation)

    return Observing


def _reshaped(env: Any, observe: Callable[[Any], Any]) -> Any:
    """Return an environment with transformed arrays; their bounds are transformed likewise."""
    space = env.observation_space
    box = import_module("gymnasium.spaces").Box(observe(space.low), observe(space.high), dtype=space.dtype)
    return observing_class()(env, box, observe)


@functools.lru_cache(None)
def outside_class() -> Any:
    """Return the class of an environment whose observations come from elsewhere."""
    gymnasium, numpy = import_module("gymnasium"), import_module("numpy")

    class Outside(gymnasium.Env):  # type: ignore[name-defined]
        """An environment that has only spaces. `observation` is its next observation, and `expected_action`
        the action that the policy played, which its wrappers must derive from the policy's choice alone."""

        def __init__(self, observation_space: Any, action_space: Any) -> None:
            self.observation_space, self.action_space = observation_space, action_space
            self.observation: Any = None
            self.expected_action: Any = None

        def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
            return self.observation, {}

        def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            if self.expected_action is None or not numpy.allclose(action, self.expected_action):
                raise ConfigError(
                    "a wrapper of the training repeats steps or changes actions in step(), which cannot be "
                    "played: derive it from gymnasium.ObservationWrapper or ActionWrapper"
                )
            self.expected_action = None
            return self.observation, 0.0, False, False, {}

    return Outside


def layers(env: Any) -> Iterator[Any]:
    """Yield the wrappers of an environment, outermost first."""
    wrapper_class = import_module("gymnasium").Wrapper
    while isinstance(env, wrapper_class):
        yield env
        env = env.env
