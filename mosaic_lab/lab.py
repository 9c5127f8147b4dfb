"""The public facade, ``mosaic_lab.Lab``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic_lab.engines.mirror import PLACEMENT
from mosaic_lab.errors import MosaicError
from mosaic_lab.evaluator import Evaluator
from mosaic_lab.keeper.states import State
from mosaic_lab.keeper.warm_workers import WARM_WORKERS
from mosaic_lab.run_list import NOTHING_TO_STOP, RunList, alive_notice, new_store_notice
from mosaic_lab.runs import Run, RunGroup, Supervisor
from mosaic_lab.runs.kinds import as_kind
from mosaic_lab.runs.run import DEFAULT_GRACE
from mosaic_lab.runs.run_names import find_group, use_store
from mosaic_lab.runs.train_request import TrainRequest
from mosaic_lab.validation import checked_methods
from mosaic_lab.widgets import DISPLAY, register
from mosaic_lab.widgets.notebook_display import installation_log
from mosaic_lab.widgets.overview import LiveRunList
from mosaic_lab.widgets.status import announce

if TYPE_CHECKING:
    from mosaic_lab.serving import Server
    from mosaic_lab.serving.request import EngineName
    from mosaic_lab.sweeps.request import Aggregate, Mode, Pruner, Sampler, Search
    from mosaic_lab.sweeps.sweep import Sweep


@checked_methods("lab")
class Lab(Evaluator):
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
