"""The base class of BALROG's environments: states as text, and the progress of an episode."""

from __future__ import annotations

from typing import Any, ClassVar, Mapping, Sequence

import gymnasium


class TextEnvironment(gymnasium.Env[Any, Any]):
    """An environment that describes its state as text.

    ``action_names`` are the names of discrete actions, by number; None if any string is an action.
    ``aliases`` are additional names of some actions. ``progression`` is the completed fraction of the task, 0
    to 1; the info of every step has it, with "success".
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
        """Return the state as text.

        "long_term_context" stays in a dialog's history, "short_term_context" is shown only while it is the
        latest, and "text" is both. "actions" are the actions by name (None: any string is one), and
        "default_action" replaces a missing one.
        """
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
