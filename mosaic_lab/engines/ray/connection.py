"""The connection to a Ray cluster, and explanations of failures."""

from __future__ import annotations

import re
import socket
from urllib.parse import urlsplit

from mosaic_lab.engines.engine import JobRefused, NoHead, Unreachable

NAMESPACE = "mosaic-lab"
_CONNECT = 5.0  # seconds for a port to answer
_VERSIONS = re.compile(r"cluster was started with:\s*Ray: (\S+)\s*Python: (\S+)", re.DOTALL)


def connect(cluster: str, address: str) -> None:
    """Connect this process to the cluster at ``HOST:PORT``, if this machine is one of its nodes, or at
    ``ray://HOST:PORT``. The token comes from Ray's own variables. Raises Unreachable and WrongVersions."""
    check_head(address)
    try:
        try:
            _init(address)
        except ConnectionAbortedError:  # the head starts a server for each client, which may fail under load
            _init(address)
    except (RuntimeError, ConnectionError, ValueError, OSError) as error:
        raise explained(cluster, error) from None


def check_head(address: str) -> None:
    """Raise Unreachable if nothing answers at the head's address. Ray itself notices only after a minute."""
    split = urlsplit(address if "://" in address else f"gcs://{address}")
    try:
        socket.create_connection((split.hostname, split.port), _CONNECT).close()
    except ConnectionRefusedError:
        raise NoHead(f"nothing answers at {split.hostname}:{split.port}: no head listens there") from None
    except OSError as error:
        raise Unreachable(f"nothing answers at {split.hostname}:{split.port}: {error}") from None


def _init(address: str) -> None:
    import ray  # imported here: only the bridge's environment has it

    ray.init(
        address, namespace=NAMESPACE, log_to_driver=False, logging_level="ERROR", configure_logging=False
    )


class WrongVersions(JobRefused):
    """The cluster has another version of Ray or Python than this environment."""

    def __init__(self, cluster: str, ray_version: str, python: str) -> None:
        super().__init__(
            f"{cluster} has Ray {ray_version} and Python {python}, the bridge has others: "
            f"`mosaic-lab clusters check {cluster}` makes an environment that matches"
        )
        self.ray_version = ray_version
        self.python = python


def explained(cluster: str, error: Exception) -> WrongVersions | Unreachable:
    """Return an exception that explains an error of ``ray.init``."""
    text = str(error)
    if match := _VERSIONS.search(text):
        return WrongVersions(cluster, match[1], match[2])
    return Unreachable(f"{_last_line(text)}; {_hint(error)}")


def _hint(error: Exception) -> str:
    text = str(error)
    if "oken" in text or "nauthenticated" in text:
        return "the token is missing or wrong"
    if isinstance(error, ConnectionAbortedError):  # all that Ray's client says when versions differ
        return (
            "its Ray or its Python may be another version than the bridge's: `mosaic-lab clusters add` takes "
            "them as --ray-version and --python; `ray --version` and `python --version` show them on a node"
        )
    if "timeout" in text.lower() or "timed out" in text:
        return "its network or its head is down, or busy"
    if "node" in text and "ip" in text.lower():
        return "a machine outside the cluster connects by ray://HOST:10001"
    return "the address, the token or the versions are wrong"


def _last_line(text: str) -> str:
    """Return the line with the reason, because the text may be a traceback from the server."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "no reason given"
