"""Fixtures: a real Chromium (one a module) and fresh pages in it (one a test).

All pages of a session share a cache: a test that loads JupyterLab does not compile it again.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")
DISABLED = (
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup"),  # pages for an address bar that no one sees
    # Playwright's own list, which this one replaces.
    *("AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades"),
    *("LensOverlay", "MediaRouter", "OptimizationHints", "PaintHolding", "ThirdPartyStoragePartitioning"),
)
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",  # there is none, and imitating one costs a tenth of a page's time
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
    """The path of Chromium; the test is skipped where there is none."""
    executable = next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if executable is None:
        pytest.skip(f"no Chromium on the PATH (looked for {', '.join(CHROMIUM_NAMES)})")
    return executable


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    # A module's and not the session's: while it is open, this thread cannot run an event loop of its own.
    expect.set_options(timeout=EXPECT_MS)
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="module")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """A Chromium whose pages share nothing."""
    browser = playwright.chromium.launch(executable_path=chromium_executable(), args=CHROMIUM_ARGUMENTS)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def chromium_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of Chromium's cache."""
    return tmp_path_factory.mktemp("chromium")


@pytest.fixture(scope="module")
def context(playwright: Playwright, chromium_cache: Path) -> Iterator[BrowserContext]:
    """A Chromium with a new profile, and the cache of the session."""
    # With one profile for the session, downloads of a late launch at times never began.
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
    for page in context.pages[1:]:  # Chromium ends with its last page, which is its own
        page.close()
    context.set_offline(False)
    context.clear_permissions()
    context.clear_cookies()
