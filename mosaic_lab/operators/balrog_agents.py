"""BALROG's agents as operators."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Unpack, get_args

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.operators.language import LOCAL, model_operator
from mosaic_lab.operators.model_options import ModelOptions, of_a_model
from mosaic_lab.operators.spec import Need, OperatorSpec, check_arguments
from mosaic_lab.runs import Run
from mosaic_lab.runs.run_names import run_or_path
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
    """One of BALROG's agents, following its protocol, for single-agent environments.

    The dialog, the parsing and the action played after an unusable answer are BALROG's own.

    Args:
        model: as for `llm`.
        agent: "naive" answers with an action; "cot" reasons first and keeps its reasoning; "robust_naive" and
            "robust_cot" mark the action; "custom" keeps a plan; "few_shot" sees demonstrations first; "dummy"
            always answers "wait" and calls no model.
        max_text_history: number of latest observations shown as text.
        max_image_history: number of latest frames shown; 0 for a model without vision.
        max_cot_history: number of latest actions shown with their reasoning.
        feedback_on_invalid_action: report answers without a valid action to the model.
        demonstrations: for "few_shot": a JSON file with a list of {"observations": [text, …], "actions":
            [text, …]}, or a run (or its folder) in which a BALROG agent played.
        icl_episodes: number of demonstrations shown.
        max_icl_history: number of observations and actions shown of the demonstrations.

    Raises:
        ConfigurationError: all invalid arguments at once.
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
        problems.add("", 'agent="few_shot" needs demonstrations=, a run of a BALROG agent or a JSON file')
    if demonstrations is not None:
        settings["demonstrations"] = _demonstrations(problems, agent, demonstrations)
    sees = type(max_image_history) is int and max_image_history > 0
    needs: tuple[Need, ...] = ("description", "frame") if sees else ("description",)
    return model_operator("vlm" if sees else "llm", WORKER, model, options, settings, problems, needs)


def _demonstrations(problems: Problems, agent: Any, source: Run | str | Path) -> str:
    """Return the absolute path of a file, or of the folder of recorded exchanges."""
    if agent != "few_shot":
        problems.add("", f'demonstrations= are for agent="few_shot", not {agent!r}')
    try:
        source = run_or_path(source)
    except ConfigurationError as error:
        problems.add("", f"demonstrations: {error}")
        return ""
    path = (source.path if isinstance(source, Run) else Path(source).expanduser()).resolve()
    recording = path / _EXCHANGES
    if recording.is_dir():
        return str(recording)
    if isinstance(source, Run) or not path.exists():
        problems.add("", f"demonstrations: there is no {recording if isinstance(source, Run) else path}")
    return str(path)
