"""Check whether a cluster has room for a run: resources it can never provide, and those currently busy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mosaic_lab.engines.engine import Node
from mosaic_lab.engines.job import amounts


@dataclass(frozen=True)
class Needs:
    """Resources to reserve for a run, on one node with all ``labels``."""

    cpus: float
    gpus: int
    labels: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return amounts(self.cpus, self.gpus)

    def labelled(self, nodes: Sequence[Node]) -> list[Node]:
        """Return the nodes with these labels."""
        return [node for node in nodes if self.labels.items() <= node.labels.items()]

    def possible(self, nodes: Sequence[Node]) -> list[Node]:
        """Return the nodes that have enough resources when idle."""
        return [node for node in self.labelled(nodes) if node.cpus >= self.cpus and node.gpus >= self.gpus]


def why_impossible(needs: Needs, nodes: Sequence[Node], cluster: str) -> str | None:
    """Return why no node can ever run a job with these needs; None if one can."""
    if needs.possible(nodes):
        return None
    labelled = needs.labelled(nodes)
    if not labelled:
        return f"no node of {cluster} has the labels {_listed(needs.labels)}"
    largest = max(labelled, key=lambda node: (node.gpus, node.cpus) if needs.gpus else (node.cpus, node.gpus))
    has = amounts(largest.cpus, largest.gpus)
    return f"no node of {cluster} can ever provide {needs}: the largest has {has}"


def waits_for(needs: Needs, nodes: Sequence[Node], cluster: str) -> str | None:
    """Return why a run must wait, such as ``waits for 1 GPU; 4 of 4 are busy on gpu-lab``; None if there is
    room. Only nodes that could run it count, and the free resources must be on a single node."""
    possible = needs.possible(nodes)
    target = f"{cluster} (nodes with {_listed(needs.labels)})" if needs.labels else cluster
    if not possible:
        return f"waits for a node with {needs} to join {target}"
    if any(node.free_cpus >= needs.cpus and node.free_gpus >= needs.gpus for node in possible):
        return None
    cpus = 0 if any(node.free_cpus >= needs.cpus for node in possible) else needs.cpus
    gpus = 0 if any(node.free_gpus >= needs.gpus for node in possible) else needs.gpus
    if not (cpus or gpus):  # one node has the CPUs, another the GPUs
        cpus, gpus = needs.cpus, needs.gpus
    busy = []
    if cpus:
        busy.append(_busy([(node.cpus, node.free_cpus) for node in possible], "CPUs" if gpus else ""))
    if gpus:
        busy.append(_busy([(node.gpus, node.free_gpus) for node in possible], "GPUs" if cpus else ""))
    together = " on one node" if len(possible) > 1 and cpus + gpus > 1 else ""
    return f"waits for {amounts(cpus, gpus)}{together}; {' and '.join(busy)} are busy on {target}"


def _busy(amounts_of_nodes: Sequence[tuple[float, float]], resource: str) -> str:
    total, free = (sum(column) for column in zip(*amounts_of_nodes, strict=True))
    return f"{total - free:g} of {total:g} {resource}".rstrip()


def _listed(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in labels.items())
