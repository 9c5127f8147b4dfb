"""Budgets of language models in evaluations: validation, increases on resume, and spending so far.

The operators' own processes enforce the budget (`mosaic_contract.language.budget`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mosaic_contract import BadLine, decode_line
from mosaic_contract.codec import is_sealed
from mosaic_contract.config import nearest
from mosaic_contract.language.budget import charge, dollars
from mosaic_contract.language.prices import price_of
from mosaic_contract.language.recording import LINE_LIMIT

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.plan import EvaluationPlan
from mosaic_lab.operators import OperatorSpec
from mosaic_lab.telemetry.stream import JsonlFollower
from mosaic_lab.validation import Problems

Budget = Mapping[str, float]
"""Limits of a budget: "usd" (US dollars), "tokens" (prompts and answers), or both."""

BUDGET_SPENT = "budget_spent"
"""Key among the partial results of a run that exhausted its budget."""

_UNITS = ("usd", "tokens")
_EXAMPLE = '{"usd": 2.0}, {"tokens": 1_000_000} or both'


def check_budget(budget: Any, operators: Iterable[OperatorSpec], problems: Problems) -> Budget | None:
    """Return the budget as plain numbers, None if none is given. Add anything invalid to ``problems``."""
    if budget is None:
        return None
    if not isinstance(budget, Mapping) or not budget:
        problems.add("budget", f"budget={budget!r:.200}: must be {_EXAMPLE}")
        return None
    for name, value in budget.items():
        if name not in _UNITS:
            problems.add("budget", f"budget has no key {name!r}{nearest(str(name), _UNITS)}")
        elif not _is_amount(name, value):
            requirement = "an integer" if name == "tokens" else "a number of US dollars"
            problems.add("budget", f"budget[{name!r}]={value!r:.200}: must be {requirement} > 0")
    models = [operator for operator in operators if operator.is_language_model]
    if not models and not problems.found:  # an operator with a problem may be a model
        problems.add("budget", "budget: no language model plays here, so there is nothing to spend")
    if "usd" in budget:
        for operator in models:
            _check_price(operator, problems)
    return {name: value for name, value in budget.items() if name in _UNITS}


def budget_to_go_on(
    plan: EvaluationPlan, budget: Any, spent: Mapping[str, Any], ran_out: bool
) -> Budget | None:
    """Return the budget for the remaining episodes of an evaluation; default: its current budget.

    ``spent`` is the result of `Spending.read`; ``ran_out`` is whether the evaluation ended because its
    budget was exhausted. Raises ConfigurationError for a budget that leaves nothing to spend.
    """
    if budget is None and not ran_out:
        return plan.request.budget
    old = plan.request.budget or {}
    if budget is None:
        example = json.dumps({name: 2 * limit for name, limit in old.items()})
        raise ConfigurationError(f"{spent_text(old, spent)}; give a larger one, resume(budget={example})")
    problems = Problems()
    new = check_budget(budget, plan.operators.values(), problems) or {}
    problems.check()
    larger = any(new.get(name, math.inf) > limit for name, limit in old.items())
    remains = all(spent[name] is None or spent[name] < limit for name, limit in new.items())
    if (ran_out and not larger) or not remains:
        raise ConfigurationError(
            f"budget={budget!r} leaves nothing to spend: {spent_text(old or new, spent)}"
        )
    return new


def spent_text(budget: Budget, spent: Mapping[str, Any]) -> str:
    """Describe the spending: "the budget of $2.00 is spent: $1.98 in 412 calls"."""
    if not spent["calls"]:
        return (
            f"the budget of {_amounts(budget, ' or ')} is too small for one call, "
            "which may take its prompt and max_tokens"
        )
    amounts = _amounts({name: spent[name] for name in budget if spent[name] is not None}, " and ")
    calls = "1 call" if spent["calls"] == 1 else f"{spent['calls']:,} calls"
    return f"the budget of {_amounts(budget, ' or ')} is spent: {amounts or 'an unknown amount'} in {calls}"


def _amounts(amounts: Mapping[str, float], separator: str) -> str:
    texts = {"usd": dollars, "tokens": "{:,} tokens".format}
    return separator.join(texts[name](value) for name, value in amounts.items())


def _is_amount(name: str, value: Any) -> bool:
    types = int if name == "tokens" else (int, float)
    return isinstance(value, types) and not isinstance(value, bool) and 0 < value < math.inf


def _check_price(operator: OperatorSpec, problems: Problems) -> None:
    setting = operator.settings.get
    provider, model = str(setting("provider")), str(setting("model"))
    if price_of(provider, model, setting("prices"), setting("base_url")) is None:
        problems.add(
            "budget",
            f'budget["usd"]: the price of the model {model!r} is unknown: pass its operator '
            'prices={"input": …, "output": …}, US dollars per million tokens, or a budget in "tokens"',
        )


class Spending:
    """The total cost of the exchanges in ``folder``. Each call of `read` adds newly recorded exchanges."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._followers: dict[Path, JsonlFollower] = {}
        self._usd: float | None = 0.0
        self._tokens = self._calls = 0

    def read(self) -> dict[str, Any]:
        """Return {"usd", "tokens", "calls"}; "usd" is None once the cost of any call is unknown."""
        for path in self._folder.glob("*.jsonl"):
            follower = self._followers.setdefault(path, JsonlFollower(path, line_limit=LINE_LIMIT))
            for entry in _entries(follower):
                usd, tokens = charge(entry, None, self._folder)
                self._usd = None if self._usd is None or usd is None else self._usd + usd
                self._tokens += tokens
                self._calls += tokens > 0  # recorded moves of chess engines have no tokens
        return {"usd": self._usd, "tokens": self._tokens, "calls": self._calls}


def _entries(follower: JsonlFollower) -> Iterator[Mapping[str, Any]]:
    """Yield the paid exchanges recorded since the last call."""
    for line in follower.lines():
        try:
            entry = decode_line(line) if is_sealed(line) else {"recorded": True}
        except BadLine:
            continue
        if not entry["recorded"]:
            yield entry
