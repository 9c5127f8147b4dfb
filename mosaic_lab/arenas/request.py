"""The request of a comparison: the arguments of `Lab.compare` as one value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from mosaic_lab.operators.spec import Fallback
from mosaic_lab.runs.request import SECONDS, STEP_TIMEOUT, Request

Record = Literal["observations"]
MAX_EPISODES = 1_000_000
"""Maximum number of episodes, and so of seeds, of one evaluation or comparison."""


class CompareRequest(Request, kw_only=True, frozen=True):
    """The arguments of `Lab.compare` as given, before `plan_arenas` validates them."""

    METHOD: ClassVar[str] = "compare"

    env: Annotated[str | None, Meta(description="an environment id, such as CartPole-v1")] = None
    operators: Annotated[Mapping[str, Any] | None, Meta(description="operators by name")] = None
    policies: Annotated[
        Mapping[str, Any] | None, Meta(description="a policy mapping, as an operator named policies")
    ] = None
    seeds: Annotated[Iterable[int], Meta(description="each operator plays every seed")] = ()
    env_kwargs: Annotated[
        Mapping[str, Any] | None,
        Meta(description="keyword arguments of the environment (default: its policies' own)"),
    ] = None
    max_steps: Annotated[
        int | None, Meta(ge=1, description="an episode's step limit (default: the environment's own)")
    ] = None
    step_timeout: Annotated[
        float, Meta(gt=0, extra=SECONDS, description="seconds for a reset, step or frame of the environment")
    ] = STEP_TIMEOUT
    deadline: Annotated[
        float | None, Meta(gt=0, extra=SECONDS, description="seconds of each operator for an action")
    ] = None
    fallback: Annotated[Fallback | None, Meta(description="what happens at the deadline")] = None
    record: Annotated[
        Record | None, Meta(description="keep each episode's observations, for a dataset of them")
    ] = None
    start: Annotated[
        Any, Meta(description="where each episode begins: a position as text, or actions already played")
    ] = None
    family: Annotated[str | None, Meta(description="the worker that provides the environment")] = None
    pass_env_vars: Annotated[
        Iterable[str], Meta(description="names of environment variables to pass on")
    ] = ()
