"""Connects to a Ray cluster, and says in a sentence why it cannot."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

import ray

from mosaic_lab.engines.engine import NoHead, Unreachable
from mosaic_lab.engines.ray.refused_connection import explained

NAMESPACE = "mosaic-lab"
_CONNECT = 5.0  # seconds for a port to answer


def connect(cluster: str, address: str) -> None:
    """Connect this process to the cluster at ``HOST:PORT``, of which this machine is a node, or at
    ``ray://HOST:PORT``. The token comes from Ray's own variables. Raises Unreachable and WrongVersions."""
    split = urlsplit(address if "://" in address else f"gcs://{address}")
    try:
        socket.create_connection((split.hostname, split.port), _CONNECT).close()
    except ConnectionRefusedError:
        raise NoHead(f"nothing answers at {split.hostname}:{split.port}: no head listens there") from None
    except OSError as error:
        raise Unreachable(f"nothing answers at {split.hostname}:{split.port}: {error}") from None
    try:
        try:
            _init(address)
        except ConnectionAbortedError:  # the head starts a server for each client, which a busy head may lose
            _init(address)
    except (RuntimeError, ConnectionError, ValueError, OSError) as error:
        raise explained(cluster, error) from None


def _init(address: str) -> None:
    ray.init(
        address, namespace=NAMESPACE, log_to_driver=False, logging_level="ERROR", configure_logging=False
    )
