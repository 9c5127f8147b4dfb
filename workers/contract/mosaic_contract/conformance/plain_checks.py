"""Checks of operators that support only the plain protocol: a conversation, errors, and the ways to end."""

from __future__ import annotations

import signal
from typing import Any, Callable, Mapping

from mosaic_contract.arena import plain
from mosaic_contract.codec import OPERATING_LINE_LIMIT, encode_line
from mosaic_contract.conformance.conversation import Conversation, conversation
from mosaic_contract.conformance.operator_checks import problem_of_action
from mosaic_contract.conformance.subject import START_SECONDS, CheckFailed, Subject
from mosaic_contract.messages import PROTOCOL

PLAIN = "plain "
"""Prefix of the names of these checks."""

_STEPS = 5
_MODE = ("--interactive", "--run-id", "conformance")
_GREETINGS = ("init", "ready")
_GAME = "CartPole-v1"
_OBSERVATIONS = {"type": "Box", "shape": [4], "dtype": "float32", "low": -5.0, "high": 5.0}
_ACTIONS = {"type": "Discrete", "shape": [], "dtype": "int64", "n": 2, "start": 0}


def is_plain(subject: Subject) -> bool:
    """Return whether operators answer "ping" but not "hello"; False if they answer neither."""
    ping = b'{"cmd":"ping"}\n'  # answered even without "hello", as by an arena's operators
    try:
        with conversation(subject, "level", *_MODE, unsolicited=(*_GREETINGS, "error")) as talk:
            hello = encode_line({"cmd": "hello", "protocol": PROTOCOL}, OPERATING_LINE_LIMIT)
            answer = talk.request(hello + ping, ("hello", "pong"), START_SECONDS, "hello")
            return bool(answer["type"] == "pong")
    except CheckFailed:
        return False


class PlainChecks:
    """Checks with an agent of CartPole-v1, which a worker may make to learn its actions. `operate` of the
    subject's configuration may override this: `game_name`, `observation_space`, `action_space`, `settings`,
    `observation`."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.wanted = dict(subject.config.get("operate") or {})

    def checks(self) -> dict[str, Callable[[], str]]:
        return {f"{PLAIN}operating": self.operating, f"{PLAIN}errors": self.errors, f"{PLAIN}ends": self.ends}

    def operating(self) -> str:
        with self._talk("operating") as talk:
            for number in range(2):  # a second agent, or the same one again
                self._agent(talk, f"agent_{number}")
            talk.request({"cmd": "ping"}, "pong", START_SECONDS)
            talk.request({"cmd": "stop"}, "stopped", START_SECONDS)
            talk.expect_end(0, self.subject.grace, "after stop")
        return f"{self._game}, {_STEPS} steps each"

    def errors(self) -> str:
        with self._talk("errors") as talk:
            answer = talk.request({"cmd": "dance"}, "error", START_SECONDS, "an unknown command")
            if not (answer.get("message") and isinstance(answer["message"], str)):
                raise CheckFailed("an error with a message (an unknown command)", repr(answer), talk.process)
            talk.request({"cmd": "ping"}, "pong", START_SECONDS, "after an unknown command")
        return "an unknown command is answered"

    def ends(self) -> str:
        with self._talk("end-of-input") as talk:
            talk.request({"cmd": "ping"}, "pong", START_SECONDS)
            talk.close_input()
            talk.expect_end(0, self.subject.grace, "at the end of stdin")
        with self._talk("SIGTERM") as talk:
            talk.request({"cmd": "ping"}, "pong", START_SECONDS)
            talk.process.signal(signal.SIGTERM)
            if not talk.process.wait(self.subject.grace):
                raise CheckFailed(
                    f"its end within {self.subject.grace:g} s of SIGTERM", "still running", talk.process
                )
        return "at the end of stdin, and by SIGTERM"

    @property
    def _game(self) -> str:
        return str(self.wanted.get("game_name", _GAME))

    def _talk(self, name: str) -> Any:
        return conversation(self.subject, f"plain-{name}", *_MODE, unsolicited=_GREETINGS)

    def _agent(self, talk: Conversation, player: str) -> None:
        space = self.wanted.get("action_space", _ACTIONS)
        about = {
            "cmd": "init_agent",
            "game_name": self._game,
            "player_id": player,
            "observation_space": self.wanted.get("observation_space", _OBSERVATIONS),
            "action_space": space,
            "settings": dict(self.wanted.get("settings") or {}),
        }
        ready = ("agent_ready", "agent_initialized")
        talk.request(plain.introduction(about), ready, self.subject.deadline)
        for _ in range(_STEPS):
            answer = talk.request(self._question(player), "action_selected", self.subject.deadline)
            if problem := self._problem(answer, player, space):
                raise CheckFailed(
                    f"an action for {player} in {dict(space)}", f"{problem}: {answer!r:.500}", talk.process
                )

    def _question(self, player: str) -> dict[str, Any]:
        observation = self.wanted.get("observation", [0.0] * 4)
        return {"cmd": "select_action", "player_id": player, "observation": observation}

    def _problem(self, answer: Mapping[str, Any], player: str, space: Mapping[str, Any]) -> str:
        if answer.get("player_id", player) != player:
            return "the answer is for another agent"
        if "action" not in answer:
            return "there is no action"
        return problem_of_action(answer["action"], space)
