"""BALROG's agents as operators: observation in, the model's or the default action out.

The dialog, the parsing of answers and the handling of invalid actions follow BALROG; the model, its recording
and its budget come from the contract.
"""

from __future__ import annotations

import io
from typing import Any, Mapping

from mosaic_contract import AgentSetup, ConfigError, Decision
from mosaic_contract.language.balrog import AGENTS, DIVIDER, AgentAnswer
from mosaic_contract.language.describers import Describer
from mosaic_contract.language.exchange import Parsed, Turn
from mosaic_contract.language.model import LanguageModel

from .demonstrations import demonstration_turns, load
from .games import BEGIN, LEARN, Game, game_of, grid_game
from .grid_text import grid_lines
from .history import History, HistoryLimits


class BalrogOperator:
    """One agent. Settings besides the model's: agent, max_text_history, max_image_history, max_cot_history,
    max_icl_history, feedback_on_invalid_action, demonstrations, icl_episodes.

    Raises `ConfigError` for an unknown agent, and for demonstrations that cannot be read.
    """

    def __init__(self, setup: AgentSetup) -> None:
        settings = setup.settings
        name = str(settings.get("agent", "naive"))
        if name not in AGENTS:
            raise ConfigError(f"agent={name!r}: BALROG has {', '.join(AGENTS)}")
        self._setup = setup
        self._describer = Describer(setup)
        self._agent = AGENTS[name]
        self._limits = HistoryLimits(
            int(settings.get("max_text_history", 16)),
            int(settings.get("max_image_history", 0)),
            int(settings.get("max_cot_history", 1)),
        )
        self._feedback = bool(settings.get("feedback_on_invalid_action", True))
        self._max_demonstrated = int(settings.get("max_icl_history", 1000))
        self._episodes = load(settings) if self._agent.learns else []
        self._icl_episodes = int(settings.get("icl_episodes", 1))
        self._model = None if name == "dummy" else LanguageModel(setup)
        self._start(None)

    def episode_begin(self, seed: int | None, episode_index: int) -> None:
        self._start(seed)
        if self._model is not None:
            self._model.begin_episode(seed, episode_index)

    def _start(self, seed: int | None) -> None:
        """Clear the last episode."""
        self._seed = seed
        self._steps = 0
        self._history = History(self._limits)
        self._game: Game | None = None
        self._opening: list[Turn] = []
        self._answer: AgentAnswer | None = None
        self._default_played = ""
        self._plan: str | None = None

    def select_action(
        self,
        observation: Any,
        *,
        step_index: int | None = None,
        description: Mapping[str, Any] | None = None,
        frame: Any = None,
    ) -> Decision:
        long_term, short_term = self._texts(observation, description)
        if self._game is None:
            self._begin(observation, description)
        game = self._game
        assert game is not None
        if self._model is None:
            return self._dummy(game)
        if self._answer is not None:
            self._history.act(self._answer.candidate)
        image = png(frame) if self._limits.image and frame is not None else None
        self._history.observe(self._with_feedback(long_term), short_term, image)
        return self._ask(game, self._steps if step_index is None else step_index)

    def close(self) -> None:
        if self._model is not None:
            self._model.close()

    def _begin(self, observation: Any, description: Mapping[str, Any] | None) -> None:
        if _is_grid(observation) and not (description or {}).get("actions"):
            self._game = grid_game(str(observation["mission"]))
        else:
            self._game = game_of(self._setup, self._describer, description or {})
        self._opening = [Turn("user", self._game.opening(LEARN if self._agent.learns else BEGIN))]
        if self._agent.learns:
            candidates = [
                episode for episode in self._episodes if episode.seed is None or episode.seed != self._seed
            ]
            chosen = candidates[: self._icl_episodes]
            self._opening += demonstration_turns(chosen, self._max_demonstrated)

    def _ask(self, game: Game, step_index: int) -> Decision:
        assert self._model is not None
        self._model.begin_step(step_index)
        *earlier, current = [*self._opening, *self._history.turns()]
        request = f"{current.text}{DIVIDER}{self._instructions()}"
        turns = [*earlier, Turn(current.role, request, current.images)]
        exchange = self._model.ask(turns, lambda answer: self._parse(game, answer), last=True)
        self._steps += 1
        reading = self._answer = self._agent.read(exchange.answer.strip())
        if self._agent.remembers and reading.reasoning is not None:
            self._history.reason(reading.reasoning)
        if reading.plan is not None:
            self._plan = reading.plan
        name = reading.candidate if exchange.action is not None else game.default
        self._default_played = game.default if exchange.action is None else ""
        return Decision(
            exchange.action if exchange.action is not None else _action(game, game.default),
            action_str=str(name),
            reasoning=exchange.reasoning or reading.reasoning or "",
            input_tokens=exchange.input_tokens or 0,
            output_tokens=exchange.output_tokens or 0,
            exchanges=[exchange.to_dict()],
        )

    def _instructions(self) -> str:
        """Return the text that follows the current observation."""
        if not self._agent.plans:
            return self._agent.instructions
        plan = f"Your plan so far:\n{self._plan}" if self._plan else "You have no plan so far."
        return f"{plan}\n\n{self._agent.instructions}"

    def _parse(self, game: Game, answer: str) -> Parsed:
        candidate = self._agent.read(answer.strip()).candidate
        if candidate and (game.actions is None or candidate in game.actions):
            return Parsed(_action(game, candidate), candidate)
        return Parsed(None, None, ("unparsed",))

    def _with_feedback(self, text: str) -> str:
        if not (self._default_played and self._feedback):
            return text
        return (
            "Your last answer named no valid action, so this one was played in its place:"
            f" {self._default_played}\n\nObservation:\n{text}"
        )

    def _dummy(self, game: Game) -> Decision:
        """Return the decision of BALROG's dummy agent, which always names the same action, valid or not."""
        candidate = str(self._agent.read("").candidate)
        valid = game.actions is None or candidate in game.actions
        name = candidate if valid else game.default
        return Decision(_action(game, name), action_str=name, reasoning=f'"{candidate}", as always')

    def _texts(self, observation: Any, description: Mapping[str, Any] | None) -> tuple[str, str]:
        """Return an observation's long-term and short-term text."""
        described = description or {}
        if "long_term_context" in described:
            return str(described["long_term_context"]), str(described.get("short_term_context", ""))
        if _is_grid(observation):
            return grid_lines(observation["image"]), ""
        return self._describer.text(observation, description=description), ""


def png(frame: Any) -> bytes:
    """Return a frame, (H, W, 3) uint8, as a PNG file."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(frame).save(file, format="PNG")
    return file.getvalue()


def _action(game: Game, name: str) -> Any:
    return name if game.actions is None else game.actions[name]


def _is_grid(observation: Any) -> bool:
    return isinstance(observation, Mapping) and {"image", "mission"} <= observation.keys()
