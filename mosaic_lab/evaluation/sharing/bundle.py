"""Unpacked bundles. A bundle is an evaluation as one zip file with::

    manifest.json       format, versions, fingerprint; size and SHA-256 of each file
    script.json         the evaluation: `mosaic-lab evaluate script.json` plays it
    checkpoints/1/…     the policies: weights and descriptions
    policies/1/…        the user's Python policies, as text, and their files; never executed without consent
    environment/…       the Python files of the user's module that makes the environment; likewise
    episodes.jsonl      one line per episode; results.csv has the same as a table
    steps/<arena>/…     every step, and the observations of its episodes if recorded
    exchanges/…         prompts to language models and their answers, with images
    locks/<worker>.txt  the exact versions in the worker's environment
    notebook.ipynb      if there is one

Observations and exchanges may be omitted.
"""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, overload

from mosaic_contract.episode_recording import OBSERVATIONS

from mosaic_lab._version import __version__
from mosaic_lab.arenas.datasets import write_dataset
from mosaic_lab.arenas.plan import EXCHANGES
from mosaic_lab.arenas.replays import Replay, Replays
from mosaic_lab.arenas.tables import EpisodeSteps
from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.evaluation import planning
from mosaic_lab.evaluation.episode_log import EpisodeLog, Record, damaged_lines
from mosaic_lab.evaluation.fingerprints import Lock, changes, fingerprint, locks_of, resampling_seed
from mosaic_lab.evaluation.plan import EvaluationPlan, Key
from mosaic_lab.evaluation.replaying import recorded_episodes, replay
from mosaic_lab.evaluation.reports.summary_table import summary_table
from mosaic_lab.evaluation.reports.tables import differing_row, results_table
from mosaic_lab.evaluation.sharing.archive import danger_in_arrays, unpack_bundle
from mosaic_lab.evaluation.sharing.bundle_recordings import LAYOUT, check_recording
from mosaic_lab.evaluation.sharing.bundle_script import ENVIRONMENT, SCRIPT, check_script, models_text
from mosaic_lab.evaluation.sharing.weights import danger_in, danger_in_model
from mosaic_lab.runs.provenance import source_files
from mosaic_lab.validation import checked

if TYPE_CHECKING:
    import pandas as pd

    from mosaic_lab.evaluation.reports.estimate_table import Estimates


FORMAT = "mosaic-bundle/1"
EPISODES = "episodes.jsonl"
CSV = "results.csv"
NOTEBOOK = "notebook.ipynb"

_OBSERVATIONS = rf"steps/[^/]+/{OBSERVATIONS}/\d+\.npz"
_LAYOUT = re.compile(
    r"manifest\.json|script\.json|episodes\.jsonl|results\.csv|notebook\.ipynb|steps/[^/]+/telemetry\.jsonl"
    rf"|{LAYOUT}|{_OBSERVATIONS}"
    rf"|{ENVIRONMENT}/.+\.py"
    r"|locks/[^/]+\.txt|checkpoints/\d+/.+\.(pt|zip|json)|policies/\d+/.+"
)
_FACTS = ("mosaic_lab", "evaluation", "fingerprint")


def steps_name(arena: str) -> str:
    return f"steps/{arena}/telemetry.jsonl"


def observations_name(record: Record) -> str:
    """Return the name of the file with an episode's observations."""
    return f"steps/{record['arena']}/{OBSERVATIONS}/{record['recording']['file']}"


def with_observations(records: Iterable[Record]) -> list[Record]:
    """Return the episodes whose observations were recorded."""
    return [record for record in records if record.get("recording")]


def lock_name(worker: str) -> str:
    return f"locks/{worker}.txt"


@checked
def open_bundle(path: Path | str, into: Path | str) -> Bundle:
    """Unpack a bundle, which may be untrusted, into a new or empty folder. Nothing in it is executed.

    `Bundle.summary`, `Bundle.results` and `Bundle.replay` read it; ``mosaic-lab evaluate FILE --verify``
    plays it again. Raises MosaicError, naming the member, if the bundle is rejected; its files are then
    removed.
    """
    path, folder = Path(path), Path(into)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise MosaicError(f"{folder} exists already: choose a new or empty folder to unpack {path.name} into")
    try:
        manifest = unpack_bundle(path, folder.resolve(), _LAYOUT)
        bundle = Bundle(folder.resolve(), path.name, manifest)
        bundle.check()
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return bundle


class Bundle:
    """An unpacked evaluation from another machine in the folder ``path``, as `mosaic_lab.open_bundle` makes
    it."""

    def __init__(self, path: Path, name: str, manifest: dict[str, Any]) -> None:
        self.path = path
        self.name = name
        self.manifest = manifest
        self.script = path / SCRIPT
        self.unchecked = ""
        """A sentence about what `check` could not verify, and why; empty if it verified everything."""

    def __repr__(self) -> str:
        return f"<Bundle {self.name} in {self.path}; to play it: mosaic-lab evaluate {self.script}>"

    @cached_property
    def plan(self) -> EvaluationPlan:
        """The plan of its episodes, without commands; `equipped` adds this machine's."""
        return planning.plan_script(self.script, _no_run)

    @property
    def answers(self) -> Path | None:
        """The folder of the recording that its language models and engines answer from; None without one.
        Raises MosaicError if language models have none: a bundle of unknown origin calls no endpoint."""
        if self.unrecorded:
            raise MosaicError(
                f"{self.unrecorded}. Read {self.script}, add the base_url of your own server if a model "
                f"needs one, and play it with `mosaic-lab evaluate {self.script}`"
            )
        return self.path if self._has_recording else None

    @property
    def _has_recording(self) -> bool:
        return any(self.recording.glob("*.jsonl"))

    @property
    def unrecorded(self) -> str:
        """A sentence about language models without a recording; empty if they have one or none play."""
        models = [spec for spec in self.plan.operators.values() if spec.is_language_model]
        if not models or self._has_recording:
            return ""
        return f"{self.name} has no recording: {models_text(models)} would have to be called again"

    @cached_property
    def versions(self) -> dict[str, dict[str, str]]:
        """The versions that each operator played with: {operator: {package or worker: version}}."""
        return {label: dict(versions) for label, versions in self.manifest["versions"].items()}

    @cached_property
    def locks(self) -> dict[str, Lock]:
        """The versions in each worker's environment."""
        files = sorted((self.path / "locks").glob("*.txt"))
        return {file.stem: Lock.from_text(file.read_text(encoding="ascii")) for file in files}

    def changes(self) -> dict[str, list[str]]:
        """Return changes in the workers' environments since the evaluation was played; see `locks`."""
        return changes(self.locks, locks_of(self.locks))

    @property
    def recording(self) -> Path:
        """The folder of the recording of its language models, if any."""
        return self.path / EXCHANGES

    @cached_property
    def _episodes(self) -> dict[Key, Record]:
        return EpisodeLog(self.path / EPISODES).read()

    @property
    def _observations(self) -> dict[str, str]:
        """The SHA-256 of each file of observations, by name."""
        files = self.manifest["files"].items()
        return {name: facts["sha256"] for name, facts in files if re.fullmatch(_OBSERVATIONS, name)}

    def arena_path(self, name: str) -> Path:
        """Return the folder of an arena by the name in an episode's record."""
        return self.path / "steps" / name

    @cached_property
    def _arena_steps(self) -> dict[str, EpisodeSteps]:
        """Steps by arena; "" is for episodes that could not be played."""
        steps = self.path / "steps"
        return {"": EpisodeSteps(steps)} | {path.name: EpisodeSteps(path) for path in steps.glob("*")}

    def records(self) -> list[Record]:
        """Return the episodes, in the order of the plan."""
        return [self._episodes[job.key] for job in self.plan.jobs()]

    def results(self) -> pd.DataFrame:
        """Return a table with a row for each episode, as `Evaluation.results` does."""
        return results_table(self.plan, self.records())

    def summary(self, target: float | None = None, rng: int | None = None) -> Estimates:
        """Return the estimates of the stored episodes, the same as `Evaluation.summary` where they were
        played."""
        return summary_table(self.plan, self.records(), target, resampling_seed(self.plan, rng))

    def steps(self, operator: str, seed: int, episode: int = 0) -> pd.DataFrame:
        """Return every step of every agent in one episode, as `Evaluation.steps` does. Raises
        ConfigurationError for an unknown episode, MosaicError for invalid steps."""
        record = self._episodes.get((operator, seed, episode))
        if record is None:
            raise ConfigurationError(
                f"no episode {episode} of {operator!r} on seed {seed} in {self.name}: the operators are "
                f"{', '.join(self.plan.lanes)}"
            )
        try:
            return self._arena_steps[record["arena"]].table(record["index"])
        except (TypeError, ValueError, OverflowError) as error:
            raise self._refused(steps_name(record["arena"]), f"cannot be read: {error!r:.200}") from None

    @overload
    def replay(self, operator: str, seed: int, episode: int = 0, *, run_code: bool = False) -> Replay: ...
    @overload
    def replay(
        self, operator: list[str] | tuple[str, ...], seed: int, episode: int = 0, *, run_code: bool = False
    ) -> Replays: ...
    def replay(
        self,
        operator: str | list[str] | tuple[str, ...],
        seed: int,
        episode: int = 0,
        *,
        run_code: bool = False,
    ) -> Replay | Replays:
        """Replay an episode from its recorded actions, as `Evaluation.replay` does.

        Its operators are not started. ``run_code`` allows the environment's module in the bundle to be
        executed; without it, ConfigurationError is raised if there is one.
        """
        planning.check_consent(replace(self.plan, operators={}), self.name, run_code, self.path)
        return replay(self, operator, seed, episode)

    def dataset(self, path: Path | str, operators: str | Iterable[str] | None = None) -> Path:
        """Write the episodes as a Minari dataset, as `Evaluation.dataset` does. Raises ConfigurationError if
        the bundle has no observations."""
        if not self._observations:
            raise ConfigurationError(
                f"{self.name} has no recorded observations: its episodes were played without "
                f'record="{OBSERVATIONS}", or it was written with recordings=False'
            )
        run, start = self.manifest["evaluation"], self.plan.request.start
        facts = {"run": run, "operators": self.versions, "start": start}
        return write_dataset(path, recorded_episodes(self), operators, facts)

    def check(self) -> None:
        """Raise MosaicError if a file is dangerous or inconsistent with the others."""
        self._check_manifest()
        if damaged := next(damaged_lines(self.path / EPISODES), None):
            text = f"is damaged in line {damaged[0]:,}: the checksum does not match. Get the bundle again"
            raise self._refused(EPISODES, text)
        with (self.path / EPISODES).open("rb") as lines:
            episodes = sum(1 for _ in lines)  # an upper bound: an episode may have several lines
        check_script(self.script, self.name, episodes)
        module = source_files(Path(self.plan.module)) if self.plan.module else []
        for file in self.path.glob(f"{ENVIRONMENT}/**/*.py"):
            if file not in module:  # it could be imported in place of another module
                member = file.relative_to(self.path).as_posix()
                raise self._refused(member, f"is not a file of the module that {SCRIPT} names")
        for pattern, look in (
            ("checkpoints/**/*.pt", danger_in),
            ("checkpoints/**/*.zip", danger_in_model),
            (f"steps/*/{OBSERVATIONS}/*.npz", danger_in_arrays),
        ):
            for file in sorted(self.path.glob(pattern)):
                if danger := look(file):
                    raise self._refused(file.relative_to(self.path).as_posix(), danger)
        for file in self.path.glob("locks/*.txt"):
            try:
                Lock.from_text(file.read_text(encoding="ascii"))
            except ValueError as error:
                raise self._refused(lock_name(file.stem), f"is not a lock file: {error}") from None
        self._check_episodes()
        if problem := check_recording(self.recording, self.plan.lanes):
            raise self._refused(*problem)

    def _check_manifest(self) -> None:
        if self.manifest.get("format") != FORMAT:
            bundle_format = self.manifest.get("format")
            raise MosaicError(
                f"{self.name} is of the format {bundle_format!r:.100}; this mosaic-lab reads {FORMAT}"
            )
        facts = [self.manifest.get(name) for name in _FACTS]
        try:
            tables = self.manifest["versions"].values()
            facts += [text for table in tables for pair in table.items() for text in pair]
            sound = all(isinstance(fact, str) and fact.isprintable() for fact in facts)
        except (KeyError, AttributeError):
            sound = False
        if not sound:
            raise self._refused("manifest.json", f"does not have {', '.join(_FACTS)} and versions")
        for name in (SCRIPT, EPISODES, CSV):
            if name not in self.manifest["files"]:
                raise self._refused(name, "is missing")

    def _check_episodes(self) -> None:
        if set(self._episodes) != {job.key for job in self.plan.jobs()}:
            raise self._refused(EPISODES, f"has different episodes from {SCRIPT}")
        try:
            records = self.records()
            if not {record["arena"] for record in records} <= set(self._arena_steps):
                raise self._refused(EPISODES, "names arenas that are not in it")
            computed = fingerprint(self.manifest["mosaic_lab"], self.plan, self.versions, records)
            table = results_table(self.plan, records)
            observed = with_observations(records)
            recorded = {observations_name(record): record["recording"]["sha256"] for record in observed}
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise self._refused(EPISODES, f"cannot be read: {error!r:.200}") from None
        if observations := self._observations:
            for name in sorted({*observations, *recorded}):
                if observations.get(name) != recorded.get(name):
                    raise self._refused(name, f"is not the file of observations that {EPISODES} names")
        try:
            row = differing_row(self.path / CSV, table)
        except (ValueError, csv.Error) as error:
            raise self._refused(CSV, f"cannot be read as a table: {error}") from None
        if row is not None:
            raise self._refused(CSV, f"does not match {EPISODES}: row {row:,} differs")
        if computed != self.manifest["fingerprint"]:
            if self.manifest["mosaic_lab"] == __version__:
                raise self._refused(EPISODES, f"and {SCRIPT} do not match the fingerprint in manifest.json")
            self.unchecked = (
                f"the fingerprint was not checked: {self.name} was made by mosaic-lab "
                f"{self.manifest['mosaic_lab']:.40}, this is {__version__}, and versions may compute it "
                "differently. Only the sender vouches that results and script belong together; `mosaic-lab "
                "evaluate --verify` plays the episodes again"
            )

    def _refused(self, member: str, why: str) -> MosaicError:
        return MosaicError(f"{self.name} is refused: its member {member!r} {why}")


def _no_run(name: str) -> NoReturn:
    raise MosaicError(f"a bundle may not name a run, such as {name!r:.100}")
