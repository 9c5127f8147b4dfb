"""Print the errors that a dry run reports for configurations, in a worker's interpreter.

Arguments: the module that defines ``WORKER``, and a list of configurations as JSON.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

from mosaic_contract.config import TrainingConfig
from mosaic_contract.errors import ConfigError


def error_of(worker: Any, config: dict[str, Any]) -> str:
    """Return why a worker refuses a configuration; empty if it accepts it."""
    try:
        worker.resolve(TrainingConfig.from_dict(config, Path.cwd(), worker.optional))
    except ConfigError as error:
        return str(error)
    return ""


WORKER = importlib.import_module(sys.argv[1]).WORKER
print(json.dumps([error_of(WORKER, config) for config in json.loads(sys.argv[2])]))
