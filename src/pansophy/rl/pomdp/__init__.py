"""Worlds that are seen in part: beliefs, exact and point-based solvers, tree search."""
