"""Language models as operators, for the shims that call one.

A shim calls a `LanguageModel`, which handles the vendor's SDK, recording, replay, retries and the budget.
SDKs and the local model are imported on first use; the package itself needs only the standard library.
"""

from mosaic_contract.language.exchange import Exchange, Parsed, Turn
from mosaic_contract.language.model import LanguageModel

__all__ = ["Exchange", "LanguageModel", "Parsed", "Turn"]
