"""Hooks of the pytest plugin, and the fixture ``ishmem_npes``.

pytest loads this module in every session of an environment that has ishmem: it imports nothing else of the plugin until
a marked test runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.skipping import evaluate_skip_marks

if TYPE_CHECKING:
    from ishmem.testing.controller import Controller

DEVICES = ("sim", "gpu", "auto")
ON_PE = pytest.StashKey[bool]()
"""Set in the configuration of a session that runs on a PE."""

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
    _only(config)
    if timeout_of(config) <= 0:
        raise pytest.UsageError(f"ishmem_timeout: got {timeout_of(config)}, allowed: seconds, more than 0")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of each number of PEs."""
    mark = metafunc.definition.get_closest_marker("ishmem")
    if mark is None:
        return
    only = _only(metafunc.config)
    counts = [n for n in npes_of(mark) if only is None or n in only]
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


def npes_of(mark: pytest.Mark) -> list[int]:
    """Return the numbers of PEs of a mark; fails the collection if they are wrong."""
    unknown = sorted(set(mark.kwargs) - {"npes", "timeout", "init"})
    given = mark.kwargs.get("npes", mark.args[0] if mark.args else 2)
    numbers = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    if unknown or len(mark.args) > 1 or not numbers or not all(_is_count(n) for n in numbers):
        got = ", ".join([*map(repr, mark.args), *(f"{name}={value!r}" for name, value in mark.kwargs.items())])
        pytest.fail(
            f"pytest.mark.ishmem({got}): allowed are npes, a number of PEs or several, each at least 1; timeout, in "
            "seconds; init, True or False",
            pytrace=False,
        )
    return numbers


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def device_of(config: pytest.Config) -> str:
    """Return the devices of the PEs: by the option, the setting, ``ISHMEM_DEVICE``, or simulated."""
    asked = config.getoption("ishmem_device") or config.getini("ishmem_device") or os.environ.get("ISHMEM_DEVICE")
    device = str(asked or "sim").lower()
    if device not in DEVICES:
        raise pytest.UsageError(f"ishmem_device: got {device!r}, allowed: {', '.join(DEVICES)}")
    return device


def timeout_of(config: pytest.Config) -> float:
    """Return the seconds that a test may take whose mark names none."""
    asked = config.getoption("ishmem_timeout")
    try:
        return float(config.getini("ishmem_timeout") if asked is None else asked)
    except ValueError:
        return 0.0


def _only(config: pytest.Config) -> list[int] | None:
    text = config.getoption("ishmem_npes")
    if text is None:
        return None
    numbers = [int(part) if part.isascii() and part.isdigit() else 0 for part in text.split(",")]
    if min(numbers) < 1:
        raise pytest.UsageError(f"--ishmem-npes: got {text!r}, allowed: numbers of PEs, such as 2 or 1,4")
    return numbers
