"""The table of prompts to language models and their answers, from an evaluation's recording."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic_contract.language.recording import read

from mosaic_lab.arenas.tables import table_of
from mosaic_lab.errors import MosaicError, warn_user
from mosaic_lab.evaluation.plan import EpisodeJob

if TYPE_CHECKING:
    import pandas as pd

_KINDS = {
    "operator": "object",
    "agent": "object",
    "seed": "Int64",
    "episode": "Int64",
    "step": "int64",
    "call": "int64",
    "prompt": "object",
    "answer": "object",
    "parsed": "object",
    "faults": "object",
    "input_tokens": "Int64",
    "output_tokens": "Int64",
    "cost_usd": "float64",
    "latency_ms": "float64",
    "model": "object",
    "recorded": "bool",
    "started": "float64",
}
_MOST_TEXT = 1 << 30  # characters of prompts and answers in a table


def exchanges_table(folder: Path, jobs: Iterable[EpisodeJob], label: str | None) -> pd.DataFrame:
    """Return one row per exchange of the operator ``label``, or of all operators; see `Evaluation.exchanges`.
    Raises MosaicError if the text is too large for a table.
    """
    places = {(job.label, job.index): (place, job) for place, job in enumerate(jobs)}
    reading = read(folder)
    rows: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    text = 0
    for entry in reading:
        place = places.get((entry["lane"], entry["episode_index"]))
        if place is None or label not in (None, entry["lane"]):
            continue
        row = _row(entry, place[1])
        text += len(row["prompt"]) + len(row["answer"])
        if text > _MOST_TEXT:
            raise MosaicError(
                f"the exchanges in {folder} have more than {_MOST_TEXT:,} characters: pass the name of an "
                "operator, or read them one by one, with mosaic_contract.language.recording.read(folder)"
            )
        rows.append(((place[0], row["step"], row["agent"], row["call"], row["started"]), row))
    if reading.damaged:
        files = ", ".join(f"{count:,} in {name}" for name, count in reading.damaged_in.items())
        lines = "line" if reading.damaged == 1 else "lines"
        text_of_damage = f"{reading.damaged:,} {lines} of the recording {folder} ({files})"
        warn_user(f"{text_of_damage} cut off or changed: left out", UserWarning)
    return table_of([row for _, row in sorted(rows, key=lambda pair: pair[0])], _KINDS)


def _row(entry: Mapping[str, Any], job: EpisodeJob) -> dict[str, Any]:
    return {
        **{name: entry[name] for name in _KINDS if name in entry},
        "operator": job.label,
        "seed": job.seed,
        "episode": job.episode,
        "step": entry["step_index"],
        "prompt": "\n\n".join(_turn(turn) for turn in entry["prompt"]),
        "faults": ", ".join(entry["faults"]),
    }


def _turn(turn: Mapping[str, Any]) -> str:
    images = [f"(image {name[:12]})" for name in turn["images"]]
    return "\n".join([f"[{turn['role']}]", turn["text"], *images])
