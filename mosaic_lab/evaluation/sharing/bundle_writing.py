"""The writing of bundles: a completed evaluation as one zip file, whose content `bundle` describes."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from mosaic_contract.episode_recording import OBSERVATIONS

from mosaic_lab._version import __version__
from mosaic_lab.errors import ConfigurationError, MosaicError, warn_user
from mosaic_lab.evaluation.fingerprints import changed
from mosaic_lab.evaluation.plan import EvaluationPlan
from mosaic_lab.evaluation.sharing.archive import TooLarge, pack_bundle
from mosaic_lab.evaluation.sharing.bundle import (
    CSV,
    EPISODES,
    FORMAT,
    NOTEBOOK,
    lock_name,
    observations_name,
    open_bundle,
    steps_name,
    with_observations,
)
from mosaic_lab.evaluation.sharing.bundle_recordings import recording_files
from mosaic_lab.evaluation.sharing.bundle_script import ENVIRONMENT, SCRIPT, models_text, script_of
from mosaic_lab.keeper.files import open_file
from mosaic_lab.operators import OperatorSpec
from mosaic_lab.runs.provenance import source_files
from mosaic_lab.table_files import csv_text

if TYPE_CHECKING:
    from mosaic_lab.evaluation import Evaluation

_EPISODE = b'"type":"episode"'


def write_bundle(
    evaluation: Evaluation, path: Path | str, notebook: Path | str | None = None, recordings: bool = True
) -> Path:
    """Write a completed evaluation as one zip file; see `Evaluation.bundle`."""
    target = Path(path)
    if target.is_dir():
        raise ConfigurationError(
            f"{target} is a folder: give the bundle's file, such as {target / 'share.zip'}"
        )
    if target.suffix != ".zip":
        raise ConfigurationError(f"{target}: the name of a bundle must end with .zip")
    plan, fingerprint = evaluation.plan, evaluation.fingerprint()
    if why := changed(plan):
        raise MosaicError(why)
    files: dict[str, bytes | Path] = {}
    locations = _checkpoints(plan, files) | _policies(plan.operators.values(), files)
    if plan.module is not None:
        module = Path(plan.module)
        module_files = {file.relative_to(module.parent).as_posix(): file for file in source_files(module)}
        files |= {f"{ENVIRONMENT}/{name}": file for name, file in module_files.items()}
    script = json.dumps(script_of(plan, locations), indent=1)
    files[SCRIPT] = script.encode() + b"\n"
    files |= _results(evaluation)
    if recordings:
        files |= recording_files(evaluation.recording)
        for record in with_observations(evaluation.records()):
            folder = evaluation.arena_path(record["arena"]) / OBSERVATIONS
            files[observations_name(record)] = folder / record["recording"]["file"]
    elif models := [spec for spec in plan.operators.values() if spec.is_language_model]:
        text = f"without the recording, {target.name} is reproduced by calling {models_text(models)}"
        warn_user(f"{text}, which needs a key and may give different answers", UserWarning)
    if notebook is not None:
        files[NOTEBOOK] = _notebook(Path(notebook))
    manifest = {
        "format": FORMAT,
        "mosaic_lab": __version__,
        "evaluation": evaluation.id,
        "fingerprint": fingerprint,
        "versions": evaluation.versions,
    }
    try:
        with tempfile.TemporaryDirectory(prefix=".bundle-", dir=target.absolute().parent) as temporary:
            draft = Path(temporary) / target.name
            pack_bundle(draft, files, manifest)
            open_bundle(draft, Path(temporary) / "opened")  # verify that a recipient can open it
            os.replace(draft, target)  # noqa: PTH105
    except OSError as error:
        raise MosaicError(f"the bundle {target} cannot be written: {error}") from None
    except TooLarge as error:
        hint = "; recordings=False leaves out its recordings" if recordings else ""
        raise TooLarge(f"{error}{hint}") from None
    return target


def _results(evaluation: Evaluation) -> dict[str, bytes | Path]:
    """Return the episodes with their steps, and the versions of the workers that played them."""
    with open_file(evaluation.folder.telemetry_path) as file:
        episodes = b"".join(line for line in file if _EPISODE in line)
    files: dict[str, bytes | Path] = {EPISODES: episodes, CSV: csv_text(evaluation.results()).encode()}
    arenas = {record["arena"] for record in evaluation.records() if record["arena"]}
    files |= {steps_name(arena): evaluation.arena_path(arena) / "telemetry.jsonl" for arena in arenas}
    return files | {lock_name(name): lock.to_text().encode() for name, lock in evaluation.locks.items()}


def _checkpoints(plan: EvaluationPlan, files: dict[str, bytes | Path]) -> dict[str, str]:
    """Add the checkpoints' files to ``files``; return their places in the bundle by path."""
    checkpoints = {
        str(spec.settings["checkpoint"]) for spec in plan.operators.values() if "checkpoint" in spec.settings
    }
    locations = {}
    for number, path in enumerate(sorted(checkpoints & set(plan.digests)), 1):
        checkpoint, folder = Path(path), f"checkpoints/{number}"
        if checkpoint.is_dir():
            locations[path] = folder
            children = [file for file in checkpoint.rglob("*") if file.is_file()]
            files |= {f"{folder}/{file.relative_to(checkpoint).as_posix()}": file for file in children}
        else:
            locations[path] = f"{folder}/policy{checkpoint.suffix}"
            files[locations[path]] = checkpoint
            if (described := checkpoint.with_suffix(".json")).is_file():
                files[f"{folder}/policy.json"] = described
    return locations


def _policies(specs: Iterable[OperatorSpec], files: dict[str, bytes | Path]) -> dict[str, str]:
    """Add the files of the user's code to ``files``; return the place of each of their folders."""
    with_code = [(spec, code) for spec in specs for code in spec.code.values()]
    folders = sorted({settings["folder"] for _, settings in with_code})
    locations = {folder: f"policies/{number}" for number, folder in enumerate(folders, 1)}
    for spec, settings in with_code:
        code = Path(settings["folder"], settings["file"])
        package = code.parent / "__init__.py"
        if package.exists() and package not in spec.files.values():
            raise MosaicError(
                f"{code} is part of a package, of which a bundle contains only the files that files=[…] "
                f"names: name those that it needs, including {package.name}"
            )
        files |= {f"{locations[settings['folder']]}/{name}": path for name, path in spec.files.items()}
    return locations


def _notebook(path: Path) -> bytes:
    try:
        content = path.read_bytes()
        json.loads(content)["cells"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ConfigurationError(f"{path} is not a notebook that can be read: {error!r:.200}") from None
    return content
