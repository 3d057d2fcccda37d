"""Debian's Chromium; where tests must run in full, it must be there."""

import os
import shutil
from contextlib import contextmanager

import pytest

NAMES = ("chromium", "chromium-browser", "chrome")


def chromium_path():
    """Where the browser is; without one, the test is skipped, or fails where CI is set."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no browser: make browser")
    return path


@contextmanager
def chromium():
    """A browser without a window, through Playwright."""
    path = chromium_path()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()
