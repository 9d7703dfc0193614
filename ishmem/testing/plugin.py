"""Hooks of the pytest plugin, and its fixtures.

pytest loads this module in every session of an environment that has ishmem: it imports nothing else of the plugin until
a marked test runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from _pytest.skipping import evaluate_skip_marks

from ishmem.testing.options import DEVICES, ON_PE, check, counts, device_of, limit_of, nodes_of, runs_here, timeout_of

if TYPE_CHECKING:
    from ishmem.testing.controller import Controller
    from ishmem.testing.pes import Pes

_MARK = (
    "ishmem(npes=2, timeout=None, init=True, env={}, exact=False): run the test on npes PEs, or on each of several "
    "numbers of PEs; fail after timeout seconds; init=False: in a job of its own, in which the test calls "
    "ishmem.init(); env: on PEs with these environment variables; exact: on no other numbers of PEs with --ishmem-nodes"
)
_controller: pytest.StashKey[Controller] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and settings."""
    group = parser.getgroup("ishmem", "tests on several PEs")
    device = "devices of tests marked ishmem: sim (default), gpu, or auto, which is gpu where there are any"
    group.addoption("--ishmem-device", choices=DEVICES, help=device)
    group.addoption("--ishmem-npes", metavar="N[,N]", help="run tests marked ishmem on these numbers of PEs only")
    nodes = "run tests marked ishmem on emulated nodes with these numbers of PEs, over MPI"
    group.addoption("--ishmem-nodes", metavar="N+N", help=nodes)
    group.addoption("--ishmem-timeout", type=float, metavar="S", help="seconds for a marked test, by default 120")
    parser.addini("ishmem_device", device)
    parser.addini("ishmem_npes", "numbers of PEs of a test whose mark names none, such as 1,2,3", default="2")
    parser.addini("ishmem_timeout", "seconds for a test marked ishmem", default="120")


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark and check options and settings; ``pytest.UsageError`` if one is wrong."""
    config.addinivalue_line("markers", _MARK)
    device_of(config)
    limit_of(config), nodes_of(config)
    if timeout_of(config) <= 0:
        raise pytest.UsageError(f"ishmem_timeout: got {timeout_of(config)}, allowed: seconds, more than 0")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrise a test that is marked ``ishmem``, or uses ``ishmem_pes``, by its numbers of PEs."""
    mark = metafunc.definition.get_closest_marker("ishmem")
    if mark is None and "ishmem_pes" not in metafunc.fixturenames:
        return
    if mark:
        check(mark)
    numbers = counts(metafunc.config, mark)
    if "ishmem_npes" not in metafunc.fixturenames:
        metafunc.fixturenames.append("ishmem_npes")
    metafunc.parametrize("ishmem_npes", numbers, indirect=True, ids=[f"{n}pes" for n in numbers])


@pytest.fixture
def ishmem_npes(request: pytest.FixtureRequest) -> int:
    """Number of PEs on which this test runs; fails a test that neither is marked ``ishmem`` nor uses ``ishmem_pes``."""
    if not hasattr(request, "param"):
        pytest.fail("ishmem_npes is for tests marked @pytest.mark.ishmem(npes=...)", pytrace=False)
    return int(request.param)


@pytest.fixture
def ishmem_pes(request: pytest.FixtureRequest, ishmem_npes: int) -> Pes:
    """PEs for a test that runs in pytest's own process and calls functions on them; their number is from its mark."""
    return _of_session(request.session).pes(request.node)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a marked test on its PEs, unless marks skip it, it uses ``ishmem_pes``, or this process is a PE."""
    if ON_PE in item.config.stash or item.get_closest_marker("ishmem") is None or runs_here(item):
        return None
    if evaluate_skip_marks(item):
        return None
    _of_session(item.session).run(item, nextitem)
    return True


def _of_session(session: pytest.Session) -> Controller:
    from ishmem.testing.controller import Controller

    if _controller not in session.config.stash:
        session.config.stash[_controller] = Controller(session)
    return session.config.stash[_controller]


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """End the PEs that tests have started."""
    if _controller in session.config.stash:
        session.config.stash[_controller].stop()
