"""The public facade, ``mosaic_lab.Lab``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic_lab.engines.mirror import PLACEMENT
from mosaic_lab.errors import ArgumentError, MosaicError
from mosaic_lab.keeper.states import State
from mosaic_lab.keeper.warm_workers import WARM_WORKERS
from mosaic_lab.run_table import NOTHING_TO_STOP, RunList, alive_notice, new_store_notice
from mosaic_lab.runs import Checkpoint, Run, RunGroup, Supervisor
from mosaic_lab.runs.kinds import as_kind
from mosaic_lab.runs.request import STEP_TIMEOUT
from mosaic_lab.runs.run import DEFAULT_GRACE
from mosaic_lab.runs.run_names import find_group, use_store
from mosaic_lab.runs.train_request import TrainRequest
from mosaic_lab.runs.training import Trainer
from mosaic_lab.validation import checked_methods
from mosaic_lab.widgets import DISPLAY, register
from mosaic_lab.widgets.notebook_display import installation_log
from mosaic_lab.widgets.overview import LiveRunList
from mosaic_lab.widgets.status import announce

if TYPE_CHECKING:
    from mosaic_lab.arenas import Comparison
    from mosaic_lab.arenas.request import Record
    from mosaic_lab.evaluation import Evaluation, League
    from mosaic_lab.evaluation.request import OnFailure, SeedSequence
    from mosaic_lab.operators.spec import Fallback
    from mosaic_lab.serving import Server
    from mosaic_lab.serving.request import EngineName
    from mosaic_lab.sweeps.request import Aggregate, Mode, Pruner, Sampler, Search
    from mosaic_lab.sweeps.sweep import Sweep


@checked_methods("lab")
class Lab(Trainer):
    """A run store, and the methods that start runs in it.

    ``root`` is the store's folder. ``max_running`` is the number of its runs that may run at once (default:
    the number of CPU cores); further runs are queued. ``warm``: whether trained policies, and all but the
    first training with a library, are forked by an idle process that has imported the library
    (`keeper.warm_workers`).

    A new Lab prints which runs of this notebook are still alive, how much memory they use, how to show and
    stop them, and how many others are alive; if the store does not exist yet, it prints the folder. All state
    is in the store, which any number of Labs and kernels may share.
    """

    def __init__(
        self, root: Path | str = "mosaic_runs", max_running: int | None = None, warm: bool = True
    ) -> None:
        super().__init__(Supervisor(root, max_running, DISPLAY, warm), installation_log)
        WARM_WORKERS.enabled = warm
        use_store(self.supervisor.store, DISPLAY)
        register()
        announce(self.root)
        runs = self.supervisor.runs()
        self._reattach(runs)
        if not self.root.exists():
            print(new_store_notice(self.root))
        if alive := [run for run in runs if run.alive]:
            print(alive_notice(alive, self.root))

    def _reattach(self, runs: Iterable[Run]) -> None:
        """Resume following runs on clusters whose local keepers were killed, for example by a reboot."""
        for run in runs:
            if (run.path / PLACEMENT).is_file() and run.on is not None and run.state is State.LOST:
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
        """Return a run by its id, an unambiguous beginning or end of the id, or any name under which it is
        shown: your name or its label, its title in the runs panel, its label in a chart.

        Every function that takes a run takes these names too. The result is an `Evaluation`, a `Sweep`, a
        `Curriculum`, a `Server` or, for all others, a `Run`. Raises UnknownRun, with the nearest name.
        """
        return as_kind(self.supervisor.run(run_id))

    def group(self, name: str) -> RunGroup:
        """Return the runs that one call started over several seeds, by the name of the group
        (`RunGroup.name`) or its title in panels and lists. Raises UnknownRun."""
        return find_group(name, self.supervisor.groups(), self.root)

    @property
    def groups(self) -> tuple[RunGroup, ...]:
        """All groups of the store, oldest first; see `group`."""
        return tuple(self.supervisor.groups().values())

    def stop_all(self, grace: float | None = None) -> RunList:
        """Stop all live runs of the store and return them; see `Run.stop`."""
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
        fallback: Fallback | None = None,
        record: Record | None = None,
        start: Any = None,
        family: str | None = None,
        pass_env_vars: Iterable[str] = (),
    ) -> Comparison:
        """Run operators side by side, each in its own environment, on the same seeds; see `Comparison`.

        Missing worker environments are installed first, with progress. Returns once every lane has been reset
        with the first seed, or has failed. The comparison ends with this kernel; the folders of the newest 20
        ended comparisons are kept in the store, below ``comparisons``.

        Args:
            env: an environment id, such as ``"CartPole-v1"`` or ``"simple_spread_v3"``.
            operators: an operator (`mosaic_lab.operators`) for each lane's name. A function of the
                observation, or an object with ``select_action`` or ``predict`` (such as Stable-Baselines3's
                models), runs in this kernel; ``mosaic.operators.python("policy.py:act")`` runs a function of
                a file in its own process. In an environment with several agents, an operator acts for all of
                them; give a policy mapping, as below, in place of the operator for a lane that divides them.
            seeds: integers, at least one; one episode each.
            policies: a policy mapping for environments with several agents, added as a lane named "policies":
                ``{agent, team or pattern ("red_*"): operator, "*": operator for the rest}``. Agent ids take
                precedence over team names, and these over patterns; an agent with two operators or none is an
                error with a table. One object under several keys is a single operator process that
                distinguishes its agents by their ids; two calls of a factory are two operators.
            env_kwargs: keyword arguments of the environment; default: those that its policies were trained
                with (a warning lists them), else none.
            max_steps: the episode's step limit; default: the environment's own.
            step_timeout: seconds that the environment may take for a reset, a step or a frame. If it takes
                longer, or its process is suspended, it is terminated and its lane fails. The operators' own
                time does not count.
            deadline: seconds that each operator has for an action, overriding its own.
            fallback: what happens at the deadline, overriding the operators' own: ``"wait"``, ``"default"``
                (a default action) or ``"forfeit"`` (the episode ends).
            record: ``"observations"`` keeps those of each finished episode in the store, compressed, for
                `Comparison.dataset`; in environments of one agent.
            start: where each episode begins. A list of actions already played on the seed, for any
                deterministic environment: each action by its value or name ("push left"; "e2e4" or "e4"
                in chess), or ``{agent: value}`` where several act at once; ``**replay.start_at(40)`` gives
                the seed and the actions of a replay. A position as text: a FEN for ``"chess_v6"``, lines of
                ``X``, ``O`` and ``.`` for ``"connect_four_v3"`` and ``"tictactoe_v3"``, a layout as
                ``print(env.unwrapped)`` draws it for MiniGrid. ``{"position": text, "actions": […]}`` has
                both. Steps and returns count from there.
            family: the worker that provides the environment. Default: derived from the id, or if that worker
                cannot make it, a worker that trained one of the policies in this environment.
            pass_env_vars: names of environment variables to pass on to environments and operators, as in
                `train`.

        Raises:
            ConfigurationError: unknown environment or worker, operators that do not fit its agents (with a
                table), seeds that are not integers.
            WorkerEnvironmentError: a worker's environment could not be built.
            RunFailed: every lane failed. A lane that fails alone is shown as failed.
        """
        from mosaic_lab import arenas  # not imported unless a notebook compares

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
            record=record,
            start=start,
            family=family,
            pass_env_vars=pass_env_vars,
        )
        with self._installation_log() as progress:
            return arenas.compare(self.root, request, progress, self.supervisor.warm)

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
        fallback: Fallback | None = None,
        parallel: int | None = None,
        on_failure: OnFailure = "stop",
        seed_sequence: SeedSequence = "procedural",
        step_delay: float = 0.0,
        budget: Mapping[str, float] | None = None,
        replay: Any = None,
        record: Record | None = None,
        start: Any = None,
        pass_env_vars: Iterable[str] = (),
        on: str | None = None,
        run_code: bool = False,
    ) -> Evaluation:
        """Play every seed with every operator in the background, as a run, and return at once.

        Missing worker environments are installed first, with progress. The evaluation survives this kernel:
        `run` finds it again, and `Evaluation.resume` continues it after a stop or a crash.

        Args:
            script: a TOML or JSON file with these arguments (`mosaic-lab evaluate --help` shows one), in
                place of all others.
            env: an environment id.
            operators: operators or policy mappings by name, as in `compare`, and algorithms,
                ``mosaic.operators.rl(group)``, of which every training plays every seed. Your own policies
                come from a file, ``mosaic.operators.python("policy.py:act")``, or are functions defined in a
                module; objects that exist only in this kernel cannot outlive it.
            policies: a policy mapping, added as an operator named "policies"; see `compare`.
            seeds: integers; default: 100 of them, 0 to 99. ``[7] * 10`` plays 10 episodes in the environment
                of seed 7, as does ``episodes=10, seed_sequence="fixed"``.
            episodes: episodes per seed, so that ``episodes=1`` alone plays 100; for one, ``seeds=[0]``.
            env_kwargs: keyword arguments of the environment; see `compare`.
            max_steps: the episode's step limit; default: the environment's own.
            step_timeout: seconds that the environment may take for a reset, a step or a frame. If it takes
                longer, or its process is suspended, it is terminated and its episode fails (``on_failure``).
                The operators' own time does not count.
            family: the worker that provides the environment; see `compare`.
            deadline: seconds that each operator has for an action, overriding its own.
            fallback: what happens at the deadline, overriding the operators' own; see `compare`.
            parallel: number of arenas that play at once; default: the number of CPU cores, and at least 8 if
                an operator waits for the endpoint of a language model.
            on_failure: how to handle an episode that cannot be finished, for example because an operator
                died: ``"stop"`` ends the evaluation, ``"skip"`` continues with the next episode, and
                ``"retry"`` plays it once more in a fresh arena before stopping. Results list the episode as
                failed in each case.
            seed_sequence: ``"procedural"`` derives a seed for each episode from its seed (a single episode
                uses the seed itself); ``"fixed"`` gives the environment the seed itself each time, and
                derives seeds for the operators only. Episodes on one fixed seed are resampled together; with
                a single fixed seed, intervals describe that one environment.
            step_delay: seconds to pause before each step, for watching.
            budget: limits for language models, ``{"usd": 2.0}``, ``{"tokens": 1_000_000}`` or both. Once
                exhausted, the evaluation ends as cancelled; ``resume(budget=…)`` continues with a larger one.
                A call is made only if its prompt and ``max_tokens`` still fit.
            replay: an evaluation, its id, or the folder of its run or of an opened bundle. Language models
                repeat their recorded answers at once, without a key or a network; results differ if a
                deadline with a ``fallback`` other than "wait" had cut off an answer. A prompt that differs
                from the recorded one fails its episode, with an error that names the step.
            record: ``"observations"`` keeps those of each finished episode in the run's folder, compressed,
                for `Evaluation.dataset`; in environments of one agent, on this machine.
            start: where each episode begins: actions already played, or a position; see `compare`.
            pass_env_vars: names of environment variables to pass on; see `compare`.
            on: a Ray cluster to play on, as in `train`, with at most ``parallel`` runs, queued ones included,
                each playing a chunk of the episodes of one operator. Episodes and their steps are recorded
                here, each once. Trained, random and passive operators run there; language models and your own
                code run on this machine only.
            run_code: whether a script may name Python policies, whose code is then executed.

        Raises:
            ConfigurationError: all problems at once, with their lines in a script.
            WorkerEnvironmentError: a worker's environment could not be built.
            MosaicError: the run could not be started (no disk space, for example).
        """
        from mosaic_lab.evaluation import launch  # not imported unless a notebook evaluates
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
            record=record,
            start=start,
            pass_env_vars=pass_env_vars,
            on=on,
        )
        if script is not None and request != EvaluateRequest():
            hint = f"; write env={str(script)!r} if it is an environment" if env is None else ""
            raise ArgumentError(f"lab.evaluate: give either a script or env= and operators=, not both{hint}")
        with self._installation_log() as progress:
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
        fallback: Fallback | None = None,
        parallel: int | None = None,
        on_failure: OnFailure = "stop",
        pass_env_vars: Iterable[str] = (),
    ) -> League:
        """Evaluate all players against each other, each on both sides, and return at once.

        `League.ratings` computes their Elo ratings, `League.training_plot` plots the Elo of a training's
        checkpoints over its steps, `League.add` plays new players against the existing ones, and `League.of`
        recovers a league from one of its evaluations.

        Args:
            env: a two-sided game, such as ``"connect_four_v3"``.
            players: operators by name, as in `compare`, or runs: the checkpoints of a training, or of each
                run of a group, become players, so that a policy plays against its earlier versions.
            agents: the two sides, as agent ids, teams or patterns; default: the environment's two agents or
                teams.
            checkpoints: number of checkpoints per run, evenly spaced and including the first and the last.
            operator: a function that makes an operator from a `Checkpoint`; default:
                `mosaic_lab.operators.rl`.
            seeds: each pair plays one game per seed on each side.
            env_kwargs: this and all further arguments as in `evaluate`.

        Raises:
            ConfigurationError: all problems at once; see `evaluate`.
            WorkerEnvironmentError: a worker's environment could not be built.
            MosaicError: the run could not be started (no disk space, for example).
        """
        from mosaic_lab.evaluation.league import start_league
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
            pass_env_vars=pass_env_vars,
        )
        with self._installation_log() as progress:
            return start_league(self.supervisor, request, players, agents, checkpoints, operator, progress)

    def serve(
        self,
        engine: EngineName,
        model: Path | str,
        *,
        gpus: int | Sequence[int] | None = None,
        port: int | None = None,
        threads: int | None = None,
        program: Path | str | None = None,
        env_vars: Mapping[str, str] | None = None,
        pass_env_vars: Iterable[str] = (),
        grace_seconds: float = DEFAULT_GRACE,
        **options: Any,
    ) -> Server:
        """Serve a language model on this machine in the background, as a run, and return at once.

        ``mosaic.operators.llm(server)`` waits until the server answers, and plays with its model. The server
        survives this kernel: `run` finds it again. It accepts local connections only, without a key, until
        `Run.stop` ends it, and does not count towards ``max_running``.

        Args:
            engine: ``"llama.cpp"`` for GGUF models on the CPU or a GPU, or ``"vllm"`` on GPUs. Its worker
                environment is installed if needed.
            model: a GGUF file or ``"local"``, the small bundled model, for llama.cpp; a name on the Hugging
                Face hub or a model's folder for vLLM.
            gpus: number of free GPUs, or GPU indices; default: one for vLLM without ``program``, else none.
            port: the port; default: a free one.
            threads: CPU threads; default: half of the cores.
            program: your own program in place of the worker's environment, such as ``"llama-server"``.
            env_vars: environment variables to set. Their values are not stored.
            pass_env_vars: names of environment variables to pass on, such as ``["HF_TOKEN"]``.
            grace_seconds: time between SIGTERM and SIGKILL when it is stopped.
            **options: the program's own options with underscores: ``ctx_size=8192`` is ``--ctx-size 8192``,
                ``True`` an option without a value, ``False`` its ``--no-…``, a list several values.

        Raises:
            ConfigurationError: all problems at once, such as no such model, a port in use, or no GPU.
            WorkerEnvironmentError: the worker's environment could not be built.
            MosaicError: the run could not be started (no disk space, for example).
        """
        from mosaic_lab.serving.request import ServeRequest  # not imported unless a notebook serves
        from mosaic_lab.serving.server import start_server

        request = ServeRequest(
            engine=engine,
            model=model,
            gpus=gpus,
            port=port,
            threads=threads,
            program=program,
            env_vars=env_vars,
            pass_env_vars=pass_env_vars,
            grace_seconds=grace_seconds,
            options=options,
        )
        with self._installation_log() as progress:
            return start_server(self.supervisor, request, progress)

    def sweep(
        self,
        worker: str,
        *,
        search: Search,
        trials: int = 20,
        seeds: Iterable[int] = (1,),
        metric: str | None = None,
        mode: Mode = "max",
        aggregate: Aggregate = "mean",
        sampler: Sampler = "tpe",
        pruner: Pruner | None = None,
        interval: int | None = None,
        seed: int = 0,
        parallel: int | None = None,
        rounds: bool = False,
        **training: Any,
    ) -> Sweep:
        """Search over a training's hyperparameters in a run that starts other runs, its trials, and return at
        once.

        Everything is checked before anything starts. The sweep survives this kernel: `run` finds it again,
        and `Sweep.resume` continues it after a stop or a kill. Each trial is an ordinary run of the store or,
        with several seeds, a group of runs.

        Args:
            worker: a worker's name, such as ``"cleanrl"``. Together with ``algorithm=``, ``env=``,
                ``total_timesteps=`` and the other arguments of `train` it applies to all trials.
            search: the search space, such as ``{"learning_rate": mosaic.search.loguniform(1e-5, 1e-2),
                "num_envs": [4, 8]}`` (`mosaic_lab.search`). For conditional hyperparameters, a function of a
                trial that chooses values by ``trial.loguniform("learning_rate", 1e-5, 1e-2)`` and similar
                methods and returns the hyperparameters. The function is called in the sweep's process, so it
                must import and define everything it uses.
            trials: number of trials.
            seeds: training seeds of each trial, one run per seed, such as ``range(3)``.
            metric: the metric to optimise, as the mean of its last 20 points. The default,
                ``"episode_return"``, is the return, under whatever name the worker reports it. With
                ``evaluate=``, it is ``"evaluation/return"``: the mean return of the newest evaluated
                checkpoint.
            mode: ``"max"`` or ``"min"``.
            aggregate: how to combine the values of several seeds: ``"mean"``, or ``"iqm"`` (interquartile
                mean).
            sampler: how to propose trials: ``"tpe"``, ``"cma-es"``, ``"qmc"`` (a Sobol sequence),
                ``"random"`` or ``"grid"`` (all combinations of lists). Or ``"pbt"``, population-based
                training: the trials are members that train in parallel, and every ``interval`` steps the
                worst quarter continues from checkpoints of the best, with perturbed hyperparameters.
            pruner: when to stop trials that fall behind others at the same step: ``"asha"`` (the default),
                ``"hyperband"``, ``"median"`` or ``"none"``. Pruned trials are stopped like any run, with a
                checkpoint. Or ``"asha-promotion"``: all trials train for a ninth of the steps; the best third
                at each rung continue to a third of the steps and then to the end.
            interval: steps between two decisions of population-based training.
            seed: the sampler's seed.
            parallel: number of runs that train at once; default: the number of CPU cores.
            rounds: propose ``parallel`` trials at a time, once all previous ones have ended; a seed then
                determines the trials, regardless of the order in which they end.
            **training: as in `train`, without ``films``; ``seed`` is the sampler's.

        Raises:
            ConfigurationError: all problems at once: names and values that the worker's table of
                hyperparameters lacks, an empty range, an unknown sampler.
            WorkerEnvironmentError: the worker's environment could not be built.
            MosaicError: the run could not be started (no disk space, for example).
        """
        from mosaic_lab.sweeps.request import SweepRequest  # not imported unless a notebook runs a sweep
        from mosaic_lab.sweeps.sweep import start_sweep

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
            return start_sweep(self, request, progress)

    def __repr__(self) -> str:
        runs = self.supervisor.runs()
        return f"<Lab {self.root}: {len(runs)} runs, {sum(run.alive for run in runs)} alive>"
