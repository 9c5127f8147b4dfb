"""BALROG's agents as operators."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Unpack, get_args

from mosaic_lab.operators.argument_checks import check_arguments
from mosaic_lab.operators.language import LOCAL, ModelOptions, model_operator, of_a_model
from mosaic_lab.operators.spec import Need, OperatorSpec
from mosaic_lab.runs import Run
from mosaic_lab.validation import Problems

Agent = Literal["naive", "cot", "robust_naive", "robust_cot", "few_shot", "custom", "dummy"]

WORKER = "balrog"
_EXCHANGES = "exchanges"  # the recording in a run's folder
_COUNTS = range(10_001)


@of_a_model
def balrog(
    model: str | Path = LOCAL,
    *,
    agent: Agent = "naive",
    max_text_history: int = 16,
    max_image_history: int = 0,
    max_cot_history: int = 1,
    feedback_on_invalid_action: bool = True,
    demonstrations: Run | str | Path | None = None,
    icl_episodes: int = 1,
    max_icl_history: int = 1000,
    **options: Unpack[ModelOptions],
) -> OperatorSpec:
    """One of BALROG's agents, by its protocol: the same dialog, the same reading of answers, the same action
    in place of an answer without one. Single agents only.

    Args:
        model: as for `llm`.
        agent: "naive" answers with an action; "cot" thinks first, and is reminded of its thoughts;
            "robust_naive" and "robust_cot" mark the action; "custom" keeps a plan; "few_shot" sees
            demonstrations first; "dummy" always names the action "wait" and calls no model.
        max_text_history: how many of the latest observations keep their text.
        max_image_history: how many keep their frame; 0 for a language model that sees none.
        max_cot_history: how many of the latest actions keep the reasoning that led to them.
        feedback_on_invalid_action: say so to the model when its answer named no valid action.
        demonstrations: for "few_shot": a JSON file with a list of {"observations": [text, …], "actions":
            [text, …]}, or a run (or its folder) in which a BALROG agent played.
        icl_episodes: how many of them are shown.
        max_icl_history: how many of their observations and actions are shown.

    Raises:
        ConfigurationError: an argument is not valid; all problems are named at once.
    """
    problems = Problems()
    settings = check_arguments(
        problems,
        agent=(agent, get_args(Agent)),
        max_text_history=(max_text_history, _COUNTS),
        max_image_history=(max_image_history, _COUNTS),
        max_cot_history=(max_cot_history, _COUNTS),
        max_icl_history=(max_icl_history, _COUNTS),
        icl_episodes=(icl_episodes, _COUNTS),
        feedback_on_invalid_action=(feedback_on_invalid_action, bool),
    )
    if agent == "few_shot" and demonstrations is None:
        problems.add("", 'agent="few_shot": give demonstrations=, a run of a BALROG agent or a JSON file')
    if demonstrations is not None:
        settings["demonstrations"] = _demonstrations(problems, agent, demonstrations)
    sees = type(max_image_history) is int and max_image_history > 0
    needs: tuple[Need, ...] = ("description", "frame") if sees else ("description",)
    return model_operator("vlm" if sees else "llm", WORKER, model, options, settings, problems, needs)


def _demonstrations(problems: Problems, agent: Any, given: Run | str | Path) -> str:
    """The file, or the folder of recorded exchanges, by its absolute path."""
    if agent != "few_shot":
        problems.add("", f'demonstrations= are for agent="few_shot", not {agent!r}')
    path = (given.path if isinstance(given, Run) else Path(given).expanduser()).resolve()
    recording = path / _EXCHANGES
    if recording.is_dir():
        return str(recording)
    if isinstance(given, Run) or not path.exists():
        problems.add("", f"demonstrations: there is no {recording if isinstance(given, Run) else path}")
    return str(path)
