"""Chess players: language models in a dialog, and engines."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Unpack, get_args

from mosaic_lab.operators.language import LOCAL, model_operator
from mosaic_lab.operators.model_options import ModelOptions, of_a_model
from mosaic_lab.operators.spec import DEADLINE, Fallback, OperatorSpec, check_arguments
from mosaic_lab.serving import Server
from mosaic_lab.validation import Problems, checked

OnFailure = Literal["forfeit", "random"]

NODES = 50_000
"""The number of positions an engine searches per move if no other limit is given."""

_WORKER = "chess"
_MOST = range(1, 1_001)
_GAMES = "/usr/games"  # where Debian puts engines
_ANSWER_SECONDS = 10.0
_ELO = re.compile(r"option name UCI_Elo .*min (\d+) max (\d+)")


@of_a_model
def chess(
    model: str | Path | Server = LOCAL,
    *,
    max_failures: int = 3,
    max_turns: int = 10,
    on_failure: OnFailure = "forfeit",
    structured: bool = False,
    **options: Unpack[ModelOptions],
) -> OperatorSpec:
    """A language model that plays chess (PettingZoo's chess_v6) in a dialog.

    Before each move it may request the board and its legal moves. Each move starts a new dialog.

    Args:
        model: the name of a model at the endpoint, "local", or the path of a .gguf file; as for `llm`.
        max_failures: replies without a usable action, illegal moves included, after which a dialog fails.
        max_turns: replies without a move after which a dialog fails.
        on_failure: what a failed dialog does: "forfeit" loses the game, "random" plays a legal move drawn
            from the episode's seed (counted among the defaults).
        structured: have the endpoint restrict replies to the dialog's commands and legal moves. Off by
            default: results are not comparable with those of unrestricted models.

    Raises:
        ConfigurationError: all invalid arguments at once.
    """
    problems = Problems()
    settings = check_arguments(
        problems,
        max_failures=(max_failures, _MOST),
        max_turns=(max_turns, _MOST),
        on_failure=(on_failure, get_args(OnFailure)),
        structured=(structured, bool),
    )
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
    """A UCI chess engine, such as Debian's Stockfish (``apt-get install stockfish``).

    At full strength, the same position and limits give the same move. An engine weakened by ``elo`` makes
    random mistakes and cannot be seeded, so its games differ each time.

    Args:
        program: the engine's name on the PATH, or the path of its executable.
        elo: rating to play at, set by the engine's option UCI_Elo (Stockfish 15.1: 1350 to 2850); None for
            full strength.
        nodes: positions to search per move; default: 50,000 without ``depth``.
        depth: plies to search. ``nodes`` and ``depth`` cannot be combined with ``elo``, since the engine
            would not play at that rating.
        name: a display name; default: the program and its rating.
        deadline: seconds for an action, None for no limit.
        fallback: what happens at the deadline; see `OperatorSpec`.

    Raises:
        ConfigurationError: all invalid arguments at once.
    """
    problems = Problems()
    limits = check_arguments(
        problems,
        ("elo", "nodes", "depth"),
        elo=(elo, range(1, 10_001)),
        nodes=(nodes, range(1, 10**12 + 1)),
        depth=(depth, range(1, 201)),
    )
    if not str(program).strip():
        problems.add(
            "", f'program={program!r}: must be the name or the path of an engine, such as "stockfish"'
        )
    if elo is not None and (nodes not in (None, NODES) or depth is not None):
        problems.add(
            "", f"elo={elo!r} with nodes={nodes!r}, depth={depth!r}: give the rating alone, or only limits"
        )
    problems.check()
    if nodes is None and depth is None:
        limits["nodes"] = NODES
    default_name = Path(program).stem + (f" {elo}" if elo is not None else "")
    return OperatorSpec(
        "engine",
        name or default_name,
        _WORKER,
        settings={"program": str(program), **limits},
        deadline=deadline,
        fallback=fallback,
        needs=("description",),
    )


def engine_problem(settings: Mapping[str, Any]) -> str:
    """Return why an engine with these settings cannot play on this machine; empty if it can. With an Elo, the
    program is started to read its range."""
    program, elo = str(settings["program"]), settings["elo"]
    path = shutil.which(program, path=os.pathsep.join([os.environ.get("PATH", os.defpath), _GAMES]))
    if path is None:
        return (
            f"there is no engine {program!r} on this machine: install one (`apt-get install stockfish`), or "
            "give the path of a UCI engine"
        )
    if elo is None:
        return ""
    try:
        output = subprocess.run(
            [path], input="uci\nquit\n", capture_output=True, text=True, timeout=_ANSWER_SECONDS, check=False
        ).stdout
    except (OSError, UnicodeError, subprocess.TimeoutExpired) as error:
        return f"{path} did not start as a UCI engine: {error}"
    match = _ELO.search(output)
    if match is None:
        return f"{program} has no option UCI_Elo: leave elo out, and limit it by nodes or depth"
    low, high = int(match[1]), int(match[2])
    return "" if low <= elo <= high else f"{program} plays at an Elo from {low} to {high}, not at {elo}"
