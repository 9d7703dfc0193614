"""Lowers a function to LLVM, and records the line of the program at each statement."""

from __future__ import annotations

from typing import Any

from numba.core import config, ir, types
from numba.core.compiler_machinery import register_pass
from numba.core.errors import NumbaError, NumbaTypeError
from numba.core.ir_utils import get_definition, guard
from numba.core.lowering import Lower
from numba.core.typed_passes import BaseNativeLowering

from ..extension import SourceLine, installed
from . import compile_errors, constructs, failures


class _Lower(Lower):  # type: ignore[misc]
    """Lowers a function to LLVM, with bounds checks by the option, numba's BOUNDSCHECK or `Extension.watches`."""

    def pre_lower(self) -> None:
        super().pre_lower()
        self._is_watched = installed().watches(self.func_ir.func_id.filename)
        wanted = self.context.checks_bounds if config.BOUNDSCHECK is None else config.BOUNDSCHECK
        self.context.checks_bounds = bool(wanted or self._is_watched)

    def lower_inst(self, inst: Any) -> None:
        if self._is_watched:
            name = self.func_ir.func_id.func_name
            failures.set_place(self.builder, SourceLine(name, inst.loc.filename, inst.loc.line))
        if isinstance(inst, (ir.SetItem, ir.StaticSetItem)):
            self._refuse_transposed(inst)
        try:
            super().lower_inst(inst)
        except NumbaError:
            raise
        except Exception as error:
            if any(isinstance(self.typeof(each.name), types.UnicodeType) for each in inst.list_vars()):
                raise NumbaTypeError(constructs.STRINGS) from error
            compile_errors.note_line(error, inst.loc)
            raise

    def _refuse_transposed(self, inst: Any) -> None:
        """Raise an error for the statement ``a[...] = a.T``, which `dpex.language.overlaps` cannot assign.

        Raises:
            NumbaTypeError: The statement is such an assignment.
        """
        value = guard(get_definition, self.func_ir, inst.value)
        if getattr(value, "op", None) != "getattr" or value.attr != "T":
            return
        source = guard(get_definition, self.func_ir, value.value)
        kind = self.typeof(inst.target.name)
        if source is guard(get_definition, self.func_ir, inst.target) and getattr(kind, "ndim", 0) > 1:
            raise NumbaTypeError("no array can be assigned its own transpose in a kernel; swap elements in a loop")


@register_pass(mutates_CFG=True, analysis_only=False)  # type: ignore[untyped-decorator, unused-ignore]
class DeviceLowering(BaseNativeLowering):  # type: ignore[misc]
    """The pass that lowers a function for the device."""

    _name = "dpex_lowering"

    @property
    def lowering_class(self) -> type[Lower]:
        """The class that lowers a function."""
        return _Lower
