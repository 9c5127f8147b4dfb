"""Environments that can begin at a position given as text: PettingZoo's board games, MiniGrid's grids. The
reset of the environment itself is extended, so that observations, turns and pictures are its own."""

from __future__ import annotations

import functools
import textwrap
from importlib import import_module
from typing import Any, Callable, Mapping, Sequence

from mosaic_contract.errors import ConfigError

_FIRST, _SECOND, _EMPTY = "X", "O", "."
_UNFINISHED = -2  # of `game_status` in tic-tac-toe


def begin_at(env: Any, env_id: str, position: str) -> None:
    """Let each reset of an environment begin at a position. Raises `ConfigError` for an impossible
    position."""
    inner = env.unwrapped
    bases = {f"{kind.__module__}.{kind.__name__}" for kind in type(inner).__mro__}
    for name, (_, set_up) in _SET_UPS.items():
        if name in bases:
            try:
                set_up(inner, position)
            except ConfigError as error:
                raise ConfigError(f"start of {env_id}: {error}") from None
            return
    forms = "; ".join(form for form, _ in _SET_UPS.values())
    raise ConfigError(
        f"{env_id} cannot begin at a position given as text. It can begin after actions already played, "
        f"start=[…]. Positions can be given in {forms}"
    )


def _after_reset(inner: Any, set_board: Callable[[], None], second_moves: bool) -> None:
    """Extend a board game's reset by the position, in which the first or the second player moves."""
    reset = inner.reset

    @functools.wraps(reset)
    def reset_there(seed: int | None = None, options: Any = None) -> Any:
        returned = reset(seed=seed, options=options)
        set_board()
        if second_moves:
            inner.agent_selection = inner._agent_selector.next()
        return returned

    inner.reset = reset_there


# -------------------------------------------------------------------- board games


def _chess(inner: Any, fen: str) -> None:
    chess: Any = import_module("chess")
    utilities: Any = import_module("pettingzoo.classic.chess.chess_utils")
    numpy = import_module("numpy")
    fen = " ".join(fen.split())
    try:
        board = chess.Board(fen)
    except ValueError as error:
        raise ConfigError(f"{fen!r:.200} is not a FEN: {error}") from None
    if faults := board.status():
        names = ", ".join(
            str(fault.name).lower().replace("_", " ") for fault in chess.Status if fault & faults
        )
        raise ConfigError(f"{fen!r} is not a legal position: {names}")
    if board.is_game_over(claim_draw=True):
        raise ConfigError(f"the game is over in {fen!r}: {board.result(claim_draw=True)}")

    def set_board() -> None:
        inner.board = chess.Board(fen)
        planes = utilities.get_observation(inner.board, player=0)
        inner.board_history = numpy.dstack((planes[:, :, 7:], inner.board_history[:, :, :-13]))

    _after_reset(inner, set_board, board.turn == chess.BLACK)


def _connect_four(inner: Any, text: str) -> None:
    rows, second_moves = _board(text, 6, 7)
    cells = [cell for row in rows for cell in row]
    if any(cells[index] and not cells[index + 7] for index in range(35)):
        raise ConfigError("a piece of the board has an empty cell below it")
    inner.reset()
    inner.board = list(cells)
    for agent in list(inner.agents):
        inner.agent_selection = agent  # upstream looks for a line of this player
        if inner.check_for_winner() or all(cells):
            raise ConfigError("the game is over on this board")

    _after_reset(inner, lambda: setattr(inner, "board", list(cells)), second_moves)


def _tic_tac_toe(inner: Any, text: str) -> None:
    rows, second_moves = _board(text, 3, 3)
    squares = [rows[index % 3][index // 3] for index in range(9)]  # upstream counts down the columns
    inner.board.squares = list(squares)
    if inner.board.game_status() != _UNFINISHED:
        raise ConfigError("the game is over on this board")

    _after_reset(inner, lambda: setattr(inner.board, "squares", list(squares)), second_moves)


def _board(text: str, height: int, width: int) -> tuple[list[list[int]], bool]:
    """Return a drawn board as numbers (0: empty, 1, 2), and whether it is the second player's turn."""
    lines = ["".join(line.split()).upper() for line in text.strip().splitlines()]
    if len(lines) != height or any(len(line) != width or set(line) - set("XO.") for line in lines):
        raise ConfigError(
            f"the board must be {height} lines of {width} cells, {_FIRST} of the first player, {_SECOND} of "
            f"the second and {_EMPTY} for empty ones; got {text.strip()!r:.200}"
        )
    first, second = (sum(line.count(mark) for line in lines) for mark in (_FIRST, _SECOND))
    if first - second not in (0, 1):
        raise ConfigError(
            f"{_FIRST} begins and the players take turns: it has as many pieces as {_SECOND}, or one more, "
            f"not {first} and {second}"
        )
    numbers = {_EMPTY: 0, _FIRST: 1, _SECOND: 2}
    return [[numbers[mark] for mark in line] for line in lines], first > second


# ----------------------------------------------------------------------- MiniGrid

_HEADINGS = {">>": 0, "VV": 1, "<<": 2, "^^": 3}
_COLOURS = {"R": "red", "G": "green", "B": "blue", "P": "purple", "Y": "yellow", "g": "grey"}
_OBJECTS: Mapping[str, tuple[str, Mapping[str, bool]]] = {
    "F": ("Floor", {}),
    "K": ("Key", {}),
    "A": ("Ball", {}),
    "B": ("Box", {}),
    "D": ("Door", {}),
    "L": ("Door", {"is_locked": True}),
}
_FIXED: Mapping[str, tuple[str, tuple[Any, ...]]] = {
    "WG": ("Wall", ()),
    "GG": ("Goal", ()),
    "VR": ("Lava", ()),
    "__": ("Door", ("grey", True)),
}
_CELLS = (
    "two characters a cell, as print(env.unwrapped) writes them: WG walls, GG the goal, VR lava, __ an open "
    "door; F floor, K key, A ball, B box, D closed and L locked door with their colour (R, G, B, P, Y, or g "
    "for grey), such as KY; >> VV << ^^ the agent; empty cells are spaces or .."
)


def _grid(inner: Any, text: str) -> None:
    lines = textwrap.dedent(text).strip("\n").splitlines()
    width = max((len(line.rstrip()) + 1) // 2 for line in lines) if lines else 0
    rows = [_cells(line, width) for line in lines]
    agents = [(x, y) for y, row in enumerate(rows) for x, cell in enumerate(row) if cell in _HEADINGS]
    if width < 3 or len(rows) < 3 or len(agents) != 1:
        raise ConfigError(
            f"the layout must be 3×3 cells or more with one agent ({' '.join(_HEADINGS)}), not "
            f"{width}×{len(rows)} with {len(agents)}. Each cell has two characters"
        )
    borders = [*rows[0], *rows[-1], *(row[0] for row in rows), *(row[-1] for row in rows)]
    if "  " in borders or any(cell in _HEADINGS for cell in borders):
        raise ConfigError("the layout must be enclosed by walls, which the agent cannot leave")
    ((x, y),) = agents
    _check_cells(rows)
    size, generate = (inner.width, inner.height), inner._gen_grid

    def draw(*_: int) -> None:
        generate(*size)  # draws the mission from the seed
        inner.grid = _make_grid(rows)
        inner.agent_pos, inner.agent_dir = (x, y), _HEADINGS[rows[y][x]]

    inner._gen_grid = draw


def _cells(line: str, width: int) -> list[str]:
    padded = line.ljust(2 * width)
    return [padded[index : index + 2].replace("..", "  ") for index in range(0, 2 * width, 2)]


def _check_cells(rows: Sequence[Sequence[str]]) -> None:
    for y, row in enumerate(rows):
        for x, cell in enumerate(row):
            colourless = cell in _HEADINGS or cell in _FIXED or cell == "  "
            if not colourless and not (cell[0] in _OBJECTS and cell[1:] in _COLOURS):
                raise ConfigError(
                    f"the cell {cell!r} in column {x}, row {y} is unknown. A layout has {_CELLS}"
                )


def _make_grid(rows: Sequence[Sequence[str]]) -> Any:
    """Return a grid of new objects, because an episode modifies its objects."""
    objects: Any = import_module("minigrid.core.world_object")
    grid = import_module("minigrid.core.grid").Grid(len(rows[0]), len(rows))
    for y, row in enumerate(rows):
        for x, cell in enumerate(row):
            if cell in _FIXED:
                name, arguments = _FIXED[cell]
                grid.set(x, y, getattr(objects, name)(*arguments))
            elif cell[0] in _OBJECTS and cell not in _HEADINGS:
                name, options = _OBJECTS[cell[0]]
                grid.set(x, y, getattr(objects, name)(_COLOURS[cell[1]], **options))
    return grid


_SET_UPS: Mapping[str, tuple[str, Callable[[Any, str], None]]] = {
    "pettingzoo.classic.chess.chess.raw_env": ("chess_v6 (a FEN)", _chess),
    "pettingzoo.classic.connect_four.connect_four.raw_env": (
        "connect_four_v3 (6 lines of X, O and .)",
        _connect_four,
    ),
    "pettingzoo.classic.tictactoe.tictactoe.raw_env": ("tictactoe_v3 (3 lines)", _tic_tac_toe),
    "minigrid.minigrid_env.MiniGridEnv": ("MiniGrid and BabyAI (a layout)", _grid),
}
