"""walker-worker --config FILE | --interactive --run-id ID"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from walker_worker.config import WalkerConfig
from walker_worker.runtime import Walker, train


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--run-id", required=True)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--task", default="")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--interactive", action="store_true")
    parser.add_argument("--dry-run", action="store_true")
    arguments = parser.parse_args()
    if arguments.interactive:
        Walker(arguments.run_id, arguments.seed, arguments.task).serve()
        return 0
    config = WalkerConfig.from_dict(json.loads(arguments.config.read_text()))
    return 0 if arguments.dry_run else train(config, arguments.seed)


if __name__ == "__main__":
    sys.exit(main())
