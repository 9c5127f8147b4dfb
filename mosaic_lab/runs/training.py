"""Start trainings: install the worker, check the configuration, start one run per seed."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Literal, overload

from msgspec import structs

from mosaic_lab import workers
from mosaic_lab.engines import clusters
from mosaic_lab.engines.bridge_environment import bridge_python
from mosaic_lab.engines.job import SERVER
from mosaic_lab.engines.placement import check_restarts, given_gpus, gpu_count
from mosaic_lab.errors import ConfigurationError, EnvironmentMissing
from mosaic_lab.keeper.environment_variables import compose_variables
from mosaic_lab.runs import Checkpoint, Run, RunGroup, Supervisor
from mosaic_lab.runs.checkpoint_runs import (
    CheckpointPlayers,
    check_is_training,
    checked_evaluation,
    checkpoint_players,
    environments_of,
    films_to_make,
    number_to_make,
    players_of,
    requested_background,
    start_background_run,
    start_beside,
)
from mosaic_lab.runs.checkpoints import EVALUATIONS, FILMS
from mosaic_lab.runs.curriculum_plan import plan_curriculum
from mosaic_lab.runs.dry_run import dry_run
from mosaic_lab.runs.films import FilmMode
from mosaic_lab.runs.group import record_starting
from mosaic_lab.runs.hardware import check_device, choose_gpus
from mosaic_lab.runs.run import DEFAULT_GRACE
from mosaic_lab.runs.run_names import run_or_path
from mosaic_lab.runs.stages import Stage
from mosaic_lab.runs.train_request import TrainRequest, refusal, seed_list
from mosaic_lab.runs.training_plan import SPACES, TrainingPlan, note_on_steps
from mosaic_lab.validation import Problems, checked_methods
from mosaic_lab.workers import WorkerEnvironment
from mosaic_lab.workers.families import server_for, server_of_processes
from mosaic_lab.workers.own_environments import check_environment_id
from mosaic_lab.workers.worker_environment import THIRD_PARTY


@checked_methods("lab")
class Trainer:
    """Starts trainings in the store of ``supervisor``. ``installation_log`` returns a context manager,
    entered while workers are installed, that provides the function to show a line of progress. By default
    lines are printed."""

    def __init__(
        self,
        supervisor: Supervisor,
        installation_log: Callable[[], AbstractContextManager[Callable[[str], None]]] | None = None,
    ) -> None:
        self.supervisor = supervisor
        self._installation_log = installation_log or (lambda: nullcontext(partial(print, flush=True)))

    @overload
    def train(
        self,
        worker: str,
        *,
        algorithm: str | None = None,
        env: str | None = None,
        total_timesteps: int | None = None,
        curriculum: Sequence[Stage] | None = None,
        seed: int = 1,
        gpus: int | Sequence[int] | None = None,
        threads: int = 1,
        checkpoint_every: int | None = None,
        resume_from: Run | Checkpoint | Path | str | None = None,
        stop_at: int | None = None,
        frames: bool | Mapping[str, Any] = True,
        films: FilmMode = "off",
        evaluate: Mapping[str, Any] | None = None,
        record: Literal["observations"] | None = None,
        wrappers: Sequence[str | Mapping[str, Any]] = (),
        env_processes: int | None = None,
        step_timeout: float | None = None,
        env_vars: Mapping[str, str] | None = None,
        pass_env_vars: Iterable[str] = (),
        grace_seconds: float = DEFAULT_GRACE,
        on: str | None = None,
        restarts: int = 0,
        **hyperparameters: Any,
    ) -> Run: ...

    @overload
    def train(self, worker: str, *, seed: Iterable[int], **keywords: Any) -> RunGroup: ...

    def train(
        self,
        worker: str,
        *,
        algorithm: str | None = None,
        env: str | None = None,
        total_timesteps: int | None = None,
        curriculum: Sequence[Stage] | None = None,
        seed: int | Iterable[int] = 1,
        gpus: int | Sequence[int] | None = None,
        threads: int = 1,
        checkpoint_every: int | None = None,
        resume_from: Run | Checkpoint | Path | str | None = None,
        stop_at: int | None = None,
        frames: bool | Mapping[str, Any] = True,
        films: FilmMode = "off",
        evaluate: Mapping[str, Any] | None = None,
        record: Literal["observations"] | None = None,
        wrappers: Sequence[str | Mapping[str, Any]] = (),
        env_processes: int | None = None,
        step_timeout: float | None = None,
        env_vars: Mapping[str, str] | None = None,
        pass_env_vars: Iterable[str] = (),
        grace_seconds: float = DEFAULT_GRACE,
        on: str | None = None,
        restarts: int = 0,
        **hyperparameters: Any,
    ) -> Run | RunGroup:
        """Start a training in the background and return at once: a `Run`, or a `RunGroup` for several seeds.

        A missing worker environment is installed first, with progress. The worker checks the configuration
        before anything starts. Further keywords are hyperparameters under upstream's own names, and
        ``env_kwargs``, the environment's keyword arguments. Checkpoints record them, and comparisons,
        evaluations and films use them.

        Args:
            worker: a worker's name, such as ``"cleanrl"``; ``"script"`` runs your own command.
            algorithm: one of the worker's algorithms. Only ``"script"`` does without this and the next two
                arguments.
            env: an environment id. The workers ``"cleanrl"``, ``"sb3"``, ``"tianshou"``, ``"xuance"`` and
                ``"rllib"`` train one agent in the environments of all workers, such as
                ``"CrafterReward-v1"``: the worker that provides an environment is installed if needed, and
                serves it to the training.
            total_timesteps: environment steps to train. Only whole updates are trained; the run's panel and
                `Run.total_timesteps` show the resulting number of steps.
            curriculum: stages to train one after the other, such as ``[mosaic.Stage("CartPole-v0",
                until=150), mosaic.Stage("CartPole-v1")]``, in place of ``env``. The run is a `Curriculum`,
                which trains each stage in a run of its own, resuming from the previous checkpoint. All stages
                need the same spaces. ``total_timesteps`` is required if a stage has no ``steps``;
                ``checkpoint_every`` defaults to a tenth of the shortest stage. Films show each checkpoint in
                the environment of its stage.
            seed: an integer, or several for one run each.
            gpus: number of free GPUs, or GPU indices (shared with other runs that name them); default: none,
                or the profile's number.
            threads: CPU threads for the worker's numerical libraries.
            checkpoint_every: steps between checkpoints; default: a tenth of the training.
            resume_from: a run, its name or its folder (its newest checkpoint), a checkpoint, or a
                checkpoint's path.
            stop_at: end with a checkpoint at this step, from which another run can continue. Schedules, such
                as that of the learning rate, still span ``total_timesteps``. Default: the last step.
            frames: whether the environment can be watched; it is rendered only while a viewer watches, and
                `Run.enable_frames` changes this during the run. Or a mapping: ``enabled``, ``max_fps``
                (default 60), ``grid`` (number of environments shown side by side, default 1).
            films: checkpoints whose policies are filmed, one episode each (`Run.films`): ``"off"``,
                ``"last"`` (once the training ends), or ``"each"`` (as they are saved). Films are made by
                another run at low priority, which does not count towards ``max_running`` and ends when the
                training is stopped. If checkpoints arrive faster than films, the newest are filmed first, and
                of more than 20 waiting the oldest are skipped.
            evaluate: evaluation of each checkpoint's policy while the training runs, such as ``{"seeds":
                range(10), "until": 475, "patience": 5}``: an episode with each of the ``seeds`` (default:
                ``range(10)``). The mean return, ``evaluation/return``, and its 95% interval are metrics of
                the run; `Run.best_checkpoint` has the highest one. The training ends as completed once the
                lower end of the interval reaches ``until``, or the mean ``until_mean``, or after ``patience``
                evaluations without a higher mean. Another run evaluates at low priority, as with films. If
                checkpoints arrive faster than evaluations, some between the first and the last are skipped.
            record: ``"observations"`` records the observations of each finished episode, as the environment
                returns them (before ``wrappers``), for `Run.dataset`. Supported by ``"cleanrl"`` and
                ``"sb3"``, in environments of one agent.
            wrappers: wrappers of the environment, innermost first: names, and tables of a name with its
                parameters, such as ``["grey", {"resize": [64, 64]}, {"frame_stack": 4}]``. ``"flat"`` makes
                vectors of observations, ``"one_hot"`` before it encodes the images of MiniGrid, BabyAI and
                multigrids, ``"normalize_observation"`` uses running statistics, ``{"rescale_action": [-1,
                1]}`` rescales actions. In trainings only: ``"normalize_reward"``, ``{"time_limit": 200}``.
                ``"my.py:Wrapper"`` is a Gymnasium wrapper in a file. They are recorded in checkpoints, with
                their statistics, and applied wherever the policy acts. Default: none.
            env_processes: number of processes that step the training's environments at the same time, served
                by the worker that provides them. Default: if the library lacks the environment, one per CPU
                core, at most 4 and at most one per environment; else none: environments are made in the
                training's own process. RLlib has processes of its own: ``num_env_runners``.
            step_timeout: maximum number of seconds for a step or reset of an environment in a process of its
                own, after which the training fails; default: 300.
            env_vars: environment variables to set for the worker. Their values are not stored.
            pass_env_vars: names of environment variables to pass to the worker.
            grace_seconds: time between SIGTERM and SIGKILL when the run is stopped.
            on: a Ray cluster to run on: the name of a profile (`mosaic-lab clusters`), ``"ray:HOST:PORT"`` if
                this machine is a node of the cluster, or ``"ray://HOST:PORT"``. The cluster's nodes build the
                worker's environment; files, Stop and everything else work as for a local run. ``gpus`` must
                then be a number.
            restarts: how many times the run is restarted on another node of the cluster when its node is
                lost, from its newest checkpoint or, without one, from the beginning; default: 0, the run
                fails.

        Raises:
            ConfigurationError: the worker refuses the configuration, or the machine lacks the GPUs.
            WorkerEnvironmentError: there is no such worker, or its environment could not be built.
            MosaicError: the run could not be started (for example, the disk is full).
        """
        return self.start(
            TrainRequest(
                worker=worker,
                algorithm=algorithm,
                env=env,
                total_timesteps=total_timesteps,
                curriculum=curriculum,
                seed=seed,
                gpus=gpus,
                threads=threads,
                checkpoint_every=checkpoint_every,
                resume_from=resume_from,
                stop_at=stop_at,
                frames=frames,
                films=films,
                evaluate=evaluate,
                record=record,
                wrappers=wrappers,
                env_processes=env_processes,
                step_timeout=step_timeout,
                env_vars=env_vars,
                pass_env_vars=pass_env_vars,
                grace_seconds=grace_seconds,
                on=on,
                restarts=restarts,
                hyperparameters=hyperparameters,
            )
        )

    def start(self, request: TrainRequest, group: str | None = None) -> Run | RunGroup:
        """Start a training; see `train`. ``group`` is the group of a run with one seed."""
        background = requested_background(request)
        seeds, several = seed_list(request.seed)
        request = request.with_(seed=seeds[0])
        stages = request.curriculum
        with self._installation_log() as progress:
            plan = (
                self.plan(request, progress)
                if stages is None
                else plan_curriculum(self.plan, request, stages, progress)
            )
            plans = (plan,) if isinstance(plan, TrainingPlan) else plan.plans
            if background:
                argument = "films" if FILMS in background else "evaluate"
                environments = environments_of(training_plan.config for training_plan in plans)
                players = checkpoint_players(argument, workers.ensure(request.worker), environments, progress)
        first = plans[0]
        last_step = first.config.get("total_timesteps") if request.stop_at is None else request.stop_at
        if note := note_on_steps(plan.steps, last_step):
            print(note, flush=True)
        subject = (first.worker, first.config["algorithm"], request.env if stages is None else "curriculum")
        variables = {"env_vars": request.env_vars, "pass_env_vars": request.pass_env_vars}

        def start(seed: int, group: str | None = group) -> Run:
            run = plan.start(self.supervisor, seed, group=group)
            for worker, settings in background.items():
                start_beside(self.supervisor, run, players, worker, **variables, **settings)
            return run

        if not several:
            return start(seeds[0])
        name = new_group_name(*dict.fromkeys(filter(None, subject)))
        return _start_group(self.supervisor, name, seeds, partial(start, group=name))

    def plan(self, request: TrainRequest, progress: Callable[[str], None]) -> TrainingPlan:
        """Return the plan of a training with one seed, checked by the worker, without starting it.
        ``progress`` is called with a line for each step of an installation. Raises the errors of `train`."""
        problems = Problems()
        request = request.with_(resume_from=run_or_path(request.resume_from, self.supervisor.store))
        request = request.checked(problems)
        problems.check()
        if request.env is not None:
            check_environment_id(request.env)
        config = request.config()
        check_restarts(request.restarts, request.on)
        gpus = given_gpus(request.gpus, request.on)
        if request.on is None:
            choose_gpus(gpus)  # missing GPUs are refused before anything is installed
        else:
            gpu_count(gpus)
            bridge_python(clusters.find(request.on), progress)
        variables = compose_variables(
            os.environ,
            threads=request.threads,
            env_vars=request.env_vars,
            pass_env_vars=request.pass_env_vars,
        )
        worker = workers.ensure(request.worker, progress)
        algorithm = worker.algorithm(request.algorithm)
        if algorithm is not None:
            config["algorithm"] = algorithm
        _check_origin(worker, request.on)
        recorded = worker.recorded()
        resolved = self._resolve(request, worker, config, recorded, variables, progress)
        if worker.name != "script":  # a script's hyperparameters have meanings of their own
            used = resolved.get("hyperparameters") or config["hyperparameters"]  # with those of a checkpoint
            check_device(used.get("device"), resolved.get("gpus"), gpus)
        config.setdefault("algorithm", resolved.get("algorithm", worker.name))  # used in the run's label
        return TrainingPlan(
            structs.replace(request, worker=worker.name, resume_from=config["checkpoint"]["resume_from"]),
            worker.command(),
            config,
            hyperparameters=resolved.get("hyperparameters"),
            worker_environment=recorded,
            program=resolved.get("program"),
            spaces={name: resolved[name] for name in SPACES if name in resolved},
            steps=resolved.get("steps"),
        )

    def _resolve(
        self,
        request: TrainRequest,
        worker: WorkerEnvironment,
        config: dict[str, Any],
        recorded: dict[str, Any],
        variables: Mapping[str, str],
        progress: Callable[[str], None],
    ) -> dict[str, Any]:
        """Return the configuration as the worker resolves it. If another worker serves its environment, add
        that to ``config`` and ``recorded``. Raises ConfigurationError."""
        command = worker.command()

        def serve_from(provider: str) -> None:
            server = workers.ensure(provider, progress)
            _check_origin(server, request.on)
            config[SERVER] = {"worker": server.name, "command": server.command(), **request.server_options()}
            recorded[SERVER] = server.recorded()

        if request.env_processes is not None:
            serve_from(server_of_processes(request.env, request.env_processes, worker))
        try:
            try:
                resolved = dry_run(command, config, variables, warm=self.supervisor.warm)
            except EnvironmentMissing as error:
                provider = server_for(str(error), request.env, worker)
                if provider is None or SERVER in config:
                    raise
                serve_from(provider)
                resolved = dry_run(command, config, variables, warm=self.supervisor.warm)
        except ConfigurationError as error:
            raise refusal(str(error), request, worker) from None
        if request.step_timeout is not None and SERVER not in config:
            raise ConfigurationError(
                f"step_timeout={request.step_timeout:g}: {request.env} is made in the training's process, "
                "where a step cannot be interrupted; also give env_processes=1, for a separate process"
            )
        return resolved

    def make_films(
        self,
        run: Run | str,
        films: Literal["last", "each"] | Iterable[int] = "each",
        pass_env_vars: Iterable[str] = (),
    ) -> Run:
        """Film checkpoints of a training that have no film yet. Return at once with the run that films them.

        Films appear in `Run.films` one by one, as with ``films=`` of `train`; `Run.wait` of the returned run
        waits for all of them. A running training is followed to its end.

        Args:
            run: the training, or its name.
            films: ``"each"`` of the newest 20 checkpoints, the ``"last"``, or steps of checkpoints.
            pass_env_vars: names of this process's environment variables to pass on, as in `train`.

        Raises:
            ConfigurationError: it is not a training, or its worker's checkpoints cannot act.
            WorkerEnvironmentError: its worker is no longer installed, or could not be built.
            MosaicError: the run could not be started.
        """
        run = self.supervisor.run(run)
        requested = films_to_make(run, films)
        players = self._players("films", run)
        start = partial(start_background_run, self.supervisor, run, players)
        planned = number_to_make(run, requested)
        return start(FILMS, films=requested, planned_films=planned, pass_env_vars=pass_env_vars)

    def evaluate_checkpoints(
        self, run: Run | str, seeds: Iterable[int] = range(10), pass_env_vars: Iterable[str] = ()
    ) -> Run:
        """Evaluate checkpoints of a training that have not been evaluated yet, as with ``evaluate=`` of
        `train`. Return at once with the run that evaluates them; its `Run.wait` waits for all of them.

        ``seeds`` are the seeds of each checkpoint's episodes; the other arguments and the errors are those of
        `make_films`.
        """
        run = self.supervisor.run(run)
        check_is_training(run)
        settings = checked_evaluation({"seeds": seeds})
        players = self._players("evaluate", run)
        start = partial(start_background_run, self.supervisor, run, players)
        return start(EVALUATIONS, evaluate=settings, pass_env_vars=pass_env_vars)

    def _players(self, argument: str, run: Run) -> CheckpointPlayers:
        """Return the workers with which checkpoints of a training play. Missing ones are installed."""
        with self._installation_log() as progress:
            return players_of(argument, run, progress)


def _start_group(
    supervisor: Supervisor, group: str, seeds: Sequence[int], start: Callable[[int], Run]
) -> RunGroup:
    """Start a run for each of the seeds. If one cannot be started, stop the others."""
    runs: list[Run] = []
    try:
        with record_starting(supervisor.store, group) as remain:
            for number, seed in enumerate(seeds):
                remain(seeds[number:])
                runs.append(start(seed))
    except BaseException:
        RunGroup(runs).stop(wait=False)
        raise
    return RunGroup(runs, group)


def _check_origin(worker: WorkerEnvironment, on: str | None) -> None:
    """Raise ConfigurationError for a worker that the nodes of a cluster cannot build."""
    if on is not None and worker.origin == THIRD_PARTY:
        raise ConfigurationError(
            f"worker {worker.name!r} does not come with MOSAIC Lab, so nodes of a cluster cannot build it: "
            "leave out on= to run it here"
        )


def new_group_name(*parts: str) -> str:
    return "-".join([time.strftime("%Y%m%d-%H%M%S", time.gmtime()), *parts, secrets.token_hex(2)])
