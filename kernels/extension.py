"""The part of ishmem in the compilation of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

import dpctl
from numba.core.errors import TypingError

import ishmem
from ishmem import _core
from ishmem.common.callsite import CallSite
from ishmem.common.errors import LevelZeroError
from ishmem.dpex.cache_key import NoKeyError, digest
from ishmem.dpex.extension import Extension, Failure, Origin
from ishmem.ipc import native, pyze
from ishmem.teams import Team

from . import binding, compile_errors, failures, intrinsics, spec_constants, spirv


class Ishmem(Extension):
    """Sets the constants of this process in kernels; see the base class."""

    package = "ishmem"

    def __init__(self) -> None:
        self.sources = _sources()

    def transform(self, code: bytes) -> bytes:
        """Set the specialisation constants of this process."""
        here = binding.bound()
        return code if here is None else spirv.patched(code, spec_constants.defaults(here[1]))

    def neutral(self, code: bytes) -> bytes | None:
        """Set the specialisation constants to 0; code that has an address of this process cannot be stored."""
        here = binding.bound()
        if here is None:
            return code
        code = spirv.patched(code, dict.fromkeys(spec_constants.defaults(here[1]), 0))
        return None if spirv.has_constant(code, here[1].heap, here[1].end) else code

    def surroundings(self, lines: Sequence[Any]) -> Any:
        """Return the options of the job, and where the functions stand if kernels have checks, which name that."""
        try:
            options = binding.options()
        except TypingError as error:
            raise NoKeyError(str(error)) from None
        return repr(options), tuple(lines) if options.check else ()

    def owns(self, function: Any) -> bool:
        """Return whether a host function has a device form."""
        return isinstance(function, FunctionType) and function in intrinsics.registered

    def unwrapped(self, value: Any) -> Any:
        """Return the routine that a wrapper which traces it stands for."""
        return value.__traced__ if isinstance(value, _core.Traced) else value

    def described(self, value: Any) -> tuple[Any, ...] | None:
        """Describe a team by its handle."""
        return ("team", value.handle) if type(value) is Team else None

    def origin(self, function: Any) -> Origin | None:
        """Return the origin of an implementation of a device function."""
        return intrinsics.origins.get(function)

    def looks_at_empty_arrays(self) -> bool:
        """Return whether ``ISHMEM_CHECK`` or the proxy does so."""
        bound = binding.bound()
        return bound is not None and (bound[0].check or bound[0].proxied)

    def watches(self, file: str) -> bool:
        """Return whether a file is not ishmem's, in a job with ``ISHMEM_CHECK``."""
        bound = binding.bound()
        return bound is not None and bound[0].check and not CallSite(file, 0, "").is_own

    def report(self, context: Any, builder: Any, failure: Failure) -> None:
        """Emit the record of a failure in this PE's heap."""
        failures.emit_record(context, builder, failure)

    def compiles_first(self) -> bool:
        """Return whether this PE is the first of its node."""
        here = binding.bound()
        return here is None or here[1].my_pe == here[1].first_near

    def compile_error(self, name: str, file: str, line: int, text: str) -> Exception:
        """Return an error in few words."""
        return compile_errors.explain(name, file, line, text)

    def build_log(self, queue: Any, code: bytes) -> str:
        """Return the build log of the driver."""
        if queue.backend != dpctl.backend_type.level_zero:
            return ""
        try:
            pyze.create_module(native.context(queue.sycl_context), native.device(queue.sycl_device), code, "")
        except LevelZeroError as error:
            return str(error)
        return ""


def _sources() -> str:
    """Hash the sources of device code; called at import, because files can be edited while the process runs."""
    package, here = Path(ishmem.__file__).parent, Path(__file__).parent
    found = [*package.glob("*.py"), *(package / "common").glob("*.py"), *here.rglob("*.py")]
    return digest([(path.name, path.read_bytes()) for path in sorted(found)])
