"""The bridge process of a simulated cluster. Arguments: SOCKET NODES SLOTS SECONDS INTERVAL."""

from __future__ import annotations

import sys
from pathlib import Path

from engines.simulated_engine import SimulatedEngine

from mosaic_lab.engines import bridge

socket, *numbers = sys.argv[1:]
nodes, slots, seconds, interval = map(float, numbers)
bridge.main(Path(socket), SimulatedEngine(int(nodes), int(slots), seconds, interval), "simulated")
