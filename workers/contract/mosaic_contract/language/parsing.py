"""Parsing of a text answer into an action of the space and messages. Strict: only legal actions are accepted.

The action is in the answer's only line of the form `ACTION: go forward`. Without such a line, it is in a
JSON object (`{"action": "go forward"}`) or in `\\boxed{go forward}`, or it is the whole answer. It may be
repeated. Nothing is guessed from a sentence, so that a model that repeats its prompt, or text of the
environment, chooses nothing by accident.
"""

from __future__ import annotations

import contextlib
import json
import re
import string
from typing import Any, Iterator, Mapping, Sequence

from mosaic_contract.action_reader import action_reader
from mosaic_contract.language.exchange import Parsed, TextForm

MESSAGE_LIMIT = 500  # characters, the limit of arenas
MAX_MESSAGES = 8  # per answer

_ACTION = re.compile(r"^[\W_]*action[*_`]*[ \t]*[:：][*_`]*[ \t]*(.*?)[ \t]*$", re.I | re.M)
_MESSAGE = re.compile(
    r"^[\W_]*message[ \t]+(?:to[ \t]+)?([\w.-]+)[*_`]*[ \t]*[:：][*_`]*[ \t]*(.+?)[ \t]*$", re.I | re.M
)
_BOXED = re.compile(r"\\boxed\s*\{\s*(?:\\text\w*\s*\{)?([^{}]*)\}{1,2}")
_OBJECT = re.compile(r"^[ \t]*(?=\{)", re.M)
_BETWEEN_MARKS = re.compile(r"<\|ACTION\|>(.*?)<\|END\|>", re.S)
_SEPARATORS = r"\s,;.!*`\"'"
_REPEATED = re.compile(  # the repeated words begin with another character: otherwise "!!!…" would take ages
    rf"([^{_SEPARATORS}](?:.*?[^{_SEPARATORS}])??)(?:[{_SEPARATORS}]+\1)+[{_SEPARATORS}]*", re.I | re.S
)
_SURROUNDING = " \t\r\n\"'`*_.<>“”‘’«»"
_MAX_FREE_TEXT = 40  # characters of an action in free text, within the tokens of the bundled model's answers
_MAX_QUOTED = 200  # characters of an action quoted in a message


class Actions:
    """The actions of one agent by name, for listing in prompts and for parsing answers.

    `space` is the description of the action space, `names` has a name for each action of a Discrete space.
    Without names, or if two would be the same, actions are named by their numbers.
    """

    def __init__(self, space: Mapping[str, Any], names: Sequence[str] | None = None) -> None:
        self._space_type = space.get("type")
        self._space = space
        self._read = action_reader(space)
        self.discrete = self._space_type == "Discrete"
        self._names: dict[int, str] = {}
        if self.discrete:
            start, count = int(space.get("start", 0)), int(space["n"])
            texts = [" ".join(str(name).split()) for name in names or ()]
            is_named = (
                len(texts) == count
                and len({_plain(name) for name in texts}) == count
                and all(map(_plain, texts))
            )
            self._names = {
                start + index: texts[index] if is_named else str(start + index) for index in range(count)
            }
        self._by_name = {_plain(name): action for action, name in self._names.items()}

    def renamed(self, names: Mapping[str, int]) -> Actions:
        """Return the same actions of a Discrete space, some under these names, such as moves of chess."""
        actions = Actions(self._space)
        actions._names = {**self._names, **{int(action): name for name, action in names.items()}}
        actions._by_name = {_plain(name): int(action) for name, action in names.items()}
        return actions

    def legal(self, mask: Any = None, moves: Any = None) -> list[int]:
        """Return the actions of a Discrete space allowed by a mask or a list of legal moves."""
        actions = list(self._names)
        if mask is not None:
            return [action for action, allowed in zip(actions, mask) if allowed]
        if isinstance(moves, (list, tuple)) or hasattr(moves, "tolist"):
            listed = {move for move in list(moves) if not isinstance(move, str)}
            return [action for action in actions if action in listed] or actions
        return actions

    def texts(self, moves: Any) -> list[str]:
        """Return the actions of a Text space among a list of moves."""
        if self._space_type != "Text" or not isinstance(moves, (list, tuple)):
            return []
        texts = dict.fromkeys(move for move in moves if isinstance(move, str))
        return [text for text in texts if self._is_valid_text(text)]

    @property
    def form(self) -> TextForm | None:
        """The form of the shortest actions of a Text space that are parsed as they are written, if any."""
        min_length = max(1, self._space.get("min_length", 0))
        max_length = min(self._space.get("max_length", _MAX_FREE_TEXT), max(min_length, _MAX_FREE_TEXT))
        characters = "".join(filter(str.isprintable, self._space.get("characters") or string.printable))
        end_characters = "".join(character for character in characters if character not in _SURROUNDING)
        is_text = self._space_type == "Text" and end_characters and min_length <= max_length <= _MAX_QUOTED
        return TextForm(min_length, max_length, characters, end_characters) if is_text else None

    def name(self, action: Any) -> str:
        """Return the name of an action in prompts and on the page."""
        if self.discrete:
            return self._names[action]
        return action if isinstance(action, str) else json.dumps(action, default=lambda array: array.tolist())

    def names(self, legal: Sequence[int]) -> list[str]:
        """Return the names of these actions."""
        return [self._names[action] for action in legal]

    def parse(self, answer: str, legal: Sequence[Any]) -> Parsed:
        """Return the one action in an answer; without one, a fault: "unparsed", "illegal" or "ambiguous".
        `legal` are the currently legal actions of a Discrete space, or known strings of a Text space."""
        texts = _ACTION.findall(answer) or _marked(answer)
        if not texts:
            return self._parse_whole(answer, legal)
        actions = list(map(_stripped, texts))
        if len(set(map(_plain, actions))) > 1:
            return Parsed(None, None, ("ambiguous",))
        if not actions[0]:
            return Parsed(None, None, ("unparsed",))
        for text in (actions[0], *_unwrapped(actions[0]), *_repeated(actions[0])):
            with contextlib.suppress(ValueError, RecursionError):
                return Parsed(self._action(text, legal), text[:_MAX_QUOTED])
        return Parsed(None, None, ("illegal",))

    def _parse_whole(self, answer: str, legal: Sequence[Any]) -> Parsed:
        """Return the action in an answer that is its name, or a known string, and nothing else."""
        actions = self._by_name if self.discrete else {_plain(_stripped(text)): text for text in legal}
        for text in map(_stripped, (answer, *_repeated(answer))):
            action = actions.get(_plain(text))
            if action is not None and action in legal:
                return Parsed(action, text[:_MAX_QUOTED])
            if action is not None:
                return Parsed(None, None, ("illegal",))
        return Parsed(None, None, ("unparsed",))

    def _action(self, text: str, legal: Sequence[int]) -> Any:
        """Return an action by its text. Raises `ValueError` if it is not a legal action."""
        if self.discrete:
            action = self._by_name.get(_plain(text))
            if action is None or action not in legal:
                raise ValueError(f"{text!r:.200} is not a legal action")
            return action
        if self._space_type != "Text":
            return self._read(json.loads(text))
        if not self._is_valid_text(text):
            raise ValueError("the text has a length or characters that the environment does not know")
        return text

    def _is_valid_text(self, text: str) -> bool:
        """Return whether a string is an action of a Text space."""
        characters, length = self._space.get("characters"), len(text)
        has_valid_length = self._space.get("min_length", 0) <= length <= self._space.get("max_length", length)
        return bool(has_valid_length and (not characters or set(text) <= set(characters)))


def _marked(answer: str) -> list[str]:
    """Return the strings marked as an action in an answer: in JSON objects and in LaTeX's boxes."""
    return [*_in_objects(answer), *map(_without_escapes, _BOXED.findall(answer))]


def _unwrapped(text: str) -> list[str]:
    """Return the marked action in an answer that consists of nothing else."""
    boxed = _BOXED.fullmatch(text.strip("$ "))
    return list(map(_stripped, [_without_escapes(boxed[1])] if boxed else _in_objects(text)))


def _without_escapes(text: str) -> str:
    return text.replace("\\_", "_")


def _repeated(text: str) -> list[str]:
    """Return the words that a short text repeats."""
    repeated = _REPEATED.fullmatch(_stripped(text)) if len(text) <= _MAX_QUOTED else None
    return [repeated[1]] if repeated else []


def _in_objects(answer: str) -> Iterator[str]:
    """Yield the "action" of each JSON object that begins and ends a line."""
    end = 0
    for start in (match.end() for match in _OBJECT.finditer(answer)):
        if start < end:  # inside the previous object
            continue
        with contextlib.suppress(ValueError, RecursionError):
            value, end = _JSON.raw_decode(answer, start)
            if not answer[end:].partition("\n")[0].strip("` \t\r"):
                for action in (value[key] for key in value if key.lower() == "action"):
                    yield action if isinstance(action, str) else json.dumps(action)


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object. Raises `ValueError` if a key occurs twice."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


_JSON = json.JSONDecoder(object_pairs_hook=_unique)


def action_text(answer: str) -> str:
    """Return the text of the first action in an answer, "" without one."""
    return next(map(_stripped, _ACTION.findall(answer)), "")[:_MAX_QUOTED]


def messages_in(answer: str, agents: Sequence[str]) -> list[dict[str, str]]:
    """Return the messages {"to", "text"} in an answer, from lines such as `MESSAGE agent_1: text`, to these
    agents or to "all". Messages longer than `MESSAGE_LIMIT` are truncated; those after the first
    `MAX_MESSAGES` are dropped."""
    recipients = {_plain(agent): agent for agent in (*agents, "all")}
    messages = [
        {"to": recipients[_plain(recipient)], "text": text[:MESSAGE_LIMIT]}
        for recipient, text in _MESSAGE.findall(answer)
        if _plain(recipient) in recipients
    ]
    return messages[:MAX_MESSAGES]


def between_marks(answer: str) -> list[str]:
    """Return the strings between the marks of an action, each in one line."""
    return [" ".join(text.split()) for text in _BETWEEN_MARKS.findall(answer)]


def reasoning_in(answer: str) -> str:
    """Return an answer without its action and message lines."""
    return _MESSAGE.sub("", _ACTION.sub("", _BETWEEN_MARKS.sub("", answer))).strip()


def _stripped(text: str) -> str:
    return text.strip(_SURROUNDING)


def _plain(name: str) -> str:
    return " ".join(name.lower().replace("_", " ").split())
