"""Compiled bookkeeping of many episodes."""

from ...core.loops.compiled import compiled


@compiled
def count_steps(steps, terminated, truncated, max_steps, lo, hi):
    """Count a step of columns lo..hi-1 and mark those that reach the limit."""
    for i in range(lo, hi):
        steps[i] += 1
        truncated[i] = steps[i] == max_steps and not terminated[i]
