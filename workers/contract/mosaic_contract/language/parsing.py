"""Parsing of a text answer into an action of the space and messages. Strict: only legal actions are accepted.

The action is either in the answer's only line of the form `ACTION: go forward`, or the whole answer. Nothing
is guessed from a sentence, so that a model that repeats its prompt, or text of the environment, chooses
nothing by accident.
"""

from __future__ import annotations

import json
import re
from typing import Any, Mapping, Sequence

from mosaic_contract.action_reader import action_reader
from mosaic_contract.language.exchange import Parsed

MESSAGE_LIMIT = 500  # characters, the limit of arenas
MOST_MESSAGES = 8  # per answer

_ACTION = re.compile(r"^[\W_]*action[*_`]*[ \t]*[:：][*_`]*[ \t]*(.*?)[ \t]*$", re.I | re.M)
_MESSAGE = re.compile(
    r"^[\W_]*message[ \t]+(?:to[ \t]+)?([\w.-]+)[*_`]*[ \t]*[:：][*_`]*[ \t]*(.+?)[ \t]*$", re.I | re.M
)
_AROUND = " \t\r\n\"'`*_.<>“”‘’«»"
_LONGEST = 200  # maximum characters of an action quoted in a message


class Actions:
    """The actions of one agent by name, for listing in prompts and for parsing answers.

    `space` is the description of the action space, `names` has a name for each action of a Discrete space.
    Without names, or if two would be the same, actions are named by their numbers.
    """

    def __init__(self, space: Mapping[str, Any], names: Sequence[str] | None = None) -> None:
        self._kind = space.get("type")
        self._space = space
        self._read = action_reader(space)
        self.discrete = self._kind == "Discrete"
        self._names: dict[int, str] = {}
        if self.discrete:
            start, count = int(space.get("start", 0)), int(space["n"])
            texts = [" ".join(str(name).split()) for name in names or ()]
            named = (
                len(texts) == count
                and len({_plain(name) for name in texts}) == count
                and all(map(_plain, texts))
            )
            self._names = {
                start + index: texts[index] if named else str(start + index) for index in range(count)
            }
        self._by_name = {_plain(name): action for action, name in self._names.items()}

    def called(self, names: Mapping[str, int]) -> Actions:
        """Return the same actions of a Discrete space, some under these names, such as moves of chess."""
        other = Actions(self._space)
        other._names = {**self._names, **{int(action): name for name, action in names.items()}}
        other._by_name = {_plain(name): int(action) for name, action in names.items()}
        return other

    def legal(self, mask: Any = None, moves: Any = None) -> list[int]:
        """Return the actions of a Discrete space allowed by a mask or a list of legal moves."""
        actions = list(self._names)
        if mask is not None:
            return [action for action, allowed in zip(actions, mask) if allowed]
        if isinstance(moves, (list, tuple)) or hasattr(moves, "tolist"):
            listed = {move for move in list(moves) if not isinstance(move, str)}
            return [action for action in actions if action in listed] or actions
        return actions

    def name(self, action: Any) -> str:
        """Return the name of an action in prompts and on the page."""
        if self.discrete:
            return self._names[action]
        return action if isinstance(action, str) else json.dumps(action, default=lambda array: array.tolist())

    def names(self, legal: Sequence[int]) -> list[str]:
        """Return the names of these actions."""
        return [self._names[action] for action in legal]

    def parse(self, answer: str, legal: Sequence[int]) -> Parsed:
        """Return the one action in an answer; without one, a fault: "unparsed", "illegal" or "ambiguous".
        `legal` are the currently legal actions of a Discrete space."""
        actions = list(dict.fromkeys(_stripped(text) for text in _ACTION.findall(answer)))
        if not actions:
            whole = _stripped(answer)
            named = self._by_name.get(_plain(whole)) if self.discrete else None
            if named is None:
                return Parsed(None, None, ("unparsed",))
            actions = [whole]
        if len({_plain(text) for text in actions}) > 1:
            return Parsed(None, None, ("ambiguous",))
        if not actions[0]:
            return Parsed(None, None, ("unparsed",))
        try:
            return Parsed(self._action(actions[0], legal), actions[0][:_LONGEST])
        except (ValueError, RecursionError):
            return Parsed(None, None, ("illegal",))

    def _action(self, text: str, legal: Sequence[int]) -> Any:
        """Return an action by its text. Raises `ValueError` if it is not a legal action."""
        if self.discrete:
            action = self._by_name.get(_plain(text))
            if action is None or action not in legal:
                raise ValueError(f"{text!r:.200} is not a legal action")
            return action
        if self._kind != "Text":
            return self._read(json.loads(text))
        characters, length = self._space.get("characters"), len(text)
        fits = self._space.get("min_length", 0) <= length <= self._space.get("max_length", length)
        if not fits or (characters and not set(text) <= set(characters)):
            raise ValueError("the text has a length or characters that the environment does not know")
        return text


def action_text(answer: str) -> str:
    """Return the text of the first action in an answer, "" without one."""
    return next(map(_stripped, _ACTION.findall(answer)), "")[:_LONGEST]


def messages_in(answer: str, agents: Sequence[str], limit: int = MOST_MESSAGES) -> list[dict[str, str]]:
    """Return the messages {"to", "text"} in an answer, from lines such as `MESSAGE agent_1: text`, to these
    agents or to "all". Messages longer than `MESSAGE_LIMIT` are truncated; those after the first `limit` are
    dropped."""
    recipients = {_plain(agent): agent for agent in (*agents, "all")}
    messages = [
        {"to": recipients[_plain(to)], "text": text[:MESSAGE_LIMIT]}
        for to, text in _MESSAGE.findall(answer)
        if _plain(to) in recipients
    ]
    return messages[:limit]


def reasoning_in(answer: str) -> str:
    """Return an answer without its action and message lines."""
    return _MESSAGE.sub("", _ACTION.sub("", answer)).strip()


def _stripped(text: str) -> str:
    return text.strip(_AROUND)


def _plain(name: str) -> str:
    return " ".join(name.lower().replace("_", " ").split())
