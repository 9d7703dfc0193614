"""The mark and the settings of the plugin."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

from ishmem.environment import card

DEVICES = ("sim", "gpu", "auto")
ON_PE = pytest.StashKey[bool]()
"""The key that is set in the configuration of a session that runs on a PE."""


_ALLOWED = (
    "npes, a number of PEs or several, each at least 1; timeout, in seconds; init, True or False; env, a dictionary of "
    "environment variables; exact, True or False"
)


def check(mark: pytest.Mark) -> None:
    """Fail the collection if ``mark``, a mark ``ishmem``, has arguments that are not allowed."""
    unknown = set(mark.kwargs) - {"npes", "timeout", "init", "env", "exact"}
    env, numbers = mark.kwargs.get("env", {}), _named(mark)
    texts = isinstance(env, dict) and all(isinstance(text, str) for pair in env.items() for text in pair)
    if unknown or len(mark.args) > 1 or not texts or numbers == [] or not all(map(_is_count, numbers or [])):
        got = ", ".join([*map(repr, mark.args), *(f"{name}={value!r}" for name, value in mark.kwargs.items())])
        pytest.fail(f"pytest.mark.ishmem({got}): allowed are {_ALLOWED}", pytrace=False)


def counts(config: pytest.Config, mark: pytest.Mark | None) -> list[int]:
    """Return the numbers of PEs on which a test runs: of its mark, else the setting, within the session's limits."""
    named = _named(mark) if mark else None
    limit, nodes = limit_of(config), nodes_of(config)
    usual = named or _numbers(config.getini("ishmem_npes"), "ishmem_npes")
    if nodes and max(usual) > 1 and not (mark and mark.kwargs.get("exact")):
        return [sum(nodes)]
    allowed = [sum(nodes)] if nodes else limit
    return usual if allowed is None else [n for n in usual if n in allowed] if named else allowed


def _named(mark: pytest.Mark) -> list[Any] | None:
    """Return the numbers of PEs in a mark, not checked; None if it has none."""
    given = mark.kwargs.get("npes", mark.args[0] if mark.args else None)
    if given is None:
        return None
    return list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]


def runs_here(item: pytest.Item) -> bool:
    """Return whether a test runs in the process of pytest, as it uses the fixture ``ishmem_pes``."""
    return "ishmem_pes" in getattr(item, "fixturenames", ())


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def device_of(config: pytest.Config) -> str:
    """Return ``ISHMEM_DEVICE`` for PEs: the option, the setting, that of this process; else sim, or gpu for a card."""
    chosen = config.getoption("ishmem_device") or config.getini("ishmem_device") or os.environ.get("ISHMEM_DEVICE")
    device = str(chosen or ("gpu" if card.requested() else "sim")).lower()
    if device not in DEVICES:
        raise pytest.UsageError(f"ishmem_device: got {device!r}, allowed: {', '.join(DEVICES)}")
    return device


def timeout_of(config: pytest.Config) -> float:
    """Return the time limit in seconds of tests whose mark has none; 0 if the setting is not a number."""
    chosen = config.getoption("ishmem_timeout")
    try:
        return float(config.getini("ishmem_timeout") if chosen is None else chosen)
    except ValueError:
        return 0.0


def limit_of(config: pytest.Config) -> list[int] | None:
    """Return the numbers of PEs to which the session is limited; None without a limit."""
    text = config.getoption("ishmem_npes")
    return None if text is None else _numbers(text, "--ishmem-npes")


def nodes_of(config: pytest.Config) -> list[int] | None:
    """Return the number of PEs on each emulated node of the session; None without emulated nodes."""
    text = config.getoption("ishmem_nodes")
    return None if text is None else _numbers(text, "--ishmem-nodes", "+")


def _numbers(text: str, name: str, between: str = ",") -> list[int]:
    numbers = [int(part) if part.isascii() and part.isdigit() else 0 for part in text.split(between)]
    if min(numbers) < 1:
        raise pytest.UsageError(f"{name}: got {text!r}, allowed: numbers of PEs, such as 2 or 1{between}3")
    return numbers
