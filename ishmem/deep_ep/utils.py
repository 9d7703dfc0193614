"""Names that programs import from ``deep_ep.utils``."""

from ishmem.deep_ep.events import EventHandle, EventOverlap

__all__ = ["EventHandle", "EventOverlap"]
