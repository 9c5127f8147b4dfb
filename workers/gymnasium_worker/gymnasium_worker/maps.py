"""What an agent cannot read from its observation although everybody who looks at the environment sees it: the
map of a frozen lake, as text for operators that read."""

from __future__ import annotations

from typing import Any, Callable


def describe_map(env: Any) -> Callable[[], dict[str, Any]] | None:
    """Return what describes the state of an environment with a map; None for any other."""
    inner = env.unwrapped
    if type(inner).__name__ != "FrozenLakeEnv":
        return None

    def describe() -> dict[str, Any]:
        rows = [[cell.decode() for cell in row] for row in inner.desc]
        row, column = divmod(int(inner.s), len(rows[0]))
        rows[row][column] = "*"
        lines = [f"You are at row {row + 1}, column {column + 1}, marked with *."]
        lines += ["The lake (S: start, F: ice, H: hole, G: goal):", *("".join(cells) for cells in rows)]
        return {"text": "\n".join(lines)}

    return describe
