"""The speed of a comparison's page while a language model takes ten seconds, in JupyterLab.

Three lanes of MountainCar: a person at the keys, a policy in the kernel that takes 60 steps a second, and a
language model. Lanes that step together wait for the slowest, so the first two step alone. Frames drawn a
second (30 at most) and the time from a key press to its frame, and to the person's next turn, are measured in
the page, in turns while a call of the model is under way and while the model is idle: a ratio of 1 means that
the call costs the page nothing.

The server is the fake one of the tests; the worker, the SDK, the arenas, the kernel and the page are real.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import pytest
from benchmarks.measuring import paired, print_table, ratio_row
from browser.comparison import INSTALL_MS, at_step, lane, widget
from browser.jupyter import Notebook
from browser.server import serving
from language.language_fixtures import FakeServer
from playwright.sync_api import Browser, Page, expect
from support import wait_until

ROUNDS = 2
CALL_SECONDS, LOOK_SECONDS = 10, 8
SETTLE_MS = 2000
MODEL = "slow"
CALLS = {
    "silent": f"latency={CALL_SECONDS}+legal",
    "writing, unfolded": f"slow={CALL_SECONDS}+say={'I think about it. ' * 450}ACTION: push right",
}
TARGETS = {
    "frames/s": "at least 0.9",
    "key to its frame, ms": "at most 1.3",
    "key to next turn, ms": "at most 1.3",
}

SHOW = """import os, time
import mosaic_lab as mosaic
from mosaic_lab import operators
os.environ["FAKE_KEY"] = "{key}"
def push_left(observation):
    time.sleep(1 / 60)
    return 0
lanes = {{
    "you": operators.human(),
    "policy": push_left,
    "model": operators.llm("{model}", base_url="{url}", api_key_env="FAKE_KEY"),
}}
endless = {{"max_episode_steps": 10_000_000}}
cmp = mosaic.Lab().compare("MountainCar-v0", lanes, seeds=[1], env_kwargs=endless)
cmp"""
PLAY = """for lane in ("you", "policy"):
    cmp.step(1_000_000, lane=lane, timeout=0)"""
LOOK = """async (seconds) => {
    const {drawn} = document.querySelector(".mosaic-lanes").mosaicFrames;
    const card = document.querySelector("[aria-label='lane you']");
    const stage = card.querySelector(".mosaic-stage");
    const step = () => card.querySelector(".mosaic-fact[data-name='step'] b").textContent;
    const until = async (what, done) => {
        const since = performance.now();
        while (!done()) {
            if (performance.now() - since > 20000) throw new Error(`no ${what} in 20 s: ${card.innerText}`);
            await new Promise((resolve) => setTimeout(resolve, 1));
        }
    };
    stage.scrollIntoView({block: "center"}); // a frame that is out of sight is not drawn
    stage.focus({preventScroll: true});
    await new Promise((resolve) => setTimeout(resolve, 500));
    const before = drawn[1], start = performance.now(), frames = [], turns = [];
    while (performance.now() - start < 1000 * seconds) {
        await new Promise((resolve) => setTimeout(resolve, 50 + 100 * Math.random()));
        const key = frames.length % 2 ? "ArrowLeft" : "ArrowRight";
        const count = drawn[0], last = step(), pressed = performance.now();
        for (const name of ["keydown", "keyup"]) {
            stage.dispatchEvent(new KeyboardEvent(name, {key, bubbles: true}));
        }
        const measure = async (what, times, done) => {
            await until(what, done);
            times.push(performance.now() - pressed);
        };
        await Promise.all([
            measure("frame", frames, () => drawn[0] > count),
            measure("turn", turns, () => step() !== last && card.querySelector(".mosaic-awaited")),
        ]);
    }
    return {rate: 1000 * (drawn[1] - before) / (performance.now() - start), frames, turns};
}"""


@dataclass
class Fluency:
    """Frames per second of the policy in an interval, and each key's milliseconds to its frame and to
    the person's next turn."""

    rate: float
    frames: list[float]
    turns: list[float]

    def figures(self) -> dict[str, float]:
        return dict(zip(TARGETS, (self.rate, median(self.frames), median(self.turns)), strict=True))


class Stage:
    """A page with the comparison, in which the person and the policy play all the while."""

    def __init__(self, page: Page, server: FakeServer) -> None:
        self.page = page
        self.server = server
        self.calls = 0

    def idle(self) -> Fluency:
        """While the model does nothing."""
        at_step(self.page, model=self.calls)
        return Fluency(**self.page.evaluate(LOOK, LOOK_SECONDS))

    def called(self, script: str) -> Fluency:
        """While a call of the model is under way, which is waited for afterwards."""
        self.server.script(MODEL, script)
        self.page.get_by_role("button", name="One step of model alone").evaluate("button => button.click()")
        wait_until(lambda: len(self.server.requests(MODEL)) > self.calls)
        seen = Fluency(**self.page.evaluate(LOOK, LOOK_SECONDS))
        assert self.server.requests(MODEL)[-1]["ended"] is None, (
            "the model's call ended while it was measured"
        )
        self.calls += 1
        at_step(self.page, model=self.calls)
        return seen


@pytest.fixture
def stage(tmp_path: Path, browser: Browser, language_server: FakeServer) -> Iterator[Stage]:
    with serving(tmp_path) as server, browser.new_context() as context:
        page = context.new_page()
        page.set_viewport_size({"width": 1500, "height": 1800})  # all of it is in sight
        key, url = language_server.key, language_server.openai_url
        server.write_notebook("work.ipynb", [SHOW.format(key=key, url=url, model=MODEL), PLAY])
        notebook = Notebook(page, server, "work.ipynb")
        notebook.start(0)
        expect(widget(page)).to_be_visible(timeout=INSTALL_MS)
        at_step(page, you=0, policy=0, model=0)
        notebook.run(1)
        expect(lane(page, "you").get_by_text("your turn")).to_be_visible()
        lane(page, "model").locator(".mosaic-exchange summary").click()
        page.wait_for_timeout(SETTLE_MS)
        yield Stage(page, language_server)


@pytest.mark.timeout(900)
def test_a_model_that_takes_ten_seconds_leaves_the_page_fluent(stage: Stage) -> None:
    rows = []
    for name, script in CALLS.items():
        seen = paired(partial(stage.called, script), stage.idle, ROUNDS)
        figures = [(called.figures(), idle.figures()) for called, idle in seen]
        for what, target in TARGETS.items():
            pairs = [(called[what], idle[what]) for called, idle in figures]
            rows.append(ratio_row(f"{name}: {what}", pairs, target))
    print_table(
        f"The page while a model takes {CALL_SECONDS} s: medians of {ROUNDS} rounds of {LOOK_SECONDS} s",
        ["", "in a call", "idle", "ratio", "target", "verdict"],
        rows,
    )
