"""A run as a folder of TensorBoard: scalars, hyperparameters for the HPARAMS tab, the configuration as text.
TensorBoard keeps scalars as float32."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Mapping

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2
from tensorboard.plugins.hparams.summary_v2 import hparams_pb
from tensorboard.plugins.text.summary_v2 import text_pb
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from .exported_run import ExportedRun

_NAMES = "events.out.tfevents.*"


class EventFileExporter:
    """Writes the folder of a run, replacing the event files of an earlier export."""

    def __init__(self, run: ExportedRun, out: Path) -> None:
        self._run = run
        self._folder = out / run.id
        self._folder.mkdir(parents=True, exist_ok=True)
        for older in self._folder.glob(_NAMES):
            older.unlink()
        self._started = run.started or time.time()
        self._last = self._started
        self._writer = EventFileWriter(str(self._folder))
        parameters = {name: _plain(value) for name, value in run.hyperparameters.items()}
        self._write(hparams_pb(parameters, run.id, self._started), self._started)
        self._write(text_pb("configuration", _configuration_text(run)), self._started)

    def add(self, step: int, timestamp: float | None, values: Mapping[str, float]) -> None:
        """Write the values as scalars. Without a timestamp they get the one of the previous points."""
        self._last = self._last if timestamp is None else timestamp
        scalars = [Summary.Value(tag=name, simple_value=value) for name, value in values.items()]
        self._write(Summary(value=scalars), self._last, step)

    def close(self) -> Path:
        """Write the end of the run; return its folder."""
        if self._run.succeeded is not None:
            status = api_pb2.STATUS_SUCCESS if self._run.succeeded else api_pb2.STATUS_FAILURE
            ended = self._run.ended or self._last
            self._write(_session_end(status, ended), ended)
        self._writer.close()
        return self._folder

    def _write(self, summary: Summary, wall_time: float, step: int = 0) -> None:
        self._writer.add_event(Event(wall_time=wall_time, step=step, summary=summary))


def _session_end(status: int, ended: float) -> Summary:
    """The end of a run for the HPARAMS tab; TensorBoard's own function for it imports TensorFlow."""
    info = plugin_data_pb2.SessionEndInfo(status=status, end_time_secs=ended)
    details = metadata.create_summary_metadata(plugin_data_pb2.HParamsPluginData(session_end_info=info))
    tag = metadata.SESSION_END_INFO_TAG
    return Summary(value=[Summary.Value(tag=tag, metadata=details, tensor=metadata.NULL_TENSOR)])


def _plain(value: Any) -> bool | float | str:
    """Return a value that HPARAMS accepts: a bool, a number or a string; anything else as JSON."""
    return value if isinstance(value, (bool, int, float, str)) else json.dumps(value)


def _configuration_text(run: ExportedRun) -> str:
    """Return the run's facts and configuration, as an indented block of Markdown."""
    facts = {
        "name": run.name,
        "group": run.group,
        "tags": ", ".join(run.tags),
        "notes": run.notes,
        "state": run.state,
        "reason": run.reason,
    }
    lines = [f"    {name}: {value}" for name, value in facts.items() if value]
    config = json.dumps(run.config, indent=2, default=str).splitlines()
    return "\n".join([*lines, "", *(f"    {line}" for line in config)])
