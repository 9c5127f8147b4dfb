"""The request of an evaluation: the arguments of `Lab.evaluate` as one value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from mosaic_contract.codec import with_tagged_tuples, with_tuples
from msgspec import Meta, structs

from mosaic_lab.arenas.request import CompareRequest
from mosaic_lab.operators.tables import lanes_code
from mosaic_lab.runs.request import SECONDS

SeedSequence = Literal["procedural", "fixed"]
OnFailure = Literal["stop", "skip", "retry"]


class EvaluateRequest(CompareRequest, kw_only=True, frozen=True):
    """The arguments of `Lab.evaluate` as given, before `plan_evaluation` validates them.

    They are also the keys of a script. Only scripts have ``module``, the file or folder of the user's module
    that makes the environment; by default it is found on PYTHONPATH.
    """

    METHOD: ClassVar[str] = "evaluate"

    seeds: Annotated[Iterable[int], Meta(description="each operator plays every seed")] = range(100)
    episodes: Annotated[int, Meta(ge=1, description="episodes per seed")] = 1
    parallel: Annotated[
        int | None, Meta(ge=1, description="arenas that play at once (default: the CPU cores)")
    ] = None
    on_failure: Annotated[OnFailure, Meta(description="how to handle an episode that cannot be finished")] = (
        "stop"
    )
    seed_sequence: Annotated[SeedSequence, Meta(description="how the episodes on a seed are seeded")] = (
        "procedural"
    )
    step_delay: Annotated[
        float, Meta(ge=0, extra=SECONDS, description="seconds to pause before each step")
    ] = 0.0
    budget: Annotated[
        Mapping[str, float] | None, Meta(description="limits for language models, usd or tokens")
    ] = None
    replay: Annotated[Any, Meta(description="an evaluation whose recorded model answers are used again")] = (
        None
    )
    on: Annotated[
        str | None,
        Meta(description="a Ray cluster to play on: a profile of `mosaic-lab clusters`, or ray:HOST:PORT"),
    ] = None
    module: Annotated[
        Path | str | None, Meta(description="your module that makes the environment (scripts only)")
    ] = None

    def to_json(self) -> dict[str, Any]:
        """Return the given arguments in the form of a script, which `of_json` reads. ``operators`` and the
        lanes of policy mappings must be tables (`operators.tables`)."""
        kwargs = None if self.env_kwargs is None else with_tagged_tuples(self.env_kwargs)
        return super(EvaluateRequest, structs.replace(self, env_kwargs=kwargs)).to_json()

    @classmethod
    def of_json(cls, content: Mapping[str, Any]) -> EvaluateRequest:
        """Return the request recorded by `to_json`, with operators as tables."""
        arguments = {name: content[name] for name in cls.__struct_fields__ if name in content}
        if isinstance(seeds := arguments.get("seeds"), Mapping):
            arguments["seeds"] = range(seeds["first"], seeds["first"] + seeds["count"])
        return cls(**{**arguments, "env_kwargs": with_tuples(content.get("env_kwargs"))})

    def written(self) -> tuple[Sequence[str], Mapping[str, Any]]:
        """Return the arguments as code. Raises ValueError or LookupError if there is none for an operator or
        the environment's module."""
        if self.module is not None:
            raise ValueError("only scripts have a module")
        return [], self.given("seeds") | {"operators": lanes_code(self.operators or {})}
