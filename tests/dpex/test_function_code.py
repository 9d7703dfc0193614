"""The code of device functions in the cache."""

from __future__ import annotations

import pickle
import zlib
from collections import defaultdict
from pathlib import Path

import llvmlite.binding as llvm
from cached_functions import compiled

from ishmem.dpex.compile import dispatcher  # noqa: F401  # it sets up LLVM for the device


def test_names(tmp_path: Path) -> None:
    """A name that several files define is that of one function with one code; a function hides what else it defines."""
    compiled(tmp_path, "put")
    compiled(tmp_path, "add")
    found = defaultdict(set)
    for path in tmp_path.glob("*.function"):
        _type, symbol, texts = pickle.loads(zlib.decompress(path.read_bytes()[48:]))
        assert texts[0][0] == symbol
        for name, text in texts:
            found[name].add(text)
    assert len(found) > 10
    for name, texts in found.items():
        assert len(texts) == 1
        for function in llvm.parse_assembly(texts.pop()).functions:
            if not function.is_declaration:
                assert function.name == name or function.linkage == llvm.Linkage.internal
