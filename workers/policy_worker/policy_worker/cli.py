"""The worker: its operator and its command line, `python -m policy_worker.cli`. The user's code is not
imported before an agent is made."""

import sys

from mosaic_contract import main, operator_worker

WORKER = operator_worker(
    "policy", "policy_worker.operator:PolicyOperator", upstream_library="numpy", acts_in_batches=True
)
get_worker_metadata = WORKER.metadata

if __name__ == "__main__":
    sys.exit(main(WORKER))
