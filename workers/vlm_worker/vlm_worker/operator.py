"""One agent that acts by a vision model: frames → prompt with images → answer → a legal action."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from mosaic_contract import AgentSetup, ConfigError, Decision
from mosaic_contract.language import LanguageModel, Turn
from mosaic_contract.language.action_chooser import ActionChooser
from mosaic_contract.language.describers import Describer

from .config import PromptSettings
from .images import png_of
from .prompts import step_text, system_text


class VisionOperator:
    """Shows its model the latest frames and requests an action; after an answer without a legal one a second
    time, saying what was wrong; then plays the action that does nothing. Raises `ConfigError` for settings
    that cannot be, and where there is no frame."""

    def __init__(self, setup: AgentSetup) -> None:
        self._settings = PromptSettings.read(setup.settings)
        self._describer = Describer(setup)
        self._chooser = ActionChooser(setup, self._describer.names, self._settings.structured)
        self._game = str(setup.settings.get("env_id") or setup.game_name or "unnamed")
        self._system = system_text(
            self._settings,
            self._describer.rules,
            setup.player_id,
            self._game,
            setup.settings.get("agents"),
            self._chooser.answering,
        )
        self._model = LanguageModel(setup)
        self._frames: deque[bytes] = deque(maxlen=self._settings.images)
        self._note = ""
        self._steps = 0

    def episode_begin(self, seed: int | None, episode_index: int) -> None:
        self._model.begin_episode(seed, episode_index)
        self._frames.clear()
        self._note = ""
        self._steps = 0

    def select_action(
        self,
        observation: Any,
        *,
        action_mask: Any = None,
        info: Mapping[str, Any] | None = None,
        step_index: int | None = None,
        frame: Any = None,
        description: Mapping[str, Any] | None = None,
    ) -> Decision:
        if frame is None:
            raise ConfigError(f"{self._game} gives no picture here, and a vision model acts from pictures")
        step = self._steps if step_index is None else step_index
        self._steps = step + 1
        self._frames.append(png_of(frame, self._settings.max_side))
        options = self._chooser.options(action_mask, info, description)
        text = ""
        if self._settings.text:
            text = self._describer.text(
                observation, info=info, step_index=step, legal_actions=options.names, description=description
            )
        said = step_text(step, len(self._frames), self._note, text, options.text)
        self._model.begin_step(step)
        turns = [Turn("system", self._system), Turn("user", said, tuple(self._frames))]
        choice = self._chooser.choose(self._model, turns, options)
        self._note = choice.note or f"Your last action: {choice.name}."
        return choice.decision()

    def close(self) -> None:
        self._model.close()
