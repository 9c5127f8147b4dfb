"""Language models as operators, for the shims that call one.

SDKs and the local model are imported on first use; the package itself needs only the standard library. In
the order of a step, from an observation to an action and back:

- `operator`: the operator of the workers `llm` and `vlm`
- prompt: `prompt_settings`, `describers` (observations as text), `prompts`, `strategies` (forms of answers)
- action: `action_chooser` requests an answer, and once more if it has no legal action; `parsing` reads it
- call: `model`, which every shim calls, by its `settings`: it handles SDK, recording, retries and budget;
  `exchange` defines turns and exchanges
- recording: `exchange_store` writes, reuses and replays exchanges, with `recording`, `budget` and `prices`
- endpoint: `openai_api` and `anthropic_api`, each an `endpoint` with `http_bounds` and a `streamed_reply`, or
  `local`; `retries` repeats failed attempts

`balrog` defines BALROG's agents.
"""

from mosaic_contract.language.exchange import Exchange, Parsed, Turn
from mosaic_contract.language.model import LanguageModel

__all__ = ["Exchange", "LanguageModel", "Parsed", "Turn"]
