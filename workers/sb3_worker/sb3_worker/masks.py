"""Action masks, in the two forms that environments have them, as MaskablePPO takes them: one flat array."""

from __future__ import annotations

from typing import Any, Mapping

METHOD, IN_INFO = "action_masks", "action_mask"
"""sb3-contrib's convention and Gymnasium's."""


def has_masks(env: Any, info: Mapping[str, Any]) -> bool:
    """Whether an environment says which actions are allowed; `info` is that of its reset."""
    return IN_INFO in info or _method(env) is not None


def mask_of(env: Any, info: Mapping[str, Any]) -> Any:
    """Return the flat mask of an environment's next action, all of whose sources are known to be there."""
    method = _method(env)
    return flat_mask(info[IN_INFO] if method is None else method())


def flat_mask(mask: Any) -> Any:
    """Return a mask as an array (n,) of bool; the masks of a MultiDiscrete's dimensions are concatenated."""
    import numpy as np

    parts = mask if isinstance(mask, (tuple, list)) else [mask]
    return np.concatenate([np.ravel(part) for part in parts]).astype(bool)


def _method(env: Any) -> Any:
    try:
        return env.get_wrapper_attr(METHOD)
    except AttributeError:
        return None
