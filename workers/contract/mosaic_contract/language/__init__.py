"""Language models as operators, for the shims that call one.

A shim calls a `LanguageModel`, which handles the vendor's SDK, recording, replay, retries and the budget. The
SDKs and the local model are imported when they are first used: the package itself needs the standard library
only.
"""

from mosaic_contract.language.exchange import Exchange, Parsed, Turn
from mosaic_contract.language.model import LanguageModel

__all__ = ["Exchange", "LanguageModel", "Parsed", "Turn"]
