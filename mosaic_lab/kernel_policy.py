"""A trained policy as a function, answered by a process of its worker's, in the worker's environment."""

from __future__ import annotations

import functools
import os
import select
import signal
import tempfile
import threading
import time
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
from mosaic_contract import LineSplitter, decode_line, encode_line, pack
from mosaic_contract.codec import OPERATING_LINE_LIMIT
from mosaic_contract.errors import BadLine
from mosaic_contract.observation_check import Misfit, NotFinite, array_converter
from mosaic_contract.piped_process import how_it_ended, start_process
from mosaic_contract.policy_queries import ACTION
from mosaic_contract.readable import Readable
from mosaic_contract.seeds import operator_seed
from mosaic_contract.shared_values import SharedValues, unnamed_file
from mosaic_contract.space_compatibility import text_of

from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.keeper.processes import send_group
from mosaic_lab.keeper.warm_workers import WarmWorker

_OPEN_SECONDS = 120.0  # for imports, on a busy machine
_CHUNK = 1 << 16
_PING = b'\n{"cmd":"ping"}\n'  # the first newline ends a line that was cut off
_POLL_SECONDS = 1.0  # Python handles a signal that arrives just before a `poll` only after it
_DYING_SECONDS = 2.0  # from the end of the output until the exit
_LOG_BYTES = 4_000
_MAX_LOG_BYTES = 1 << 20
_LOG_LINES = 10
_REMEDY = "make the policy again"

Space = Mapping[str, Any]

_converter = functools.lru_cache(maxsize=64)(array_converter)


class Policy:
    """A trained policy that answers from its worker's process; made by `mosaic_lab.policy`.

    Called with one observation, it returns the action; called with arrays that have a row for each of N
    observations, it returns the N actions of one forward pass. The other queries work the same way;
    ``provides`` names those available.

    Successive calls with one observation form an episode: recurrent networks and wrappers such as
    ``frame_stack`` remember the observations that were acted on, until `reset`. Other queries leave this
    memory unchanged. In arrays, each observation is the first of an episode.
    """

    def __init__(
        self,
        command: Sequence[str],
        variables: Mapping[str, str],
        *,
        name: str,
        worker: str,
        agent: str,
        settings: Mapping[str, Any],
        seed: int,
        deadline: float | None,
        trained_on: str | None,
        observation_space: Space | None,
        warm: WarmWorker | None = None,
    ) -> None:
        _checked_seed(seed)
        self._name, self._worker, self._agent = name, worker, agent
        self._trained_on, self._deadline = trained_on, deadline
        self._process = PolicyProcess(f"the policy {name}", command, variables, warm)
        self._end = weakref.finalize(self, self._process.end)
        try:
            ready = self._request(_OPEN_SECONDS, cmd="init_agent", settings=settings)
            self.provides: tuple[str, ...] = tuple(ready.get("provides", (ACTION,)))
            self._answers_many = "provides" in ready
            self._space: Space | None = ready.get("observation_space") or observation_space
            self.reset(seed)
        except BaseException:
            self.close()
            raise

    def __call__(self, observation: Any, *, action_mask: Any = None, info: Any = None) -> Any:
        """Return the action for one observation, or an array with a row for each of several.

        ``action_mask`` and ``info`` belong to one observation, for policies that use them.
        """
        hints = {"action_mask": action_mask, "info": info}
        packed = {name: pack(hint) for name, hint in hints.items() if hint is not None}
        return self._answer(ACTION, observation, **packed)

    def probabilities(self, observation: Any) -> Any:
        """Return the probability of each discrete action."""
        return self._answer("probabilities", observation)

    def logits(self, observation: Any) -> Any:
        """Return the logits of the distribution over discrete actions."""
        return self._answer("logits", observation)

    def value(self, observation: Any) -> Any:
        """Return the value of the state, as the policy's critic estimates it."""
        return self._answer("value", observation)

    def action_values(self, observation: Any) -> Any:
        """Return the value of each discrete action, for algorithms such as DQN."""
        return self._answer("action_values", observation)

    def reset(self, seed: int | None = None) -> None:
        """Begin another episode. A seed also restarts the random numbers, as in an evaluation's episode with
        the same operator and seed."""
        if seed is not None:
            seed = operator_seed(_checked_seed(seed), self._name, self._agent)
        self._request(self._deadline, cmd="episode_begin", seed=seed, episode_index=0)

    @property
    def pid(self) -> int:
        """The id of the policy's process."""
        return self._process.pid

    def close(self) -> None:
        """End the policy's process. May be called more than once."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        trained = f" of {self._trained_on}" if self._trained_on else ""
        return (
            f"<{'' if self._end.alive else 'closed '}policy {self._name}{trained} ({self._worker}): observes "
            f"{'anything' if self._space is None else text_of(self._space)}, "
            f"provides {', '.join(self.provides)}>"
        )

    def _answer(self, quantity: str, observation: Any, **hints: Any) -> Any:
        if quantity not in self.provides:
            raise ConfigurationError(
                f"the policy {self._name} of worker '{self._worker}' has no {quantity}; it provides "
                f"{', '.join(self.provides)}"
            )
        rows = None
        if self._space is not None:
            observation, rows = arrange(self._space, observation)
        if rows is not None and not self._answers_many:
            raise ConfigurationError(
                f"the policy {self._name} only acts, and on one observation at a time: call it for each"
            )
        if rows is not None and hints:
            raise ConfigurationError(f"{' and '.join(hints)}: for one observation only, not for {rows}")
        query = {"player_id": self._agent, "what": quantity, "alone": rows is None, **hints}
        return self._process.query(query, observation, self._deadline)

    def _request(self, seconds: float | None, **message: Any) -> dict[str, Any]:
        return self._process.request({**message, "player_id": self._agent}, seconds)


def _checked_seed(seed: Any) -> int:
    if type(seed) is not int or seed < 0:
        raise ConfigurationError(f"seed={seed!r}: must be an integer ≥ 0")
    return seed


class PolicyProcess:
    """A worker's process that runs an operator, and the memory shared with it. Threads take turns.

    ``name`` is the policy's name in errors; ``warm``, if given, may fork the process. Raises OSError if it
    cannot be started.
    """

    def __init__(
        self, name: str, command: Sequence[str], variables: Mapping[str, str], warm: WarmWorker | None = None
    ) -> None:
        self.name = name
        self._memory = unnamed_file()
        self._values = SharedValues(self._memory)
        self._log: IO[bytes] = tempfile.TemporaryFile("a+b")  # noqa: SIM115 (until `end`)
        self._splitter = LineSplitter(OPERATING_LINE_LIMIT)
        self._lines: deque[bytes] = deque()
        self._turn = threading.RLock()
        self._interrupted = False
        self._failure = ""
        self._owner = os.getpid()
        self._process = start_process(
            command,
            stderr=self._log.fileno(),
            cwd=Path(command[0]).parent,  # imported from first, so no shared folder
            env=variables,
            pass_fds=[self._memory],
            warm=None if warm is None else warm.fileno(),
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._input, self._output = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._input, False)
        self._readable = Readable(self._output)
        self._writable = select.poll()
        self._writable.register(self._input, select.POLLOUT)

    @property
    def pid(self) -> int:
        return self._process.pid

    def request(self, message: Mapping[str, Any], seconds: float | None) -> dict[str, Any]:
        """Send a command and return its answer; after ``seconds`` without one, end the process.

        Raises ConfigurationError for a command that cannot succeed, and MosaicError for any other error, with
        the last lines of the log if the process has ended.
        """
        with self._turn:
            deadline = self._ready(seconds)
            return self._answer_to(encode_line(message, OPERATING_LINE_LIMIT), deadline, seconds)

    def query(self, query: Mapping[str, Any], observation: Any, seconds: float | None) -> Any:
        """Return the answer to a query about observations, like `request`; arrays pass through the memory."""
        with self._turn:
            deadline = self._ready(seconds)
            try:
                message = {"memory": self._memory, "observation": self._values.write(observation)}
                line = encode_line({"cmd": "query", **message, **query}, OPERATING_LINE_LIMIT)
            except (TypeError, ValueError, OSError) as error:
                raise ConfigurationError(
                    f"the observations cannot be passed to {self.name}: {error}"
                ) from None
            return self._values.read(self._answer_to(line, deadline, seconds)["answer"])

    def end(self) -> None:
        """End the process, except from a fork of this one. Requests then fail, including one under way in
        another thread."""
        if os.getpid() != self._owner:
            return
        self._failure = self._failure or f"{self.name} is closed; {_REMEDY}"
        if self._process.poll() is None:
            send_group(self.pid, signal.SIGKILL)
            self._process.wait()
        with self._turn:
            if self._log.closed:
                return
            for pipe in (self._process.stdin, self._process.stdout, self._log):
                assert pipe is not None
                with suppress(OSError):
                    pipe.close()
            os.close(self._memory)
            del self._values  # which maps the memory

    def _ready(self, seconds: float | None) -> float | None:
        """Wait for the end of an earlier, interrupted request, then return this one's deadline as a time."""
        if os.getpid() != self._owner:
            raise MosaicError(f"{self.name} answers only the process that made it; make it in this one")
        if self._failure:
            raise MosaicError(self._failure)
        if os.fstat(self._log.fileno()).st_size > _MAX_LOG_BYTES:
            os.ftruncate(self._log.fileno(), 0)  # the process appends
        deadline = None if seconds is None else time.monotonic() + seconds
        if self._interrupted:
            self._send(_PING, deadline)
            while not self._is_pong(self._line(deadline, seconds)):
                pass
        self._interrupted = True
        return deadline

    def _answer_to(self, line: bytes, deadline: float | None, seconds: float | None) -> dict[str, Any]:
        self._send(line, deadline)
        while (answer := decode_line(self._line(deadline, seconds)))["type"] == "pong":
            pass  # from an interrupted wait for it
        self._interrupted = False
        if answer["type"] == "error":
            error_class = ConfigurationError if answer.get("error_type") == "ConfigError" else MosaicError
            raise error_class(f"{self.name}: {answer.get('message')}")
        return answer

    def _is_pong(self, line: bytes) -> bool:
        try:
            return decode_line(line).get("type") == "pong"
        except BadLine:  # the interrupt has lost a part of it
            return False

    def _send(self, line: bytes, deadline: float | None) -> None:
        while line:
            try:
                line = line[os.write(self._input, line) :]
            except BlockingIOError:
                if not self._writable.poll(1e3 * _poll_seconds(deadline)) and _has_passed(deadline):
                    return  # as late as its answer will be
            except OSError:  # reading its output will report the end
                return

    def _line(self, deadline: float | None, seconds: float | None) -> bytes:
        while not self._lines:
            while not self._readable.wait(_poll_seconds(deadline)):
                if _has_passed(deadline):
                    raise self._failed(f"did not answer within {seconds:g} s (deadline)")
            data = os.read(self._output, _CHUNK)
            if not data:
                raise self._failed(how_it_ended(self._process, _DYING_SECONDS))
            self._lines.extend(self._splitter.feed(data))
        return self._lines.popleft()

    def _failed(self, reason: str) -> MosaicError:
        """End the process and return the error that is raised from now on."""
        if not self._failure:  # set by `end` in another thread
            self._failure = f"the process of {self.name} {reason}; {_REMEDY}"
            if lines := self._log_lines():
                self._failure += ". Its last log lines:\n" + "\n".join(f"    {line}" for line in lines)
        self.end()
        return MosaicError(self._failure)

    def _log_lines(self) -> list[str]:
        size = os.fstat(self._log.fileno()).st_size
        data = os.pread(self._log.fileno(), _LOG_BYTES, max(0, size - _LOG_BYTES))
        return data.decode("utf-8", "replace").splitlines()[-_LOG_LINES:]


def _poll_seconds(deadline: float | None) -> float:
    return _POLL_SECONDS if deadline is None else min(max(0.0, deadline - time.monotonic()), _POLL_SECONDS)


def _has_passed(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() >= deadline


def arrange(space: Space, observation: Any) -> tuple[Any, int | None]:
    """Return the observations as arrays, and the number of rows: None for a single observation.

    Raises ConfigurationError for observations that do not belong to the described space.
    """
    parts: dict[str, int | None] = {}
    try:
        value = _arrange_part(space, observation, "", parts)
        counts = dict.fromkeys(parts.values())
        if len(counts) > 1:
            texts = ", ".join(f"{path} {rows or 'one'}" for path, rows in parts.items())
            raise Misfit(f"has parts with different numbers of observations: {texts}")
    except NotFinite as misfit:
        raise ConfigurationError(f"the observation{misfit.path} {misfit}: numbers must be finite") from None
    except Misfit as misfit:
        raise ConfigurationError(
            f"the observation{misfit.path} {misfit}. This policy observes {text_of(space)}: pass one such "
            "observation, or arrays with a row for each of several"
        ) from None
    return value, next(iter(counts), None)


def _arrange_part(space: Space, observation: Any, path: str, parts: dict[str, int | None]) -> Any:
    """Return an observation as arrays, and add the number of rows of each part to ``parts`` by path."""
    if "spaces" in space:
        spaces = space["spaces"]
        named = isinstance(spaces, Mapping)
        if not isinstance(observation, Mapping if named else Sequence) or isinstance(observation, str):
            raise Misfit(f"is a {type(observation).__name__}, not a {'dict' if named else 'tuple'}", path)
        values = {}
        for key, inner in spaces.items() if named else enumerate(spaces):
            try:
                part = observation[key]
            except LookupError:
                raise Misfit(f"lacks {key!r}", path) from None
            values[key] = _arrange_part(inner, part, f"{path}[{key!r}]", parts)
        return values if named else tuple(values.values())
    if "shape" not in space:
        parts[path] = None
        return observation
    shape = tuple(space["shape"])
    observed = observation.shape if isinstance(observation, np.ndarray) else _shape(observation)
    batch = len(observed) == len(shape) + 1 and observed[1:] == shape
    rows = parts[path] = observed[0] if batch else None
    if rows == 0:
        raise Misfit("has no rows", path)
    try:
        array = _converter((rows, *shape) if batch else shape, space["dtype"], text_of(space))(observation)
    except Misfit as misfit:
        raise type(misfit)(_predicate(misfit), path) from None
    if not path and space["type"] != "Box" and not _contained(space, array):  # nested ones may start at -1
        raise Misfit(f"has values outside {text_of(space)}", path)
    return array.item() if space["type"] == "Discrete" and not batch else array


def _predicate(misfit: Misfit) -> str:
    text = str(misfit)
    return text if " " in text else f"has the value {text}"  # NaN or an infinity


def _shape(value: Any) -> tuple[int, ...]:
    try:
        return np.shape(value)
    except ValueError:  # lists of different lengths
        return ()


def _contained(space: Space, array: Any) -> bool:
    """Return whether integers are in a Discrete, MultiDiscrete or MultiBinary space."""
    low = np.asarray(space.get("start", 0))
    count = {"Discrete": space.get("n"), "MultiDiscrete": space.get("nvec")}.get(space["type"], 2)
    return bool(np.all((array >= low) & (array < low + np.asarray(count))))
