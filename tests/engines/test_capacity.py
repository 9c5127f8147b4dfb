"""Capacity of a cluster: the resources a run waits for, and requests that no node can ever satisfy."""

from __future__ import annotations

import pytest

from mosaic_lab.engines.capacity import Needs, waits_for, why_impossible
from mosaic_lab.engines.engine import Node


def node(cpus: float, free_cpus: float, gpus: float = 0, free_gpus: float = 0, **labels: str) -> Node:
    return Node("10.0.0.7", cpus, gpus, free_cpus, free_gpus, labels)


@pytest.mark.parametrize(
    ("needs", "nodes", "sentence"),
    [
        (Needs(1, 0), [node(2, 1)], None),
        (Needs(1, 1), [node(2, 1, 1, 0)], "waits for 1 GPU; 1 of 1 are busy on gpu-lab"),
        (Needs(2, 0), [node(4, 1)], "waits for 2 CPUs; 3 of 4 are busy on gpu-lab"),
        (
            Needs(2, 1),
            [node(2, 0, 1, 0)],
            "waits for 2 CPUs and 1 GPU; 2 of 2 CPUs and 1 of 1 GPUs are busy on gpu-lab",
        ),
    ],
)
def test_what_is_busy(needs: Needs, nodes: list[Node], sentence: str | None) -> None:
    assert waits_for(needs, nodes, "gpu-lab") == sentence


@pytest.mark.parametrize(
    ("needs", "nodes", "sentence"),
    [
        (Needs(2, 0), [node(2, 1), node(2, 1)], "waits for 2 CPUs on one node; 2 of 4 are busy on gpu-lab"),
        (
            Needs(2, 1),
            [node(4, 4, 1, 0), node(4, 0, 1, 1)],
            "waits for 2 CPUs and 1 GPU on one node; 4 of 8 CPUs and 1 of 2 GPUs are busy on gpu-lab",
        ),
    ],
)
def test_what_is_free_on_several_nodes_is_no_room(needs: Needs, nodes: list[Node], sentence: str) -> None:
    assert waits_for(needs, nodes, "gpu-lab") == sentence
    assert why_impossible(needs, nodes, "gpu-lab") is None


def test_nodes_that_are_not_eligible_do_not_count() -> None:
    small_and_other = [node(1, 1), node(8, 8, zone="b")]
    needs = Needs(2, 0, {"zone": "a"})
    busy = "waits for 2 CPUs; 4 of 4 are busy on gpu-lab (nodes with zone=a)"
    assert waits_for(needs, [*small_and_other, node(4, 0, zone="a")], "gpu-lab") == busy
    assert waits_for(needs, small_and_other, "gpu-lab") == (
        "waits for a node with 2 CPUs to join gpu-lab (nodes with zone=a)"
    )


@pytest.mark.parametrize(
    ("needs", "sentence"),
    [
        (
            Needs(1, 2),
            "no node of gpu-lab can ever provide 1 CPU and 2 GPUs: the largest has 2 CPUs and 1 GPU",
        ),
        (Needs(4, 0), "no node of gpu-lab can ever provide 4 CPUs: the largest has 3 CPUs"),
        (Needs(1, 0, {"zone": "a"}), "no node of gpu-lab has the labels zone=a"),
    ],
)
def test_what_is_impossible(needs: Needs, sentence: str) -> None:
    assert why_impossible(needs, [node(2, 2, 1, 1), node(3, 3)], "gpu-lab") == sentence
