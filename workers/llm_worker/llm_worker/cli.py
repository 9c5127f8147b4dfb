"""The worker: its operator and its command line, `python -m llm_worker.cli`. No SDK is imported and no model
is loaded before an agent is made."""

import sys

from mosaic_contract import main, operator_worker

WORKER = operator_worker(
    "llm",
    "mosaic_contract.language.operator:LanguageOperator",
    upstream_library="openai, anthropic, xllamacpp",
    concurrent=True,
)
get_worker_metadata = WORKER.metadata

if __name__ == "__main__":
    sys.exit(main(WORKER))
