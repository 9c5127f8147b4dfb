"""TensorBoard files of a program that trains, followed while they grow. TensorBoard is imported when there
are files; without it, none are read."""

from __future__ import annotations

import logging
import os
import time
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, Union

from mosaic_contract.telemetry import Telemetry

_MAX_FILES = 256
_MAX_EVENTS = 20_000  # per file and read, so that the program's output is not delayed

log = logging.getLogger("mosaic_contract")


class EventFileReader:
    """The event files below `folder` that were written to after this object was created.

    Their scalars become metrics, with the names that `rename` gives to the scalars of one step. Tags of files
    outside the first file's folder are `prefixed` with their own folder.
    """

    def __init__(
        self,
        folder: Union[str, Path],
        telemetry: Telemetry,
        rename: Callable[[Mapping[str, Any]], Mapping[str, Any]],
        *,
        prefixed: bool,
    ) -> None:
        self._folder = Path(folder)
        self._telemetry, self._rename, self._prefixed = telemetry, rename, prefixed
        self._start_time = time.time() - 1.0  # file systems round timestamps
        self._loaders: dict[Path, Any] = {}
        self._first_folder: Path | None = None

    @property
    def has_files(self) -> bool:
        """Whether any event file has been found."""
        return bool(self._loaders)

    def read(self) -> bool:
        """Send new events. Return whether more are available."""
        if find_spec("tensorboard") is None:
            return False
        for path in self._new_files():
            loaders = import_module("tensorboard.backend.event_processing.event_file_loader")
            try:
                self._loaders[path] = loaders.LegacyEventFileLoader(str(path))
            except Exception as error:  # the file was removed
                log.warning("%s is not followed: %s", path, error)
                self._loaders[path] = None
                continue
            self._first_folder = self._first_folder or path.parent
        has_more = False
        for path, loader in self._loaders.items():
            try:
                has_more |= self._send(loader, self._prefix(path.parent))
            except Exception as error:  # a damaged file must not affect others
                log.warning("%s is not followed any further: %s", path, error)
                self._loaders[path] = None
        return has_more

    def _new_files(self) -> list[Path]:
        paths = []
        for folder, _, names in os.walk(self._folder):
            for name in names:
                path = Path(folder) / name
                if "tfevents" in name and path not in self._loaders:
                    with suppress(OSError):
                        if path.stat().st_mtime >= self._start_time:
                            paths.append(path)
        return sorted(paths)[: _MAX_FILES - len(self._loaders)]

    def _prefix(self, folder: Path) -> str:
        if not self._prefixed or self._first_folder is None or folder == self._first_folder:
            return ""
        base = self._first_folder if folder.is_relative_to(self._first_folder) else self._folder
        return f"{folder.relative_to(base).as_posix()}/"

    def _send(self, loader: Any, prefix: str) -> bool:
        """Send events; return whether more remain after this batch."""
        if loader is None:
            return False
        step, count = 0, 0
        values: dict[str, Any] = {}
        for count, event in enumerate(loader.Load(), 1):
            for tag, value in _scalars(event):
                if event.step != step and values:
                    self._telemetry.metrics(step, self._rename(values))
                    values = {}
                step = event.step
                values[prefix + tag] = value
            if count >= _MAX_EVENTS:
                break
        if values:
            self._telemetry.metrics(step, self._rename(values))
        return count >= _MAX_EVENTS


def _scalars(event: Any) -> Iterator[tuple[str, Any]]:
    """Yield the potentially numeric values of an event, in both versions of the format."""
    for value in event.summary.value:
        value_kind = value.WhichOneof("value")
        if value_kind == "simple_value":
            yield value.tag, float(value.simple_value)
        elif value_kind == "tensor" and not value.tensor.string_val:
            try:
                array = import_module("tensorboard.util.tensor_util").make_ndarray(value.tensor)
            except TypeError as error:  # a numeric type that NumPy does not support
                yield value.tag, error
                continue
            if array.size == 1:  # else a histogram or an image
                yield value.tag, array
