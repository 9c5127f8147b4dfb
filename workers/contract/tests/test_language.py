"""Language models with the standard library alone: replays, budgets, retries and parsing of answers."""

import string
import tempfile
import time
import unittest
from email.utils import formatdate
from pathlib import Path
from unittest import mock

from mosaic_contract import AgentSetup
from mosaic_contract.errors import BudgetSpent, EndpointFailed, RecordingMismatch
from mosaic_contract.language import Exchange, LanguageModel, Parsed, Turn
from mosaic_contract.language.budget import Budget, dollars, spent
from mosaic_contract.language.endpoint import choice_in
from mosaic_contract.language.exchange import Reply, TextForm, prompt_of
from mosaic_contract.language.local import grammar_of
from mosaic_contract.language.parsing import Actions
from mosaic_contract.language.recording import CallKey, RecordingWriter, read
from mosaic_contract.language.retries import AttemptFailed, repeat, required_wait
from mosaic_contract.language.streamed_reply import split_thoughts

PRINTABLE = "".join(filter(str.isprintable, string.printable))
PROMPT = [Turn("user", "Where to?")]


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def record(self, *answers, cost=0.01, tokens=5, faults=()):
        writer = RecordingWriter(self.folder / "old", "a.jsonl")
        for step, answer in enumerate(answers):
            exchange = Exchange(
                prompt_of(PROMPT),
                answer,
                None,
                faults,
                "m",
                input_tokens=tokens,
                output_tokens=min(tokens, 2),
                cost_usd=cost,
            )
            writer.write(exchange, CallKey("lane", "agent_0", 1, 0, step, 0), "LLM", "openai")
        writer.close()


class Replays(Folder):
    def test_a_replay(self):
        self.record("left", "right")
        settings = {"folder": str(self.folder / "new"), "file": "b.jsonl", "lane": "lane", "operator": "LLM"}
        recording = {**settings, "replay": str(self.folder / "old")}
        model = LanguageModel(AgentSetup("agent_0", settings={"model": "m", "recording": recording}))
        model.begin_episode(1, 0)
        for step, answer in enumerate(("left", "right")):
            model.begin_step(step)
            exchange = model.ask(PROMPT, lambda text: Parsed(len(text), text))
            self.assertEqual(
                (exchange.parsed, exchange.action, exchange.recorded), (answer, len(answer), True)
            )
        with self.assertRaises(RecordingMismatch):
            model.ask(PROMPT, lambda text: Parsed(None, None))
        model.close()
        self.assertEqual([entry["answer"] for entry in read(self.folder / "new")], ["left", "right"])
        self.assertEqual(spent(self.folder / "new"), {"usd": 0.0, "tokens": 0, "calls": 0})

    def test_a_replayed_answer_without_an_action_keeps_its_fault(self):
        self.record("left", faults=("unparsed", "repair", "default"))
        settings = {"folder": str(self.folder / "new"), "file": "b.jsonl", "lane": "lane", "operator": "LLM"}
        recording = {**settings, "replay": str(self.folder / "old")}
        model = LanguageModel(AgentSetup("agent_0", settings={"model": "m", "recording": recording}))
        self.addCleanup(model.close)
        model.begin_episode(1, 0)
        exchange = model.ask(PROMPT, lambda text: Parsed(1, text), repair=True, last=True)
        self.assertEqual((exchange.action, exchange.faults), (None, ("unparsed", "repair", "default")))


class Budgets(Folder):
    def test_what_is_recorded_is_spent_and_what_is_reserved_is_not_free(self):
        self.record("left", "right")
        budget = Budget(self.folder / "old", 0.05, None, None, patience=0.1)
        self.addCleanup(budget.close)
        first = budget.reserve(0.03, 10)
        with self.assertRaisesRegex(BudgetSpent, r"the budget of \$0.05 is spent: \$0.02 in 2 calls"):
            budget.reserve(0.01, 10)
        budget.release(first)
        budget.book(budget.reserve(0.03, 10), 0.01, 7, lambda: None)
        with self.assertRaisesRegex(BudgetSpent, r"\$0.03 in 3 calls"):
            budget.reserve(0.03, 10)

    def test_what_another_operator_does_without_a_budget_leaves_the_books_alone(self):
        budget = Budget(self.folder, 0.05, None, None, patience=0.1)
        self.addCleanup(budget.close)
        reserved = budget.reserve(0.03, 10)
        recording = {"folder": str(self.folder), "file": "b.jsonl", "lane": "lane", "operator": "engine"}
        settings = {"model": "m", "provider": "local", "recording": recording}
        LanguageModel(AgentSetup("agent_1", settings=settings), mock.Mock).close()
        with self.assertRaises(BudgetSpent):
            budget.reserve(0.03, 10)
        budget.book(reserved, 0.01, 7, lambda: None)

    def test_the_moves_of_an_engine_are_not_calls(self):
        self.record("e2e4", cost=0.0, tokens=0)
        self.assertEqual(spent(self.folder / "old"), {"usd": 0.0, "tokens": 0, "calls": 0})

    def test_amounts(self):
        self.assertEqual(
            [dollars(x) for x in (0, 2, 0.035, 1234.5, 2e-6)],
            ["$0.00", "$2.00", "$0.035", "$1,234.50", "$2e-06"],
        )


class Retries(unittest.TestCase):
    @mock.patch("mosaic_contract.language.retries.time.sleep")
    def test_attempts_are_repeated_after_growing_waits(self, sleep):
        replies = iter([AttemptFailed("a"), AttemptFailed("b"), AttemptFailed("c", retry_after=7.0), None])

        def attempt():
            failure = next(replies)
            if failure is not None:
                raise failure
            return Reply("go", "m")

        self.assertEqual(repeat(attempt, 5, "m"), (Reply("go", "m"), 3))
        first, second, third = (call.args[0] for call in sleep.call_args_list)
        self.assertTrue(0.25 <= first <= 0.5 <= second <= 1.0 and 7.0 <= third <= 7.1)

    def test_an_end_without_a_reply(self):
        def attempt():
            raise AttemptFailed("the line is dead")

        with self.assertRaisesRegex(EndpointFailed, "m failed once; the last time: the line is dead"):
            repeat(attempt, 0, "m")

    def test_the_wait_that_a_response_requires(self):
        for headers, text, seconds in (
            ({"retry-after": "3"}, "try again in 9s", 3.0),
            ({"retry-after-ms": "250", "retry-after": "3"}, "", 0.25),
            ({"x-ratelimit-reset-requests": "9s"}, "Please try again in 20s.", 20.0),
            ({}, "Please retry in 6m0.5s.", 360.5),
            ({}, "Please retry after 90 seconds.", 90.0),
            ({}, "try again in 300ms", 0.3),
            ({"x-ratelimit-reset-requests": "9s", "x-ratelimit-reset-tokens": "2m"}, "", 9.0),
            (
                {"x-ratelimit-reset": "5", "x-ratelimit-reset-day": "7", "x-ratelimit-remaining-day": "0"},
                "",
                7.0,
            ),
            ({"x-ratelimit-reset": "soon"}, "try again in a while", None),
        ):
            self.assertEqual(required_wait(headers, text), seconds)
        for headers in (
            {"retry-after": formatdate(time.time() + 1e6)},
            {"x-ratelimit-reset": f"{time.time() + 1e6:.0f}"},
            {"x-ratelimit-reset": f"{1e3 * (time.time() + 1e6):.0f}"},
        ):
            self.assertAlmostEqual(required_wait(headers, "") or 0, 1e6, delta=5)
        for odd in ("soon", "-1", "nan", "inf"):
            self.assertIsNone(required_wait({"retry-after": odd, "x-ratelimit-reset": odd}, ""))


class Answers(unittest.TestCase):
    def test_full_width_colons_and_typographic_quotes_are_read(self):
        actions = Actions({"type": "Discrete", "n": 2, "start": 0}, ["left", "right"])
        for answer in ("思考。\nACTION：right", "**Action**： right", "ACTION: “right”"):
            self.assertEqual(actions.parse(answer, [0, 1]).action, 1)

    def test_an_action_in_json_in_a_box_or_said_twice_is_read(self):
        actions = Actions({"type": "Discrete", "n": 3, "start": 0}, ["left", "go_north", "stay"])
        for answer in (
            '{"action": "go north"}',
            'I see a door.\n```json\n{"why": {"action": "left"},\n "Action": "go_north"}\n```',
            "So it is $\\boxed{\\text{go\\_north}}$.",
            "ACTION: \\boxed{go north}",
            'ACTION: {"action": "go_north"}',
            "go_north\nGo_north",
            "ACTION: go north, go north",
            '\\boxed{go north}\n{"action": "go_north"}',
            "\\boxed{left}, no.\nACTION: go_north",
        ):
            self.assertEqual(actions.parse(answer, [0, 1]).action, 1, answer)
        for answer, fault in (
            ("\\boxed{left} or \\boxed{go north}", "ambiguous"),
            ('{"action": "left"}\n{"action": "stay"}', "ambiguous"),
            ('{"action": "left", "action": "stay"}', "unparsed"),
            ('{"action": ["left"]}', "illegal"),
            ("ACTION: \\boxed{left} or \\boxed{go north}", "illegal"),
            ("ACTION: left go north", "illegal"),
            ("stay stay", "illegal"),
            ('Say {"action": "left"} to go left', "unparsed"),
            ("left go north left", "unparsed"),
            (100 * "!" + " left", "unparsed"),
        ):
            self.assertEqual(actions.parse(answer, [0, 1]), Parsed(None, None, (fault,)), answer)
        box = Actions({"type": "Box", "shape": [2], "low": -1.0, "high": 1.0})
        self.assertEqual(box.parse('{"action": [0.5, -1]}', []).text, "[0.5, -1]")

    def test_a_whole_answer_is_one_of_the_known_texts(self):
        actions = Actions({"type": "Text", "max_length": 9})
        known = actions.texts(["Go north.", "[1]", "[1]", 3, "a text that is too long"])
        self.assertEqual(known, ["Go north.", "[1]"])
        for answer, action in (("go north", "Go north."), ("[1] [1]", "[1]"), ("ACTION: bye bye", "bye bye")):
            self.assertEqual(actions.parse(answer, known).action, action)
        self.assertEqual(actions.parse("go south", known).faults, ("unparsed",))
        self.assertEqual(actions.form, TextForm(1, 9, PRINTABLE, actions.form.end_characters))
        self.assertFalse(set(actions.form.end_characters) & set(" .\"'*_<>"), "what the parser strips")
        letters = Actions({"type": "Text", "min_length": 3, "max_length": 500, "characters": "ab "})
        self.assertEqual(letters.form, TextForm(3, 40, "ab ", "ab"))
        self.assertIsNone(Actions({"type": "Text", "characters": " .", "max_length": 5}).form)

    def test_thoughts_and_choices(self):
        self.assertEqual(split_thoughts("<think>a</think>\n go"), ("go", "a"))
        self.assertEqual(split_thoughts("go <think> or"), ("go", "or"))
        self.assertEqual(
            [choice_in(text) for text in ('{"answer": "go"}', "go", "3", '{"answer": 3}')],
            ["go", "go", "3", '{"answer": 3}'],
        )
        one, two = r"[\U00000061\U00000062]", r"[\U00000062]"
        self.assertEqual(
            grammar_of(TextForm(1, 4, "ab", "b")), f'root ::= "ACTION: " ({two} | {two} {one}{{0,2}} {two})'
        )
        self.assertEqual(grammar_of(["go", 'say "ä"']), 'root ::= "go" | "say \\"ä\\""')
