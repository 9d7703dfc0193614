"""Names of device functions in the cache."""

from __future__ import annotations

import pickle
import zlib
from pathlib import Path

from cached_functions import compiled
from llvmlite import binding as llvm


def test_each_function_has_its_own_name(tmp_path: Path) -> None:
    """A name that two files define is that of one function, made from its key; all others contain the file's key."""
    compiled(tmp_path, "put")
    compiled(tmp_path, "add")
    symbols, defined = {}, {}
    for path in tmp_path.glob("*.function"):
        _type, symbols[path.stem], code = pickle.loads(zlib.decompress(path.read_bytes()[48:]))
        functions = [each for each in llvm.parse_bitcode(code).functions if not each.is_declaration]
        defined[path.stem] = {each.name for each in functions}
    assert len(set(symbols.values())) == len(symbols) > 10
    for key, names in defined.items():
        assert symbols[key] in names
        assert all(name.endswith(key) for name in names - set(symbols.values()))
