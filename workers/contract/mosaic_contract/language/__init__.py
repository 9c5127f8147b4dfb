"""Language models as operators: what the shims that call one share.

A shim asks a `LanguageModel`; everything between that and the vendor's SDK, and everything that is recorded,
replayed, retried and paid, is here. The SDKs and the local model are imported where they are first used: the
package itself needs the standard library only.
"""

from mosaic_contract.language.exchange import Exchange, Parsed, Turn
from mosaic_contract.language.model import LanguageModel

__all__ = ["Exchange", "LanguageModel", "Parsed", "Turn"]
