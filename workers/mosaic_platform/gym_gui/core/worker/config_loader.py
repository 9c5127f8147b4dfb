"""Configuration files, which the platform's own interface nests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Mapping


def extract_worker_config(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `metadata.worker.config` of a document, or the document itself if it has none."""
    nested: Any = payload
    for name in ("metadata", "worker", "config"):
        if not isinstance(nested, Mapping) or name not in nested:
            return payload
        nested = nested[name]
    return nested  # type: ignore[no-any-return]


def load_worker_config_from_file(path: Path, config_class: Any) -> Any:
    """Return the configuration in a file, made by `config_class.from_dict`."""
    document = json.loads(Path(path).read_text(encoding="utf-8"))
    return config_class.from_dict(dict(extract_worker_config(document)))
