"""Messages between the agents of an arena: sent with an action, delivered before the receiver's next one."""

from __future__ import annotations

from collections import deque
from typing import Any, Mapping, Sequence

from mosaic_contract.arena.calls import Call

EVERYONE = "all"
"""The receiver of a message to all other agents."""
MOST_MESSAGES = 8
"""Of one agent with one action."""
MOST_CHARACTERS = 500
_MOST_KEPT = 64  # for an agent that does not act; the newest


class Mailboxes:
    """Messages that were sent and not delivered yet."""

    def __init__(self, agents: Sequence[str]) -> None:
        self._agents = list(agents)
        self._boxes: dict[str, deque[Mapping[str, Any]]] = {}

    def __contains__(self, agent: str) -> bool:
        return agent in self._boxes

    def clear(self) -> None:
        """Drop all messages, at the beginning of an episode."""
        self._boxes.clear()

    def take(self, agent: str) -> list[Mapping[str, Any]]:
        """Remove and return the messages for an agent, oldest first."""
        return list(self._boxes.pop(agent, ()))

    def collect(self, calls: Sequence[Call], step_index: int) -> None:
        """Take what these calls' answers send. What cannot be delivered is reported in the call's fault
        text."""
        for call in calls:
            if "messages" not in call.answer:
                continue
            call.messages, problems = self._checked(call.agent, call.answer["messages"])
            for message in call.messages:
                for receiver in self._receivers(call.agent, message["to"]):
                    box = self._boxes.setdefault(receiver, deque(maxlen=_MOST_KEPT))
                    box.append({"from": call.agent, "text": message["text"], "step_index": step_index})
            if problems:
                call.fault_text = "; ".join([call.fault_text, *problems] if call.fault_text else problems)

    def _checked(self, sender: str, given: Any) -> tuple[list[dict[str, str]], list[str]]:
        """The messages that can be delivered, and what is wrong with the others."""
        if not isinstance(given, list):
            return [], [f"its messages are not a list: {given!r:.100}"]
        messages, problems = [], []
        for message in given[:MOST_MESSAGES]:
            to, text = (message.get("to"), message.get("text")) if isinstance(message, dict) else (None, None)
            if not (isinstance(to, str) and isinstance(text, str) and text):
                problems.append(f'a message is {{"to": agent, "text": text}}, not {message!r:.100}')
            elif not self._receivers(sender, to):
                others = ", ".join(agent for agent in self._agents if agent != sender) or "no other agents"
                problems.append(f"a message to {to!r:.100} was not delivered: there are {others}")
            else:
                if len(text) > MOST_CHARACTERS:
                    problems.append(f"a message of {len(text)} characters was cut to {MOST_CHARACTERS}")
                messages.append({"to": to, "text": text[:MOST_CHARACTERS]})
        if len(given) > MOST_MESSAGES:
            problems.append(f"{len(given) - MOST_MESSAGES} messages beyond {MOST_MESSAGES} were dropped")
        return messages, problems

    def _receivers(self, sender: str, to: str) -> list[str]:
        return [agent for agent in self._agents if agent != sender and to in (agent, EVERYONE)]
