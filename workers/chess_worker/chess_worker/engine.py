"""A UCI engine as a player: its process, strength and moves."""

from __future__ import annotations

import asyncio
import os
import shutil
from dataclasses import replace
from typing import Any, Callable, Mapping, Sequence

import chess
import chess.engine
from mosaic_contract import AgentSetup, ConfigError, Decision
from mosaic_contract.language import LanguageModel, Parsed, Turn
from mosaic_contract.language.exchange import Choices, Reply

from .position import Position

_GAMES = "/usr/games"  # Debian's folder for engines, which is not on every process's PATH
_START_SECONDS = 20.0
_MOVE_SECONDS = 300.0  # maximum duration of a search, besides its limit in nodes or depth
_FIXED = {"Threads": 1, "Hash": 16}  # several threads make the search order nondeterministic
_PACKAGES = {"stockfish": "stockfish"}


class EnginePlayer:
    """Plays an engine's moves. They are recorded and replayed like a model's answers, because a weakened
    engine's moves cannot be seeded. For the settings see `ChessEngine`."""

    def __init__(self, setup: AgentSetup) -> None:
        self._engine: ChessEngine | None = None
        recorded = {"provider": "local", "recording": setup.settings.get("recording")}
        named = replace(setup, settings={"model": str(setup.settings["program"]), **recorded})
        self._moves = LanguageModel(named, lambda: self._make_engine(setup.settings))

    def episode_begin(self, seed: int | None, episode_index: int) -> None:
        self._moves.begin_episode(seed, episode_index)
        if self._engine is not None:
            self._engine.forget()

    def select_action(
        self, observation: Any, *, step_index: int | None = None, description: Mapping[str, Any] | None = None
    ) -> Decision:
        position = Position.described(description)
        self._moves.begin_step(step_index or 0)
        exchange = self._moves.ask(
            [Turn("user", position.board.fen())], lambda move: Parsed(position.legal.get(move), move)
        )
        if exchange.action is None:
            raise RuntimeError(f"{exchange.model} plays {exchange.answer!r:.100}, which is not legal here")
        return Decision(exchange.action, action_str=exchange.answer, reasoning=exchange.reasoning)

    def close(self) -> None:
        self._moves.close()
        if self._engine is not None:
            self._engine.close()

    def _make_engine(self, settings: Mapping[str, Any]) -> ChessEngine:
        self._engine = ChessEngine(settings)
        return self._engine


class ChessEngine:
    """An engine that moves after `nodes` searched positions or at `depth`, whichever comes first. Takes
    positions in Forsyth-Edwards notation and returns moves in UCI notation.

    Settings: "program" (its name or path), "nodes", "depth", and "elo", which weakens an engine that has the
    option UCI_Elo. Its process is started at once, and again if it dies.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._program = _program_path(str(settings["program"]))
        # Without a time limit, python-chess waits indefinitely.
        nodes, depth = settings.get("nodes"), settings.get("depth")
        self._limit = chess.engine.Limit(time=_MOVE_SECONDS, nodes=nodes, depth=depth)
        self._elo: int | None = settings.get("elo")
        self.forget()
        self._engine: chess.engine.SimpleEngine | None = self._start()

    def forget(self) -> None:
        """Begin a new game, clearing the engine's earlier search results."""
        self._game = object()  # python-chess sends a new game to the engine when this object changes

    def complete(
        self, turns: Sequence[Turn], choices: Choices | None, seed: int, show: Callable[[str], None]
    ) -> Reply:
        """Return the move in the position of the last turn, with the engine's report of its search."""
        board = chess.Board(turns[-1].text)
        engine = self._engine = self._engine or self._start()
        try:
            result = engine.play(board, self._limit, game=self._game, info=chess.engine.INFO_ALL)
        except chess.engine.EngineTerminatedError:
            self._engine = None
            raise RuntimeError(f"{self._program} exited unexpectedly; restarting it") from None
        except asyncio.TimeoutError:
            self.close()
            raise RuntimeError(f"{self._program} does not respond; restarting it") from None
        if result.move is None:
            raise RuntimeError(f"{self._program} resigned in a game that has not ended")
        return Reply(
            result.move.uci(),
            engine.id.get("name", self._program),
            reasoning=_search_report(board, result.info),
            input_tokens=0,
            output_tokens=0,
        )

    def close(self) -> None:
        """End the engine's process."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def _start(self) -> chess.engine.SimpleEngine:
        """Start a process of the engine at its strength. Raises `ConfigError`."""
        try:
            engine = chess.engine.SimpleEngine.popen_uci(self._program, timeout=_START_SECONDS)
        except (OSError, chess.engine.EngineError, TimeoutError) as error:
            raise ConfigError(f"{self._program} did not start as a UCI engine: {error}") from None
        try:
            fixed = {name: value for name, value in _FIXED.items() if name in engine.options}
            engine.configure({**fixed, **_strength_options(engine, self._elo)})
        except BaseException:
            engine.close()
            raise
        return engine


def _program_path(program: str) -> str:
    """Return the path of the engine's program. Raises `ConfigError` if it is not found."""
    path = shutil.which(program, path=os.pathsep.join([os.environ.get("PATH", os.defpath), _GAMES]))
    if path is None:
        package = _PACKAGES.get(program)
        hint = f": `apt-get install {package}` installs it" if package else "; give the path of a UCI engine"
        raise ConfigError(f"the engine {program!r} is not installed on this machine{hint}")
    return path


def _strength_options(engine: chess.engine.SimpleEngine, elo: int | None) -> dict[str, Any]:
    """Return the options that limit its strength. Raises `ConfigError` for an unsupported Elo."""
    if elo is None:
        return {}
    name, option = engine.id.get("name", "this engine"), engine.options.get("UCI_Elo")
    if option is None:
        raise ConfigError(f"{name} has no option UCI_Elo: leave elo out, and limit it by nodes or depth")
    if not (option.min or 0) <= elo <= (option.max or elo):
        raise ConfigError(f"{name} plays at an Elo from {option.min} to {option.max}, not at {elo}")
    return {"UCI_LimitStrength": True, "UCI_Elo": elo}


def _search_report(board: chess.Board, info: Mapping[str, Any]) -> str:
    """Return the engine's report of its search as text: "depth 9, +0.34: e2e4 e7e5 g1f3"."""
    parts = [f"depth {info['depth']}"] if "depth" in info else []
    if "score" in info:
        score = info["score"].pov(board.turn)
        parts.append(f"mate in {score.mate()}" if score.is_mate() else f"{score.score() / 100:+.2f}")
    line = " ".join(move.uci() for move in info.get("pv", [])[:6])
    return ", ".join(parts) + (f": {line}" if line else "")
