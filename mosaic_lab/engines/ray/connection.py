"""Connects to a Ray cluster, and says in a sentence why it cannot."""

from __future__ import annotations

import re
import socket
from urllib.parse import urlsplit

import ray

from mosaic_lab.engines.engine import Refused, Unreachable

NAMESPACE = "mosaic-lab"
_CONNECT = 5.0  # seconds for a port to answer
_VERSIONS = re.compile(r"cluster was started with:\s*Ray: (\S+)\s*Python: (\S+)", re.DOTALL)


class WrongVersions(Refused):
    """The cluster has another Ray or another Python than this environment."""

    def __init__(self, cluster: str, ray_version: str, python: str) -> None:
        super().__init__(
            f"{cluster} has Ray {ray_version} and Python {python}, the bridge has others: "
            f"`mosaic-lab clusters check {cluster}` makes an environment that matches"
        )
        self.ray_version = ray_version
        self.python = python


def connect(cluster: str, address: str) -> None:
    """Connect this process to the cluster at ``HOST:PORT``, of which this machine is a node, or at
    ``ray://HOST:PORT``. The token comes from Ray's own variables. Raises Unreachable and WrongVersions."""
    split = urlsplit(address if "://" in address else f"gcs://{address}")
    try:
        socket.create_connection((split.hostname, split.port), _CONNECT).close()
    except OSError as error:
        raise Unreachable(f"nothing answers at {split.hostname}:{split.port}: {error}") from None
    try:
        ray.init(
            address, namespace=NAMESPACE, log_to_driver=False, logging_level="ERROR", configure_logging=False
        )
    except (RuntimeError, ConnectionError, ValueError, OSError) as error:
        text = str(error)
        if found := _VERSIONS.search(text):
            raise WrongVersions(cluster, found[1], found[2]) from None
        raise Unreachable(f"{_last_line(text)}; {_hint(text)}") from None


def _hint(text: str) -> str:
    if "oken" in text or "nauthenticated" in text:
        return "the token is missing or wrong"
    if "timeout" in text.lower() or "timed out" in text:
        return "its network or its head is down, or busy"
    if "node" in text and "ip" in text.lower():
        return "a machine that is none of the cluster's nodes connects by ray://HOST:10001"
    return "the address, the token or the versions are wrong"


def _last_line(text: str) -> str:
    """Return the line that has the reason: the text may be a traceback of the server's."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "no reason given"
