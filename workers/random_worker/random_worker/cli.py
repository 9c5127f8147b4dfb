"""The worker: its operator and its command line, `python -m random_worker.cli`. Gymnasium is not imported
before an agent is made."""

import sys

from mosaic_contract import main, operator_worker

WORKER = operator_worker(
    "random",
    "random_worker.operator:RandomOperator",
    ignores_observations=True,
    upstream_library="gymnasium",
    acts_in_batches=True,
)
get_worker_metadata = WORKER.metadata

if __name__ == "__main__":
    sys.exit(main(WORKER))
