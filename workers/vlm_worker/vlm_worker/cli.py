"""The worker: its operator and its command line, `python -m vlm_worker.cli`. No SDK is imported before an
agent is made."""

import sys

from mosaic_contract import main, operator_worker

WORKER = operator_worker(
    "vlm", "vlm_worker.operator:VisionOperator", upstream_library="openai, anthropic", concurrent=True
)
get_worker_metadata = WORKER.metadata

if __name__ == "__main__":
    sys.exit(main(WORKER))
