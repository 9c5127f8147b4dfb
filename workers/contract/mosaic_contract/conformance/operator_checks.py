"""Checks of workers with operators: a conversation, its errors, and the ways to end. `OperatorChecks` checks
the whole protocol, `PlainChecks` operators that support only the plain protocol."""

from __future__ import annotations

import binascii
import math
import signal
from typing import Any, ContextManager, Mapping, Union

from mosaic_contract.action_reader import action_reader
from mosaic_contract.arena import plain
from mosaic_contract.arrays import unpack
from mosaic_contract.codec import OPERATING_LINE_LIMIT, encode_line
from mosaic_contract.conformance.subject import (
    START_SECONDS,
    Answer,
    CheckFailed,
    Checks,
    Conversation,
    Subject,
    check_ends,
)
from mosaic_contract.errors import BadMessage
from mosaic_contract.messages import PROTOCOL

_STEPS = 5
_OBSERVATION = {"type": "Box", "shape": [4], "dtype": "float32", "low": -1.0, "high": 1.0}
_ACTIONS = {  # by name in capabilities
    "discrete": {"type": "Discrete", "shape": [], "dtype": "int64", "n": 3, "start": 0},
    "box": {"type": "Box", "shape": [2], "dtype": "float32", "low": -1.0, "high": 1.0},
    "multidiscrete": {"type": "MultiDiscrete", "shape": [2], "dtype": "int64", "nvec": [2, 3], "start": 0},
    "multibinary": {"type": "MultiBinary", "shape": [3], "dtype": "int8", "n": 3},
}
_SYNONYMS = {"continuous": "box"}

PLAIN = "plain "
"""Prefix of the names of the checks of the plain protocol."""
_MODE = ("--interactive", "--run-id", "conformance")
_GREETINGS = ("init", "ready")
_READY = ("agent_ready", "agent_initialized")
_PLAIN_GAME = "CartPole-v1"
_PLAIN_OBSERVATIONS = {"type": "Box", "shape": [4], "dtype": "float32", "low": -5.0, "high": 5.0}
_PLAIN_ACTIONS = {"type": "Discrete", "shape": [], "dtype": "int64", "n": 2, "start": 0}


class OperatorChecks:
    """Checks of operators. Agents are made for the spaces of `operate` in the subject's configuration, else
    for one space of each kind among its capabilities."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.config = dict(subject.config.get("operate") or {})

    def checks(self) -> Checks:
        return {"operating": self.operating, "operating errors": self.errors, "operating ends": self.ends}

    def operating(self) -> str:
        cases = [self.config["action_space"]] if "action_space" in self.config else self._action_spaces()
        with self.subject.conversation("operating", *_MODE, unsolicited=("partial",)) as talk:
            self._hello(talk)
            for number, space in enumerate(cases):
                self._episode(talk, f"agent_{number}", space)
            _stop(talk, self.subject.grace)
        return f"{' and '.join(space['type'] for space in cases)}, {_STEPS} steps each"

    def errors(self) -> str:
        action = {"cmd": "select_action", "player_id": "unknown", "observation": 0}
        cases: dict[str, Union[Mapping[str, Any], bytes]] = {
            "a line that is not JSON": b"{not json\n",
            "an unknown command": {"cmd": "dance"},
            "an agent that was never made": action,
            "an agent whose id is not a string": {"cmd": "init_agent", "player_id": 5},
        }
        with self.subject.conversation("errors", "--interactive") as talk:
            for label, command in cases.items():
                answer = talk.request_error(command, START_SECONDS, label)
                error_type = answer.get("error_type")
                talk.require(
                    error_type and isinstance(error_type, str), f"an error with error_type ({label})", answer
                )
                retryable = answer.get("retryable", False)
                talk.require(isinstance(retryable, bool), f"retryable as true or false ({label})", answer)
                talk.request({"cmd": "ping"}, "pong", START_SECONDS, f"after {label}")
        return f"{len(cases)} kinds answered"

    def ends(self) -> str:
        return check_ends(self.subject, "--interactive", lambda: {"cmd": "ping"}, "pong")

    def _hello(self, talk: Conversation) -> None:
        hello = talk.request({"cmd": "hello", "protocol": PROTOCOL}, "hello", START_SECONDS)
        is_valid = type(hello.get("protocol")) is int and hello.get("worker") == self.subject.name
        talk.require(is_valid, f"hello with protocol, and worker {self.subject.name!r}", hello)
        modes = (hello.get("capabilities") or {}).get("modes", [])
        talk.require("operate" in modes, 'hello with capabilities whose modes include "operate"', hello)

    def _episode(self, talk: Conversation, player: str, space: Mapping[str, Any]) -> None:
        observations = self.config.get("observation_space", _OBSERVATION)
        setup = {
            "cmd": "init_agent",
            "game_name": "conformance",
            "player_id": player,
            "seed": 1,
            "observation_space": observations,
            "action_space": space,
            "settings": self._settings(),
        }
        hint = 'init_agent; the needs of its operators are listed under "operate" in conformance.json'
        ready = talk.request(setup, _READY, self.subject.deadline, hint)
        is_addressed = ready.get("player_id") == player
        talk.require(is_addressed, f"the player_id {player!r} in the answer to init_agent", ready)
        begin = {"cmd": "episode_begin", "player_id": player, "seed": 2, "episode_index": 0}
        talk.request(begin, "ok", START_SECONDS)
        for step in range(_STEPS):
            command = {
                "cmd": "select_action",
                "player_id": player,
                "observation": zero_of(observations),
                "action_mask": None,
                "info": {},
                "step_index": step,
                **self.config.get("hints", {}),
            }
            self._select_action(talk, player, space, command)
        end = {"cmd": "episode_end", "player_id": player, "total_reward": 1.5, "steps": _STEPS}
        talk.request(end, "ok", START_SECONDS)

    def _select_action(
        self, talk: Conversation, player: str, space: Mapping[str, Any], command: Mapping[str, Any]
    ) -> None:
        answer = talk.request(command, "action_selected", self.subject.deadline)
        problem = self._problem_of_answer(answer, player) or problem_of_action(answer["action"], space)
        talk.require(not problem, f"an action for {player} in {dict(space)}", f"{problem}: {answer!r:.500}")

    def _problem_of_answer(self, answer: Answer, player: str) -> str:
        if answer.get("player_id") != player:
            return "the answer is for another agent"
        if "action" not in answer:
            return "there is no action"
        for name in ("action_str", "reasoning"):
            if not isinstance(answer.get(name, ""), str):
                return f"{name} is not a string"
        for name in ("input_tokens", "output_tokens", "latency_ms"):
            number = answer.get(name, 0)
            if type(number) not in (int, float) or number < 0:
                return f"{name} is not a number from 0"
        return ""

    def _action_spaces(self) -> list[dict[str, Any]]:
        names = [str(name).lower() for name in self.subject.capabilities.get("action_spaces", [])]
        types = {_SYNONYMS.get(name, name): None for name in names}
        return [dict(_ACTIONS[name]) for name in types if name in _ACTIONS] or [dict(_ACTIONS["discrete"])]

    def _settings(self) -> dict[str, Any]:
        saved = [
            message.get("payload", {}).get("checkpoint_path", "")
            for process in self.subject.processes
            if process.stdout_path.parent.name == "tiny"
            for message in process.messages()
            if message.get("event") == "checkpoint_saved"
        ]
        settings = dict(self.config.get("settings") or {})
        for name, value in settings.items():
            if isinstance(value, str) and saved:
                settings[name] = value.replace("{checkpoint}", str(saved[-1]))
        return settings


class PlainChecks(OperatorChecks):
    """Checks with an agent of CartPole-v1, which a worker may make to learn its actions. `operate` of the
    subject's configuration may override this: `game_name`, `observation_space`, `action_space`, `settings`,
    `observation`."""

    def checks(self) -> Checks:
        return {f"{PLAIN}operating": self.operating, f"{PLAIN}errors": self.errors, f"{PLAIN}ends": self.ends}

    def operating(self) -> str:
        game = str(self.config.get("game_name", _PLAIN_GAME))
        with self._talk("operating") as talk:
            for number in range(2):  # a second agent, or the same one again
                self._act(talk, f"agent_{number}", game)
            _stop(talk, self.subject.grace)
        return f"{game}, {_STEPS} steps each"

    def errors(self) -> str:
        with self._talk("errors") as talk:
            talk.request_error({"cmd": "dance"}, START_SECONDS, "an unknown command")
            talk.request({"cmd": "ping"}, "pong", START_SECONDS, "after an unknown command")
        return "an unknown command is answered"

    def ends(self) -> str:
        with self._talk("end-of-input") as talk:
            talk.request({"cmd": "ping"}, "pong", START_SECONDS)
            talk.process.feed(b"")
            talk.expect_end(0, self.subject.grace, "at the end of stdin")
        with self._talk("SIGTERM") as talk:
            talk.request({"cmd": "ping"}, "pong", START_SECONDS)
            talk.process.signal(signal.SIGTERM)
            ended = talk.process.wait(self.subject.grace)
            talk.require(ended, f"its end within {self.subject.grace:g} s of SIGTERM", "still running")
        return "at the end of stdin, and by SIGTERM"

    def _talk(self, name: str) -> ContextManager[Conversation]:
        return self.subject.conversation(f"plain-{name}", *_MODE, unsolicited=_GREETINGS)

    def _act(self, talk: Conversation, player: str, game: str) -> None:
        space = self.config.get("action_space", _PLAIN_ACTIONS)
        setup = {
            "cmd": "init_agent",
            "game_name": game,
            "player_id": player,
            "observation_space": self.config.get("observation_space", _PLAIN_OBSERVATIONS),
            "action_space": space,
            "settings": dict(self.config.get("settings") or {}),
        }
        talk.request(plain.introduction(setup), _READY, self.subject.deadline)
        observation = self.config.get("observation", [0.0] * 4)
        for _ in range(_STEPS):
            command = {"cmd": "select_action", "player_id": player, "observation": observation}
            self._select_action(talk, player, space, command)

    def _problem_of_answer(self, answer: Answer, player: str) -> str:
        if answer.get("player_id", player) != player:
            return "the answer is for another agent"
        return "" if "action" in answer else "there is no action"


def operator_checks(subject: Subject) -> Checks:
    """Return the checks of a worker's operators, at their level of the protocol."""
    return (PlainChecks if _is_plain(subject) else OperatorChecks)(subject).checks()


def _is_plain(subject: Subject) -> bool:
    """Return whether operators answer "ping" but not "hello"; False if they answer neither."""
    ping = b'{"cmd":"ping"}\n'  # answered even without "hello", as by an arena's operators
    try:
        with subject.conversation("level", *_MODE, unsolicited=(*_GREETINGS, "error")) as talk:
            hello = encode_line({"cmd": "hello", "protocol": PROTOCOL}, OPERATING_LINE_LIMIT)
            answer = talk.request(hello + ping, ("hello", "pong"), START_SECONDS, "hello")
            return bool(answer["type"] == "pong")
    except CheckFailed:
        return False


def _stop(talk: Conversation, grace: float) -> None:
    talk.request({"cmd": "ping"}, "pong", START_SECONDS)
    talk.request({"cmd": "stop"}, "stopped", START_SECONDS)
    talk.expect_end(0, grace, "after stop")


def problem_of_action(action: Any, space: Mapping[str, Any]) -> str:
    """Return why a value from a message is not an action of a space, "" if it is one."""
    try:
        action_reader(space)(unpack(action))
    except (BadMessage, ValueError) as error:
        return str(error)
    return ""


def zero_of(space: Mapping[str, Any]) -> Any:
    """Return the zero value of a space in the form of messages, even if it is out of bounds."""
    spaces = space.get("spaces")
    if isinstance(spaces, Mapping):
        return {name: zero_of(part) for name, part in spaces.items()}
    if isinstance(spaces, list):
        return [zero_of(part) for part in spaces]
    if space["type"] == "Discrete":
        return space.get("start", 0)
    if "shape" not in space:
        return ""
    width = {"bool": 1, "int8": 1, "uint8": 1}.get(space["dtype"]) or int(space["dtype"][-2:]) // 8
    data = binascii.b2a_base64(bytes(width * math.prod(space["shape"])), newline=False).decode("ascii")
    return {"__ndarray__": {"dtype": space["dtype"], "shape": space["shape"], "data": data}}
