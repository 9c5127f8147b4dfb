"""Checks of a telemetry stream: the problems of its lines, as sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mosaic_contract.codec import DEFAULT_LINE_LIMIT, decode_line
from mosaic_contract.errors import BadLine, BadMessage
from mosaic_contract.messages import EVENTS, missing_fields, parse_message

TERMINAL = tuple(name for name, kind in EVENTS.items() if kind.TERMINAL)


def problems_of_stream(lines: Sequence[bytes], config: Mapping[str, Any]) -> list[str]:
    """Return the problems of the stream of a training that ran `config` to its end, as sentences."""
    problems: list[str] = []
    messages: list[dict[str, Any]] = []
    for number, line in enumerate(lines, 1):
        try:
            if len(line) > DEFAULT_LINE_LIMIT:
                raise BadLine(f"{len(line)} bytes long, the limit is {DEFAULT_LINE_LIMIT}")
            message = decode_line(line)
            messages.append(message)
            parse_message(message)
            missing = missing_fields(message)
            if missing:
                raise BadMessage(f"{message.get('event') or message.get('type')} lacks {', '.join(missing)}")
        except (BadLine, BadMessage) as error:
            problems.append(f"line {number}: {error}: {line[:120]!r}")
    events = [message.get("event") for message in messages]
    if events[:1] != ["run_started"] or events.count("run_started") != 1:
        problems.append(f"run_started is not the first event and the only one of its kind: {events[:3]}")
    else:
        problems += _problems_of_start(messages[0].get("payload", {}), config)
    ends = [event for event in events if event in TERMINAL]
    if len(ends) != 1 or events[-1] != ends[0]:
        problems.append(f"there is not exactly one terminal event, at the end: {ends}, last {events[-1:]}")
    if "heartbeat" not in events:
        problems.append("no heartbeat")
    if "metrics" not in events and not any(message.get("type") == "episode" for message in messages):
        problems.append("neither metrics nor an episode")
    strangers = {str(message.get("run_id")) for message in messages} - {config["run_id"]}
    if strangers:
        problems.append(f"run_id is not {config['run_id']!r} everywhere: {sorted(strangers)}")
    stamps = [message.get("timestamp") for message in messages if "event" in message]
    times = [stamp for stamp in stamps if isinstance(stamp, (int, float))]
    if times != sorted(times):
        problems.append("timestamps go back")
    return problems


def _problems_of_start(payload: Any, config: Mapping[str, Any]) -> list[str]:
    if not isinstance(payload, Mapping):
        return []  # a problem of its line already
    fields = {"algorithm": "algo", "algo": "algo", "env_id": "env_id", "seed": "seed"}
    expected = {reported: config[name] for name, reported in fields.items() if name in config}
    return [
        f"run_started says {name} {payload.get(name)!r}, the configuration {value!r}"
        for name, value in expected.items()
        if payload.get(name) != value
    ]
