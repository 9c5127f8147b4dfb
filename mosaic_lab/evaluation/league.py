"""`League`: the games of several evaluations, which rate a growing pool of players."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from msgspec.structs import replace

from mosaic_lab.arenas.arena_workers import environment_info
from mosaic_lab.arenas.planning import plan_arenas
from mosaic_lab.errors import ConfigurationError, UnknownRun
from mosaic_lab.evaluation.evaluation import WORKER, Evaluation
from mosaic_lab.evaluation.fingerprints import digest, identity, resampling_seed
from mosaic_lab.evaluation.launch import evaluate
from mosaic_lab.evaluation.plan import EvaluationPlan, request_of
from mosaic_lab.evaluation.reports.games import ratings_table
from mosaic_lab.evaluation.reports.plot import Plot
from mosaic_lab.evaluation.reports.plots import Trained, rating_plot, training_plot
from mosaic_lab.evaluation.request import EvaluateRequest
from mosaic_lab.evaluation.results import Results
from mosaic_lab.keeper.run_store import RunStore
from mosaic_lab.operators import OperatorSpec, as_operator
from mosaic_lab.operators.trained import rl
from mosaic_lab.runs import Checkpoint, Run, RunGroup, Supervisor
from mosaic_lab.runs.run_names import find_run
from mosaic_lab.runs.train_request import whole_number
from mosaic_lab.runs.training import new_group_name
from mosaic_lab.validation import Problems, checked_methods

if TYPE_CHECKING:
    import pandas as pd

    from mosaic_lab.evaluation.reports.estimate_table import Estimates


_SHARED_FIELDS = ("env_id", "family", "settings")  # in all evaluations of a league


@checked_methods("league")
class League:
    """A pool of players, rated by two-player games; started by `mosaic_lab.Lab.league`.

    A league can also be made from evaluations of `mosaic_lab.policies.pairings` and from other leagues:
    ``mosaic.League([ev, league])``. Raises ConfigurationError with all problems if their games cannot be
    rated together: different environments, settings or versions, one name for two operators, or a repeated
    game.
    """

    def __init__(self, evaluations: Sequence[Evaluation | League]) -> None:
        several = (
            evaluation.evaluations if isinstance(evaluation, League) else (evaluation,)
            for evaluation in evaluations
        )
        self._evaluations = list(chain.from_iterable(several))
        _check_comparable(self._evaluations)

    @classmethod
    def of(cls, evaluation: Evaluation) -> League:
        """Return the league of an evaluation, with all of its evaluations in the store. Raises
        ConfigurationError if the evaluation was not started by `mosaic_lab.Lab.league`."""
        name = evaluation.config.get("league", {}).get("name")
        if name is None:
            raise ConfigurationError(
                f"{evaluation.id} was not started by lab.league; mosaic.League([ev, …]) makes a league from "
                "evaluations"
            )
        runs = [run for run in Supervisor(evaluation.path.parent).runs() if run.worker == WORKER]
        of_league = [run for run in runs if run.config.get("league", {}).get("name") == name]
        return cls([Evaluation(run.folder, evaluation.display) for run in of_league])

    @property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """The evaluations that play the games, oldest first."""
        return tuple(self._evaluations)

    @property
    def players(self) -> dict[str, OperatorSpec]:
        """The players by name, in the order in which they joined."""
        players: dict[str, OperatorSpec] = {}
        for evaluation in self._evaluations:
            for label in evaluation.plan.lanes:
                for spec in evaluation.plan.mapping(label).values():
                    players.setdefault(spec.name, spec)
        return players

    @property
    def trained(self) -> dict[str, Trained]:
        """The training and the step of each player that is a run's checkpoint."""
        recorded = (
            evaluation.config.get("league", {}).get("trained", {}) for evaluation in self._evaluations
        )
        return {name: Trained(*origin) for name, origin in chain.from_iterable(map(dict.items, recorded))}

    def wait(self, timeout: float | None = None) -> Self:
        """Wait for all games to end; see `RunGroup.wait`."""
        RunGroup(self._evaluations).wait(timeout)
        return self

    def stop(self) -> Self:
        """End the evaluations that are playing; `Evaluation.resume` continues each of the `evaluations`."""
        for evaluation in self._evaluations:
            evaluation.stop()
        return self

    def games(self) -> pd.DataFrame:
        """Return the games played so far: all `Evaluation.games`, with the id of their ``evaluation``."""
        import pandas as pd

        tables = [evaluation.games().assign(evaluation=evaluation.id) for evaluation in self._evaluations]
        nonempty = [table for table in tables if len(table)]
        return pd.concat(nonempty or tables[:1], ignore_index=True)

    def ratings(self, rng: int | None = None) -> Estimates:
        """Return the ratings of the players over all games; see `Evaluation.ratings`. Raises
        ConfigurationError if no chain of games connects the players."""
        return ratings_table(self.games(), self._seed(rng))

    def rating_plot(self, rng: int | None = None) -> Plot:
        """Plot the ratings with their intervals, a row for each player, strongest first."""
        return rating_plot(self.ratings(rng), self._title("Elo"))

    def training_plot(self, rng: int | None = None) -> Plot:
        """Plot the ratings of each training's checkpoints over its steps, with their intervals. Other players
        are horizontal lines. Raises ConfigurationError if no player is a checkpoint of a run."""
        if not (trained := self.trained):
            raise ConfigurationError("no player is a checkpoint of a run: pass runs to lab.league")
        return training_plot(self.ratings(rng), trained, self._title("Elo over training"))

    def add(
        self,
        players: Mapping[str, Any],
        *,
        opponents: Iterable[str] | None = None,
        checkpoints: int = 5,
        seeds: Iterable[int] | None = None,
        operator: Any = None,
    ) -> Evaluation:
        """Play new players against the existing ones and against each other. No game is repeated.

        Return at once the evaluation that plays these games.

        Args:
            players: operators by name, or runs, as in `mosaic_lab.Lab.league`; a run adds those of its
                checkpoints that do not play yet.
            opponents: names of the existing players to play against; default: all.
            checkpoints: number of checkpoints per run.
            seeds: default: those of the first evaluation.
            operator: a function that makes an operator from a checkpoint, as in `mosaic_lab.Lab.league`.

        Raises ConfigurationError with all problems, and the errors of `Lab.evaluate`.
        """
        members = self.players
        first = self._evaluations[0]
        new, trained = expanded(players, checkpoints, operator, first.path.parent, set(members))
        lanes = lanes_of(new, members, self._sides(), members if opponents is None else list(opponents))
        request = replace(request_of(first), operators=lanes, parallel=first.plan.parallel)
        if seeds is not None:
            request = replace(request, seeds=seeds)
        supervisor = Supervisor(first.path.parent, display=first.display)
        league = {"name": self.name, "trained": trained}
        evaluation = evaluate(supervisor, request, league=league)
        self._evaluations.append(evaluation)
        return evaluation

    @property
    def name(self) -> str:
        """The name recorded by all of its evaluations."""
        first = self._evaluations[0]
        return str(first.config.get("league", {}).get("name", first.id))

    def _sides(self) -> tuple[str, str]:
        """Return the two sides of a game, which are the patterns of the first lane."""
        first, second = next(iter(self._evaluations[0].plan.lanes.values()))
        return first, second

    def _title(self, subject: str) -> str:
        return f"{subject} in {self._evaluations[0].environment}, {self._progress_text()}"

    def _progress_text(self) -> str:
        done = sum(evaluation.done for evaluation in self._evaluations)
        total = sum(evaluation.total for evaluation in self._evaluations)
        return f"{done:,} of {total:,} games"

    def _seed(self, rng: int | None) -> int:
        return resampling_seed((evaluation.plan for evaluation in self._evaluations), rng)

    def __repr__(self) -> str:
        environment = self._evaluations[0].environment
        return f"<League in {environment}: {len(self.players)} players, {self._progress_text()}>"


def start_league(
    supervisor: Supervisor,
    request: EvaluateRequest,
    players: Mapping[str, Any],
    agents: Sequence[str] | None,
    checkpoints: int,
    operator: Any,
    progress: Callable[[str], None],
) -> League:
    """Start a league; see `mosaic_lab.Lab.league`. ``request`` has the evaluation's arguments, without
    operators."""
    specs, trained = expanded(players, checkpoints, operator, supervisor.store.root)
    if isinstance(request.seeds, Iterable):
        request = replace(request, seeds=list(request.seeds))  # it is read several times
    lanes_of(specs, {}, ("one", "other"), ())  # checks the players before an environment is made
    env = str(request.env)
    sides = _two(agents, env) if agents is not None else _sides(replace(request, operators=specs), progress)
    request = replace(request, operators=lanes_of(specs, {}, sides, ()))
    league = {"name": new_group_name("league", env), "trained": trained}
    return League([evaluate(supervisor, request, progress, league)])


def _two(agents: Any, env: str) -> tuple[str, str]:
    sides = [] if isinstance(agents, str) else list(dict.fromkeys(agents))
    if len(sides) != 2:
        raise ConfigurationError(
            f"agents={agents!r}: a game of {env} has two sides: give two agents, teams or patterns"
        )
    return sides[0], sides[1]


def _sides(request: EvaluateRequest, progress: Callable[[str], None]) -> tuple[str, str]:
    """Return the two agents or teams of an environment, which is made once. Raises ConfigurationError if it
    does not have two."""
    problems = Problems()
    plan = plan_arenas(request, problems)
    problems.check()
    info = environment_info(plan, progress)
    sides = list(info.teams) if len(info.teams) == 2 else info.agents
    if len(sides) != 2:
        teams = f", its teams {', '.join(info.teams)}" if info.teams else ""
        raise ConfigurationError(
            f"{request.env} is not a game of two sides: its agents are {', '.join(info.agents)}{teams}. "
            'If some of them play together, name the two sides, such as agents=["red_*", "blue_*"]'
        )
    return sides[0], sides[1]


def _check_comparable(evaluations: Sequence[Results]) -> None:
    """Raise ConfigurationError with everything that prevents evaluations from being rated together."""
    problems = Problems()
    if not evaluations:
        problems.add("", "there are no evaluations; pass [lab.evaluate(...), ...]")
    identities: dict[str, tuple[str, str]] = {}
    evaluation_of_game: dict[str, str] = {}
    for evaluation in evaluations:
        _check_environment(evaluations[0], evaluation, problems)
        for name, operator_hash in _identities(evaluation.plan).items():
            first_hash, first_id = identities.setdefault(name, (operator_hash, evaluation.id))
            if first_hash != operator_hash:
                problems.add("", f"{name!r} is a different operator in {evaluation.id} than in {first_id}")
        games = {digest(game) for game in _games(evaluation.plan)}
        if twice := {evaluation_of_game[game] for game in games & set(evaluation_of_game)}:
            problems.add("", f"{evaluation.id} has games that are also in {', '.join(sorted(twice))}")
        evaluation_of_game |= dict.fromkeys(games, evaluation.id)
    problems.check()


def _check_environment(first: Results, other: Results, problems: Problems) -> None:
    expected, actual = (
        {name: getattr(plan, name) for name in _SHARED_FIELDS}
        | {"max_steps": plan.request.max_steps, "start": plan.request.start}
        for plan in (first.plan, other.plan)
    )
    for name, value in expected.items():
        if (their_value := actual[name]) != value:
            problems.add("", f"{other.id} has {name}={their_value!r:.200}, {first.id} has {value!r:.200}")
    tables = [_versions(evaluation.versions.values()) for evaluation in (other, first)]
    for package in sorted(set.intersection(*map(set, tables))):
        texts = [" and ".join(sorted(versions[package])) for versions in tables]
        if texts[0] != texts[1]:
            problems.add("", f"{other.id} was played with {package} {texts[0]}, {first.id} with {texts[1]}")


def _versions(of_lanes: Iterable[Mapping[str, str]]) -> dict[str, set[str]]:
    by_package: dict[str, set[str]] = {}
    for versions in of_lanes:
        for package, version in versions.items():
            by_package.setdefault(package, set()).add(version)
    return by_package


def _identities(plan: EvaluationPlan) -> dict[str, str]:
    """Return each player's identity by its name; checkpoints are identified by their contents."""
    lanes = identity(plan)["operators"].values()
    return {operator["name"]: digest(operator) for lane in lanes for operator in lane.values()}


def _games(plan: EvaluationPlan) -> Iterable[list[Any]]:
    """Return each game: who controls which agent, and the seeds."""
    sides = {
        label: sorted((pattern, spec.name) for pattern, spec in plan.mapping(label).items())
        for label in plan.lanes
    }
    return ([sides[job.label], job.episode_seed, job.operator_seed] for job in plan.jobs())


def expanded(
    players: Any,
    checkpoints: int,
    operator: Callable[[Checkpoint], Any] | None,
    store: Path,
    members: Iterable[str] = (),
) -> tuple[dict[str, OperatorSpec], dict[str, Trained]]:
    """Return the new players by name, and the origins of those that come from trainings.

    A run, or its name in the ``store``, adds its checkpoints as players; a group adds those of all its runs.
    Checkpoints among ``members`` are left out. Raises ConfigurationError with all problems.
    """
    problems = Problems()
    if not isinstance(players, Mapping) or not players:
        raise ConfigurationError(
            f"players={players!r:.200}: must map names to operators or runs, such as "
            '{"self-play": run, "random": mosaic.operators.random()}'
        )
    count = whole_number("checkpoints", checkpoints, 1)
    make = operator or rl
    specs: dict[str, OperatorSpec] = {}
    trained: dict[str, Trained] = {}
    for name, value in players.items():
        try:
            if isinstance(value, str):
                value = find_run(value, RunStore(store))
            for training, run in _runs(name, value):
                for checkpoint in _chosen(run, count):
                    player = f"{training} {checkpoint.step:,}"
                    if player not in members:
                        specs[player] = as_operator(make(checkpoint)).with_(name=player)
                        trained[player] = Trained(training, checkpoint.step)
            if not isinstance(value, Run | RunGroup):
                if name in members:
                    raise ConfigurationError("a player of this name already exists: choose another name")
                specs[name] = as_operator(value).with_(name=name)
        except (ConfigurationError, UnknownRun) as error:
            problems.add("players", f"{name}: {error}")
    problems.check()
    return specs, trained


def lanes_of(
    new: Mapping[str, OperatorSpec],
    members: Mapping[str, OperatorSpec],
    sides: tuple[str, str],
    opponents: Iterable[str],
) -> dict[str, dict[str, OperatorSpec]]:
    """Return the games of new players against each other and against ``opponents`` from ``members``, each on
    both sides, as the operators of an evaluation. Raises ConfigurationError if there are none."""
    opponents = list(opponents)
    if unknown := [name for name in opponents if name not in members]:
        names = ", ".join(members) or "none"
        raise ConfigurationError(f"opponents: no player {', '.join(map(repr, unknown))}; there are {names}")
    players = {**{name: members[name] for name in opponents}, **new}
    left, right = sides
    lanes = {
        f"{first} against {second}": {left: players[first], right: players[second]}
        for first in players
        for second in players
        if first != second and (first in new or second in new)
    }
    if not lanes:
        raise ConfigurationError(
            "no new games: the players are already in the league, or have no opponents"
            if members
            else f"a league needs at least two players, not {len(new)} ({', '.join(new) or 'none'})"
        )
    return lanes


def _runs(name: str, value: Any) -> list[tuple[str, Run]]:
    """Return a player's trainings by name; empty for other players."""
    if isinstance(value, Run):
        return [(name, value)]
    return [(f"{name} s{run.seed}", run) for run in value] if isinstance(value, RunGroup) else []


def _chosen(run: Run, count: int) -> Sequence[Checkpoint]:
    """Return evenly spaced checkpoints of a run, including the first and the last."""
    saved = list({checkpoint.step: checkpoint for checkpoint in run.checkpoints}.values())
    if not saved:
        raise ConfigurationError(f"run {run.id} has no checkpoint so far")
    indices = np.linspace(len(saved) - 1, 0, min(count, len(saved))).round().astype(int)
    return [saved[index] for index in sorted(set(indices.tolist()))]
