"""Docstrings of derived forms: the arguments are those of the base routine, examples follow from the name."""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import Any, Callable, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
WIDTH = 112
_OWN = {
    "group": "The work-group: ``item.get_group()`` in a kernel over ``kapi.NdRange``.",
    "sycl_queue": "Queue of the heap's device and context; by default the heap's own.",
    "depends": "Events that must have completed before the operation starts; by default none.",
    "ret": "A dpnp or numpy array of int64 or uint64; the result goes to its first element.",
}
_IN_KERNELS = {
    "team": "A team: ``ishmem.TEAM_WORLD`` and so on, or an argument of the kernel, as itself or its handle.",
    "source": "Array of the dtype of ``dest``.",
}


def arguments(routine: Any) -> dict[str, str]:
    """Return the descriptions of the arguments in the docstring of ``routine``, keyed by name; empty without any."""
    text = inspect.getdoc(routine) or ""
    found = re.search(r"^Args:\n((?:    .*\n|\n)+)", text + "\n", re.MULTILINE)
    entries = re.split(r"\n(?=    \w)", found[1].rstrip()) if found else []
    return {
        name.strip(): re.sub(r"\s+", " ", words).strip() for name, _, words in (each.partition(":") for each in entries)
    }


def work_group_sections(form: Any, routine: Any) -> str:
    """Return the Args and Example sections of a work-group form, with the descriptions of its base routine."""
    table = {**arguments(routine), **_OWN, "team": _IN_KERNELS["team"]}
    if "source" in table and routine.__name__.startswith(("put", "iput", "ibput")):
        table["source"] = _IN_KERNELS["source"]
    call = f"ishmem.{form.__name__}({', '.join(_required(form))})"
    return sections(form, table, f"In a kernel, with ``group = item.get_group()``::\n\n    {call}")


def on_queue_sections(form: Any, routine: Any) -> str:
    """Return the Args and Example sections of an on-queue form, with the descriptions of its base routine."""
    call = f"ishmem.{form.__name__}({', '.join(_required(form))})"
    text = f"Between kernels, which take and give events::\n\n    event = {call}\n    event.wait()"
    return sections(form, {**arguments(routine), **_OWN}, text)


def as_on_queue(routine: Any) -> Callable[[Any], Any]:
    """Return a decorator that adds the arguments of ``routine`` and an example to the docstring of an on-queue form."""

    def decorate(form: Any) -> Any:
        first, _, source = (inspect.getdoc(form) or "").rpartition("\n\nSource:")
        form.__doc__ = f"{first}\n\n{on_queue_sections(form, routine)}\n\nSource:{source}\n"
        return form

    return decorate


def arguments_of(routine: Any, **own: str) -> Callable[[F], F]:
    """Return a decorator that adds an Args section to a docstring, with descriptions from ``own``, else ``routine``."""

    def decorate(form: F) -> F:
        table = {**arguments(routine), **own}
        lines = [_filled(f"    {name}: {table[name]}") for name in inspect.signature(form).parameters]
        first, mark, rest = re.split(r"^(Raises|Example):$", inspect.getdoc(form) or "", maxsplit=1, flags=re.MULTILINE)
        form.__doc__ = f"{first}Args:\n" + "\n".join(lines) + f"\n\n{mark}:{rest}\n"
        return form

    return decorate


def of_method(form: Any, method: Any, words: dict[str, str], example: str) -> tuple[str, str]:
    """Return docstring and source of a function that calls ``method``; ``words`` describes its other arguments."""
    text, _, source = (inspect.getdoc(method) or "").partition("Source: ")
    description = re.split(r"\n\n(?=[A-Z]\w+:\n)", text.rstrip())[0]
    description = re.sub("this (context|team)", r"the \1", description)
    return f"{description}\n\n{sections(form, {**words, **arguments(method)}, example)}", source.strip().rstrip(".")


def _required(form: Any) -> list[str]:
    parameters = inspect.signature(form).parameters.values()
    return [each.name for each in parameters if each.default is inspect.Parameter.empty]


def sections(form: Any, table: dict[str, str], example: str) -> str:
    """Return the Args and Example sections of a form; ``table`` has the descriptions of arguments by name."""
    lines = [_filled(f"    {name}: {table[name]}") for name in inspect.signature(form).parameters if name in table]
    arguments = "Args:\n" + "\n".join(lines) + "\n\n" if lines else ""
    return f"{arguments}Example:\n{textwrap.indent(example, '    ', lambda line: bool(line.strip()))}"


def _filled(line: str) -> str:
    """Return a line broken at `WIDTH` columns; short ones unchanged, without textwrap, which is slow."""
    return line if len(line) <= WIDTH else textwrap.fill(line, WIDTH, subsequent_indent="        ")
