"""Additional inputs for operators that need them: see `mosaic_contract.Operator`."""

from __future__ import annotations

from collections import deque
from types import MappingProxyType
from typing import Any, Mapping, Sequence

from mosaic_contract.arena.calls import Call
from mosaic_contract.arena.environment_adapters import EnvironmentAdapter
from mosaic_contract.arena.environment_description import EnvironmentDescription
from mosaic_contract.arena.errors import ArenaError
from mosaic_contract.arena.frame_publisher import FramePublisher
from mosaic_contract.arena.operators import ArenaOperator, sendable
from mosaic_contract.arrays import pack

EVERYONE = "all"
"""The recipient of a message to all other agents."""
MAX_MESSAGES = 8
"""Maximum number of messages of one agent per action."""
MAX_CHARACTERS = 500
_MAX_KEPT = 64  # for an agent that does not act; the newest are kept
FRAME, TEAMMATES, DESCRIPTION = "frame", "teammates", "description"
NEEDS = (FRAME, TEAMMATES, DESCRIPTION)

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Mailboxes:
    """Messages that have been sent but not delivered."""

    def __init__(self, agents: Sequence[str]) -> None:
        self._agents = list(agents)
        self._boxes: dict[str, deque[Mapping[str, Any]]] = {}

    def __contains__(self, agent: str) -> bool:
        return agent in self._boxes

    def clear(self) -> None:
        """Drop all messages, at the beginning of an episode."""
        self._boxes.clear()

    def pop(self, agent: str) -> list[Mapping[str, Any]]:
        """Remove and return the messages for an agent, oldest first."""
        return list(self._boxes.pop(agent, ()))

    def collect(self, calls: Sequence[Call], step_index: int) -> None:
        """Collect the messages sent in the answers to calls. Undeliverable messages are reported in a call's
        fault text."""
        for call in calls:
            if "messages" not in call.answer:
                continue
            call.messages, problems = self._validate(call.agent, call.answer["messages"])
            for message in call.messages:
                for receiver in self._receivers(call.agent, message["to"]):
                    box = self._boxes.setdefault(receiver, deque(maxlen=_MAX_KEPT))
                    box.append({"from": call.agent, "text": message["text"], "step_index": step_index})
            if problems:
                call.fault_text = "; ".join([call.fault_text, *problems] if call.fault_text else problems)

    def _validate(self, sender: str, outgoing: Any) -> tuple[list[dict[str, str]], list[str]]:
        """Return the deliverable messages, and the problems of the others."""
        if not isinstance(outgoing, list):
            return [], [f"its messages are not a list: {outgoing!r:.100}"]
        messages, problems = [], []
        for message in outgoing[:MAX_MESSAGES]:
            fields = message if isinstance(message, dict) else {}
            receiver, text = fields.get("to"), fields.get("text")
            if not (isinstance(receiver, str) and isinstance(text, str) and text):
                problems.append(f'a message must be {{"to": agent, "text": text}}, not {message!r:.100}')
            elif not self._receivers(sender, receiver):
                receivers = ", ".join(agent for agent in self._agents if agent != sender) or "no other agents"
                problems.append(f"a message to {receiver!r:.100} was not delivered: there are {receivers}")
            else:
                if len(text) > MAX_CHARACTERS:
                    problems.append(f"a message of {len(text)} characters was cut to {MAX_CHARACTERS}")
                messages.append({"to": receiver, "text": text[:MAX_CHARACTERS]})
        if len(outgoing) > MAX_MESSAGES:
            problems.append(f"{len(outgoing) - MAX_MESSAGES} messages beyond {MAX_MESSAGES} were dropped")
        return messages, problems

    def _receivers(self, sender: str, receiver: str) -> list[str]:
        return [agent for agent in self._agents if agent != sender and receiver in (agent, EVERYONE)]


class Hints:
    """The additional inputs provided by one environment. Values are packed for messages."""

    def __init__(
        self, environment: EnvironmentAdapter, description: EnvironmentDescription, frames: FramePublisher
    ) -> None:
        self._environment = environment
        self._description = description
        self._frames = frames
        self._frame: Any = None
        self.mailboxes = Mailboxes(environment.agents)

    def check(self, operator: ArenaOperator) -> None:
        """Raise `ArenaError` for an operator with needs that this environment cannot meet."""
        if unknown := [need for need in operator.needs if need not in NEEDS]:
            text = f"{operator.name} needs {unknown[0]!r}: an arena sends {', '.join(NEEDS)}"
        elif FRAME in operator.needs and self._frames.render_problem:
            text = f"{operator.name} needs pictures: {self._frames.render_problem}"
        else:
            return
        raise ArenaError(text, operator=operator.key, error_type="ConfigError")

    def begin_step(self) -> None:
        """Discard the frame of the previous step."""
        self._frame = None

    def gather(self, agent: str, operator: ArenaOperator) -> Mapping[str, Any]:
        """Return the current inputs for an operator. Raises `ArenaError` if the environment's code fails."""
        if operator.plain or not (operator.needs or agent in self.mailboxes):
            return _NOTHING
        hints: dict[str, Any] = {}
        if FRAME in operator.needs:
            hints[FRAME] = self._render(operator)
        if TEAMMATES in operator.needs:
            present, observe = self._environment.present_agents(), self._environment.observe
            hints[TEAMMATES] = {
                teammate: pack(observe(teammate).observation)
                for teammate in self._description.teammates(agent)
                if teammate in present
            }
        if DESCRIPTION in operator.needs:
            hints[DESCRIPTION] = self.describe_state(agent)
        if agent in self.mailboxes:
            hints["messages"] = self.mailboxes.pop(agent)
        return hints

    def mission(self, agent: str) -> Mapping[str, str]:
        """Return the mission contained in an observation, as in MiniGrid; empty without one."""
        observation = self._environment.observe(agent).observation
        mission = observation.get("mission") if isinstance(observation, Mapping) else None
        return {"mission": mission} if isinstance(mission, str) else {}

    def _render(self, operator: ArenaOperator) -> Any:
        if self._frame is None:
            try:
                self._frame = pack(self._frames.frame())
            except Exception as error:  # environments raise arbitrary exceptions
                raise ArenaError.of_environment(
                    f"{operator.name} needs pictures, and this environment cannot be rendered", error
                ) from error
        return self._frame

    def describe_state(self, agent: str) -> Mapping[str, Any] | None:
        """Return the state as known to this agent; None if the environment has no description. Raises
        `ArenaError`."""
        describe = self._description.facts[agent].describe
        if describe is None:
            return None
        try:
            return sendable(describe())
        except Exception as error:  # workers and environments raise arbitrary exceptions
            raise ArenaError.of_environment(f"the state cannot be described to {agent}", error) from error
