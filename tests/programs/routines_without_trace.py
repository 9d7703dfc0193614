"""Checks that init replaces no routine where no trace is written."""

import sys

import ishmem

before = {name: getattr(ishmem, name) for name in ishmem.__all__}
methods = dict(vars(ishmem.Ctx)), dict(vars(ishmem.Team))
with ishmem.init():
    assert all(getattr(ishmem, name) is value for name, value in before.items())
    assert methods == (dict(vars(ishmem.Ctx)), dict(vars(ishmem.Team)))
    assert not {"ishmem.runtime.tracing", "ishmem.runtime.instruments"} & set(sys.modules)
