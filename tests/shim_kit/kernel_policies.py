"""Policies loaded into the kernel from real checkpoints: single calls, batches and queries agree."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import mosaic_lab as mosaic
from mosaic_lab.kernel_policy import Policy

ROWS = 300


def assert_answers_agree(checkpoint: Path, provides: Collection[str], agent: str | None = None) -> None:
    """Check that a checkpoint's policy provides actions and these queries, and that their answers agree."""
    with mosaic.policy(checkpoint, agent=agent) as policy:
        assert policy.provides == ("action", *provides)
        seen = observations_of(checkpoint, agent)
        actions = policy(seen)
        for row in range(20):
            policy.reset()
            np.testing.assert_allclose(policy(_row(seen, row)), actions[row], atol=1e-5)
        policy.reset()
        for name in provides:
            _check_query(policy, name, seen, actions)
    with mosaic.policy(checkpoint, deterministic=False, seed=3, agent=agent) as policy:
        drawn = policy(seen)
        policy.reset(3)
        np.testing.assert_array_equal(policy(seen), drawn)


def assert_remembers_until_reset(checkpoint: Path, query: str) -> None:
    """Check that the answers of a recurrent policy depend on the observations since it was reset."""
    with mosaic.policy(checkpoint) as policy:
        ask, seen = getattr(policy, query), observations_of(checkpoint)[:5]
        first = ask(seen[0])
        for one in seen:
            policy(one)
        assert not np.allclose(ask(seen[0]), first, atol=1e-7)
        policy.reset()
        np.testing.assert_allclose(ask(seen[0]), first, atol=1e-6)


def observations_of(checkpoint: Path, agent: str | None = None) -> Any:
    """Return random observations from a checkpoint's space, as arrays with one row per observation."""
    described = json.loads(checkpoint.with_suffix(".json").read_text())
    space = (described["agents"][agent] if agent else described)["observation_space"]
    return _drawn(space, np.random.default_rng(7))


def _drawn(space: Mapping[str, Any], generator: np.random.Generator) -> Any:
    if "spaces" in space:
        return {key: _drawn(inner, generator) for key, inner in space["spaces"].items()}
    shape, dtype = (ROWS, *space["shape"]), np.dtype(space["dtype"])
    if dtype.kind == "f":
        return generator.normal(size=shape).astype(dtype)
    highest = space.get("n", 2) - 1 if space["type"] == "Discrete" else np.max(space.get("high", 1))
    return generator.integers(0, highest, shape, endpoint=True).astype(dtype)


def _check_query(policy: Policy, name: str, seen: Any, actions: Any) -> None:
    query = getattr(policy, name)
    answers = query(seen)
    assert answers.shape[0] == ROWS and np.isfinite(answers).all()
    np.testing.assert_allclose(query(_row(seen, 0)), answers[0], atol=1e-4)
    if name == "value":
        assert answers.shape == (ROWS,)
        return
    np.testing.assert_array_equal(answers.argmax(1), actions)
    if name == "probabilities":
        np.testing.assert_allclose(answers.sum(1), 1, atol=1e-5)


def _row(seen: Any, row: int) -> Any:
    return {key: _row(part, row) for key, part in seen.items()} if isinstance(seen, dict) else seen[row]
