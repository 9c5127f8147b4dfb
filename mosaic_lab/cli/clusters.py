"""``mosaic-lab clusters``: Ray clusters available for runs."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from mosaic_lab.cli.parsing import add_command
from mosaic_lab.engines import clusters
from mosaic_lab.engines.bridge_environment import OPEN, describe_cluster
from mosaic_lab.engines.capacity import Needs, waits_for, why_impossible
from mosaic_lab.engines.clusters import FOLDER, Cluster
from mosaic_lab.engines.engine import Node
from mosaic_lab.engines.job import amounts
from mosaic_lab.text_table import text_table

_DESCRIPTION = """\
A profile names a Ray cluster for on=: lab.train("cleanrl", ..., on="gpu-lab"). It stores where the token
comes from, never the token itself."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register ``mosaic-lab clusters``."""
    parser = subparsers.add_parser(
        "clusters", help="manage the Ray clusters that runs can be started on", description=_DESCRIPTION
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    add = add_command(commands, "add", "add a profile, or replace the one of this name", _add)
    add.add_argument("name", metavar="NAME")
    address = (
        "the head as HOST:PORT (usually 6379), or ray://HOST:PORT (10001) on a machine outside the cluster"
    )
    add.add_argument("--ray", dest="address", required=True, metavar="ADDRESS", help=address)
    token = add.add_mutually_exclusive_group()
    token.add_argument("--token-env", metavar="VARIABLE", help="environment variable with the token")
    token.add_argument("--token-file", metavar="FILE", help="file with the token")
    cpus = "CPUs to reserve for a run (default: its threads)"
    add.add_argument("--cpus", type=float, metavar="N", help=cpus)
    gpus = "GPUs to reserve for a run (default: 0)"
    add.add_argument("--gpus", type=int, default=0, metavar="N", help=gpus)
    label = "use only nodes with this label (repeatable)"
    add.add_argument("--label", dest="labels", action="append", default=[], metavar="NAME=VALUE", help=label)
    folder = "MOSAIC Lab's folder on the nodes (default: %(default)s)"
    add.add_argument("--folder", default=FOLDER, metavar="FOLDER", help=folder)
    wheels = "folder of wheels on the nodes, for nodes without access to a package index"
    add.add_argument("--wheels", metavar="FOLDER", help=wheels)
    versions = "version on the nodes if it cannot be detected (ray://), as printed by {}"
    add.add_argument("--ray-version", metavar="VERSION", help=versions.format("`ray --version`"))
    add.add_argument("--python", metavar="VERSION", help=versions.format("`python --version`"))

    add_command(commands, "list", "list the profiles", _list)
    check = add_command(commands, "check", "connect and show the cluster's resources", _check)
    check.add_argument("name", metavar="NAME")
    remove = add_command(commands, "remove", "remove a profile; its runs are not affected", _remove)
    remove.add_argument("name", metavar="NAME")


def _add(arguments: argparse.Namespace) -> int:
    arguments.labels = dict(label.partition("=")[::2] for label in arguments.labels)
    if not all(arguments.labels.values()):
        arguments.parser.error("--label is NAME=VALUE, such as --label accelerator=h200")
    clusters.add(Cluster(**{field.name: getattr(arguments, field.name) for field in fields(Cluster)}))
    print(f"added; `mosaic-lab clusters check {arguments.name}` connects to it")
    return 0


def _list(arguments: argparse.Namespace) -> int:
    rows = [("NAME", "ADDRESS", "A RUN RESERVES", "TOKEN FROM", "LABELS", "FOLDER", "WHEELS")]
    for name, profile in clusters.clusters().items():
        cpus = "its threads" if profile.cpus is None else amounts(profile.cpus, 0)
        reserved = f"{cpus}, {amounts(0, profile.gpus)}" if profile.gpus else cpus
        labels = ", ".join(f"{key}={value}" for key, value in profile.labels.items())
        token = profile.token_env or profile.token_file or "Ray's own places"
        rows.append(
            (name, profile.address, reserved, token, labels or "-", profile.folder, profile.wheels or "-")
        )
    print(text_table(rows) if rows[1:] else "no clusters: `mosaic-lab clusters add NAME --ray HOST:PORT`")
    return 0


def _check(arguments: argparse.Namespace) -> int:
    cluster = clusters.find(arguments.name)
    answer = describe_cluster(cluster, lambda line: print(line, flush=True))
    for line in _described(cluster, answer):
        print(line)
    return 0


def _described(cluster: Cluster, answer: Mapping[str, Any]) -> list[str]:
    """Return a cluster's resources as sentences."""
    nodes = [Node(**node) for node in answer["nodes"]]
    total = amounts(sum(node.cpus for node in nodes), sum(node.gpus for node in nodes))
    free = amounts(sum(node.free_cpus for node in nodes), sum(node.free_gpus for node in nodes))
    lines = [
        f"{cluster.name} ({cluster.address}) answers: Ray {answer['ray']}, Python {answer['python']}.",
        f"It has {len(nodes)} node{'' if len(nodes) == 1 else 's'} with {total} in total; {free} free.",
    ]
    lines += [f"  {node.name}: {amounts(node.cpus, node.gpus)}{_labels(node.labels)}" for node in nodes]
    needs = Needs(1 if cluster.cpus is None else cluster.cpus, cluster.gpus, cluster.labels)
    if why := why_impossible(needs, nodes, cluster.name):
        lines.append(f"A run that needs {needs} can never start: {why}.")
    elif wait := waits_for(needs, nodes, cluster.name):
        lines.append(f"A run that needs {needs} would be queued: {wait}.")
    else:
        lines.append(f"A run that needs {needs} would start at once.")
    if cluster.has_token:
        lines.append("A token is sent to it. The connection is not encrypted.")
    else:
        lines.append(OPEN)
    return lines


def _labels(labels: Mapping[str, str]) -> str:
    user_labels = {name: value for name, value in labels.items() if not name.startswith("ray.io/")}
    return f" ({', '.join(f'{name}={value}' for name, value in user_labels.items())})" if user_labels else ""


def _remove(arguments: argparse.Namespace) -> int:
    clusters.remove(arguments.name)
    print(f"removed {arguments.name}; its runs continue")
    return 0
