"""Derived seeds: all randomness in an episode follows from one number."""

from __future__ import annotations

import hashlib


def derive_seed(seed: int, name: str) -> int:
    """Return the seed (0 to 2**32 - 1) of the component `name` of an object with this `seed`. It is the same
    on every machine and Python version; different names give unrelated seeds."""
    return int.from_bytes(hashlib.sha256(f"{int(seed)}/{name}".encode()).digest()[:4], "big")


def operator_seed(seed: int, operator: str, agent: str) -> int:
    """Return the seed of the operator with this name for `agent` in the episode with this `seed`.

    Two operators with one seed draw different numbers, also after exchanging agents: two random players that
    exchange sides play another game.
    """
    return derive_seed(derive_seed(seed, f"operator/{operator}"), f"agent/{agent}")
