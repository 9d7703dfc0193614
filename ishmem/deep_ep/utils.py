"""``deep_ep.utils``: the names that programs import from there."""

from ishmem.deep_ep.events import EventHandle, EventOverlap

__all__ = ["EventHandle", "EventOverlap"]
