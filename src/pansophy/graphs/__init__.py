"""Graphs of rows: components, spanning trees, Laplacians, cuts."""

__all__: list[str] = []
