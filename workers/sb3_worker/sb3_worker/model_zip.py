"""The zip files of upstream's `model.save()`, read without executing any of their code.

Their `data` is JSON, with pickles for all values that JSON cannot represent. Beside each pickle, upstream
writes the first level of the object as text. Only these texts are read; no pickle is loaded. Weights are
loaded with `weights_only=True`.
"""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any, Mapping

from mosaic_contract.checkpoints import loading
from mosaic_contract.pytorch import check_weights
from stable_baselines3.common.save_util import load_from_zip_file

_MAX_BYTES = 64 << 20  # bytes of JSON
_PICKLE = ":serialized:"
_TYPE = ":type:"
_CLASS = re.compile(r"<class '([\w.]+)'>")
_INIT = re.compile(r"<function ([\w.]+)\.__init__ ")


class ModelZip:
    """One zip file. Raises `ConfigError` if it cannot be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with loading(path), zipfile.ZipFile(path) as archive:
            size = archive.getinfo("data").file_size
            if size > _MAX_BYTES:
                raise ValueError(f"its data is {size >> 20} MiB of at most {_MAX_BYTES >> 20}")
            self._data: dict[str, Any] = dict(json.loads(archive.read("data")))

    def parameters(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Return the states of networks and optimizers by name, and other tensors, on the CPU. Raises
        `ConfigError`."""
        with loading(self.path):
            _, states, variables = load_from_zip_file(self.path, load_data=False, device="cpu")
            check_weights(states, "parameters")
        return states, variables or {}

    def names(self) -> frozenset[str]:
        """Return the names of the model's attributes."""
        return frozenset(self._data)

    def number(self, name: str, default: Any) -> Any:
        """Return an attribute that is a number or a boolean, the default for any other."""
        value = self._data.get(name)
        return value if isinstance(value, (bool, int, float)) else default

    def attributes(self, name: str) -> dict[str, Any]:
        """Return the attributes of an attribute: JSON values unchanged, others as strings."""
        value = self._data.get(name)
        if not isinstance(value, dict):
            return {}
        return {key: item for key, item in value.items() if key not in (_PICKLE, _TYPE)}

    def type_name(self, name: str) -> str:
        """Return the name of an attribute's class, without its module; "" for plain values."""
        value = self._data.get(name)
        return class_in_text(value.get(_TYPE)).rpartition(".")[2] if isinstance(value, dict) else ""

    def class_name(self, name: str) -> str:
        """Return the module and name of an attribute that is a class, as far as known."""
        attributes = self.attributes(name)
        init = _INIT.match(str(attributes.get("__init__")))
        return f"{attributes.get('__module__', '?')}.{init[1] if init else '?'}"


def class_in_text(text: Any) -> str:
    """Return the module and name of a class written as text, "" for any other text."""
    match = _CLASS.fullmatch(text) if isinstance(text, str) else None
    return match[1] if match else ""
