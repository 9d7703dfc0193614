"""The exceptions as objects: every one survives pickle, as it crosses processes, and copy."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import traceback
from typing import Any, Callable

import pytest

MODULES = (
    "ishmem.common.errors", "ishmem.dpex.compile.compile_errors", "ishmem.dpex.errors", "ishmem.dpex.compile.worker",
    "ishmem.ipc.wire", "ishmem.kernels.compile_errors", "ishmem.launch.options", "ishmem.runtime.kernel_extension",
    "ishmem.testing.pes",
)  # fmt: skip
ARGUMENTS: dict[str, Any] = {"message": "PE 3 is gone", "pe": 3, "call": "zeInit", "code": 0x70000001, "result": "LOST"}
"""What parameters of these names get; others get their name."""


def kinds() -> list[type[BaseException]]:
    modules = [importlib.import_module(name) for name in MODULES]
    found = [each for module in modules for each in vars(module).values() if inspect.isclass(each)]
    ours = [each for each in found if issubclass(each, BaseException) and each.__module__.startswith("ishmem.")]
    return sorted(set(ours), key=str)


def made(kind: type[BaseException]) -> BaseException:
    if "__init__" not in vars(kind) and all(
        "__init__" not in vars(base) for base in kind.__mro__ if "ishmem" in base.__module__
    ):
        return kind("words")
    parameters = list(inspect.signature(kind).parameters.values())
    return kind(*(ARGUMENTS.get(each.name, each.name) for each in parameters if each.default is each.empty))


@pytest.mark.parametrize("again", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy])
@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__qualname__)
def test_pickle_and_copy(kind: type[BaseException], again: Callable[[BaseException], BaseException]) -> None:
    error = made(kind)
    error.of_the_program = [1, 2]  # type: ignore[attr-defined]
    other = again(error)
    assert type(other) is kind
    assert (str(other), other.args, repr(other)) == (str(error), error.args, repr(error))
    assert vars(other) == vars(error)
    assert "".join(traceback.format_exception_only(other)) == "".join(traceback.format_exception_only(error))
