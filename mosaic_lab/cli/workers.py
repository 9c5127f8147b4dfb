"""``mosaic-lab workers``: list, install, check and remove worker environments, and create a new worker. Each
command prints the result of a function in ``mosaic_lab.workers``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from fnmatch import fnmatchcase

import psutil
from mosaic_contract import warm

from mosaic_lab import workers
from mosaic_lab.cli import profiles
from mosaic_lab.cli.parsing import add_command
from mosaic_lab.cli.profiles import size
from mosaic_lab.errors import WorkerEnvironmentError
from mosaic_lab.number_format import duration, memory
from mosaic_lab.sanitize import sanitize
from mosaic_lab.text_table import text_table
from mosaic_lab.workers import WorkerInfo, templates
from mosaic_lab.workers.catalog import not_installed, replacement
from mosaic_lab.workers.families import families
from mosaic_lab.workers.shims import bundled_shims

_PATTERNS = 5  # id patterns shown per worker in the list


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register ``mosaic-lab workers``."""
    workers = subparsers.add_parser("workers", help="list, install, check and remove worker environments")
    commands = workers.add_subparsers(required=True, metavar="COMMAND")

    description = "list workers; with NAME, its algorithms, hyperparameters and environments"
    lists = add_command(commands, "list", description, _list)
    lists.add_argument("name", nargs="?", metavar="NAME")
    algorithm = "show only the hyperparameters of this algorithm"
    lists.add_argument("--algorithm", metavar="ALGORITHM", help=algorithm)
    ids = "list all matching environment ids, one per line, such as '*'"
    lists.add_argument("--environments", metavar="GLOB", help=ids)

    install = add_command(commands, "install", "build or register a worker's environment", _install)
    which = install.add_mutually_exclusive_group(required=True)
    name = "a worker's name, or the folder of your own worker"
    which.add_argument("name", nargs="?", metavar="NAME | ./folder", help=name)
    all_workers = "all bundled workers, one after the other"
    which.add_argument("--all", action="store_true", help=all_workers)
    source = "source of the upstream library, or a checkout of it (default: the first that can be reached)"
    install.add_argument("--source", metavar="NAME | PATH", help=source)
    torch = "auto (matches this machine), cpu, cu128, …"
    install.add_argument("--torch", default="auto", metavar="BUILD", help=torch)
    python = "a Python version, or an interpreter (used as it is if its environment has the worker)"
    install.add_argument("--python", metavar="PATH", help=python)
    instead = "replace the bundled worker of the same name"
    install.add_argument("--replace", action="store_true", help=instead)
    more = "additional requirement to install (repeatable)"
    install.add_argument("--with", dest="also", action="append", default=[], metavar="REQUIREMENT", help=more)
    platform = "./folder is a worker of the MOSAIC platform; its name becomes mosaic-NAME"
    install.add_argument("--mosaic", dest="platform", action="store_true", help=platform)

    check = add_command(commands, "check", "run the conformance suite on an installed worker", _check)
    check.add_argument("name", metavar="NAME")
    remove = add_command(commands, "remove", "remove a worker's environment", _remove)
    remove.add_argument("name", metavar="NAME")
    add_command(commands, "warm", "list the idle processes that fork trainings and policies", _warm)

    new = add_command(commands, "new", "create the package of a new worker from a template", _new)
    new.add_argument("name", metavar="NAME", help="the worker's name; its folder is NAME_worker")
    kinds = "; ".join(f"{kind}: {purpose}" for kind, purpose in templates.KINDS.items())
    description = f"{kinds} (default: training)"
    new.add_argument("--kind", choices=templates.KINDS, default="training", help=description)


def _say(line: str) -> None:
    print(line, flush=True)


def _install(arguments: argparse.Namespace) -> int:
    if arguments.all:
        options = (arguments.source, arguments.python, arguments.replace, arguments.also, arguments.platform)
        if any(options):
            arguments.parser.error(
                "--source, --python, --replace, --with and --mosaic are for one worker: leave --all out, "
                "give its NAME"
            )
        return _install_all(arguments.torch)
    workers.install(
        arguments.name,
        source=arguments.source,
        torch=arguments.torch,
        python=arguments.python,
        replace=arguments.replace,
        also=arguments.also,
        platform=arguments.platform,
        progress=_say,
    )
    return 0


def _install_all(torch: str) -> int:
    """Install every bundled worker that runs without a GPU; report failures and continue with the next."""
    names = sorted(name for name, shim in bundled_shims().items() if not shim.needs_gpu)
    _say(f"{len(names)} workers, one after the other; those with PyTorch, JAX or Ray take 1 to 2 GB each")
    rows, failed = [("NAME", "RESULT", "SIZE", "TIME")], 0
    for number, name in enumerate(names, 1):
        _say(f"\n{name} ({number} of {len(names)})")
        began, disk_space, result = time.monotonic(), "-", "installed"
        try:
            disk_space = size(workers.install(name, torch=torch, progress=_say).size_bytes)
        except WorkerEnvironmentError as error:
            print(error, file=sys.stderr, flush=True)
            failed, result = failed + 1, "failed"
        rows.append((name, result, disk_space, duration(time.monotonic() - began)))
    _say(f"\n{text_table(rows)}")
    if failed:
        _say(f"{failed} of {len(names)} failed; what is installed is kept when this is run again")
    return 1 if failed else 0


def _check(arguments: argparse.Namespace) -> int:
    from mosaic_contract.conformance import format_report, level

    results = workers.check(arguments.name, on_result=lambda result: _say(sanitize(format_report([result]))))
    failed = sum(not result.passed for result in results)
    _say(
        f"{arguments.name}: {failed} of {len(results)} checks failed"
        if failed
        else f"{arguments.name}: all checks passed, of {level(results)}"
    )
    return 1 if failed else 0


def _remove(arguments: argparse.Namespace) -> int:
    workers.remove(arguments.name, progress=_say)
    return 0


def _warm(arguments: argparse.Namespace) -> int:
    rows = [("PID", "PROGRAM", "MEMORY", "AGE", "STARTED BY")]
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.name() == warm.NAME and len(command := process.cmdline()) > 2:
                memory_mb, age = process.memory_info().rss / 1e6, time.time() - process.create_time()
                program, kernel = command[2], f"process {process.ppid()}"
                rows.append((str(process.pid), program, memory(memory_mb), duration(age), kernel))
    if len(rows) == 1:
        _say("no warm workers: the first training or policy of a library in a notebook starts one")
    else:
        _say(text_table(rows))
    _say("Trainings with GPUs, and all with JAX (jax, jumanji) or Ray (rllib), start cold.")
    return 0


def _new(arguments: argparse.Namespace) -> int:
    folder, name = templates.new(arguments.name, arguments.kind), arguments.name
    _say(f"{folder} is a worker that {templates.KINDS[arguments.kind]}. It runs as it is:")
    _say(f"  mosaic-lab workers install ./{folder} && mosaic-lab workers check {name}")
    _say(f"What to fill in is marked {templates.MARK!r}; workers/README.md explains each part:")
    for placeholder in templates.places(folder):
        _say(f"  {placeholder.file}:{placeholder.line}  {placeholder.text}")
    return 0


def _list(arguments: argparse.Namespace) -> int:
    if arguments.name:
        return _list_one(workers.info(arguments.name), arguments)
    if arguments.environments or arguments.algorithm:
        arguments.parser.error("give the NAME of a worker too")
    header = ("NAME", "STATE", "UPSTREAM", "SOURCE", "PYTHON", "SIZE", "ORIGIN")
    infos = workers.catalog()
    _say(text_table([header, *map(_row, infos)]))
    provided = [(name, _first_patterns(globs)) for name, globs in families().items()]
    if provided:
        _say(f"\n{text_table([('NAME', 'ENVIRONMENTS TO COMPARE OPERATORS IN'), *provided])}")
    faults: dict[str, list[str]] = {}
    for info in infos:
        if info.detail:
            faults.setdefault(f"{info.state}, {info.detail}", []).append(info.name)
    for fault, names in faults.items():
        _say(f"\n{', '.join(names)}: {fault}. Repair: mosaic-lab workers install NAME")
    for info in infos:
        if info.worker_environment is not None and info.worker_environment.replaces_ours:
            _say(f"{replacement(info.worker_environment)}.")
    return 0


def _list_one(info: WorkerInfo, arguments: argparse.Namespace) -> int:
    loads = info.worker_environment is not None and info.state != "broken"
    if arguments.environments is not None:
        if info.worker_environment is None or not loads:
            raise not_installed(info.name)
        ids = workers.describe(info.worker_environment)["environments"]
        matches = [env_id for env_id in ids if fnmatchcase(env_id, arguments.environments)]
        _say("\n".join(matches) or f"none of its {len(ids)} environments matches {arguments.environments!r}")
        return 0 if matches else 1
    _say(profiles.head(info))
    if info.worker_environment is not None and loads:
        description = workers.describe(info.worker_environment)
        only = info.worker_environment.algorithm(arguments.algorithm)
        if description["hyperparameters"] and not only:
            _say(profiles.algorithms_text(info.name, description))
        if description["hyperparameters"] or only:
            _say(profiles.hyperparameters_text(description, only))
        if ids := description["environments"]:
            _say(profiles.environments_text(info.name, ids))
    return 0


def _first_patterns(globs: Sequence[str]) -> str:
    """Return the first few of a worker's id patterns, and the number of further ones."""
    further = len(globs) - _PATTERNS
    return " ".join(globs[:_PATTERNS]) + (f" and {further} more" if further > 0 else "")


def _row(info: WorkerInfo) -> tuple[str, ...]:
    installed = info.worker_environment
    if installed is None:
        return (info.name, info.state, "-", "-", (info.shim and info.shim.python) or "-", "-", info.origin)
    return (
        info.name,
        info.state,
        profiles.upstream(installed),
        installed.source or "-",
        installed.python_version,
        size(installed.size_bytes) if installed.size_bytes else "-",
        info.origin,
    )
