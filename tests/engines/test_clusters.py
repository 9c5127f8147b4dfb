"""Cluster profiles: adding, listing, removing, refusals, tokens and `clusters check`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from mosaic_lab.cli import main
from mosaic_lab.engines import clusters
from mosaic_lab.engines.clusters import Cluster
from mosaic_lab.engines.engine import Node
from mosaic_lab.errors import ConfigurationError


def test_a_profile_from_the_command_line(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clusters", "list"]) == 0
    assert "no clusters" in capsys.readouterr().out
    add = ["clusters", "add", "gpu-lab", "--ray", "10.0.0.5:6379", "--gpus", "1"]
    assert (
        main(
            [
                *add,
                "--label",
                "accelerator=h200",
                "--token-env",
                "LAB_TOKEN",
                "--wheels",
                "/wheels",
                "--ray-version",
                "2.55.1",
                "--python",
                "3.12.4",
            ]
        )
        == 0
    )
    assert "mosaic-lab clusters check gpu-lab" in capsys.readouterr().out
    assert clusters.find("gpu-lab") == Cluster(
        "gpu-lab",
        "10.0.0.5:6379",
        token_env="LAB_TOKEN",
        gpus=1,
        labels={"accelerator": "h200"},
        wheels="/wheels",
        ray_version="2.55.1",
        python="3.12.4",
    )
    main(["clusters", "list"])
    row = capsys.readouterr().out.splitlines()[1]
    assert all(
        part in row
        for part in (
            "10.0.0.5:6379",
            "its threads, 1 GPU",
            "LAB_TOKEN",
            "accelerator=h200",
            "~/.mosaic-lab",
            "/wheels",
        )
    )
    assert main(["clusters", "remove", "gpu-lab"]) == 0
    assert clusters.clusters() == {}


def test_no_token_is_written(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_TOKEN", "a-very-secret-token")
    clusters.add(Cluster("gpu-lab", "10.0.0.5:6379", token_env="LAB_TOKEN"))
    assert clusters.find("gpu-lab").token_variables()["RAY_AUTH_TOKEN"] == "a-very-secret-token"
    assert all("secret" not in file.read_text() for file in own_home.rglob("*") if file.is_file())


def test_an_address_needs_no_profile() -> None:
    assert clusters.find("ray:10.0.0.5:6379").address == "10.0.0.5:6379"
    assert clusters.find("ray://head.lab:10001").address == "ray://head.lab:10001"


@pytest.mark.parametrize(
    ("on", "message"),
    [
        ("gpu-lap", "there is no cluster 'gpu-lap'; did you mean 'gpu-lab'"),
        ("ray:10.0.0.5", "'10.0.0.5' is not an address of a Ray cluster: give HOST:PORT"),
        ("ray:10.0.0.5:99999", "is not an address of a Ray cluster"),
        (3, "on=3: must be the name of a cluster"),
    ],
)
def test_an_invalid_cluster_is_refused(own_home: Path, on: object, message: str) -> None:
    clusters.add(Cluster("gpu-lab", "10.0.0.5:6379"))
    with pytest.raises(ConfigurationError, match=message):
        clusters.find(on)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"token_env": "LAB_TOKEN"}, "the variable LAB_TOKEN, which holds its token, is not set"),
        ({"token_file": "/nowhere/token"}, "takes its token from /nowhere/token, which does not exist"),
    ],
)
def test_a_token_that_is_not_there(settings: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Cluster("gpu-lab", "10.0.0.5:6379", **settings).token_variables()


def test_a_damaged_file_is_named(own_home: Path) -> None:
    own_home.mkdir()
    (own_home / "clusters.json").write_text("{")
    with pytest.raises(ConfigurationError, match=r"clusters\.json cannot be read .*: correct or delete it"):
        clusters.clusters()


def test_the_check_says_what_a_run_would_wait_for(
    own_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clusters.add(Cluster("gpu-lab", "10.0.0.5:6379", cpus=2, labels={"zone": "a"}))
    zone = {"zone": "a"}
    free_elsewhere = [Node("n1", 2, 0, 1, 0, zone), Node("n2", 2, 0, 1, 0, zone), Node("n3", 8, 0, 8, 0)]
    answer = {"nodes": [asdict(node) for node in free_elsewhere], "ray": "2.60.0", "python": "3.11.7"}
    monkeypatch.setattr("mosaic_lab.cli.clusters.describe_cluster", lambda cluster, progress: answer)
    main(["clusters", "check", "gpu-lab"])
    said = capsys.readouterr().out
    assert "3 nodes with 12 CPUs in total; 10 CPUs free" in said
    assert (
        "A run that needs 2 CPUs would be queued: waits for 2 CPUs on one node; 2 of 4 are busy on gpu-lab "
        "(nodes with zone=a)."
    ) in said
