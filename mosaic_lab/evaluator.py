"""Start comparisons, evaluations and leagues: the methods of `mosaic_lab.Lab` in which operators play."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic_lab.errors import ArgumentError
from mosaic_lab.runs import Checkpoint
from mosaic_lab.runs.request import STEP_TIMEOUT
from mosaic_lab.runs.training import Trainer
from mosaic_lab.validation import checked_methods

if TYPE_CHECKING:
    from mosaic_lab.arenas import Comparison
    from mosaic_lab.arenas.request import Record
    from mosaic_lab.evaluation import Evaluation, League
    from mosaic_lab.evaluation.request import OnFailure, SeedSequence
    from mosaic_lab.operators.spec import Fallback


@checked_methods("lab")
class Evaluator(Trainer):
    """Starts comparisons, evaluations and leagues in the store of a `Trainer`."""

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
            return arenas.compare(self.supervisor.store.root, request, progress, self.supervisor.warm)

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
