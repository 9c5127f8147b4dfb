"""Vision models as operators."""

from __future__ import annotations

from typing import Literal, Unpack, get_args

from mosaic_lab.operators.argument_checks import check_arguments
from mosaic_lab.operators.language import LOCAL, ModelOptions, is_model_file, model_operator, of_a_model
from mosaic_lab.operators.spec import Need, OperatorSpec
from mosaic_lab.validation import Problems

Detail = Literal["auto", "low", "high"]

_IMAGES = range(1, 17)
_SIDES = range(16, 8193)  # pixels


@of_a_model
def vlm(
    model: str,
    *,
    text: bool = False,
    images: int = 1,
    max_side: int | None = None,
    detail: Detail = "auto",
    structured: bool = False,
    **options: Unpack[ModelOptions],
) -> OperatorSpec:
    """A vision model that sees the environment's picture and answers with an action, in every environment
    that renders.

    Args:
        model: the endpoint's name of a model that takes images, such as "gpt-5-mini" or "claude-sonnet-5".
        text: describe the observation in words too, as `llm` does.
        images: how many of the latest pictures come with each prompt, the oldest first.
        max_side: pictures whose longer side has more pixels are made smaller; None sends them as they are.
            Smaller ones cost fewer tokens.
        detail: how closely OpenAI's models look at a picture; other APIs have no such choice.
        structured: have the endpoint restrict the answer to the legal actions. Off by default, because
            results with it do not compare with those of models that are not restricted.

    Raises:
        ConfigurationError: an argument is not valid; all problems are named at once.
    """
    problems = Problems()
    if options.get("provider") == LOCAL or model == LOCAL or is_model_file(model):
        problems.add(
            "",
            f"model={model!r}: the local model reads text and sees no images; give a vision model of an "
            'endpoint, such as vlm("gpt-5-mini") or vlm("qwen3-vl", base_url="http://localhost:8000/v1")',
        )
    settings = check_arguments(
        problems,
        ("max_side",),
        text=(text, bool),
        images=(images, _IMAGES),
        max_side=(max_side, _SIDES),
        detail=(detail, get_args(Detail)),
        structured=(structured, bool),
    )
    needs: tuple[Need, ...] = ("frame", "description") if text else ("frame",)
    return model_operator("vlm", "vlm", model, options, settings, problems, needs)
