"""Penalties that select columns: lasso, elastic net, groups, tasks, paths."""
