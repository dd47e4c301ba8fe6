"""Compiled loops and the threads that run them.

`compiled` marks a loop, `loop_cache` keeps its machine code on disk (`numba_internals`
is all that rests on Numba's inside), `_intrinsics` are instructions that Numba lacks.
`threads` and `worker_pool` share work among cores, `deferred_signals` holds Ctrl-C
back, `triton_support` says whether a device compiles kernels.
"""
