"""Facts about an operator, shown on its lane's card before its first action, by category."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any, NamedTuple

from mosaic_lab.workers.families import same_environment

SPEAKERS = ("llm", "vlm")
"""Categories of operators that give reasons: their lanes reserve space for them."""
_STEP = re.compile(r"step-(\d+)")


class Fact(NamedTuple):
    """A short text, its meaning, and whether it is a warning."""

    text: str
    hint: str
    warns: bool = False


def operator_facts(operator: Mapping[str, Any], env_id: str, seed: int) -> list[Fact]:
    """Return the facts about an operator of a comparison's view in an episode of ``env_id`` on ``seed``.

    The most important fact is first.
    """
    describe = _BY_CATEGORY.get(operator["category"])
    return describe(operator, env_id, seed) if describe else []


def _trained(operator: Mapping[str, Any], env_id: str, seed: int) -> list[Fact]:
    settings, trained_on = operator["settings"], operator["trained_on"]
    facts = []
    if trained_on is not None and not same_environment(trained_on, env_id):
        facts.append(Fact(f"trained on {trained_on}", f"and acts here in {env_id}", warns=True))
    if path := settings.get("checkpoint"):
        file = PurePath(str(path))
        step = _STEP.fullmatch(file.stem)
        hint = f"checkpoint {path}" + (f", trained on {trained_on}" if trained_on else "")
        facts.append(Fact(f"step {int(step[1]):,}" if step else file.name, hint))
    if wrappers := ", ".join(operator["wrappers"]):
        facts.append(Fact(wrappers, "the wrappers that observations go through, as in its training"))
    if "deterministic" in settings:
        facts.append(
            Fact("deterministic", "the best action, always")
            if settings["deterministic"]
            else Fact("sampling", f"drawn from the policy's distribution, from seed {seed} and the agent")
        )
    return facts


def _random(operator: Mapping[str, Any], env_id: str, seed: int) -> list[Fact]:
    hint = f"each legal action is as likely as the others; drawn from seed {seed} and the agent's name"
    return [Fact(f"uniform, seed {seed}", hint)]


def _passive(operator: Mapping[str, Any], env_id: str, seed: int) -> list[Fact]:
    return [Fact("does what changes least", "a no-op or keeping still, where the environment has it")]


def _human(operator: Mapping[str, Any], env_id: str, seed: int) -> list[Fact]:
    if operator["settings"]["realtime"]:
        return [Fact("in real time", "the environment does not wait: a key counts while it is held")]
    return [Fact("turn by turn", "every step waits for a key or a button")]


def _python(operator: Mapping[str, Any], env_id: str, seed: int) -> list[Fact]:
    if file := operator["settings"].get("file"):
        return [Fact(f"{file}:{operator['settings']['attribute']}", "your code, in a separate process")]
    return [Fact("runs in this kernel", "your code, called with the observation")]


def _speaker(operator: Mapping[str, Any], env_id: str, seed: int) -> list[Fact]:
    model = operator["settings"].get("model")
    return [Fact(str(model), "model")] if model and model != operator.get("name") else []


def _engine(operator: Mapping[str, Any], env_id: str, seed: int) -> list[Fact]:
    settings = operator["settings"]
    facts = [Fact(f"Elo {settings['elo']}", "weakened to this rating by itself")] if settings["elo"] else []
    limits = {"nodes": settings["nodes"], "depth": settings["depth"]}
    return [
        *facts,
        *(Fact(f"{name} {value:,}", "searched for a move") for name, value in limits.items() if value),
    ]


_BY_CATEGORY: dict[str, Callable[[Mapping[str, Any], str, int], list[Fact]]] = {
    "rl": _trained,
    "random": _random,
    "passive": _passive,
    "human": _human,
    "python": _python,
    "engine": _engine,
    "llm": _speaker,
    "vlm": _speaker,
}
