"""The browser that shows pages of studies."""

from __future__ import annotations

import pytest

from cvxlink.studies.page import save_page
from helpers.pages import chromium


@pytest.fixture(scope="session")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture
def opened(browser, tmp_path):
    """Open pages, which must not complain, nor ask for anything."""
    contexts, complaints, requests = [], [], []

    def open_page(study, records, environments=None, width=1280, **options):
        path = tmp_path / "report.html"
        save_page(path, study, records, environments)
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("dialog", lambda dialog: complaints.append(dialog.message))
        tab.on("request", lambda request: requests.append(request.url))
        tab.goto(path.as_uri())
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "blob:", "data:"))] == []
