"""What every test may use: ``--full``, and a real Hindsight server.

The server runs under the Python that ``HINDSIGHT_RIG_PYTHON`` names (with tests/rig/requirements.txt
installed). Without it, tests that need a server are skipped; with ``CONSOLE_REQUIRE_SERVER=1`` they fail, so
that a build without its server is never green. ``HINDSIGHT_TEST_URL`` names a server that runs already.
"""

from __future__ import annotations

import contextlib
import os
import signal
import uuid
from collections.abc import Iterator

import pytest

from tests.rig.start import Rig

# As the run began: a test may have cleaned the environment before it asks for a server.
PYTHON = os.environ.get("HINDSIGHT_RIG_PYTHON")
REQUIRED = os.environ.get("CONSOLE_REQUIRE_SERVER") == "1"
RUNNING_URL = os.environ.get("HINDSIGHT_TEST_URL")

SERVER_FIXTURES = {"hindsight_url", "hindsight_reword_url", "hindsight_chunks_url"}


def pytest_configure(config: pytest.Config) -> None:
    """A run that a shell started in the background ignores ctrl-c, and so would every program that tests start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        with contextlib.suppress(ValueError):  # not the main thread
            signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than there are cores: tests wait for git, for the server and for the screen."""
    return (os.cpu_count() or 1) + 1


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run the counts that the design names (slow)")


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if SERVER_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.server)
        if item.get_closest_marker("server") is not None:
            item.add_marker(pytest.mark.xdist_group("server"))  # one worker, so one server of a kind
        if item.get_closest_marker("full") is not None and not config.getoption("--full"):
            item.add_marker(pytest.mark.skip(reason="runs with --full"))


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    """Whether the full counts are asked for."""
    return bool(request.config.getoption("--full"))


def _running(*options: str) -> Iterator[Rig]:
    if not PYTHON:
        message = "HINDSIGHT_RIG_PYTHON names no Python with tests/rig/requirements.txt installed"
        if REQUIRED:
            pytest.fail(message)
        pytest.skip(message)
    rig = Rig(PYTHON, *options)
    try:
        yield rig
    finally:
        rig.stop()


@pytest.fixture(scope="session")
def _rig() -> Iterator[Rig]:
    yield from _running()


@pytest.fixture
def hindsight_url(request: pytest.FixtureRequest) -> str:
    """A real server that extracts one fact a sentence."""
    return RUNNING_URL or str(request.getfixturevalue("_rig").url)


@pytest.fixture
def hindsight_reword_url(_rig: Rig) -> Iterator[str]:
    """The same server, which words a text's facts differently each time, as a model does, while a test runs."""
    _rig.reword(True)
    try:
        yield _rig.url
    finally:
        _rig.reword(False)


@pytest.fixture(scope="session")
def hindsight_chunks_url() -> Iterator[str]:
    """A real server without a model: a memory is a chunk of the text."""
    for rig in _running("--llm", "none"):
        yield rig.url


@pytest.fixture
def bank_id() -> str:
    """A bank that no other test uses."""
    return f"t-{uuid.uuid4().hex[:12]}"
