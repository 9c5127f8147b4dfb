"""``mosaic-lab clusters``: Ray clusters available for runs."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from mosaic_lab.engines import clusters
from mosaic_lab.engines.bridge_environment import OPEN, check
from mosaic_lab.engines.capacity import Needs, refusal, waits_for
from mosaic_lab.engines.clusters import FOLDER, Cluster
from mosaic_lab.engines.engine import Node
from mosaic_lab.engines.job import amounts
from mosaic_lab.text_table import text_table

_DESCRIPTION = """\
A profile names a Ray cluster for on=: lab.train("cleanrl", ..., on="gpu-lab"). Its file has no token, only
where the token comes from."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register ``mosaic-lab clusters``."""
    parser = subparsers.add_parser(
        "clusters", help="manage the Ray clusters that runs can be started on", description=_DESCRIPTION
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    add = commands.add_parser("add", help="add a profile, or replace the one of this name")
    add.add_argument("name", metavar="NAME")
    address = (
        "the head as HOST:PORT (usually 6379), or ray://HOST:PORT (10001) on a machine outside the cluster"
    )
    add.add_argument("--ray", required=True, metavar="ADDRESS", help=address)
    token = add.add_mutually_exclusive_group()
    token.add_argument("--token-env", metavar="VARIABLE", help="environment variable with the token")
    token.add_argument("--token-file", metavar="FILE", help="file with the token")
    cpus = "CPUs to reserve for a run (default: its threads)"
    add.add_argument("--cpus", type=float, metavar="N", help=cpus)
    add.add_argument(
        "--gpus", type=int, default=0, metavar="N", help="GPUs to reserve for a run (default: 0)"
    )
    label = "use only nodes with this label (repeatable)"
    add.add_argument("--label", action="append", default=[], metavar="NAME=VALUE", help=label)
    add.add_argument(
        "--folder",
        default=FOLDER,
        metavar="FOLDER",
        help=f"MOSAIC Lab's folder on the nodes (default: {FOLDER})",
    )
    wheels = "folder of wheels on the nodes, for nodes without access to a package index"
    add.add_argument("--wheels", metavar="FOLDER", help=wheels)
    versions = "version on the nodes if it cannot be detected (ray://), as printed by {}"
    add.add_argument("--ray-version", metavar="VERSION", help=versions.format("`ray --version`"))
    add.add_argument("--python", metavar="VERSION", help=versions.format("`python --version`"))
    add.set_defaults(run=_add, parser=add)

    commands.add_parser("list", help="list the profiles").set_defaults(run=_list)
    for name, run, what in (
        ("check", _check, "connect and show the cluster's resources"),
        ("remove", _remove, "remove a profile; its runs are not affected"),
    ):
        command = commands.add_parser(name, help=what)
        command.add_argument("name", metavar="NAME")
        command.set_defaults(run=run)


def _add(arguments: argparse.Namespace) -> int:
    labels = dict(label.partition("=")[::2] for label in arguments.label)
    if not all(labels.values()):
        arguments.parser.error("--label is NAME=VALUE, such as --label accelerator=h200")
    profile = Cluster(
        arguments.name,
        arguments.ray,
        token_env=arguments.token_env,
        token_file=arguments.token_file,
        cpus=arguments.cpus,
        gpus=arguments.gpus,
        labels=labels,
        folder=arguments.folder,
        wheels=arguments.wheels,
        ray_version=arguments.ray_version,
        python=arguments.python,
    )
    clusters.add(profile)
    print(f"added; `mosaic-lab clusters check {profile.name}` connects to it")
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
    answer = check(cluster, lambda line: print(line, flush=True))
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
    if why := refusal(needs, nodes, cluster.name):
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
