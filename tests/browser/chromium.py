"""Fixtures: a real Chromium per module and a new page per test.

All pages of a session share one cache, so that JupyterLab's code is compiled only once.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")
DISABLED = (
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup"),  # pages of an address bar that tests never show
    # Playwright's default list, which this one replaces.
    *("AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades"),
    *("LensOverlay", "MediaRouter", "OptimizationHints", "PaintHolding", "ThirdPartyStoragePartitioning"),
)
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",  # no GPU here, and emulating one costs a tenth of a page's time
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--disable-features={','.join(DISABLED)}",
]
ACTION_MS = 60_000
EXPECT_MS = 30_000


def chromium_executable() -> str:
    """Return the path of Chromium; skip the test if it is not installed."""
    executable = next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if executable is None:
        pytest.skip(f"no Chromium on the PATH (looked for {', '.join(CHROMIUM_NAMES)})")
    return executable


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    # Per module, not per session: while Playwright is open, this thread cannot run another event loop.
    expect.set_options(timeout=EXPECT_MS)
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="module")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """A Chromium in which each new page gets its own context."""
    browser = playwright.chromium.launch(executable_path=chromium_executable(), args=CHROMIUM_ARGUMENTS)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def chromium_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cache folder of Chromium, shared by the session."""
    return tmp_path_factory.mktemp("chromium")


@pytest.fixture(scope="module")
def context(playwright: Playwright, chromium_cache: Path) -> Iterator[BrowserContext]:
    """A Chromium with a new profile and the session's cache."""
    # With one profile per session, downloads in later launches sometimes never started.
    context = playwright.chromium.launch_persistent_context(
        "",
        executable_path=chromium_executable(),
        args=[*CHROMIUM_ARGUMENTS, f"--disk-cache-dir={chromium_cache}"],
        viewport={"width": 1400, "height": 900},
    )
    context.set_default_timeout(ACTION_MS)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    yield context.new_page()
    for page in context.pages[1:]:  # keep the initial page: Chromium exits with its last one
        page.close()
    context.set_offline(False)
    context.clear_permissions()
    context.clear_cookies()
