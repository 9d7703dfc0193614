"""The common interface of the two compilers of kernels; it imports the module of the one that is installed.

Both modules have these names:

* ``kernel``, ``device_func``, ``call_kernel``, ``call_kernel_async``, ``Range``, ``NdRange`` and ``kernel_api``: the
  interface of programs.
* ``kernel_of_copies``: ``kernel`` for one that mostly copies in units of 16 bytes, as a hint to compilers.
* ``TARGET``: the name of the target in ``numba.extending``.
* ``SPIR_FUNC``: the calling convention of functions in LLVM; ``mangle``: the symbol of a SPIR-V built-in function.
* ``ArrayType``, ``LocalArrayType``, ``GroupType``, ``SubGroupType``, ``ItemType``, ``NdItemType``: numba's types of
  arguments.
* ``built_in``: emits the components of a built-in variable, such as the global id; ``sub_group_place``: emits the
  index of a work-item in its sub-group, and the number of work-items there.
* ``install``: prepares the compiler for the functions of the library.
* ``compiled``: returns the SPIR-V of a kernel for argument types.
"""

from __future__ import annotations

from . import COMPILER

if COMPILER.is_own:
    from .dpex import *  # noqa: F403
    from .dpex import __all__ as __all__
else:
    from .numba_dpex import *  # type: ignore[no-redef]  # noqa: F403
    from .numba_dpex import __all__ as __all__
