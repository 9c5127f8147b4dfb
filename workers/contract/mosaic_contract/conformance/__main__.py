"""`python -m mosaic_contract.conformance NAME`: check a worker of this environment."""

from __future__ import annotations

import sys

from mosaic_contract.conformance.suite import main

sys.exit(main())
