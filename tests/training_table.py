"""The table of environment families × training libraries in workers/README.md.

Not a test: `python tests/training_table.py [FAMILY ...]` trains with each library in an environment of each
family (by default all), measures the steps per second after a warm-up, and writes the families' rows.
"""

from __future__ import annotations

import re
import statistics
import sys
import tempfile
import time
from operator import truediv
from typing import Any

from environment_table import FAMILIES, PAGE

from mosaic_lab import Lab
from mosaic_lab.errors import MosaicError
from mosaic_lab.runs import Run

BEGIN, END = "<!-- trainings -->\n", "<!-- end of trainings -->\n"
LIBRARIES = ("sb3", "tianshou", "xuance", "cleanrl", "rllib")
HEAD = f"| family | {' | '.join(f'`{library}`' for library in LIBRARIES)} |\n|---|{'---|' * len(LIBRARIES)}\n"
ENVIRONMENTS = {family: env for families in FAMILIES.values() for family, env in families.items()}
PICTURES: list[list[Any]] = [["grey", {"resize": [32, 32]}, "flat"], ["flat"]]
WRAPPERS: dict[str, list[list[Any]]] = {
    "Atari": [["atari"]],
    "ViZDoom": [["image", *wrappers] for wrappers in PICTURES],
    **dict.fromkeys(("Crafter", "MiniWorld", "PettingZoo butterfly", "Procgen", "stable-retro"), PICTURES),
}
"""Wrappers to try, in this order; by default none, then ``flat``."""
TEAMS = (
    *("mpe2", "PettingZoo butterfly", "PettingZoo SISL", "PettingZoo Atari", "RWARE"),
    *("Level-Based Foraging", "mosaic-multigrid", "multigrid", "Overcooked"),
)
TOTAL_STEPS = 200_000
ALGORITHMS = {
    ("tianshou", "OpenSpiel"): "dqn",
    ("tianshou", "PettingZoo classic"): "dqn",
    **{("xuance", family): "mappo" for family in TEAMS},
}
"""Algorithms used in place of PPO."""
KEYWORDS: dict[str, dict[str, Any]] = {
    "rllib": {"num_env_runners": 0, "train_batch_size_per_learner": 200, "minibatch_size": 64},
    **{f"rllib {family}": {"num_epochs": 1} for family in ("Atari", "PettingZoo Atari", "NetHack")},
    "stable-retro": {"env_kwargs": {"discrete": True}},
    "tianshou stable-retro": {"num_training_envs": 1},
    "xuance stable-retro": {"parallels": 1},
    "cleanrl stable-retro": {"num_envs": 1},
}
"""Keyword arguments by library, by family (stable-retro: one emulator per process) or by both (30 epochs of
a large network take minutes on a CPU)."""
FIRST_STEPS, START_SECONDS, MEASURED_SECONDS = 16, 300.0, 6.0  # after the first steps, which may compile
NOTE = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)
SPEED = re.compile(r"[\d,]+( \(\d+\.\d\d\))?")
PAIRS = 3
SERVED: dict[str, Any] = {"env_processes": 1}
"""Keyword arguments that serve an environment even if the library's own worker has it."""


def main(names: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(folder)
        for family in names or ENVIRONMENTS:
            cells = [cell(lab, library, family) for library in LIBRARIES]
            print(family, *cells, sep=" | ", flush=True)
            write_row(family, cells)
    return 0


def write_row(family: str, cells: list[str]) -> None:
    """Replace a family's row on the current page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    old, _, after = rest.partition(END)
    reasons = dict(NOTE.findall(old))
    rows = {
        other: [re.sub(r"– \((\d+)\)", lambda note: reasons[note[1]], cell) for cell in others]
        for line in old.splitlines()
        if line.startswith("|")
        for other, *others in [line.strip("| ").split(" | ")]
        if other in ENVIRONMENTS
    }
    PAGE.write_text(f"{before}{BEGIN}{table(rows | {family: cells})}{END}{after}", encoding="utf-8")


def table(rows: dict[str, list[str]]) -> str:
    """Return the table of the measured families, with the reasons for refusals as numbered notes."""
    reasons: list[str] = []
    lines = [HEAD]
    for family in ENVIRONMENTS:
        cells = rows.get(family, [])
        for index, text in enumerate(cells):
            if not SPEED.fullmatch(text):
                if text not in reasons:
                    reasons.append(text)
                cells = [*cells[:index], f"– ({reasons.index(text) + 1})", *cells[index + 1 :]]
        if cells:
            lines.append(f"| {' | '.join([family, *cells])} |\n")
    return "".join([*lines, "\n", *(f"{number}. {reason}\n" for number, reason in enumerate(reasons, 1))])


def cell(lab: Lab, library: str, family: str) -> str:
    """Return the steps per second, and the speed ratio with a served environment if the library has its own;
    or the reason for the last refusal or failure."""
    names = (library, family, f"{library} {family}")
    keywords = {key: value for name in names for key, value in KEYWORDS.get(name, {}).items()}
    keywords["algorithm"] = ALGORITHMS.get((library, family), "ppo")
    reason = ""
    for wrappers in WRAPPERS.get(family, [[], ["flat"]]):
        training = {**keywords, "env": ENVIRONMENTS[family], "wrappers": wrappers}
        try:
            measured, served = trained(lab, library, training)
            if served:
                return f"{measured:,.0f}"
            ratio, measured = against_served(lab, library, training, measured)
            return f"{measured:,.0f} ({ratio:.2f})"
        except MosaicError as problem:
            reason = str(problem)
    return in_general(reason, ENVIRONMENTS[family])


def trained(lab: Lab, library: str, training: dict[str, Any]) -> tuple[float, bool]:
    """Return the steps per second, and whether another worker served the environment."""
    run = lab.train(library, seed=1, total_timesteps=TOTAL_STEPS, **training)
    assert isinstance(run, Run)
    try:
        return speed(run), "environment_server" in run.config
    finally:
        run.stop(grace=5)


def in_general(reason: str, env_id: str) -> str:
    """Return a reason in one line, without names of the environment and agents, and the worker's version."""
    text = " ".join(reason.split()).partition(" (worker '")[0]
    text = text.replace(f"Environment `{env_id}` doesn't exist", "it doesn't exist")
    text = re.sub(rf"(environment )?'?{re.escape(env_id)}'?", "the environment", text)
    text = re.sub(r" \((?:\w+, )+\w+\)", "", text)
    return text.replace("|", "\\|")


def against_served(lab: Lab, library: str, training: dict[str, Any], first: float) -> tuple[float, float]:
    """Return two medians over pairs of trainings: the speed with a served environment relative to that in
    process, and the speed in process, of which ``first`` is a previous measurement."""
    served: list[float] = []
    own = [first]
    for pair in range(PAIRS):
        served.append(trained(lab, library, training | SERVED)[0])
        if pair:
            own.append(trained(lab, library, training)[0])
    return statistics.median(map(truediv, served, own)), statistics.median(own)


def speed(run: Run) -> float:
    """Return the steps per second over `MEASURED_SECONDS`, after the first steps."""
    begun, begun_at = step_after(run, FIRST_STEPS, START_SECONDS), time.monotonic()
    time.sleep(MEASURED_SECONDS)
    end = step_after(run, begun + 1, START_SECONDS)
    return (end - begun) / (time.monotonic() - begun_at)


def step_after(run: Run, least: int, seconds: float) -> int:
    """Wait until the run's step is at least ``least`` and return it."""
    deadline = time.monotonic() + seconds
    while (run.step or 0) < least:
        if run.state.finished:
            raise MosaicError(run.reason)
        if time.monotonic() > deadline:
            raise MosaicError(f"no step in {seconds:.0f} seconds")
        time.sleep(0.1)
    return run.step or 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
