"""A language model as an operator: observation → prompt → answer → legal action."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from mosaic_contract.language.action_chooser import ActionChooser
from mosaic_contract.language.budget import text_tokens
from mosaic_contract.language.describers import Describer
from mosaic_contract.language.exchange import Exchange, Turn
from mosaic_contract.language.model import LanguageModel
from mosaic_contract.language.parsing import messages_in
from mosaic_contract.language.prompt_settings import PromptSettings
from mosaic_contract.language.prompts import TEXT, example_turns, step_text, system_text
from mosaic_contract.operators import AgentSetup, Decision

_MAX_HISTORY_CHARS = 200_000


class LanguageOperator:
    """Requests an action from its model. After an answer without a legal action it sends a second request
    that explains the error, then plays the no-op. Raises `ConfigError` for invalid settings."""

    medium = TEXT
    names_teammates = True
    """Whether the default system prompt always lists teammates apart from other agents."""

    def __init__(self, setup: AgentSetup) -> None:
        self._settings = settings = PromptSettings.read(setup.settings)
        self._describer = Describer(setup)
        self._chooser = ActionChooser(setup, self._describer.names, settings)
        self._strategy = self._chooser.strategy
        self.game = str(setup.settings.get("env_id") or setup.game_name or "unnamed")
        self._agent = setup.player_id
        self._other_agents, mates = (
            [str(agent) for agent in setup.settings.get(name) or () if agent != setup.player_id]
            for name in ("agents", "teammates")
        )
        lists_teammates = self.names_teammates or settings != PromptSettings(structured=settings.structured)
        self._system = system_text(
            settings,
            self.medium,
            self._describer,
            setup.player_id,
            self.game,
            self._other_agents,
            mates if self._other_agents and lists_teammates else [],
            self._chooser,
        )
        self._model = LanguageModel(setup)
        steps, self._max_tokens = settings.limits
        self._history: deque[tuple[str, str]] = deque(maxlen=steps)
        self._begin(None)

    def episode_begin(self, seed: int | None, episode_index: int) -> None:
        self._model.begin_episode(seed, episode_index)
        self._history.clear()
        self._begin(seed)

    def _begin(self, seed: int | None) -> None:
        """Reset the state of an episode. Examples with its seed are left out."""
        self._note = self._plan = ""
        self._steps = 0
        self._memory: dict[str, Any] = {}
        examples = self._settings.examples
        if seed is not None:
            examples = [example for example in examples if example.get("seed") != seed]
        self._opening = [Turn("system", self._system), *example_turns(examples, self._chooser)]

    def select_action(
        self,
        observation: Any,
        *,
        action_mask: Any = None,
        info: Mapping[str, Any] | None = None,
        step_index: int | None = None,
        frame: Any = None,
        teammates: Mapping[str, Any] | None = None,
        description: Mapping[str, Any] | None = None,
        messages: Sequence[Mapping[str, Any]] = (),
    ) -> Decision:
        step = self._steps if step_index is None else step_index
        self._steps = step + 1
        images = self.images(frame)
        options = self._chooser.options(action_mask, info, description)
        text = self.text(
            observation,
            info=info,
            step_index=step,
            legal_actions=options.names,
            teammates=teammates,
            description=description,
        )
        views = (
            self._describer.describe_others(teammates, description) if self._settings.theory_of_mind else {}
        )
        turn = step_text(
            step,
            self._note,
            text,
            options.text,
            plan=self._plan if self._strategy.plans else None,
            messages=messages or (),
            teammates=views,
        )
        self._model.begin_step(step)
        turns = [*self._opening, *self._recent_turns(), Turn("user", turn, images)]
        context = {
            "agent": self._agent,
            "info": dict(info or {}),
            "legal_actions": options.names,
            "memory": self._memory,
            "observation": text,
            "step_index": step,
        }
        choice = self._chooser.choose(self._model, turns, options, context)
        self._note = self.note(choice.note, choice.name)
        self._plan = self._strategy.plan(choice.answer, self._plan)
        self._history.append((turn, choice.remembered))
        return choice.decision(self._messages(choice.exchanges) if self._settings.messages else ())

    def text(self, observation: Any, **context: Any) -> str:
        """Return the observation in words."""
        return self._describer.text(observation, **context)

    def images(self, frame: Any) -> Sequence[bytes]:
        """Return the images of this step's turn, as PNG files."""
        return ()

    def note(self, note: str, name: str) -> str:
        """Return the next prompt's remark about the action `name`; `note` is the remark about a default
        action."""
        return note

    def close(self) -> None:
        self._model.close()

    def _messages(self, exchanges: Sequence[Exchange]) -> list[dict[str, str]]:
        """Return the messages in the answers of a step, each once: a repaired answer often repeats those of
        the first."""
        messages: list[dict[str, str]] = []
        for exchange in exchanges:
            in_answer = messages_in(exchange.answer, self._other_agents)
            messages += [message for message in in_answer if message not in messages]
        return messages

    def _recent_turns(self) -> list[Turn]:
        """Return the latest turns within the limits of a prompt. Older ones are left out whole."""
        turns: list[Turn] = []
        length = tokens = 0
        for user_text, answer in reversed(self._history):
            length += len(user_text) + len(answer)
            tokens += text_tokens(user_text) + text_tokens(answer)
            if length > _MAX_HISTORY_CHARS or tokens > (self._max_tokens or tokens):
                break
            turns[:0] = [Turn("user", user_text), Turn("assistant", answer)]
        return turns
