"""The worker: its operator and its command line, `python -m passive_worker.cli`. NumPy is not imported before
an agent is made."""

import sys

from mosaic_contract import main, operator_worker

WORKER = operator_worker(
    "passive",
    "passive_worker.operator:PassiveOperator",
    ignores_observations=True,
    upstream_library="numpy",
    acts_in_batches=True,
)
get_worker_metadata = WORKER.metadata

if __name__ == "__main__":
    sys.exit(main(WORKER))
