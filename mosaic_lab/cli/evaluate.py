"""``mosaic-lab evaluate``: evaluations without a notebook. The run is the same as one started in a notebook:
it continues if this command is killed, and a notebook that uses the same store finds it."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mosaic_lab.cli.parsing import INTERRUPTED, show_until
from mosaic_lab.cli.runs import add_store
from mosaic_lab.errors import ConfigurationError, RunFailed
from mosaic_lab.keeper.states import State
from mosaic_lab.number_format import duration
from mosaic_lab.runs import Supervisor
from mosaic_lab.runs.kinds import of_class

if TYPE_CHECKING:
    from mosaic_lab.evaluation import Evaluation
    from mosaic_lab.evaluation.plan import EvaluationPlan
    from mosaic_lab.evaluation.sharing import Bundle

_DESCRIPTION = """\
Plays in the background and shows the progress, then the summary. Ctrl-C stops the run; --resume continues
it. A bundle (`mosaic-lab export --evaluation`) is unpacked and played like a script; the answers of its
language models come from its recording, without a key. --verify reports which episodes differ here."""
_FORMAT = """\
A script has the arguments of lab.evaluate, in TOML or JSON:

  env = "CartPole-v1"
  seeds = { first = 0, count = 100 }      # or a list
  parallel = 4

  [operators.PPO]
  kind = "rl"                             # or "random", "passive", "python", "worker"
  run = "k3f9"                            # or checkpoint = "step-100000.pt", beside the script
  [operators.dice]
  kind = "random"
  [operators.LLM]
  kind = "llm"                            # with the keywords of mosaic.operators.llm
  model = "gpt-5-mini"                    # its key comes from OPENAI_API_KEY; "local" needs none

help("mosaic_lab.evaluation.scripts") describes teams, other language models, your own workers and their
variables. The request.json in an evaluation's folder is also a script."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register ``mosaic-lab evaluate``."""
    parser = subparsers.add_parser(
        "evaluate",
        help="evaluate operators on many seeds from a script",
        description=_DESCRIPTION,
        epilog=_FORMAT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        keys="mosaic_lab.evaluation.request:EvaluateRequest",
    )
    add = parser.add_argument
    add("script", nargs="?", metavar="SCRIPT", help="a .toml or .json file, or a .zip bundle")
    add("--verify", action="store_true", help="replay the bundle and compare the results")
    add("--sample", type=int, metavar="N", help="verify only N episodes")
    add("--into", type=Path, metavar="DIR", help="folder to unpack into (default: the bundle's name)")
    add("--run-code", action="store_true", help="allow the script's Python policies to be executed")
    add(
        "--budget-usd",
        type=float,
        metavar="USD",
        help="spending limit for language models, at which the evaluation stops",
    )
    add("--budget-tokens", type=int, metavar="N", help="token limit for language models")
    source = "an evaluation (its id or folder, or an opened bundle), without a key or a network"
    add("--replay", metavar="ID", help=f"repeat the recorded language-model answers of {source}")
    add(
        "--on",
        metavar="CLUSTER",
        help="play on a cluster: a profile of `mosaic-lab clusters`, or ray:HOST:PORT",
    )
    add("--resume", metavar="ID", help="resume an evaluation that ended early")
    add("--detach", action="store_true", help="start the run and return")
    add_store(parser)
    parser.set_defaults(run=_evaluate, parser=parser)


def _evaluate(arguments: argparse.Namespace) -> int:
    from mosaic_lab.evaluation import Evaluation, launch  # imports NumPy, which no other command needs

    if (arguments.script is None) == (arguments.resume is None):
        arguments.parser.error("give either a SCRIPT or --resume ID")
    is_bundle = str(arguments.script).endswith(".zip")
    if not is_bundle and (arguments.verify or arguments.into is not None):
        is_folder = arguments.script is not None and Path(arguments.script).is_dir()
        detail = f", and {arguments.script} is a folder" if is_folder else ""
        arguments.parser.error(f"--verify and --into are for bundles, whose names end with .zip{detail}")
    if arguments.sample is not None and not arguments.verify:
        arguments.parser.error("--sample requires --verify")
    if arguments.detach and arguments.verify:
        arguments.parser.error("--verify waits for the end: leave out --detach")
    if arguments.replay is not None and (is_bundle or arguments.resume is not None):
        arguments.parser.error("--replay is for scripts: bundles play from their own recording")
    if arguments.on is not None and (arguments.verify or arguments.resume is not None):
        arguments.parser.error(
            "--on is for new evaluations: --verify plays here, --resume where the evaluation was played"
        )
    budget = {"usd": arguments.budget_usd, "tokens": arguments.budget_tokens}
    budget = {name: limit for name, limit in budget.items() if limit is not None}
    replay = arguments.replay
    supervisor, script = Supervisor(arguments.store, warm=True), arguments.script
    if is_bundle:
        bundle = _opened(Path(script), arguments.into, arguments.run_code)
        if arguments.verify:
            return _verify(bundle, arguments.sample, supervisor)
        script, replay = bundle.script, bundle.answers
    if arguments.resume is not None:
        evaluation = of_class(supervisor.run(arguments.resume), Evaluation).resume(budget or None)
    else:
        options = {"budget": budget, "replay": replay, "on": arguments.on}
        options = {name: value for name, value in options.items() if value}
        evaluation = launch.evaluate_script(supervisor, script, run_code=arguments.run_code, **options)
    print(f"{evaluation.label}: {evaluation.path}", flush=True)
    if arguments.detach:
        return 0
    try:
        _watch(evaluation)
    except KeyboardInterrupt:
        print("\nCtrl-C: stopping; finished episodes are kept.", flush=True)
        evaluation.stop()
        _report(evaluation)
        print(f"mosaic-lab evaluate --resume {evaluation.id} continues")
        return INTERRUPTED
    code = _report(evaluation)
    if evaluation.ran_out:
        print(f"mosaic-lab evaluate --resume {evaluation.id} continues with a larger budget")
    return code


def _opened(path: Path, into: Path | None, run_code: bool) -> Bundle:
    """Unpack a bundle; print its contents, and how the installed workers' versions differ from the bundle's.
    Raises ConfigurationError, leaving no files, if running its code requires consent."""
    from mosaic_lab.evaluation import launch, planning
    from mosaic_lab.evaluation.fingerprints import changes_text
    from mosaic_lab.evaluation.sharing import open_bundle
    from mosaic_lab.evaluation.sharing.bundle import lock_name

    bundle = open_bundle(path, into or Path(path.stem))
    try:
        planning.check_consent(bundle.plan, bundle.name, run_code, bundle.path)
    except ConfigurationError:
        shutil.rmtree(bundle.path)
        raise
    launch.equipped(bundle.plan)
    lanes = ", ".join(bundle.plan.lanes)
    print(f"{path.name}: {bundle.plan.env_id}, {lanes}, {len(bundle.plan.jobs()):,} episodes")
    print(f"unpacked in {bundle.path}", flush=True)
    for note in filter(None, (bundle.unchecked, bundle.unrecorded)):
        print(note)
    for name, texts in bundle.changes().items():
        print(f"worker '{name}' differs here: {changes_text(texts)}")
        print(
            f"  the versions of the bundle: {bundle.path / lock_name(name)}. That list came with it and is "
            "not vetted: read it, and look up every name and version in it, before you install any of them"
        )
    sys.stdout.flush()
    return bundle


def _verify(bundle: Bundle, sample: int | None, supervisor: Supervisor) -> int:
    """Reproduce a bundle, or ``sample`` episodes of it; return 0 if every outcome is the same."""
    from mosaic_lab.evaluation import launch
    from mosaic_lab.evaluation.evaluation import start
    from mosaic_lab.evaluation.replay_check import check_by_replay

    def reproduce(plan: EvaluationPlan) -> Evaluation:
        evaluation = start(supervisor, launch.equipped(plan), f"verification of {bundle.name},")
        try:
            _watch(evaluation)
        except BaseException:
            evaluation.stop()
            raise
        return evaluation

    verification = check_by_replay(bundle, sample, reproduce)
    for label, versions in verification.versions.items():
        changed = ", ".join(f"{name} {recorded} (here {now})" for name, (recorded, now) in versions.items())
        print(f"{label} played with {changed}")
    for difference in verification.differences:
        print(f"differs: {difference}")
    if verification.same:
        print(f"identical: {verification.episodes:,} episodes gave the same results here as in {bundle.name}")
        return 0
    print(
        f"{len(verification.differences):,} of {verification.episodes:,} episodes differ from {bundle.name}"
    )
    print(f"`mosaic-lab runs show {verification.run}` shows the run that played them here")
    return 1


def _watch(evaluation: Evaluation) -> None:
    """Show the progress until the end."""
    show_until(lambda: evaluation.finished, lambda: _line(evaluation))


def _line(evaluation: Evaluation) -> str:
    parts = [f"{evaluation.state}", f"{evaluation.done:,} of {evaluation.total:,} episodes"]
    if failed := evaluation.failed:
        parts.append(f"{failed:,} failed")
    parts += filter(None, [evaluation.parts_text])
    if (seconds := evaluation.time_left) is not None:
        parts.append(f"{duration(seconds)} remaining")
    stalls = evaluation.stalls
    parts += [str(stall) for stall in stalls[:1]]
    if len(stalls) > 1:
        parts.append(f"and {len(stalls) - 1:,} more")
    return ", ".join(parts)


def _report(evaluation: Evaluation) -> int:
    if evaluation.done:
        print(evaluation.summary())
    try:
        evaluation.wait(0)
    except RunFailed as error:
        print(f"mosaic-lab: {error}", file=sys.stderr)
        return 1
    print(f"{_line(evaluation)}: {evaluation.reason}")
    return int(evaluation.state is not State.COMPLETED or evaluation.failed > 0)
