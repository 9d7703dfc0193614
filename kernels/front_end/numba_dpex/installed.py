"""The extension that takes part in compilations."""

from __future__ import annotations

from ishmem.dpex.extension import Extension

extension = Extension()
