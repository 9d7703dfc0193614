"""The parameters with which the PEs of marked tests are started."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PytestSession:
    """The parameters of the session of pytest on a PE.

    Attributes:
        n: Number of PEs.
        init: Whether they call ``ishmem.init`` before the first test.
        arguments: Arguments of the session of pytest.
        basetemp: Prefix of the PEs' folders for temporary files; None for the default of pytest.
        path: ``sys.path`` of the process that has started the PEs.
    """

    n: int
    init: bool
    arguments: list[str]
    basetemp: str | None
    path: list[str]
