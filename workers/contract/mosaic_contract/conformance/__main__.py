"""`python -m mosaic_contract.conformance NAME`: check a worker of this Python environment against the
protocol."""

from __future__ import annotations

import sys

from mosaic_contract.conformance.suite import main

sys.exit(main())
