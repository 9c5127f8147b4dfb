"""The process of a bridge to a simulated cluster: SOCKET NODES SLOTS SECONDS INTERVAL are its arguments."""

from __future__ import annotations

import sys
from pathlib import Path

from engines.simulated_engine import SimulatedEngine

from mosaic_lab.engines import bridge

socket, *numbers = sys.argv[1:]
nodes, slots, seconds, interval = map(float, numbers)
bridge.main(Path(socket), SimulatedEngine(int(nodes), int(slots), seconds, interval), "simulated")
