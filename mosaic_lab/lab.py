"""The facade that users type: ``mosaic_lab.Lab``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic_lab.defaults import STEP_TIMEOUT
from mosaic_lab.engines.mirror import PLACEMENT
from mosaic_lab.errors import ConfigurationError, MosaicError, UnknownRun
from mosaic_lab.keeper.files import folders_in
from mosaic_lab.keeper.run_store import RunStore
from mosaic_lab.keeper.states import State
from mosaic_lab.number_format import duration
from mosaic_lab.run_table import NOTHING_TO_STOP, RunList
from mosaic_lab.runs import Checkpoint, Run, RunGroup, Supervisor
from mosaic_lab.runs.kinds import as_kind
from mosaic_lab.runs.supervisor import this_notebook
from mosaic_lab.runs.train_request import TrainRequest
from mosaic_lab.runs.training import Trainer
from mosaic_lab.validation import checked_methods
from mosaic_lab.widgets import DISPLAY, register
from mosaic_lab.widgets.overview.live_runs import LiveRunList
from mosaic_lab.widgets.runs.installation_log import installation_log
from mosaic_lab.widgets.status import announce

if TYPE_CHECKING:
    from mosaic_lab.arenas import Comparison
    from mosaic_lab.evaluation import Evaluation, League
    from mosaic_lab.evaluation.plan import OnFailure, SeedSequence
    from mosaic_lab.sweeps.request import Search
    from mosaic_lab.sweeps.sweep import Sweep

_NAMED = 5  # groups in an error


@checked_methods("lab")
class Lab(Trainer):
    """The runs in one folder, and the way to start more.

    ``root`` is the run store. ``max_running``: how many of its runs may run at once before a new one queues
    (default: the number of CPU cores). A new Lab prints which runs of this notebook are still alive, the
    memory that they use, how to see and stop them, and how many others are alive; of a store that does not
    exist yet, its folder. All of its state is in the store, which any number of Labs, in any number of
    kernels, may share.
    """

    def __init__(self, root: Path | str = "mosaic_runs", max_running: int | None = None) -> None:
        super().__init__(Supervisor(root, max_running, DISPLAY), installation_log)
        register()
        announce(self.root)
        self._reattach()
        if not self.root.exists():
            print(_new_store(self.root))
        if alive := [run for run in self.supervisor.runs() if run.alive]:
            print(_still_alive(alive, self.root))

    def _reattach(self) -> None:
        """Follow the runs on clusters again whose keepers here have been killed, as by a reboot."""
        for run in self.supervisor.runs():
            if run.on is not None and run.state is State.LOST and (run.path / PLACEMENT).is_file():
                try:
                    self.supervisor.reattach(run)
                except MosaicError as error:
                    print(f"run {run.id} on {run.on} is not followed: {error}")

    @property
    def root(self) -> Path:
        """The run store's folder."""
        return self.supervisor.store.root

    @property
    def runs(self) -> LiveRunList:
        """All runs of the store, oldest first; as the value of a cell, a live table."""
        return LiveRunList(self.root, self.supervisor.runs(), self.supervisor.incomplete())

    def run(self, run_id: str) -> Any:
        """Return one run by its id, an unambiguous beginning or end of it, or the name that it is shown by.

        It is an `Evaluation`, a `Sweep`, a `Curriculum` or, for all others, a `Run`. Raises UnknownRun.
        """
        return as_kind(self.supervisor.run(run_id))

    def group(self, name: str) -> RunGroup:
        """The runs that were started together over several seeds (`RunGroup.name`). Raises UnknownRun."""
        groups = self.supervisor.groups()
        if name not in groups:
            names = sorted(groups, key=lambda one: SequenceMatcher(None, one, name).ratio(), reverse=True)
            known = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
            raise UnknownRun(f"no group {name!r} in {self.root} (groups: {known or 'none'})")
        return groups[name]

    @property
    def groups(self) -> tuple[RunGroup, ...]:
        """All groups of the store, oldest first; see `group`."""
        return tuple(self.supervisor.groups().values())

    def stop_all(self, grace: float | None = None) -> RunList:
        """Stop every run of the store that is alive, and return these; see `Run.stop`."""
        alive = RunList((run for run in self.supervisor.runs() if run.alive), empty=NOTHING_TO_STOP)
        RunGroup(alive).stop(grace)
        return alive

    def compare(
        self,
        env: str,
        operators: Mapping[str, Any] | None = None,
        *,
        seeds: Iterable[int] = (),
        policies: Mapping[str, Any] | None = None,
        env_kwargs: Mapping[str, Any] | None = None,
        max_steps: int | None = None,
        step_timeout: float = STEP_TIMEOUT,
        deadline: float | None = None,
        fallback: str | None = None,
        family: str | None = None,
        pass_env: Iterable[str] = (),
    ) -> Comparison:
        """Put operators side by side, each in an environment of its own, on the same seeds; see `Comparison`.

        What is not installed is installed first, with progress. Returns when every lane is at the first
        step on the first seed, or has failed; everything ends with this kernel. Folders of comparisons that
        have ended stay in the store, below ``comparisons``: the newest 20 of them.

        Args:
            env: an environment id, such as ``"CartPole-v1"`` or ``"simple_spread_v3"``.
            operators: a lane's name with its operator (`mosaic_lab.operators`), for each lane. A function of
                the observation, or an object with ``select_action`` or (as Stable-Baselines3's models)
                ``predict``, plays in this kernel; ``mosaic.operators.python("policy.py:act")`` plays one of a
                file in a process of its own. Where there
                are several agents an operator acts for all of them, or a lane has a policy mapping as below
                in place of an operator.
            seeds: whole numbers, at least one; an episode each.
            policies: who acts for whom where there are several agents, as one lane more, which is called
                "policies": ``{agent, team or pattern ("red_*"): operator, "*": operator for the rest}``. An
                agent's id counts before a team's name, and that before a pattern; one agent with two
                operators, or none, is an error with a table. The same object under several keys is one
                operator, in one process, that distinguishes its agents by their ids; two calls of a maker are
                two operators.
            env_kwargs: keyword arguments of the environment.
            max_steps: where an episode is cut off; default: where the environment does it.
            step_timeout: seconds that the environment may take for a reset, a step or a frame. One that takes
                longer, or whose process is suspended, is ended, and its lane has failed; the time in which
                operators think does not count.
            deadline: seconds that every operator has for an action, in place of its own.
            fallback: what is done at the deadline, in place of the operators' own: ``"wait"``, ``"default"``
                (a default action) or ``"forfeit"`` (the episode ends).
            family: the worker that makes the environment. Default: known from the id, or where that worker
                cannot make it, one that a policy here was trained by on this environment.
            pass_env: names of this process's environment variables to pass on to the environments and the
                operators, as in `train`.

        Raises:
            ConfigurationError: what is requested cannot be: an unknown environment or worker, operators
                that do not fit its agents (with a table), seeds that are not numbers.
            WorkerEnvironmentError: a worker's environment could not be built.
            RunFailed: every lane has failed; one that fails alone is shown as failed.
        """
        from mosaic_lab import arenas  # a notebook that compares nothing does not pay for it

        request = arenas.CompareRequest(
            env=env,
            operators=operators,
            policies=policies,
            seeds=seeds,
            env_kwargs=env_kwargs,
            max_steps=max_steps,
            step_timeout=step_timeout,
            deadline=deadline,
            fallback=fallback,
            family=family,
            pass_env=pass_env,
        )
        with installation_log() as progress:
            return arenas.compare(self.root, request, progress)

    def evaluate(
        self,
        script: Path | str | None = None,
        *,
        env: str | None = None,
        operators: Mapping[str, Any] | None = None,
        policies: Mapping[str, Any] | None = None,
        seeds: Iterable[int] = range(100),
        episodes: int = 1,
        env_kwargs: Mapping[str, Any] | None = None,
        max_steps: int | None = None,
        step_timeout: float = STEP_TIMEOUT,
        family: str | None = None,
        deadline: float | None = None,
        fallback: str | None = None,
        parallel: int | None = None,
        on_failure: OnFailure = "stop",
        seed_sequence: SeedSequence = "procedural",
        step_delay: float = 0.0,
        budget: Mapping[str, float] | None = None,
        replay: Any = None,
        pass_env: Iterable[str] = (),
        on: str | None = None,
        run_code: bool = False,
    ) -> Evaluation:
        """Have every operator play every seed, unattended, and return at once: a run like any other.

        What is not installed is installed first, with progress. It survives this kernel; `run` finds it
        again, and `Evaluation.resume` continues where a stop or a crash ended it.

        Args:
            script: a TOML or JSON file that says all of this (`mosaic-lab evaluate --help` shows one); then
                nothing else is given here.
            env: an environment id.
            operators: names with their operators, or with policy mappings, as in `compare`. Your own policies
                come from a file, ``mosaic.operators.python("policy.py:act")``, or are functions that a module
                defines; what only this kernel has cannot outlive it.
            policies: a policy mapping, as one operator more that is called "policies"; see `compare`.
            seeds: whole numbers. ``[7] * 10`` is 10 episodes on the environment of seed 7, as with
                ``episodes=10, seed_sequence="fixed"``.
            episodes: how many on each seed.
            env_kwargs: keyword arguments of the environment.
            max_steps: where an episode is cut off; default: where the environment does it.
            step_timeout: seconds that the environment may take for a reset, a step or a frame. One that takes
                longer, or whose process is suspended, is ended, and its episode has failed (``on_failure``);
                the time in which operators think does not count.
            family: the worker that makes the environment; see `compare`.
            deadline: seconds that every operator has for an action, in place of its own.
            fallback: what is done at the deadline, in place of the operators' own; see `compare`.
            parallel: how many arenas play at once; default: the number of CPU cores, and at least 8 where
                an operator waits for the endpoint of a language model.
            on_failure: what an episode does that cannot be played to its end, for example because an
                operator died. ``"stop"`` ends the evaluation, ``"skip"`` continues without the episode,
                ``"retry"`` plays it once more in a fresh arena before that. It is in the results as failed
                in any case.
            seed_sequence: ``"procedural"`` gives each episode on a seed a seed of its own, made of it (a
                single episode has the seed itself); ``"fixed"`` gives the environment the seed itself each
                time, and a seed of its own to the operators alone. Several fixed seeds are resampled as a
                whole; with one, the intervals are about that environment.
            step_delay: seconds before each step, for watching.
            budget: what language models may spend, ``{"usd": 2.0}``, ``{"tokens": 1_000_000}`` or both. When
                it is spent the evaluation ends as cancelled; ``resume(budget=…)`` continues with a larger
                one. A call is only made where its prompt and ``max_tokens`` still fit in.
            replay: an evaluation, its id, or the folder of its run or of an opened bundle: language models
                answer as they did there, without a key or a network, and at once: where a deadline with
                a ``fallback`` other than "wait" had cut an answer off, the replay differs. A prompt
                that is not the recorded one fails its episode, and the error says at which step.
            pass_env: names of this process's environment variables to pass on; see `compare`.
            on: a Ray cluster that plays it, as in `train`: ``parallel`` runs on its nodes at once, queued
                ones counted, each with a chunk of the episodes of one operator. Every episode is recorded
                here, once, with its steps. Trained, random and passive operators play there; language models
                and code of yours play on this machine only.
            run_code: whether a script may name Python policies, whose code then runs.

        Raises:
            ConfigurationError: everything that is wrong, at once, with its line in a script.
            WorkerEnvironmentError: a worker's environment could not be built.
            MosaicError: the run could not be started (no space, say).
        """
        from mosaic_lab.evaluation import launch  # a notebook that evaluates nothing does not pay for it
        from mosaic_lab.evaluation.request import EvaluateRequest

        request = EvaluateRequest(
            env=env,
            operators=operators,
            policies=policies,
            seeds=seeds,
            episodes=episodes,
            env_kwargs=env_kwargs,
            max_steps=max_steps,
            step_timeout=step_timeout,
            family=family,
            deadline=deadline,
            fallback=fallback,
            parallel=parallel,
            on_failure=on_failure,
            seed_sequence=seed_sequence,
            step_delay=step_delay,
            budget=budget,
            replay=replay,
            pass_env=pass_env,
            on=on,
        )
        if script is not None and request != EvaluateRequest():
            raise ConfigurationError("give either a script or env= and operators= and the rest, not both")
        with installation_log() as progress:
            if script is None:
                return launch.evaluate(self.supervisor, request, progress)
            return launch.evaluate_script(self.supervisor, script, progress, run_code=run_code)

    def league(
        self,
        env: str,
        players: Mapping[str, Any],
        *,
        agents: Sequence[str] | None = None,
        checkpoints: int = 5,
        operator: Callable[[Checkpoint], Any] | None = None,
        seeds: Iterable[int] = range(10),
        env_kwargs: Mapping[str, Any] | None = None,
        max_steps: int | None = None,
        step_timeout: float = STEP_TIMEOUT,
        family: str | None = None,
        deadline: float | None = None,
        fallback: str | None = None,
        parallel: int | None = None,
        on_failure: OnFailure = "stop",
        pass_env: Iterable[str] = (),
    ) -> League:
        """Play all players against each other, each on both sides, in an evaluation, and return at once.

        `League.ratings` has their Elo, `League.training_plot` that of a training's checkpoints over its steps
        and `League.add` plays further players against those that are there; `League.of` one of its
        evaluations finds it again.

        Args:
            env: a game of two sides, such as ``"connect_four_v3"``.
            players: names with their operators, as in `compare`, or with runs: the checkpoints of a training,
                or of each of a group, are players, so that a policy plays against earlier ones of itself.
            agents: the two sides, agent ids, teams or patterns; default: the environment's two agents or
                teams.
            checkpoints: how many of each run play, evenly chosen; the first and the last are among them.
            operator: what acts by a checkpoint of a run, a function of the `Checkpoint`; default:
                `mosaic_lab.operators.rl`.
            seeds: a game of each pair on each side for each.
            env_kwargs: as all further ones in `evaluate`.

        Raises:
            ConfigurationError: everything that is wrong, at once; see `evaluate`.
            WorkerEnvironmentError: a worker's environment could not be built.
            MosaicError: the run could not be started (no space, say).
        """
        from mosaic_lab.evaluation.league_start import start_league
        from mosaic_lab.evaluation.request import EvaluateRequest

        request = EvaluateRequest(
            env=env,
            seeds=seeds,
            env_kwargs=env_kwargs,
            max_steps=max_steps,
            step_timeout=step_timeout,
            family=family,
            deadline=deadline,
            fallback=fallback,
            parallel=parallel,
            on_failure=on_failure,
            pass_env=pass_env,
        )
        with installation_log() as progress:
            return start_league(self.supervisor, request, players, agents, checkpoints, operator, progress)

    def sweep(
        self,
        worker: str,
        *,
        search: Search,
        trials: int = 20,
        seeds: Iterable[int] = (1,),
        metric: str = "episode_return",
        mode: str = "max",
        aggregate: str = "mean",
        sampler: str = "tpe",
        pruner: str | None = None,
        interval: int | None = None,
        seed: int = 0,
        parallel: int | None = None,
        rounds: bool = False,
        **training: Any,
    ) -> Sweep:
        """Search hyperparameters of a training, and return at once: a run that starts others, its trials.

        Everything is checked before anything starts. The sweep survives this kernel; `run` finds it again,
        and `Sweep.resume` continues where a stop or a kill ended it. Each trial is an ordinary run of
        the store or, with several seeds, a group of them.

        Args:
            worker: such as ``"cleanrl"``; ``algorithm=``, ``env=``, ``total_timesteps=`` and the other
                arguments of `train` are those of all trials.
            search: the search space, such as ``{"learning_rate": mosaic.search.loguniform(1e-5, 1e-2),
                "num_envs": [4, 8]}`` (`mosaic_lab.search`), or a function of a trial that returns
                hyperparameters, for those that depend on others: ``trial.loguniform("learning_rate", 1e-5,
                1e-2)`` chooses one. It is called in the sweep's process, so it must import and define all
                that it uses.
            trials: how many to try.
            seeds: those that each trial is trained on, one run each, such as ``range(3)``.
            metric: what is optimised: the mean of its last 20 points. ``"episode_return"`` is the return, by
                whatever name the worker has for it.
            mode: ``"max"`` or ``"min"``.
            aggregate: of the values of several seeds, the ``"mean"`` or the interquartile mean, ``"iqm"``.
            sampler: what proposes trials: ``"tpe"``, ``"cma-es"``, ``"qmc"`` (a Sobol sequence), ``"random"``
                or ``"grid"`` (all combinations of lists). Or ``"pbt"``, population-based training: the trials
                are members that train side by side, and every ``interval`` steps the worst quarter continues
                from the checkpoints of the best, with hyperparameters near theirs.
            pruner: what ends trials that fall behind others at the same step: ``"asha"`` (the default),
                ``"hyperband"``, ``"median"`` or ``"none"``. They end by the ordinary stop, with a checkpoint.
                Or ``"asha-promotion"``: all trials end after a ninth of the steps, and the best third of
                those at a step continues from there, to a third and to the end.
            interval: steps after which the members of a population are compared.
            seed: of the sampler.
            parallel: how many runs train at once; default: the number of CPU cores.
            rounds: propose trials ``parallel`` at a time, when all before have ended: then the same seed
                gives the same trials, whichever ends first.
            **training: as in `train`, without ``films``; ``seed`` is the sampler's.

        Raises:
            ConfigurationError: everything that is wrong, at once: names and values that the worker's own
                table of hyperparameters does not have, an empty range, an unknown sampler.
            WorkerEnvironmentError: the worker's environment could not be built.
            MosaicError: the run could not be started (no space, say).
        """
        from mosaic_lab.sweeps import launch  # a notebook that searches nothing does not pay for it
        from mosaic_lab.sweeps.request import SweepRequest

        request = SweepRequest(
            training=TrainRequest.of({**training, "worker": worker}),
            search=search,
            trials=trials,
            seeds=seeds,
            metric=metric,
            mode=mode,
            aggregate=aggregate,
            sampler=sampler,
            pruner=pruner,
            interval=interval,
            seed=seed,
            parallel=parallel,
            rounds=rounds,
        )
        with self._installation_log() as progress:
            return launch.sweep(self, request, progress)

    def __repr__(self) -> str:
        runs = self.supervisor.runs()
        return f"<Lab {self.root}: {len(runs)} runs, {sum(run.alive for run in runs)} alive>"


def _new_store(root: Path) -> str:
    """Return which folder will be made, and the nearest store of this name in a folder above it."""
    line = f"{root} does not exist: the first run makes it, a new run store."
    above = (folder / root.name for folder in root.parent.parents)
    if found := next((store for store in above if folders_in(store) and RunStore(store).folders()), None):
        count = len(RunStore(found).folders())
        line += (
            f'\nA store with {count} run{"s" if count > 1 else ""} is in {found}: Lab("{found}") opens it.'
        )
    return line


def _still_alive(runs: list[Run], root: Path) -> str:
    """Return what a user who restarted a kernel to get memory back must know.

    Runs of other notebooks are counted alone: the text is saved in the document.
    """
    here = this_notebook()
    own = [run for run in runs if run.notebook == here]
    others = len(runs) - len(own)
    lines = []
    if own:
        lines.append(f"{'1 run is' if len(own) == 1 else f'{len(own)} runs are'} still alive in {root}:")
        lines += map(_alive_line, own)
        one = f'lab.run("{own[-1].id}")'
        lines.append(f"{one} as the last line of a cell shows one live, {one}.stop() ends it,")
        lines.append("lab.stop_all() ends all.")
    if others:
        count = "1 run that was" if others == 1 else f"{others} runs that were"
        verb = "is" if others == 1 else "are"
        lines.append(f"{count} started elsewhere {verb} alive in {root}: lab.runs lists all.")
    return "\n".join(lines)


def _alive_line(run: Run) -> str:
    memory, elapsed = run.memory_mb, run.elapsed
    facts = [str(run.state), as_kind(run).progress_text]
    facts.append("" if memory is None else f"{memory:,.0f} MB")
    facts.append("" if elapsed is None else f"for {duration(elapsed)}")
    return f"  {run.id}  " + ", ".join(fact for fact in facts if fact)
