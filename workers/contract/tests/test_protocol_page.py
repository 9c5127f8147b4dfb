"""workers/PROTOCOL.md agrees with the contract's messages, options and commands."""

import os
import re
import subprocess
import sys
import unittest
from dataclasses import fields
from pathlib import Path

from lanes import PEERS, Arenas, player
from mosaic_contract.config import TrainingConfig
from mosaic_contract.messages import DATA, EVENTS
from mosaic_contract.metadata import WorkerCapabilities, WorkerMetadata
from mosaic_contract.operator_server import OperatorServer
from mosaic_contract.operators import Decision
from mosaic_contract.policy_queries import PolicyQueries
from worker_processes import CONTRACT

PAGE = Path(__file__).parents[2] / "PROTOCOL.md"
OPTION = re.compile(r"--[a-z-]+")


def rows(section, first):
    """Rows, as lists of cells, of the table in `section` whose first column is headed `first`."""
    text = PAGE.read_text(encoding="utf-8").partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    table = text.partition(f"\n| {first} |")[2].partition("\n\n")[0]
    return [line.strip("| ").split("|") for line in table.splitlines()[2:]]


def names(cell):
    return dict(re.findall(r"`(\w+)`([+?]*)", cell))


def commands(section):
    """Return {command: (answer type, {field: marks})} of a section's table of commands."""
    table = {}
    for command, _, answer, *answered in rows(section, "command"):
        (name,), (kind,) = names(command), names(answer)
        table[name] = kind, names(answered[0]) if answered else {}
    return table


class ThePage(unittest.TestCase):
    def test_has_all_events_and_data(self):
        for first, kinds, common in (("event", EVENTS, {"run_id", "timestamp"}), ("type", DATA, {"run_id"})):
            table = {next(iter(names(kind))): names(cell) for kind, cell in rows("Training", first)}
            self.assertEqual(set(table), set(kinds))
            for kind, listed in table.items():
                declared = {f.name: "+" if f.metadata.get("added") else "" for f in fields(kinds[kind])}
                expected = {name: mark for name, mark in declared.items() if name not in common}
                self.assertEqual(listed, expected, kind)

    def test_has_all_fields_of_configurations_and_metadata(self):
        listed = {name for field, _ in rows("Training", "field") for name in names(field)}
        self.assertEqual(listed, {f.name for f in fields(TrainingConfig)} - {"raw"} | {"algo"})
        metadata, capabilities = (set(names(cell)) for _, cell in rows("Discovery", "object"))
        self.assertEqual(metadata, {f.name for f in fields(WorkerMetadata)})
        self.assertEqual(capabilities, {f.name for f in fields(WorkerCapabilities)})

    def test_has_the_commands_of_operators(self):
        class Everything:
            def queries(self):
                return PolicyQueries({"type": "Text"}, {"action": lambda inputs, state: inputs})

            def select_action(self, observation):
                if observation == "in a batch":
                    return 0
                return Decision(
                    0, exchanges=[{"model": "m"}], messages=[{"to": "all", "text": "hi"}], forfeit="x"
                )

        def describe():
            return WorkerMetadata("peer", "1"), WorkerCapabilities()

        server = OperatorServer(describe, lambda setup: Everything())
        table = commands("Operators")
        known = server.perform({"cmd": "?"})["message"].partition("known: ")[2].split(", ")
        self.assertEqual(set(table), set(known))
        sent = {
            "query": {"what": "action", "alone": True, "memory": -1},
            "select_actions": {"player_ids": ["agent_0"], "observations": ["in a batch"]},
        }
        for command, (kind, answered) in table.items():
            message = {"cmd": command, "player_id": "agent_0", "observation": 0, **sent.get(command, {})}
            answer = server.perform(message)
            self.assertEqual((answer.pop("type"), set(answer)), (kind, set(answered)), command)


class ProcessesOfThePage(Arenas):
    def test_have_the_options_of_every_worker(self):
        command = [sys.executable, str(PEERS / "arena_family.py"), "--help"]
        environment = {**os.environ, "PYTHONPATH": CONTRACT}
        text = subprocess.run(command, stdout=subprocess.PIPE, env=environment, check=True).stdout.decode()
        listed = {option for cell, _ in rows("Discovery", "option") for option in OPTION.findall(cell)}
        self.assertEqual(listed, {*OPTION.findall(text)} - {"--help"})

    def test_answer_the_commands_of_arenas(self):
        table, lane = commands("Arenas"), self.lane
        known = lane.do("error", "?")["message"].partition("known: ")[2].split(", ")
        self.assertEqual(set(table), set(known))
        sent = {
            "open": {"env_id": "Walk-v0", "folder": str(lane.folder)},
            "seat": {"operators": {"a": player()}, "seats": {"agent_0": "a"}},
            "reset": {"seed": 1},
            "episode": {"seed": 1},
            "replay": {"seed": 1},
        }
        for command, (kind, answered) in table.items():
            answer = lane.do(kind, command, **sent.get(command, {}))
            del answer["type"]
            optional = {name for name, marks in answered.items() if "?" in marks}
            self.assertEqual(set(answer) | optional, set(answered), command)
