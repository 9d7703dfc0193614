"""Every kernel that a test compiles must be valid SPIR-V."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ishmem import dpex
from tools import spirv_validator

VALIDATOR = spirv_validator.find(Path(__file__).parents[2] / spirv_validator.FETCHED)


@pytest.fixture(autouse=True)
def valid_spirv(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Keep the code of the kernels that a test compiles, and validate it at the end."""
    codes: list[Any] = []
    if not dpex.HAS_NUMBA_DPEX:
        from ishmem.dpex.compile import compilation

        def keep(*arguments: Any, **options: Any) -> Any:
            codes.append(translate(*arguments, **options))
            return codes[-1]

        translate = compilation.translate
        monkeypatch.setattr(compilation, "translate", keep)
    yield codes
    for code in codes if VALIDATOR else ():
        assert spirv_validator.fault(VALIDATOR, code.spirv) == "", code.name
