"""Neighbours: who is near, densities and outliers read off that."""

__all__: list[str] = []
