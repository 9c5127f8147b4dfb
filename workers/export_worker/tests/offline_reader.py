"""Print the records of a W&B offline run, as JSON. Runs in the worker's environment.

The file is a LevelDB log: a 7-byte header, then 32 KiB blocks of fragments with checksum, length and type
(1 full, 2 first, 3 middle, 4 last). Each record is a `Record` message.
"""

import json
import struct
import sys
from pathlib import Path

from wandb.proto.wandb_internal_pb2 import Record

BLOCK, HEAD = 32768, 7


def records(data: bytes):
    at, parts = HEAD, b""
    while at < len(data):
        if BLOCK - at % BLOCK < HEAD:
            at += BLOCK - at % BLOCK
        _, length, kind = struct.unpack_from("<IHB", data, at)
        parts += data[at + HEAD : at + HEAD + length]
        at += HEAD + length
        if kind in (1, 4):
            yield Record.FromString(parts)
            parts = b""


def items(listed) -> dict:
    return {item.key or ".".join(item.nested_key): json.loads(item.value_json) for item in listed}


found: dict = {"history": [], "metrics": []}
for record in records(next(Path(sys.argv[1]).glob("*.wandb")).read_bytes()):
    kind = record.WhichOneof("record_type")
    if kind == "run":
        run = record.run
        found["run"] = {
            "id": run.run_id,
            "name": run.display_name,
            "project": run.project,
            "group": run.run_group,
            "tags": list(run.tags),
            "notes": run.notes,
            "config": items(run.config.update),
        }
    elif kind == "history":
        found["history"].append(items(record.history.item))
    elif kind == "exit":
        found["exit"] = record.exit.exit_code
    elif kind == "metric":
        found["metrics"].append([record.metric.name or record.metric.glob_name, record.metric.step_metric])
print(json.dumps(found))
