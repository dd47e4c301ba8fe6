"""No garbage collection while loops are compiled: importing this module begins it."""

from ._intrinsics import pause_garbage_collection

pause_garbage_collection()
