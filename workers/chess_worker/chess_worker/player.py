"""A language model as a chess player: one dialog per move."""

from __future__ import annotations

import random
from typing import Any, Mapping, Sequence

from mosaic_contract import AgentSetup, ConfigError, Decision
from mosaic_contract.language import Exchange, LanguageModel

from .dialog import Dialog, DialogLimits
from .position import Position

FORFEIT, RANDOM = "forfeit", "random"


class ModelPlayer:
    """Plays by dialogs with a model.

    Settings besides the model's: "max_failures" and "max_turns" (see `DialogLimits`), "on_failure"
    ("forfeit", or "random": a legal move drawn from the episode's seed), "structured" (restricts replies to
    valid ones).
    """

    def __init__(self, setup: AgentSetup) -> None:
        settings, usual = setup.settings, DialogLimits()
        self._on_failure = settings.get("on_failure", FORFEIT)
        if self._on_failure not in (FORFEIT, RANDOM):
            raise ConfigError(f'on_failure must be "{FORFEIT}" or "{RANDOM}", not {self._on_failure!r:.100}')
        self._limits = DialogLimits(
            settings.get("max_failures", usual.max_failures), settings.get("max_turns", usual.max_turns)
        )
        self._structured = bool(settings.get("structured"))
        self._generator = random.Random(setup.seed)
        self._model = LanguageModel(setup)

    def episode_begin(self, seed: int | None, episode_index: int) -> None:
        if seed is not None:
            self._generator = random.Random(seed)
        self._model.begin_episode(seed or 0, episode_index)

    def select_action(
        self, observation: Any, *, step_index: int | None = None, description: Mapping[str, Any] | None = None
    ) -> Decision:
        position = Position.described(description)
        self._model.begin_step(step_index or 0)
        dialog = Dialog(position, self._limits)
        exchanges: list[Exchange] = []
        while dialog.move is None and not dialog.failure:
            exchange = self._model.ask(
                dialog.turns,
                dialog.read,
                choices=dialog.choices if self._structured else None,
                repair=dialog.repairs,
                last=dialog.is_last and self._on_failure == RANDOM,
            )
            dialog.apply(exchange.answer, exchange.action)
            exchanges.append(exchange)
        return self._decision(position, dialog, exchanges)

    def close(self) -> None:
        self._model.close()

    def _decision(self, position: Position, dialog: Dialog, exchanges: Sequence[Exchange]) -> Decision:
        report: dict[str, Any] = {
            "reasoning": "\n".join(
                dict.fromkeys(exchange.reasoning or exchange.answer for exchange in exchanges)
            ),
            "input_tokens": sum(exchange.input_tokens or 0 for exchange in exchanges),
            "output_tokens": sum(exchange.output_tokens or 0 for exchange in exchanges),
            "exchanges": [exchange.to_dict() for exchange in exchanges],
        }
        if dialog.move is not None:
            return Decision(position.legal[dialog.move], dialog.move, **report)
        if self._on_failure == FORFEIT:
            return Decision(None, forfeit=dialog.failure, **report)
        move = self._generator.choice(sorted(position.legal))
        return Decision(position.legal[move], f"{move} (at random: {dialog.failure})", **report)
