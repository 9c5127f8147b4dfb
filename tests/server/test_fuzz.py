"""Fuzzed page requests: each is answered or refused with a message, in bounded time and memory."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from browser.jupyter import JupyterLab
from browser.server import serving
from many_runs import write_runs
from server.pages import CALL, Page

REQUESTS, MAX_SECONDS, MAX_BYTES = 200, 5.0, 400 << 20
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63), 2**64, 10**30, 0.5, -0.0, 1e308, 5e-324),
    *(
        "",
        "a",
        "..",
        "../..",
        "/",
        "/etc",
        "\x00",
        "a\x00b",
        "💥",
        "\u202e",
        "ÿ" * 300,
        "x" * 100_000,
        "%s{}",
    ),
    *([], {}, [[]], [None], {"": None}, [0] * 10_000, [{}] * 100, ["a"] * 300, "1e400", "nan", "-1"),
)


def raw(text: str) -> Any:
    """Return a value that `written` inserts verbatim, for JSON that `json.dumps` cannot produce."""
    return {"raw": text}


RAW = tuple(
    map(
        raw,
        (
            *("1e400", "-1e400", "NaN", "Infinity", '"\\ud800"', '"\\udfff\\ud800"', "1" * 5000),
            *("[" * 300 + "]" * 300, '{"a":' * 300 + "1" + "}" * 300, "", "[", '"', "\\", "0x1", "01"),
        ),
    )
)


def templates(store: str, runs: list[str]) -> list[dict[str, Any]]:
    """Return a valid request for each method."""
    chart = {"runs": runs, "metric": "episode_return", "points": 50}
    values = {"worker": "cleanrl", "algorithm": "ppo", "env": "CartPole-v1", "seed": 1, "learning_rate": 0.1}
    params: dict[str, dict[str, Any]] = {
        "changes": {"version": 0},
        "metrics": {"runs": runs},
        "curves": {**chart, "x": "step", "start": 0.0, "end": 900.0, "smoothing": 0.5, "group_by": ["seed"]},
        "export": {"charts": [{**chart, "log_y": True, "colors": {"a": "#00ff00"}}], "format": "csv"},
        "details": {"runs": runs},
        "difference": {"runs": runs[:2]},
        "log": {"run": runs[0], "lines": 10},
        "films": {"run": runs[0]},
        "film": {"run": runs[0], "step": 1},
        "forms": {"kind": "evaluation"},
        "models": {"provider": "lmstudio"},
        "code": {"kind": "training", "values": values, "lab": "lab", "taken": ["a"]},
        "follow": {"stores": {store: 0}},
    }
    return [{"store": store, "method": name, "params": each, "wait": 0} for name, each in params.items()]


def mutated(request: dict[str, Any], chance: random.Random) -> bytes:
    """Return the encoded request after one to three changes of keys or values, and at times of its bytes."""
    request = copy.deepcopy(request)
    for _ in range(chance.randint(1, 3)):
        places = list(containers(request))
        inside = chance.choice(places)
        keys = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
        if not keys:
            continue
        key, value = chance.choice(keys), chance.choice((*ODD, *RAW))
        if isinstance(inside, dict) and chance.random() < 0.2:
            inside[chance.choice(("", "versoin", "__class__", "\x00", "store", "..", "x" * 5000))] = value
        elif chance.random() < 0.1:
            del inside[key]
        else:
            inside[key] = value
    data = written(request).encode()
    if chance.random() < 0.1:
        at = chance.randrange(len(data))
        data = data[:at] + bytes([chance.randrange(256)]) + data[at + chance.randint(0, 3) :]
    return data


def containers(value: Any) -> Iterator[Any]:
    if isinstance(value, dict) and "raw" not in value:
        yield value
        for each in value.values():
            yield from containers(each)
    elif isinstance(value, list) and len(value) < 20:
        yield value
        for each in value:
            yield from containers(each)


def written(value: Any) -> str:
    if isinstance(value, dict):
        if "raw" in value:
            return str(value["raw"])
        return "{" + ",".join(f"{json.dumps(key)}:{written(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    return json.dumps(value)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterLab]:
    with serving(tmp_path_factory.mktemp("served")) as server:
        yield server


def test_mutated_requests_are_answered_or_refused(server: JupyterLab) -> None:
    store = server.root / "mosaic_runs"
    runs = [path.name for path in write_runs(store, 3)]
    attack(Page(server), store, runs, REQUESTS, seed=1)


def attack(page: Page, store: Path, runs: list[str], count: int, seed: int) -> None:
    chance, valid = random.Random(seed), templates(str(store), runs)
    for request in valid:
        answered = page.send(CALL, written(request).encode())
        assert answered.status == 200 or request["method"] in ("film", "models"), (request, answered.content)
    (reader,) = (
        one
        for one in psutil.Process().children(recursive=True)
        if one.cmdline()[-2:] == ["mosaic_lab.server.reader", str(page.server.root)]
    )
    for _ in range(count):
        data = mutated(chance.choice(valid), chance)
        before = processor_seconds(reader)
        answered = page.send(CALL, data)
        about = data[:2000], answered.content[:2000]
        assert answered.status in (200, 400, 413), about
        assert processor_seconds(reader) - before < MAX_SECONDS, about
        assert answered.status == 200 or answered.json["message"], about
    assert reader.memory_info().rss < MAX_BYTES


def processor_seconds(reader: psutil.Process) -> float:
    """Return the CPU time of the server and its reader, which does not depend on the machine's load."""
    server = reader.parent()
    assert server is not None, "the reader has ended"
    return sum(times.user + times.system for times in (server.cpu_times(), reader.cpu_times()))
