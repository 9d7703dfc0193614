"""Marks of ITT, by which VTune shows each call of a routine as a task of the domain ``ishmem``."""

from __future__ import annotations

import functools
import logging
import os
from typing import Any, Callable

log = logging.getLogger("ishmem")
COLLECTOR = "INTEL_LIBITTNOTIFY64"
"""The environment variable with the path of VTune's collector in the processes that VTune starts."""


def wanted() -> bool:
    """Return whether a tool collects tasks of this process."""
    return bool(os.environ.get(COLLECTOR))


def marks() -> Callable[[Callable[..., Any]], Callable[..., Any]] | None:
    """Return a decorator that marks each call of a function as a task; None if no tool collects tasks."""
    if not wanted():
        return None
    try:
        import ittapi
    except ImportError:
        log.info("%s is set, but the package ittapi is not installed: no ITT tasks", COLLECTOR)
        return None
    domain = ittapi.domain("ishmem")
    return functools.partial(_marked, ittapi.task_begin, ittapi.task_end, domain, ittapi.string_handle)


def _marked(begin: Any, end: Any, domain: Any, handle: Any, routine: Callable[..., Any]) -> Callable[..., Any]:
    name = handle(routine.__name__)

    def task(*arguments: Any, **keywords: Any) -> Any:
        begin(domain, name)
        try:
            return routine(*arguments, **keywords)
        finally:
            end(domain)

    return task
