"""Checks of workers that provide environments: their list, an episode, errors, and the ways to end. The suite
is the operator of every agent. It plays the first legal action of Discrete spaces, else zeros."""

from __future__ import annotations

import json
from typing import Any

from mosaic_contract.arrays import unpack
from mosaic_contract.conformance.operator_checks import zero_of
from mosaic_contract.conformance.subject import (
    START_SECONDS,
    Answer,
    CheckFailed,
    Checks,
    Conversation,
    Subject,
    check_ends,
    expect_exit,
    require,
)
from mosaic_contract.messages import PROTOCOL
from mosaic_contract.noop import first_legal

_STEPS = 5
_PARADIGMS = ("single_agent", "parallel", "aec")


class ArenaChecks:
    """Checks of arenas. `environment` of the subject's configuration is the id to play in, else the first
    listed."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.env_id = str(subject.config.get("environment") or "")
        self.lanes = 0

    def checks(self) -> Checks:
        return {
            "environments": self.environments,
            "arena": self.arena,
            "arena errors": self.errors,
            "arena ends": self.ends,
        }

    def environments(self) -> str:
        with self.subject.start("describe", "--describe") as process:
            expect_exit(process, 0, START_SECONDS)
            try:
                ids = [str(name) for name in json.loads(b"\n".join(process.lines()))["environments"]]
            except (ValueError, KeyError, TypeError):
                raise CheckFailed(
                    "one JSON object that lists environments", repr(process.lines())[:500], process
                ) from None
        expected = 'ids of environments, or "environment" in conformance.json'
        require(ids or self.env_id, expected, "none", process)
        self.env_id = self.env_id or ids[0]
        return f"{len(ids)} ids"

    def arena(self) -> str:
        with self.subject.conversation("arena", "--arena", unsolicited=("beat", "thinking")) as talk:
            description = talk.request(self._open(), "opened", self.subject.deadline, f"open {self.env_id}")
            agents = self._agents(description, talk)
            operator = {"command": None, "name": "conformance", "category": "passive"}
            seat = {"cmd": "seat", "operators": {"suite": {**operator, "deadline": None, "fallback": "wait"}}}
            talk.request({**seat, "seats": dict.fromkeys(agents, "suite")}, "seated", START_SECONDS)
            steps = self._episode(talk, description)
            talk.request({"cmd": "close"}, "closed", self.subject.grace)
            talk.expect_end(0, self.subject.grace, "after close")
        return f"{self.env_id}: {description['paradigm']}, {len(agents)} agents, {steps} steps"

    def errors(self) -> str:
        unknown = {**self._open(), "env_id": "no/such-environment-v0"}
        cases = {"an unknown environment": unknown, "an unknown command": {"cmd": "dance"}}
        with self.subject.conversation("arena-errors", "--arena") as talk:
            for label, command in cases.items():
                talk.request_error(command, self.subject.deadline, label)
            talk.request({"cmd": "close"}, "closed", self.subject.grace)
        return f"{len(cases)} kinds answered"

    def ends(self) -> str:
        return check_ends(self.subject, "--arena", self._open, "opened")

    def _open(self) -> dict[str, Any]:
        self.lanes += 1
        folder = self.subject.empty_folder(f"lane-{self.lanes}")
        opening = {"cmd": "open", "protocol": PROTOCOL, "run_id": "conformance", "env_id": self.env_id}
        return {**opening, "settings": {}, "folder": str(folder), "max_steps": _STEPS}

    def _agents(self, description: Answer, talk: Conversation) -> list[str]:
        agents: list[str] = description.get("agents") or []
        spaces = description.get("spaces")
        valid = description.get("paradigm") in _PARADIGMS and agents and isinstance(agents, list)
        talk.require(valid, f"opened with agents, and a paradigm among {_PARADIGMS}", description)
        for agent in agents:
            pair = (spaces or {}).get(agent) or {}
            has_both = all("type" in (pair.get(name) or {}) for name in ("observation", "action"))
            talk.require(has_both, f"descriptions of both spaces of {agent}", spaces)
        return agents

    def _episode(self, talk: Conversation, description: Answer) -> int:
        """Play one episode of at most the requested number of steps. Return the number of steps played."""
        reset = {"cmd": "reset", "seed": 1, "episode_index": 0}
        talk.request(reset, "ready", self.subject.deadline)
        for _ in range(_STEPS):
            answer = talk.request({"cmd": "step"}, ("ask", "stepped"), self.subject.deadline)
            while answer["type"] == "ask":
                space = description["spaces"][answer["agent"]]["action"]
                action = zero_of(space)
                if space["type"] == "Discrete":
                    action = first_legal(space, action, unpack(answer.get("action_mask")), None)
                reply = {"cmd": "answer", "id": answer["id"], "action": action}
                answer = talk.request(reply, ("ask", "stepped"), self.subject.deadline, "the step")
            if answer.get("done"):
                break
        talk.require(answer.get("done"), f"the end of an episode of at most {_STEPS} steps", answer)
        episode = answer.get("episode") or {}
        complete = episode.get("seed") == 1 and episode.get("steps") == answer.get("step_index")
        talk.require(complete, "the episode's seed and steps with its last step", answer)
        return int(episode["steps"])
