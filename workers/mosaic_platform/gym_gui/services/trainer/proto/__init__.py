"""Messages to the platform's trainer daemon, which MOSAIC Lab lacks: they can be imported, but not used."""

from __future__ import annotations

from typing import Any


class _Absent:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(
            f"the MOSAIC platform's trainer daemon ({name}) does not exist in MOSAIC Lab, whose "
            "workers report on stdout: run the worker without gRPC"
        )


trainer_pb2, trainer_pb2_grpc = _Absent(), _Absent()
