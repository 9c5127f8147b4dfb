"""Print the data that TensorBoard finds in a folder, as JSON. Runs in the worker's environment."""

import json
import sys

from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.context import RequestContext
from tensorboard.plugins.base_plugin import TBContext
from tensorboard.plugins.hparams import api_pb2, backend_context, list_session_groups


def scalars(folder: str) -> dict:
    events = EventAccumulator(folder, size_guidance={"scalars": 0, "tensors": 0})
    events.Reload()
    tags = events.Tags()
    text = events.Tensors("configuration")[0].tensor_proto.string_val[0].decode()
    points = {tag: [(e.wall_time, e.step, e.value) for e in events.Scalars(tag)] for tag in tags["scalars"]}
    return {"scalars": points, "text": text}


def hparams(folder: str) -> list:
    """Return the table of the HPARAMS tab, from the code that serves the page."""
    multiplexer = plugin_event_multiplexer.EventMultiplexer()
    multiplexer.AddRunsFromDirectory(folder)
    multiplexer.Reload()
    context = TBContext(data_provider=data_provider.MultiplexerDataProvider(multiplexer, folder))
    wanted = api_pb2.ListSessionGroupsRequest(start_index=0, slice_size=100)
    wanted.allowed_statuses.extend(api_pb2.Status.values())
    hparams_context = backend_context.Context(context)
    answer = list_session_groups.Handler(RequestContext(), hparams_context, "", wanted).run()
    runs = []
    for group in answer.session_groups:
        values = {name: getattr(value, value.WhichOneof("kind")) for name, value in group.hparams.items()}
        (session,) = group.sessions
        runs.append({"hparams": values, "status": session.status, "run": group.name})
    return runs


if __name__ == "__main__":
    root, *folders = sys.argv[1:]
    print(json.dumps({"runs": {one: scalars(one) for one in folders}, "hparams": hparams(root)}))
