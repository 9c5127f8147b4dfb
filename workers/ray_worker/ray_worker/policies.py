"""The assignment of policies to agents: "shared", "each", or a mapping from agents to names."""

from __future__ import annotations

import re
from typing import Any, Iterator, Mapping

from mosaic_contract.config import nearest
from mosaic_contract.environment_spec import EnvironmentSpec

from .hyperparameters import EACH, POLICIES, SHARED

ALONE_POLICY = "default_policy"
"""Upstream's name for the policy of the only agent."""

_ALL_OTHERS = "*"


def mapping_of(policies: Any, spec: EnvironmentSpec) -> dict[str, str]:
    """Return the name of each agent's policy; `problems_of` validates `policies`."""
    if not spec.several:
        return dict.fromkeys(spec.actions, ALONE_POLICY)
    if isinstance(policies, Mapping):
        return {agent: policies.get(agent, policies.get(_ALL_OTHERS, "")) for agent in spec.actions}
    if policies == EACH:  # upstream uses them as file names
        names = {agent: re.sub(r"\W", "_", agent) for agent in spec.actions}
        return (
            names
            if len({*names.values()}) == len(names)
            else {agent: f"agent_{index}" for index, agent in enumerate(names)}
        )
    return dict.fromkeys(spec.actions, SHARED)


def problems_of(policies: Any, spec: EnvironmentSpec) -> Iterator[str]:
    """Yield why policies cannot be assigned this way, one sentence per reason."""
    if not spec.several:
        if policies != SHARED:
            yield f"{POLICIES} is for environments of several agents; {spec.env_id} has one: leave it out"
        return
    wrong = list(_misnamed(policies, spec))
    yield from wrong or _unsharable(mapping_of(policies, spec), spec)


def _misnamed(policies: Any, spec: EnvironmentSpec) -> Iterator[str]:
    if policies in (SHARED, EACH):
        return
    if not isinstance(policies, Mapping):
        yield (
            f'{POLICIES} must be "{SHARED}", "{EACH}" or a mapping from agents to names of policies, got '
            f"{policies!r:.100}"
        )
        return
    for agent, policy in policies.items():
        if not isinstance(policy, str) or not policy.replace("_", "").isalnum():
            yield f"{POLICIES}: {policy!r:.100} is not a valid name of a policy: use letters, digits and _"
        if agent not in (*spec.actions, _ALL_OTHERS):
            yield f"{POLICIES}: {spec.env_id} has no agent {agent!r:.100}{nearest(agent, spec.actions)}"
    without = [agent for agent in spec.actions if agent not in policies]
    if without and _ALL_OTHERS not in policies:
        yield f'{POLICIES}: {", ".join(without)} have none; name one for each, or for "*", the rest'


def _unsharable(policy_of: Mapping[str, str], spec: EnvironmentSpec) -> Iterator[str]:
    first: dict[str, str] = {}
    for agent, policy in policy_of.items():
        other = first.setdefault(policy, agent)
        if _spaces(spec, agent) != _spaces(spec, other):
            yield (
                f"{agent} and {other} of {spec.env_id} have different spaces and cannot share the policy "
                f'{policy!r}: give {POLICIES}="{EACH}" or a mapping'
            )
            break


def _spaces(spec: EnvironmentSpec, agent: str) -> tuple[Any, Any]:
    return spec.observations[agent], spec.actions[agent]
