"""The base class of BALROG's environments: states as text, and the progress of an episode."""

from __future__ import annotations

from typing import Any, ClassVar, Mapping, Sequence

import gymnasium


class TextEnvironment(gymnasium.Env[Any, Any]):
    """An environment that describes its state as text.

    ``action_names`` are the names of discrete actions, by number; None where any text is an action.
    ``aliases`` are further names of some of them. ``progression`` is the completed fraction of the task, 0 to
    1: it is in the info of every step, beside "success".
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"]}
    render_mode: str | None = "rgb_array"
    action_names: Sequence[str] | None = None
    aliases: Mapping[str, int] = {}
    default_action = ""
    instructions = ""
    long_term = short_term = ""
    progression = 0.0

    def description(self) -> dict[str, Any]:
        """Return what the state looks like in words: "long_term_context", which stays in a dialog's history,
        "short_term_context", which is shown while it is the latest, both as "text"; the "actions" by name
        (None: any text is one) and the "default_action", played in place of none."""
        return {
            "text": "\n\n".join(filter(None, (self.long_term, self.short_term))),
            "long_term_context": self.long_term,
            "short_term_context": self.short_term,
            "actions": self._actions(),
            "default_action": self.default_action,
        }

    def _actions(self) -> dict[str, int] | None:
        if self.action_names is None:
            return None
        return {**self.aliases, **{name: number for number, name in enumerate(self.action_names)}}

    def progress_info(self) -> dict[str, Any]:
        """Return the progress and success of the episode, for the info of a step."""
        return {"progression": self.progression, "success": self.progression >= 1.0}
