"""The mark and the settings of the plugin."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

DEVICES = ("sim", "gpu", "auto")
ON_PE = pytest.StashKey[bool]()
"""Set in the configuration of a session that runs on a PE."""


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


def only(config: pytest.Config) -> list[int] | None:
    """Return the numbers of PEs that the session is limited to."""
    text = config.getoption("ishmem_npes")
    if text is None:
        return None
    numbers = [int(part) if part.isascii() and part.isdigit() else 0 for part in text.split(",")]
    if min(numbers) < 1:
        raise pytest.UsageError(f"--ishmem-npes: got {text!r}, allowed: numbers of PEs, such as 2 or 1,4")
    return numbers
