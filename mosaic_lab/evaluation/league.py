"""`League`: games of two players, of several evaluations, by which a pool of players is rated that grows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import replace

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.evaluation.comparable import check_comparable
from mosaic_lab.evaluation.evaluation import WORKER, Evaluation
from mosaic_lab.evaluation.fingerprints import digest, identity
from mosaic_lab.evaluation.league_players import Trained, expanded, lanes_of
from mosaic_lab.evaluation.reports.games import ratings_table
from mosaic_lab.evaluation.reports.plot import Plot
from mosaic_lab.evaluation.reports.rating_plots import rating_plot, training_plot
from mosaic_lab.evaluation.request import EvaluateRequest
from mosaic_lab.operators import OperatorSpec
from mosaic_lab.runs import RunGroup, Supervisor
from mosaic_lab.validation import checked_methods

if TYPE_CHECKING:
    import pandas as pd

    from mosaic_lab.evaluation.reports.estimate_table import Estimates


@checked_methods("league")
class League:
    """Games of two players, by which all of them are rated. `mosaic_lab.Lab.league` starts one; evaluations
    of `mosaic_lab.policies.pairings` and leagues make one together: ``mosaic.League([ev, league])``.

    Raises ConfigurationError, with everything that is wrong, where the games of the evaluations do not count
    together: other environments, settings or versions, one name for two operators, a game twice.
    """

    def __init__(self, evaluations: Sequence[Evaluation | League]) -> None:
        several = (one.evaluations if isinstance(one, League) else (one,) for one in evaluations)
        self._evaluations = list(chain.from_iterable(several))
        check_comparable(self._evaluations)

    @classmethod
    def of(cls, evaluation: Evaluation) -> League:
        """Return the league that an evaluation belongs to, with all of its evaluations in the store.

        Raises ConfigurationError for an evaluation that `mosaic_lab.Lab.league` has not started.
        """
        name = evaluation.config.get("league", {}).get("name")
        if name is None:
            raise ConfigurationError(
                f"{evaluation.id} was not started by lab.league; mosaic.League([ev, …]) makes one of "
                "evaluations"
            )
        runs = [run for run in Supervisor(evaluation.path.parent).runs() if run.worker == WORKER]
        own = [run for run in runs if run.config.get("league", {}).get("name") == name]
        return cls([Evaluation(run.folder, evaluation.display) for run in own])

    @property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """The evaluations that play its games, oldest first."""
        return tuple(self._evaluations)

    @property
    def players(self) -> dict[str, OperatorSpec]:
        """The players by their names, in the order in which they came."""
        found: dict[str, OperatorSpec] = {}
        for evaluation in self._evaluations:
            for label in evaluation.plan.lanes:
                for spec in evaluation.plan.mapping(label).values():
                    found.setdefault(spec.name, spec)
        return found

    @property
    def trained(self) -> dict[str, Trained]:
        """The training and the step of each player that is a checkpoint of a run given to the league."""
        recorded = (one.config.get("league", {}).get("trained", {}) for one in self._evaluations)
        return {name: Trained(*about) for name, about in chain.from_iterable(map(dict.items, recorded))}

    def wait(self, timeout: float | None = None) -> Self:
        """Wait for the end of all games; see `RunGroup.wait`."""
        RunGroup(self._evaluations).wait(timeout)
        return self

    def stop(self) -> Self:
        """End what plays; `Evaluation.resume` of its `evaluations` continues."""
        for evaluation in self._evaluations:
            evaluation.stop()
        return self

    def games(self) -> pd.DataFrame:
        """Return the games played so far: `Evaluation.games` of all, with the id of the ``evaluation``."""
        import pandas as pd

        tables = [one.games().assign(evaluation=one.id) for one in self._evaluations]
        played = [table for table in tables if len(table)]
        return pd.concat(played or tables[:1], ignore_index=True)

    def ratings(self, rng: int | None = None) -> Estimates:
        """Return the strength of the players by all games; see `Evaluation.ratings`.

        Raises ConfigurationError where no chain of games connects the players.
        """
        return ratings_table(self.games(), self._seed(rng))

    def rating_plot(self, rng: int | None = None) -> Plot:
        """The ratings with their intervals, a row for each player, the strongest first."""
        return rating_plot(self.ratings(rng), self._title("Elo"))

    def training_plot(self, rng: int | None = None) -> Plot:
        """The ratings of the checkpoints of each training over its steps, with their intervals; those of the
        other players are lines across. Raises ConfigurationError where no player is a checkpoint of a run."""
        if not (trained := self.trained):
            raise ConfigurationError("no player is a checkpoint of a run: give runs to lab.league")
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
        """Play new players against those that are there and against each other, and return at once the
        evaluation of these games; nothing is played again.

        Args:
            players: names with their operators, or runs, as in `mosaic_lab.Lab.league`; of a run those of its
                checkpoints that do not play yet.
            opponents: names of those that they play against; default: all.
            checkpoints: how many of each run.
            seeds: default: those of the first evaluation.
            operator: what acts by a checkpoint, as in `mosaic_lab.Lab.league`.

        Raises ConfigurationError for what is not valid, with all that is wrong, and what `Lab.evaluate` does.
        """
        from mosaic_lab.evaluation.launch import evaluate

        known = self.players
        first = self._evaluations[0]
        new, trained = expanded(players, checkpoints, operator, set(known))
        lanes = lanes_of(new, known, self._sides(), known if opponents is None else list(opponents))
        request = replace(EvaluateRequest.of_plan(first.plan), operators=lanes)
        if seeds is not None:
            request = replace(request, seeds=seeds)
        supervisor = Supervisor(first.path.parent, display=first.display)
        league = {"name": self.name, "trained": trained}
        evaluation = evaluate(supervisor, request, league=league)
        self._evaluations.append(evaluation)
        return evaluation

    @property
    def name(self) -> str:
        """The name that all of its evaluations have recorded."""
        first = self._evaluations[0]
        return str(first.config.get("league", {}).get("name", first.id))

    def _sides(self) -> tuple[str, str]:
        """Return the two sides of a game, by the patterns of the first lane."""
        one, other = next(iter(self._evaluations[0].plan.lanes.values()))
        return one, other

    def _title(self, what: str) -> str:
        done, total = (sum(getattr(one, name) for one in self._evaluations) for name in ("done", "total"))
        return f"{what} in {self._evaluations[0].environment}, {done:,} of {total:,} games"

    def _seed(self, rng: int | None) -> int:
        if rng is not None:
            return rng
        return int(digest([identity(evaluation.plan) for evaluation in self._evaluations])[:8], 16)

    def __repr__(self) -> str:
        done, total = (sum(getattr(one, name) for one in self._evaluations) for name in ("done", "total"))
        environment = self._evaluations[0].environment
        return f"<League in {environment}: {len(self.players)} players, {done:,} of {total:,} games>"
