"""Players of chess: language models in a dialog, and engines. Nothing is started here.

Crosses the boundary: `chess` and `engine`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Unpack, get_args

from mosaic_lab.keywords import checked
from mosaic_lab.operators.argument_checks import one_of, true_or_false, whole
from mosaic_lab.operators.language import LOCAL, ModelOptions, model_operator, of_a_model
from mosaic_lab.operators.spec import DEADLINE, Fallback, OperatorSpec
from mosaic_lab.problems import Problems

OnFailure = Literal["forfeit", "random"]

NODES = 50_000
"""Positions that an engine searches for a move where nothing else limits it."""

_WORKER = "chess"
_MOST = 1_000


@of_a_model
def chess(
    model: str | Path = LOCAL,
    *,
    max_failures: int = 3,
    max_turns: int = 10,
    on_failure: OnFailure = "forfeit",
    structured: bool = False,
    **options: Unpack[ModelOptions],
) -> OperatorSpec:
    """A language model that plays chess (PettingZoo's chess_v6) in a dialog: before each move it may request
    the board and its legal moves. Nothing of one move's dialog is left in the next.

    Args:
        model: the endpoint's name of a model, "local", or the path of a .gguf file; as for `llm`.
        max_failures: a dialog has failed after so many replies without a usable action, illegal moves among
            them.
        max_turns: and after so many replies without a move.
        on_failure: what a failed dialog does: "forfeit" loses the game, "random" plays a legal move drawn
            from the episode's seed (counted among the defaults).
        structured: have the endpoint restrict replies to those that are understood, with legal moves only.
            Off by default, because results with it do not compare with those of models that are not
            restricted.

    Raises:
        ConfigurationError: what was given cannot be; all of it is said at once.
    """
    problems = Problems()
    whole(problems, "max_failures", max_failures, 1, _MOST)
    whole(problems, "max_turns", max_turns, 1, _MOST)
    one_of(problems, "on_failure", on_failure, get_args(OnFailure))
    true_or_false(problems, "structured", structured)
    settings: dict[str, Any] = {
        "max_failures": max_failures,
        "max_turns": max_turns,
        "on_failure": on_failure,
        "structured": structured,
    }
    return model_operator("llm", _WORKER, model, options, settings, problems, ("description",))


@checked
def engine(
    program: str | Path = "stockfish",
    *,
    elo: int | None = None,
    nodes: int | None = None,
    depth: int | None = None,
    name: str | None = None,
    deadline: float | None = DEADLINE,
    fallback: Fallback = "wait",
) -> OperatorSpec:
    """A chess engine that speaks UCI, such as Debian's Stockfish (``apt-get install stockfish``).

    At full strength the same position and limits give the same move. An engine that is weakened by ``elo``
    draws its mistakes at random, and from no seed that could be given to it: its games differ each time.

    Args:
        program: the engine's name on the PATH, or the path of its program.
        elo: play at this rating, by the engine's own option UCI_Elo (Stockfish 15.1: 1350 to 2850); None for
            full strength.
        nodes: positions searched for a move; by default 50,000 where there is no ``depth``.
        depth: plies searched for a move.
        name: what to call it; by default the program and its rating.
        deadline: seconds for an action, None for no limit.
        fallback: what is done at the deadline; see `OperatorSpec`.

    Raises:
        ConfigurationError: what was given cannot be; all of it is said at once.
    """
    problems = Problems()
    for limit, value, most in (("elo", elo, 10_000), ("nodes", nodes, 10**12), ("depth", depth, 200)):
        if value is not None:
            whole(problems, limit, value, 1, most)
    if not str(program).strip():
        problems.add("", f'program={program!r}: give the name or the path of an engine, such as "stockfish"')
    problems.check()
    if nodes is None and depth is None:
        nodes = NODES
    called = Path(program).stem + (f" {elo}" if elo is not None else "")
    return OperatorSpec(
        "engine",
        name or called,
        _WORKER,
        settings={"program": str(program), "elo": elo, "nodes": nodes, "depth": depth},
        deadline=deadline,
        fallback=fallback,
        needs=("description",),
    )
