"""The worker: its environments and its command line, `python -m multigrid_worker.cli`. No environment library
is imported before an environment is made or listed."""

import sys

from mosaic_contract import main
from mosaic_contract.environment_families import environment_worker

WORKER = environment_worker(
    "multigrid",
    {"multigrid_worker.team_games": ["MosaicMultiGrid-*"], "multigrid_worker.shared_grids": ["MultiGrid-*"]},
    upstream_library="mosaic-multigrid",
    supported_paradigms=["parallel"],
    env_families=["mosaic-multigrid", "multigrid"],
)
get_worker_metadata = WORKER.metadata

if __name__ == "__main__":
    sys.exit(main(WORKER))
