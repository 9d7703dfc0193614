"""ELF shared libraries without code, which only list the libraries that they need.

Opening one loads these libraries as one group: they find each other's symbols, and no other library finds them. MKL
needs the first, since its libraries use each other's symbols without declaring it. scipy needs the second: its
``dgemm_`` must not bind to MKL's, which takes integers of another size. ``RTLD_GLOBAL`` gives only the first.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

_EHDR = struct.Struct("<16sHHIQQQIHHHHHH")
_PHDR = struct.Struct("<IIQQQQQQ")
_DYN = struct.Struct("<QQ")

_ET_DYN, _EM_X86_64 = 3, 62
_PT_LOAD, _PT_DYNAMIC, _PT_GNU_STACK = 1, 2, 0x6474E551
_READ_WRITE = 6
_DT_NULL, _DT_NEEDED, _DT_STRTAB, _DT_SYMTAB, _DT_STRSZ, _DT_SYMENT, _DT_RPATH = 0, 1, 5, 6, 10, 11, 15
_SYMBOL_SIZE = 24


def library_of(needed: Sequence[str], folder: str) -> bytes:
    """Return the content of a shared library that needs others.

    Args:
        needed: The sonames to load, in the order in which symbols are searched.
        folder: The folder to search first, before ``LD_LIBRARY_PATH``.

    Returns:
        The bytes of the file. It needs no executable memory.
    """
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in (*needed, folder))
    offsets = _string_offsets((*needed, folder))
    dynamic_at = _EHDR.size + 3 * _PHDR.size
    symbols_at = dynamic_at + (len(needed) + 6) * _DYN.size
    strings_at = symbols_at + _SYMBOL_SIZE
    entries = [(_DT_NEEDED, offset) for offset in offsets[:-1]]
    entries += [(_DT_RPATH, offsets[-1]), (_DT_STRTAB, strings_at), (_DT_STRSZ, len(strings))]
    entries += [(_DT_SYMTAB, symbols_at), (_DT_SYMENT, _SYMBOL_SIZE), (_DT_NULL, 0)]
    dynamic = b"".join(_DYN.pack(*entry) for entry in entries)
    body = dynamic + bytes(_SYMBOL_SIZE) + strings
    return _headers(dynamic_at, len(dynamic), dynamic_at + len(body)) + body


def _string_offsets(strings: Sequence[str]) -> list[int]:
    offsets = [1]
    for string in strings[:-1]:
        offsets.append(offsets[-1] + len(string.encode()) + 1)
    return offsets


def _headers(dynamic_at: int, dynamic_size: int, size: int) -> bytes:
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header = _EHDR.pack(ident, _ET_DYN, _EM_X86_64, 1, 0, _EHDR.size, 0, 0, _EHDR.size, _PHDR.size, 3, 0, 0, 0)

    def segment(kind: int, start: int, length: int, align: int) -> bytes:
        return _PHDR.pack(kind, _READ_WRITE, start, start, start, length, length, align)

    return (
        header
        + segment(_PT_LOAD, 0, size, 4096)
        + segment(_PT_DYNAMIC, dynamic_at, dynamic_size, 8)
        + segment(_PT_GNU_STACK, 0, 0, 16)
    )
