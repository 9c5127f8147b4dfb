"""PettingZoo's classic games: boards and cards as text. If an observation has two planes of pieces, the first
has the observing agent's pieces."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

from mosaic_contract.language.describers.environment_describer import (
    EnvironmentDescriber,
    bullets,
    number,
    plural,
)

_RANKS = ("ace", "2", "3", "4", "5", "6", "7", "8", "9", "10", "jack", "queen", "king")
_SUITS = ("spades", "hearts", "diamonds", "clubs")
_COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"  # of a Go board, without I
_OWN, _OPPONENT, _EMPTY = "X", "O", "."
_HANABI = ("red", "yellow", "green", "white", "blue")
_HANABI_COPIES = (3, 2, 2, 2, 1)  # for the ranks 1 to 5 of each colour

_BETTING = (
    "You win the chips of the pot with the better hand at the end, or when your opponent folds. What you "
    "cannot see stays hidden until then."
)


def _board(pieces: Any) -> list[list[str]]:
    """Return the rows of a board of shape (rows, columns, planes)."""
    rows = pieces.tolist() if hasattr(pieces, "tolist") else pieces
    return [[_OWN if cell[0] else _OPPONENT if cell[1] else _EMPTY for cell in row] for row in rows]


def _tictactoe(pieces: Any) -> str:
    cells = [cell for row in _board(pieces) for cell in row]
    labels = [str(index + 1) if cell == _EMPTY else cell for index, cell in enumerate(cells)]
    rows = [" | ".join(labels[row::3]) for row in range(3)]
    free = [labels[index] for index, cell in enumerate(cells) if cell == _EMPTY]
    intro = "The board (you are X, your opponent is O, numbers are free cells):"
    return "\n".join([intro, *rows, f"Free cells: {', '.join(free) or 'none'}."])


def _connect_four(pieces: Any) -> str:
    rows = _board(pieces)
    column_numbers = " ".join(str(column + 1) for column in range(len(rows[0])))
    lines = [" ".join(row) for row in rows]
    intro = "The board, top row first (you are X, your opponent is O, a dot is free; columns have numbers):"
    return "\n".join([intro, column_numbers, *lines])


def _go(planes: Any) -> str:
    """Describe a Go board to the agent to move: its stones are in the second plane, the last mover's in the
    first."""
    rows = _board(planes[:, :, 1::-1])
    size = len(rows)
    lines = [f"{size - index:>2} {' '.join(row)}" for index, row in enumerate(rows)]
    intro = "The board (you are X, your opponent is O, a dot is free):"
    return "\n".join([intro, *lines, "   " + " ".join(_COLUMNS[:size])])


def _go_names(space: Mapping[str, Any]) -> list[str]:
    size = space["shape"][0]
    points = [f"{_COLUMNS[column]}{size - row}" for row in range(size) for column in range(size)]
    return [*points, "pass"]


def _rock_paper_scissors(last: Any) -> str:
    moves = ("rock", "paper", "scissors")
    index = int(last)
    return f"Your opponent's last move: {moves[index] if 0 <= index < len(moves) else 'none yet'}."


def _cards(flags: Any) -> str:
    cards = [f"{_RANKS[card % 13]} of {_SUITS[card // 13]}" for card in range(52) if flags[card]]
    return ", ".join(cards) or "none"


def _leduc(flags: Any) -> str:
    cards = ("jack", "queen", "king")
    public = [cards[card] for card in range(3) if flags[3 + card]]
    chips = [next((count for count in range(15) if flags[start + count]), 0) for start in (6, 21)]
    return (
        f"Your card: {next((cards[card] for card in range(3) if flags[card]), 'unknown')}.\n"
        f"Public card: {public[0] if public else 'not yet shown'}.\n"
        f"In the pot: {plural(chips[0], 'chip')} of yours, {chips[1]} of your opponent's."
    )


def _holdem(flags: Any) -> str:
    rounds = ("first", "second", "third", "fourth")
    counts = [next((count for count in range(5) if flags[52 + 5 * index + count]), 0) for index in range(4)]
    raises = [f"{name} round: {count}" for name, count in zip(rounds, counts) if count]
    return (
        f"Cards that you see (your two and the public ones): {_cards(flags)}.\n"
        f"Raises so far: {', '.join(raises) or 'none'}."
    )


def _no_limit(values: Any) -> str:
    return (
        f"Cards that you see (your two and the public ones): {_cards(values)}.\n"
        f"Chips that you have put in: {number(values[52])}; the most that anybody has put in: "
        f"{number(values[53])}."
    )


def _hanabi(bits: Any) -> str:
    """Describe a game of two players with five cards each, from the encoding of the Hanabi Learning
    Environment."""
    flags = [bool(bit) for bit in (bits.tolist() if hasattr(bits, "tolist") else bits)]
    names = [f"{colour} {rank}" for colour in _HANABI for rank in range(1, 6)]
    partner = [_first_set(flags[25 * card : 25 * card + 25], names) for card in range(5)]
    deck = sum(flags[127:167])
    fireworks = [
        f"{colour} {_highest(flags[167 + 5 * index : 172 + 5 * index])}"
        for index, colour in enumerate(_HANABI)
    ]
    discarded = []
    for index, colour in enumerate(_HANABI):
        start = 203 + 10 * index
        for rank, copies in enumerate(_HANABI_COPIES, 1):
            discarded += [f"{colour} {rank}"] * sum(flags[start : start + copies])
            start += copies
    own_cards = []
    for card in range(5):
        start = 308 + 35 * card
        candidates = [name for name, possible in zip(names, flags[start : start + 25]) if possible]
        hints = [
            _first_set(flags[start + 25 : start + 30], list(_HANABI)),
            _first_set(flags[start + 30 : start + 35], "12345"),
        ]
        hint_text = " ".join(hint for hint in hints if hint)
        own_cards.append(f"card {card + 1}: {hint_text or 'no hint'}; {len(candidates)} cards are possible")
    return "\n".join(
        [
            f"Fireworks so far: {', '.join(fireworks)}.",
            f"Hint tokens: {sum(flags[192:200])}. Lives: {sum(flags[200:203])}. Cards in the deck: {deck}.",
            *bullets("Your cards, which you do not see:", own_cards, ""),
            *bullets(
                "Your partner's cards:", [f"card {n}: {c or 'none'}" for n, c in enumerate(partner, 1)], ""
            ),
            f"Discarded: {', '.join(discarded) or 'nothing'}.",
        ]
    )


def _first_set(flags: Sequence[bool], names: Sequence[str]) -> str:
    return next((name for name, flag in zip(names, flags) if flag), "")


def _highest(flags: Sequence[bool]) -> int:
    return max((rank for rank, flag in enumerate(flags, 1) if flag), default=0)


_HANABI_NAMES = [
    *(f"discard card {card}" for card in range(1, 6)),
    *(f"play card {card}" for card in range(1, 6)),
    *(f"hint {colour}" for colour in _HANABI),
    *(f"hint rank {rank}" for rank in range(1, 6)),
]

_GAMES: Mapping[str, tuple[str, str, Any, Callable[[Any], str]]] = {
    "tictactoe": (
        "This is tic-tac-toe. You and your opponent mark free cells of a board of three by three cells in "
        "turn. Whoever has three marks in a row, a column or a diagonal wins.",
        "Complete three in a row if you can; else prevent your opponent from doing so; else take the centre, "
        "then corners.",
        [3, 3, 2],
        _tictactoe,
    ),
    "connect_four": (
        "This is Connect Four. You and your opponent drop pieces into columns in turn; a piece falls to the "
        "lowest free cell. Whoever has four pieces in a row, a column or a diagonal wins.",
        "Complete four if you can; else prevent your opponent from doing so; else prefer the middle columns.",
        [6, 7, 2],
        _connect_four,
    ),
    "rps": (
        "This is rock, paper, scissors, over several rounds. Both players choose at the same time: rock "
        "beats scissors, scissors beat paper, paper beats rock.",
        "Look for a pattern in your opponent's moves, and be hard to predict yourself.",
        [],
        _rock_paper_scissors,
    ),
    "leduc_holdem": (
        "This is Leduc hold'em, a small poker game with six cards: two jacks, two queens, two kings. Each "
        "player has one card; after a first round of bets a public card is shown, then there is a second "
        "round. A pair with the "
        f"public card wins, else the higher card. {_BETTING}",
        "Raise with a pair or a king, fold a jack against a raise.",
        [36],
        _leduc,
    ),
    "texas_holdem": (
        "This is limit Texas hold'em. Each player has two cards; three, then one, then one public card are "
        "shown, with "
        f"a round of bets before each and at the end. The best hand of five cards wins. {_BETTING}",
        "Raise with strong hands, fold weak ones against a raise, and check rather than fold.",
        [72],
        _holdem,
    ),
    "texas_holdem_no_limit": (
        "This is Texas hold'em without a limit. Each player has two cards; three, then one, then one public "
        "card are shown, with a round of bets before each and at the end. The best hand of five cards wins. "
        + _BETTING,
        "Bet big with strong hands only, fold weak ones against a raise, and check rather than fold.",
        [54],
        _no_limit,
    ),
    "hanabi": (
        "This is Hanabi, played together with a partner. There are cards of five colours with ranks 1 to 5. "
        "Each colour's firework is built from 1 to 5; you play a card that continues one, and a wrong card "
        "costs a life. You see your partner's cards and not your own. A hint costs a token and shows your "
        "partner all of its cards of one colour or rank; discarding a card gives a token back. Your common "
        "score is the sum of the fireworks.",
        "Hint cards that can be played now, play a card that was hinted at as playable, discard the oldest "
        "card without a hint when there are no tokens.",
        [658],
        _hanabi,
    ),
    "go": (
        "This is Go. You and your opponent place stones on free points in turn; stones without a free "
        "neighbour are captured. Whoever surrounds more at the end wins; the game ends when both pass.",
        "Take corners and sides first, keep your groups connected and alive, and do not fill your own eyes.",
        None,
        _go,
    ),
}


def describer(
    env_id: str, space: Mapping[str, Any] | None, action_space: Mapping[str, Any] | None
) -> EnvironmentDescriber | None:
    """Return the describer of a game of the classic family; None for other environments and for observations
    that differ from the game's."""
    name = env_id.rpartition("/")[2].rpartition("_v")[0]
    if name not in _GAMES:
        return None
    parts = (space or {}).get("spaces")
    inner = (parts.get("observation") if isinstance(parts, Mapping) else space) or {}
    rules, advice, shape, observe = _GAMES[name]
    actual = inner.get("shape")
    if actual != shape and not (shape is None and isinstance(actual, list) and len(actual) == 3):
        return None
    names = None
    if name == "go":
        names = _go_names(inner)
    elif name == "hanabi":
        names = _HANABI_NAMES
    return EnvironmentDescriber(
        rules=rules,
        advice=advice,
        names=names if names and len(names) == (action_space or {}).get("n") else None,
        observe=lambda observation, _: observe(_planes(observation)),
        shares=False,
    )


def _planes(observation: Any) -> Any:
    """Return the planes of {"observation", "action_mask"}, or of the observation alone."""
    return observation["observation"] if isinstance(observation, Mapping) else observation
