"""Messages between the process that starts PEs and the PEs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

ADDRESS = "ISHMEM_PYTEST"
"""Variable with the path of the socket to which the PEs of a job connect."""

FREE = "free"
"""Request to free the symmetric memory left by the last request; sent once that request has succeeded on all PEs."""


@dataclass(frozen=True)
class FunctionCall:
    """Request to call a function.

    Attributes:
        module: Its module, which the PEs import.
        name: Its qualified name.
        arguments: Its arguments.
    """

    module: str
    name: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class RunTest:
    """Request to run a test.

    Attributes:
        test: Its node id.
        file: Its file.
        following: Node id and file of the test that these PEs probably run next, or None.
    """

    test: str
    file: str
    following: tuple[str, str] | None


class Reply(NamedTuple):
    """A reply of a PE: ``value`` is a report, or in the ``last`` one a result, or if it has ``failed`` the reason."""

    last: bool
    failed: bool
    value: Any


class RequestFailure(Exception):
    """A PE cannot serve a request; the text of the exception is the whole answer."""
