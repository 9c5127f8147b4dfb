"""JAX's trees of arrays as `.npz` files, read without executing code from them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import jax
import numpy as np
from mosaic_contract.checkpoints import loading


def to_bytes(tree: Any) -> bytes:
    """Return the bytes of a file with a tree: each array under its path, such as
    "['params'].actor['linear']['w']"."""
    buffer = io.BytesIO()
    leaves, _ = jax.tree_util.tree_flatten_with_path(jax.device_get(tree))
    arrays: dict[str, Any] = {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def from_file(path: Path, like: Any) -> Any:
    """Return the tree in a file, or the part of it with the structure of `like`: arrays, or their shapes, at
    the same paths. Raises `ConfigError` if the file cannot be read or has no such tree."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(like)
    with loading(path), np.load(path, allow_pickle=False) as file:
        arrays = [_checked(file[(name := jax.tree_util.keystr(key))], leaf, name) for key, leaf in leaves]
    return jax.tree_util.tree_unflatten(structure, arrays)


def _checked(array: Any, leaf: Any, name: str) -> Any:
    if array.shape != np.shape(leaf):
        raise ValueError(f"{name} has the shape {array.shape}; {np.shape(leaf)} is expected")
    return array.astype(getattr(leaf, "dtype", array.dtype))
