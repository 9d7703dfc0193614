"""Routines derived from tables or from other functions: those with a fast path in the core, and work-group forms.

``ishmem/__init__.pyi``, which `tools.type_stub` writes when ishmem is built, spells out their signatures for type
checkers and editors.
"""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any, Callable, TypeVar

from ishmem import _core
from ishmem.common.routines import GROUP, QUEUE, ROUTINES
from ishmem.runtime import docstrings

R = TypeVar("R")
Routine = TypeVar("Routine", bound=Callable[..., Any])
_SOURCES = {
    "ixput_work_group": "ixput, in the manner of ishmemx_iput_work_group; the masked store of Iris",
    "ixget_work_group": "ixget, in the manner of ishmemx_iget_work_group; the masked load of Iris",
    "flush_work_group": "NVSHMEM 3.7 (flush), in the manner of ishmemx_quiet_work_group",
    "sum_inscan_work_group": "ishmem_sum_inscan, in the manner of ishmemx_sum_reduce_work_group",
    "sum_exscan_work_group": "ishmem_sum_exscan, in the manner of ishmemx_sum_reduce_work_group",
    "fence_on_queue": "shmem_fence, in the manner of ishmemx_quiet_on_queue",
}
"""The sources of forms that Intel SHMEM lacks, except those of routines in `_MANNERS`."""
_MANNERS = {
    "alltoalls": ("shmem_alltoalls", "alltoall"), "gather": ("MPI_Gather", "fcollect"),
    "scatter": ("MPI_Scatter", "broadcast"), "alltoallv": ("MPI_Alltoallv", "alltoall"),
    "gatherv": ("MPI_Gatherv", "collect"), "scatterv": ("MPI_Scatterv", "broadcast"),
}  # fmt: skip
"""Routines that Intel SHMEM lacks: their origin, and the routine of Intel SHMEM whose forms theirs follow."""
HOST_ONLY = ("timeout", "dtype")
"""Parameters of host routines that their forms in kernels do not have."""
_IN_KERNELS = {"Team": "int", "Sequence[int]": "ndarray", "Sequence[int] | None": "ndarray | None"}


def fast_path(core_function: Callable[..., Any]) -> Callable[[Routine], Routine]:
    """Return a decorator for a routine that has a function in the core, with the same parameters.

    A call of the routine runs ``core_function`` first. If that returns ``NotImplemented``, the call runs the decorated
    function: it raises the error of the arguments, or converts them and passes them to the routine's method ``core``,
    which runs ``core_function`` only: see `ishmem.runtime.check.run_in_core`.
    """

    def decorate(function: Routine) -> Routine:
        return functools.update_wrapper(_core.Routine(core_function, function), function)  # type: ignore[return-value]

    return decorate


def _source(routine: str, form: str) -> str:
    """Return the text after "Source:" in the docstring of a form of a routine; ``form`` is its suffix."""
    if routine in _MANNERS:
        origin, like = _MANNERS[routine]
        return f"{origin}, in the manner of ishmemx_{like}{form}"
    return _SOURCES.get(f"{routine}{form}", f"ishmemx_{routine}{form}")


def work_group_forms(module: str) -> dict[str, Callable[..., Any]]:
    """Return the work-group forms of the routines of the module named ``module``, by name, as the table lists them."""
    scope, place = vars(sys.modules[module]), module.rpartition(".")[2]
    names = [row.name for row in ROUTINES.values() if row.module == place and GROUP in row.forms]
    return {f"{name}{GROUP}": _work_group_form(scope[name]) for name in names}


def _work_group_form(routine: Callable[..., R]) -> Callable[..., R]:
    """Return ``<routine>_work_group``, which kernels call; on the host it raises ``TypeError``.

    ``group`` follows the arguments without defaults.
    """
    name = f"{routine.__name__}{GROUP}"

    def refuse(*_arguments: Any, **_keywords: Any) -> R:
        raise TypeError(f"ishmem.{name} is called inside kernels only")

    signature = inspect.signature(routine)
    given = [_in_kernels(each) for each in signature.parameters.values() if each.name not in HOST_ONLY]
    group = inspect.Parameter("group", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="Any")
    position = sum(each.default is inspect.Parameter.empty for each in given)
    returns = "int" if "team" in signature.parameters else signature.return_annotation
    refuse.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*given[:position], group, *given[position:]], return_annotation=returns
    )
    refuse.kernel_only = True  # type: ignore[attr-defined]
    returned = "" if returns == "None" else " and get the same result"
    status = "\n\nReturns:\n    0, or -1 if this PE is not in the team." if "team" in signature.parameters else ""
    text = (
        f"Run ``{routine.__name__}`` jointly by all work-items of a work-group; in kernels only.\n\n"
        f"All work-items pass the same arguments{returned}; the call begins and ends with a group barrier.{status}\n\n"
    )
    refuse.__name__ = name
    text += docstrings.work_group_sections(refuse, routine)
    return named(refuse, name, routine.__module__, text, _source(routine.__name__, GROUP))


def on_queue_form(routine: Callable[..., Any], call: Callable[..., R], words: str) -> Callable[..., R]:
    """Return ``<routine>_on_queue``, which passes ``routine`` and its arguments by name to ``call``.

    The result of a routine that returns an int goes to ``ret``. ``dtype`` and ``status`` come last. ``words`` end the
    sentence that begins the docstring.
    """
    name, host = f"{routine.__name__}{QUEUE}", inspect.signature(routine)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    added = [inspect.Parameter("ret", kind, annotation="Any")] if host.return_annotation == "int" else []
    for each, annotation in (("sycl_queue", "Queue"), ("depends", "Depends")):
        added.append(inspect.Parameter(each, kind, default=None, annotation=annotation))
    given = [each for each in host.parameters.values() if each.name != "timeout"]
    parameters = sorted([*given, *added], key=lambda each: each.name in ("dtype", "status"))
    signature = host.replace(parameters=parameters, return_annotation="dpctl.SyclEvent")
    names = [each.name for each in parameters]
    defaults = {each.name: each.default for each in parameters if each.default is not inspect.Parameter.empty}

    def form(*arguments: Any, **keywords: Any) -> R:
        given = {**defaults, **dict(zip(names, arguments)), **keywords}
        first = names[: len(arguments)]
        if len(first) < len(arguments) or given.keys() != signature.parameters.keys() or set(first) & set(keywords):
            signature.bind(*arguments, **keywords)  # raises; it takes too long for each call
        return call(routine, **{each: given[each] for each in names})

    form.__signature__ = signature  # type: ignore[attr-defined]
    form.__name__ = name
    text = f"Submit ``{routine.__name__}`` to a queue{words}\n\n{docstrings.on_queue_sections(form, routine)}"
    return named(form, name, call.__module__, text, _source(routine.__name__, QUEUE))


def function_of(
    method: Callable[..., R], parameter: str, checked: Callable[[Any], Any], words: dict[str, str], example: str
) -> Callable[..., R]:
    """Return a function, such as ``team_sync``, that calls a method of its first argument.

    Args:
        method: The method, whose docstring becomes that of the function.
        parameter: Name of the first argument: ``team`` or ``parent_team``.
        checked: Checks the first argument and returns the object.
        words: Describe the arguments that the docstring of the method does not describe.
        example: Lines of an example.
    """

    of_method, owner = inspect.signature(method), method.__qualname__.partition(".")[0]
    first = inspect.Parameter(parameter, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=owner)
    signature = of_method.replace(parameters=[first, *list(of_method.parameters.values())[1:]])

    def form(*arguments: Any, **keywords: Any) -> R:
        if not arguments:
            arguments = signature.bind(**keywords).args[:1]
            keywords.pop(parameter)
        return method(checked(arguments[0]), *arguments[1:], **keywords)

    form.__signature__ = signature  # type: ignore[attr-defined]
    name = f"{parameter.rpartition('_')[2]}_{method.__name__}"
    return named(form, name, method.__module__, *docstrings.of_method(form, method, words, example))


def _in_kernels(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter as kernels pass it: teams are handles, data and lists are arrays."""
    annotation = _IN_KERNELS.get(parameter.annotation, parameter.annotation)
    if parameter.name in ("dest", "source"):
        annotation = "ndarray"
    default = 0 if parameter.name == "team" and parameter.default is not inspect.Parameter.empty else parameter.default
    return parameter.replace(annotation=annotation, default=default)


def renamed(form: Callable[..., Any], **names: str) -> None:
    """Rename parameters of ``form``, a function; keywords are the old names, and their values the new ones."""
    code = form.__code__
    form.__code__ = code.replace(co_varnames=tuple(names.get(each, each) for each in code.co_varnames))
    form.__annotations__ = {names.get(each, each): kind for each, kind in form.__annotations__.items()}


def named(form: Routine, name: str, module: str, text: str, source: str) -> Routine:
    """Set name, module and docstring (``text`` and ``source``) of ``form``, a function; return the form."""
    form.__name__ = form.__qualname__ = name
    form.__code__ = form.__code__.replace(co_name=name)  # the name in tracebacks
    form.__signature__ = inspect.signature(form)  # type: ignore[attr-defined]
    form.__module__ = module
    form.__doc__ = f"{text}\n\nSource: {source}.\n"
    return form
