"""The plain protocol: messages for an operator that does not answer "hello".

It has no packed arrays and none of our additions. Observations are nested lists, numbers or text (the
encoding of values that are not packed); masks are flat lists of 0 and 1. An operator could silently misread
any other form and play unintended actions.
"""

from __future__ import annotations

import os
import re
import subprocess
from typing import Any, Iterator, Mapping

from mosaic_contract.arena.calls import Call
from mosaic_contract.arrays import unpack

_HELP_SECONDS = 30.0
_SEED = re.compile(r"(?<![\w-])--seed(?![\w-])")


def introduction(full_message: Mapping[str, Any]) -> dict[str, Any]:
    """Return "init_agent" for a plain operator, converted from the full message."""
    spaces = {name: full_message[name] for name in ("observation_space", "action_space")}
    meanings = full_message["settings"].get("action_meanings")
    if meanings is not None:
        spaces["action_meanings"] = meanings
    message = {name: full_message[name] for name in ("cmd", "game_name", "player_id")}
    return {**message, **spaces, "settings": {**spaces, **unpack(full_message["settings"])}}


def question(call: Call) -> dict[str, Any]:
    """Return "select_action" for a plain operator."""
    mask = call.observed.mask
    message = {"cmd": "select_action", "player_id": call.agent, "observation": call.observed.observation}
    if mask is not None:
        message["action_mask"] = list(_flat(mask))
    legal = call.rules.legal(mask)
    if legal is not None:
        message["info"] = {"legal_moves": legal}
    return message


def takes_seed(spec: Mapping[str, Any]) -> bool:
    """Run an operator's command with `--help`, and return whether the text mentions the option `--seed`."""
    command = [str(word) for word in spec["command"]]
    try:
        done = subprocess.run(
            [*command, "--help"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **(spec.get("environment") or {})},
            timeout=_HELP_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return _SEED.search(done.stdout.decode("utf-8", "replace")) is not None


def _flat(mask: Any) -> Iterator[int]:
    """Yield the entries of a mask, or of several masks in sequence or nested, as 0 and 1."""
    if hasattr(mask, "tolist"):
        mask = mask.tolist()
    if isinstance(mask, Mapping):
        mask = list(mask.values())
    if isinstance(mask, (list, tuple)):
        for part in mask:
            yield from _flat(part)
    else:
        yield int(bool(mask))
