"""Fixtures: a real Chromium (one a module) and fresh pages in it (one a test)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
ACTION_MS = 60_000
EXPECT_MS = 30_000


def chromium_executable() -> str:
    """The path of Chromium; the test is skipped where there is none."""
    executable = next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if executable is None:
        pytest.skip(f"no Chromium on the PATH (looked for {', '.join(CHROMIUM_NAMES)})")
    return executable


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # A module's and not the session's: while it is open, this thread cannot run an event loop of its own.
    expect.set_options(timeout=EXPECT_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_executable(), args=CHROMIUM_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.set_default_timeout(ACTION_MS)
    yield context.new_page()
    context.close()
