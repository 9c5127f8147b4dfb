"""`Evaluation`, a run whose data are episodes, and its start.

Like every run it is read from its folder alone, so any process can open it at any time. Its results are in
`mosaic_lab.evaluation.results`.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from functools import partial
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Self, overload

from msgspec import structs

from mosaic_lab.arenas.exchange_index import ExchangeIndex
from mosaic_lab.arenas.replays import Replay, Replays
from mosaic_lab.arenas.transcript import Transcript
from mosaic_lab.engines.clusters import process_variables
from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.evaluation.budgets import BUDGET_SPENT, budget_to_go_on
from mosaic_lab.evaluation.episode_log import Record, key_of, settled
from mosaic_lab.evaluation.fingerprints import Lock, changed, changes, changes_text, locks_of
from mosaic_lab.evaluation.parts import GRACE_SECONDS, PARTS, parts_text
from mosaic_lab.evaluation.plan import EpisodeJob, EvaluationPlan, Key
from mosaic_lab.evaluation.pool import ARENAS, Stall, read_stalls
from mosaic_lab.evaluation.replay_check import Verification, check_by_replay
from mosaic_lab.evaluation.replaying import nearest_seeds, replay
from mosaic_lab.evaluation.reports.summary_table import check_operator
from mosaic_lab.evaluation.request import EvaluateRequest
from mosaic_lab.evaluation.results import Results
from mosaic_lab.keeper.environment_variables import USER_SITE
from mosaic_lab.keeper.run_store import RunStore
from mosaic_lab.keeper.states import State
from mosaic_lab.keeper.tail import final_message
from mosaic_lab.runs import Run, RunGroup, Supervisor
from mosaic_lab.runs.hardware import cpu_cores
from mosaic_lab.runs.run import DEFAULT_GRACE, FRAMES_ANYWHERE, display_of
from mosaic_lab.validation import checked_methods
from mosaic_lab.workers.families import shown_as

if TYPE_CHECKING:
    from mosaic_lab.evaluation.reports.estimate_table import Estimates

WORKER = "evaluation"
"""The name of the worker of runs that are evaluations."""

COMMAND = [sys.executable, "-m", "mosaic_lab.evaluation"]

_RECENT = 50  # episodes for the speed
_QUIET_SECONDS, _QUIET_GAPS = 10.0, 3  # without an ended episode, after which the speed is unknown


@checked_methods("ev")
class Evaluation(Results):
    """Operators × seeds × episodes, played in the background; made by `mosaic_lab.Lab.evaluate`.

    In addition to the attributes of every run (``state``, ``wait``, ``stop``, ``log`` …), it has its finished
    episodes. They survive a stop; `resume` plays the remaining ones.
    """

    @property
    def progress(self) -> float | None:
        """The fraction of episodes done, from 0 to 1."""
        return self.done / self.total if self.total else None

    @property
    def time_left(self) -> float | None:
        """The estimated seconds until the evaluation is done, based on the operators' recent episodes.

        None if it is not alive, if there is no estimate yet, or if no episode has ended for much longer than
        usual.
        """
        if self.finished:
            return None
        parallel = self.plan.parallel
        if self.plan.request.on is not None:
            parallel = max(1, sum(part.state is State.RUNNING for part in self.parts))
        ended = self._episode_log.read()
        return remaining_seconds(ended, self._jobs, parallel, time.time())

    @property
    def stalls(self) -> list[Stall]:
        """Episodes that have made no step for 10 seconds (or a quarter of ``step_timeout``, if less), with
        what they wait for: a slow operator, or an environment that may be about to fail."""
        if self.finished:
            return []
        playing = [part.folder for part in self.parts if not part.finished]
        return [stall for folder in (self.folder, *playing) for stall in read_stalls(folder)]

    @property
    def parts(self) -> list[Run]:
        """The runs on a cluster that play or have played its episodes, oldest first; none for a local
        evaluation. Their logs include the installation of workers on the nodes."""
        return [Run(folder, self.display) for folder in RunStore(self.path / PARTS).folders()]

    @property
    def arenas(self) -> list[Run]:
        """Its arenas as runs, including ended ones; each has a log and, while it plays, frames. The arenas on
        a cluster are in the folders of its `parts`."""
        folders = sorted((self.path / ARENAS).glob("*/state.json"), key=lambda file: file.stat().st_ctime)
        return [Run(file.parent, self.display) for file in folders]

    @property
    def locks(self) -> dict[str, Lock]:
        """The package versions in each worker's environment when the evaluation started."""
        recorded = self.provenance.get("environment", {}).get("locks", {})
        return {name: Lock(**lock) for name, lock in recorded.items()}

    def result_table(self) -> Estimates:
        return self.summary()

    def frames(self, fps: float = 30) -> Any:
        """Show live frames of the arenas that are playing in a notebook cell; see `Run.frames`."""
        if self.plan.request.on is not None:
            raise MosaicError(f"{self.id} has no frames to show: it is played on {self.plan.request.on}")
        playing = [arena for arena in self.arenas if arena.alive]
        if not playing:
            raise MosaicError(f"{self.id} has no frames to show: it is {self.state}, and no arena plays")
        return display_of(playing, FRAMES_ANYWHERE).frames(playing, fps)

    def resume(self, budget: Mapping[str, float] | None = None) -> Evaluation:
        """Play the remaining episodes after a stop, a kill or a crash, and return at once.

        No episode is played twice or omitted. Failed episodes are played again if failures stop the
        evaluation (``on_failure``), and otherwise remain failed. Recorded answers of language models are
        reused, so nothing is paid for twice. Environment variables that were passed on are read from this
        process again. If no episode remains, only the end is recorded; a completed evaluation is left
        unchanged.

        Args:
            budget: the new limits for language models, counted from the start of the evaluation; required if
                the previous budget is exhausted.

        Raises:
            MosaicError: the evaluation is alive; or a checkpoint, a policy's file, the replayed recording or
                a worker's environment has changed.
            ConfigurationError: an environment variable is not set, or the budget is already exhausted.
        """
        if not self.finished:
            raise MosaicError(f"run {self.id} is {self.state}: it can be resumed when it has ended")
        records = Evaluation(self.folder)._episode_log.read()  # the file may be damaged by now
        if not {job.key for job in self._jobs} <= settled(self.plan, records):
            self._check_unchanged()
        elif self.state is State.COMPLETED:
            return self
        agreed = budget_to_go_on(self.plan, budget, self.spent(), self.ran_out)
        changes = {} if agreed == self.plan.request.budget else {"budget": agreed}
        process = Run(self.folder, self.display)  # the evaluation's process only: it adopts running parts
        variables, names = _variables(self.plan), self.plan.variables
        self._supervisor().resume(process, env_vars=variables, pass_env_vars=names, config=changes)
        if changes:
            for name in ("config", "plan"):  # read again when they are used
                vars(self).pop(name, None)
        return self

    def stop(self, grace: float | None = None, wait: bool = True, reason: str = "") -> Self:
        """End the evaluation, including its parts on a cluster; see `Run.stop`. `resume` continues it."""
        super().stop(grace, wait, reason)
        if wait:  # its process, which stops them, may have been killed
            RunGroup(part for part in self.parts if part.alive).stop(grace)
        return self

    def _check_unchanged(self) -> None:
        """Raise MosaicError if the remaining episodes would not be played with the same inputs as the
        finished ones."""
        if self.plan.replay is not None and not Path(self.plan.replay).is_dir():
            raise MosaicError(f"the recording {self.plan.replay}, from which {self.id} plays, is missing")
        if why := changed(self.plan):
            raise MosaicError(
                f"{why}. The remaining episodes would be played with a different one: start a new evaluation"
            )
        if changed_workers := changes(self.locks, locks_of(self.locks)):
            name, texts = next(iter(changed_workers.items()))
            raise MosaicError(
                f"worker '{name}' has changed since {self.id} started: {changes_text(texts)}. The remaining "
                "episodes would be played with other versions: install the earlier ones, or start a new "
                "evaluation"
            )

    @property
    def ran_out(self) -> bool:
        """Whether the evaluation ended because its budget for language models was exhausted; see `resume`."""
        final = final_message(self.folder.telemetry_path) or {}
        return bool(final.get("payload", {}).get("partial_results", {}).get(BUDGET_SPENT))

    def verify(self, sample: int | None = None) -> Verification:
        """Play the finished episodes again, or ``sample`` of them, in a local run, and wait for it.

        Return the episodes that differ, with the first step at which each does; the run is kept only if there
        are any. Raises ConfigurationError if a checkpoint has changed.
        """
        supervisor = self._supervisor()

        def play(plan: EvaluationPlan) -> Evaluation:
            if plan.request.on is not None:
                request = structs.replace(plan.request, on=None)
                plan = replace(plan, request=request, parallel=min(plan.parallel, cpu_cores()))
            return start(supervisor, plan, f"verification of {self.id},")

        return check_by_replay(self, sample, play)

    @overload
    def replay(self, operator: str, seed: int, episode: int = 0) -> Replay: ...
    @overload
    def replay(self, operator: list[str] | tuple[str, ...], seed: int, episode: int = 0) -> Replays: ...
    def replay(
        self, operator: str | list[str] | tuple[str, ...], seed: int, episode: int = 0
    ) -> Replay | Replays:
        """Replay a finished episode from its seed and recorded actions; a notebook shows it as a player.

        This needs the environment's worker, but no policy, model or key. Each observation is compared with
        the recorded one. A list of operators gives `Replays`, with the first step at which they differ. Here,
        each training of an algorithm is an operator, named "PPO s1".

        Raises ConfigurationError for an unknown operator or episode, and MosaicError if its actions were not
        recorded or the environment can no longer be made.
        """
        return replay(self, operator, seed, episode)

    def transcript(
        self, operator: str | None = None, seed: int | None = None, fault: str | None = None, text: str = ""
    ) -> Transcript:
        """Return a transcript of the exchanges with language models, which grows while the evaluation runs.

        A notebook shows it as a searchable table with prompts, answers and replays. The arguments filter it
        by operator, by seed, by ``fault`` (its name, "any" or "none"), and by a ``text`` in the prompt, the
        answer or the reasoning. ``save("log.jsonl")`` writes it; see
        `mosaic_lab.arenas.transcript.Transcript`.

        Raises ConfigurationError for an unknown operator, seed or fault.
        """
        plan, handle = self.plan, Evaluation(self.folder)  # another handle: each serves one reader at a time
        if operator is not None:
            check_operator(operator, plan.lanes)
        seeds = {job.index: job.seed for job in self._jobs}
        if type(seed) is int and seed not in seeds.values():
            raise ConfigurationError(f"seed={seed}: {nearest_seeds(sorted({*seeds.values()}), seed)}")
        transcript = Transcript(
            store=self.path.parent,
            name=self.id,
            environment=self.environment,
            index=ExchangeIndex(
                self.recording, list(plan.lanes), lambda _, index: seeds.get(index), plan.request.episodes
            ),
            alive=lambda: handle.alive,
            returns=lambda: {
                key_of(record): record["return"] for record in handle.records() if record["status"] == "ok"
            },
            replay=partial(replay, handle),
        )
        return transcript.select(operator, seed, fault, text)

    def bundle(self, path: Path | str, notebook: Path | str | None = None, recordings: bool = True) -> Path:
        """Pack the evaluation into a zip file that `mosaic-lab evaluate FILE --verify` reproduces elsewhere.

        The bundle contains the script, the checkpoints, the results with every step, the exact package
        versions of the workers' environments, the fingerprint, the Python files of your own environment's
        module ("module:Id"), which run elsewhere only with consent, and the ``notebook`` as last saved. With
        ``recordings`` of language models, it can be played without an endpoint or a key; without them, a
        warning lists the models to call. Recorded observations are included as well: `Bundle.dataset` writes
        them as a dataset elsewhere.

        Raises MosaicError before all episodes are done, and for operators that cannot be bundled: workers
        with their own settings, and models in files.
        """
        from mosaic_lab.evaluation.sharing import write_bundle

        return write_bundle(self, path, notebook, recordings)

    @property
    def parts_text(self) -> str:
        """The numbers of `parts` that are playing and starting, with the reason; empty without parts."""
        return "" if self.finished else parts_text(self.parts)

    def _supervisor(self) -> Supervisor:
        launch = self.folder.document(self.folder.launch_path)
        return Supervisor(self.path.parent, launch.get("max_running"), self.display)

    def _described(self) -> str:
        state, failed, seconds = self.state, self.failed, self.time_left
        parts = [f"{state}", f"{self.done:,} of {self.total:,} episodes"]
        parts += [f"{failed:,} of them failed"] if failed else []
        parts += ["damaged: resume() repairs it"] if self.damage else []
        parts += [f"about {seconds:.0f} s remaining"] if seconds is not None else []
        parts += [str(stall) for stall in self.stalls[:1]]
        parts += filter(None, [self.parts_text])
        return f"<Evaluation {self.id}: {', '.join(parts)}, {self.reason}>"


def start(
    supervisor: Supervisor,
    plan: EvaluationPlan,
    label: str = "evaluation",
    league: Mapping[str, Any] | None = None,
    request: EvaluateRequest | None = None,
) -> Evaluation:
    """Start the process of an evaluation whose plan has been checked.

    ``league`` is the record of the league to which the evaluation belongs, ``request`` the user's request.
    """
    locks = {name: asdict(lock) for name, lock in locks_of(plan.workers).items()}
    run = supervisor.start(
        COMMAND,
        {**plan.to_config(), **({} if league is None else {"league": dict(league)})},
        worker=WORKER,
        label=f"{label} {shown_as(plan.env_id, plan.family)}: {', '.join(plan.lanes_by_operator)}"[:200],
        env_vars=_variables(plan),
        pass_env_vars=plan.variables,
        grace_seconds=DEFAULT_GRACE + (0.0 if plan.request.on is None else GRACE_SECONDS),
        worker_environment={"worker": plan.family, "locks": locks},
        starts_runs=plan.request.on is not None,
        request=None if request is None else plan.recorded_request(request).to_json(),
    )
    return Evaluation(run.folder, run.display)


def _variables(plan: EvaluationPlan) -> dict[str, str]:
    """Return the environment variables that an evaluation's process needs beyond those named in its plan."""
    return USER_SITE if plan.request.on is None else process_variables(plan.request.on)


def remaining_seconds(
    ended: Mapping[Key, Record], jobs: Iterable[EpisodeJob], parallel: int, now: float
) -> float | None:
    """Return the estimated seconds until all ``jobs`` have ended, ``parallel`` at a time.

    Episode lengths differ between operators, so an operator's remaining episodes are weighted by the mean
    duration of its recent ones, or by the mean of the other operators if none of its own has ended. ``now``
    is in Unix seconds. None before two episodes have ended, when none remain, and when none has ended for
    much longer than recent ones took.
    """
    remaining = Counter(job.label for job in jobs if job.key not in ended)
    records = sorted(ended.values(), key=itemgetter("timestamp"))
    means = _mean_durations(records)
    if len(records) < 2 or not remaining or not means:
        return None
    stamps: list[float] = [record["timestamp"] for record in records[-_RECENT:]]
    quiet = max(0.0, now - stamps[-1])
    longest = max(later - earlier for earlier, later in pairwise(stamps))
    if quiet > max(_QUIET_SECONDS, _QUIET_GAPS * longest):
        return None
    overall_mean = fmean(means.values())
    work = sum(count * means.get(label, overall_mean) for label, count in remaining.items())
    return max(quiet, work / min(parallel, remaining.total()))


def _mean_durations(records: Iterable[Record]) -> dict[str, float]:
    """Return the mean duration of each operator's recent episodes in seconds.

    A duration starts at the end of the arena's previous episode and includes the reset and all overhead; an
    arena's first episode starts at its first step. Episodes of a batch may end together; their own seconds,
    which are shares of the batch's time, are then longer and count instead.
    """
    durations: dict[str, list[float]] = defaultdict(list)
    reported_seconds: dict[str, list[float]] = defaultdict(list)
    previous: dict[str, float] = {}
    for record in records:
        arena, label, end = record["arena"], record["operator"], record["timestamp"]
        seconds = end - previous[arena] if arena in previous else record["seconds"]
        previous[arena] = end
        if seconds is not None:
            durations[label].append(seconds)
            reported_seconds[label].append(record["seconds"] or 0.0)
    return {
        label: max(fmean(recent[-_RECENT:]), fmean(reported_seconds[label][-_RECENT:]))
        for label, recent in durations.items()
    }
