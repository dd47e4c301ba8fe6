"""Importing this module turns garbage collection off while Numba compiles loops."""

from ._intrinsics import pause_garbage_collection

pause_garbage_collection()
