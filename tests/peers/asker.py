"""Query a language model as an operator does: `python asker.py SETTINGS` (JSON: the operator's settings, and
"steps", their number). It prints each answer before the action would be played, then waits for a line on
stdin, so that a test can kill it in between.
"""

from __future__ import annotations

import json
import sys

from mosaic_contract import AgentSetup
from mosaic_contract.errors import BudgetSpent
from mosaic_contract.language import LanguageModel, Parsed, Turn


def main() -> None:
    settings = json.loads(sys.argv[1])
    model = LanguageModel(AgentSetup("agent_0", seed=1, settings=settings))
    model.begin_episode(1, 0)
    for step in range(settings["steps"]):
        model.begin_step(step)
        turns = [Turn("system", "You play."), Turn("user", f"Step {step}. Actions: go forward, turn left")]
        try:
            exchange = model.ask(turns, lambda text: Parsed(text, text))
        except BudgetSpent as error:
            print(json.dumps({"spent": str(error)}), flush=True)
            break
        reported = {"answer": exchange.answer, "recorded": exchange.recorded, "loaded": sdks()}
        print(json.dumps(reported), flush=True)
        if not sys.stdin.readline():
            break
    model.close()


def sdks() -> list[str]:
    return sorted({"openai", "anthropic", "xllamacpp"} & set(sys.modules))


if __name__ == "__main__":
    main()
