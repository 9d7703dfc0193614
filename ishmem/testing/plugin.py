"""Hooks of the pytest plugin, and the fixture ``ishmem_npes``.

pytest loads this module in every session of an environment that has ishmem: it imports nothing else of the plugin until
a marked test runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from _pytest.skipping import evaluate_skip_marks

from ishmem.testing.options import DEVICES, ON_PE, device_of, npes_of, only, timeout_of

if TYPE_CHECKING:
    from ishmem.testing.controller import Controller

_MARK = (
    "ishmem(npes=2, timeout=None, init=True): run the test on npes PEs, or on each of several numbers of PEs; fail "
    "after timeout seconds; init=False: in a job of its own, in which the test calls ishmem.init()"
)
_controller: pytest.StashKey[Controller] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and settings."""
    group = parser.getgroup("ishmem", "tests on several PEs")
    device = "devices of tests marked ishmem: sim (default), gpu, or auto, which is gpu where there are any"
    group.addoption("--ishmem-device", choices=DEVICES, help=device)
    group.addoption("--ishmem-npes", metavar="N[,N]", help="run tests marked ishmem on these numbers of PEs only")
    group.addoption("--ishmem-timeout", type=float, metavar="S", help="seconds for a marked test, by default 120")
    parser.addini("ishmem_device", device)
    parser.addini("ishmem_timeout", "seconds for a test marked ishmem", default="120")


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark and check the settings."""
    config.addinivalue_line("markers", _MARK)
    device_of(config)
    only(config)
    if timeout_of(config) <= 0:
        raise pytest.UsageError(f"ishmem_timeout: got {timeout_of(config)}, allowed: seconds, more than 0")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of each number of PEs."""
    mark = metafunc.definition.get_closest_marker("ishmem")
    if mark is None:
        return
    allowed = only(metafunc.config)
    counts = [n for n in npes_of(mark) if allowed is None or n in allowed]
    if "ishmem_npes" not in metafunc.fixturenames:
        metafunc.fixturenames.append("ishmem_npes")
    metafunc.parametrize("ishmem_npes", counts, indirect=True, ids=[f"{n}pes" for n in counts])


@pytest.fixture
def ishmem_npes(request: pytest.FixtureRequest) -> int:
    """Number of PEs that this test, marked ``ishmem``, runs on."""
    if not hasattr(request, "param"):
        pytest.fail("ishmem_npes is for tests marked @pytest.mark.ishmem(npes=...)", pytrace=False)
    return int(request.param)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a marked test on its PEs, unless its marks skip it or this process is a PE."""
    if ON_PE in item.config.stash or item.get_closest_marker("ishmem") is None or evaluate_skip_marks(item):
        return None
    from ishmem.testing.controller import Controller

    if _controller not in item.config.stash:
        item.config.stash[_controller] = Controller(item.session)
    item.config.stash[_controller].run(item, nextitem)
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """End the PEs."""
    if _controller in session.config.stash:
        session.config.stash[_controller].stop()
