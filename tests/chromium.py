"""A headless Chromium for tests that look at pages, without a graphics card or a network."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = (
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# Resolves once what was asked before is drawn.
NEXT_FRAME = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def executable() -> str:
    """Return the browser: SARRUS_CHROMIUM, or the first one on the path. Under CI one must be there."""
    found = os.environ.get("SARRUS_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        reason = "no Chromium on the path; set SARRUS_CHROMIUM to one"
        if os.environ.get("CI", "").lower() in ("1", "true"):
            pytest.fail(reason)
        pytest.skip(reason)
    return found


@contextmanager
def open_browser() -> Iterator[Any]:
    """Yield a browser of playwright's."""
    path = executable()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(OPTIONS))
        yield browser
        browser.close()


@contextmanager
def open_page(browser: Any, url: str, width: int = 900, height: int = 520) -> Iterator[tuple[Any, list[str]]]:
    """Yield a page and the list of other hosts that it asked, and of its errors, which is to stay empty."""
    page = browser.new_page(viewport={"width": width, "height": height})
    complaints: list[str] = []
    own = ("data:", "blob:", "file:", url.rpartition(":")[0])

    def check(request: Any) -> None:
        if not request.url.startswith(own):
            complaints.append(f"asked for {request.url}")

    page.on("request", check)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(url)
    yield page, complaints
    page.close()
