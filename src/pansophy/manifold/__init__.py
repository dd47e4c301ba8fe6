"""Manifolds: rows drawn in few dimensions so that neighbours stay neighbours."""

__all__: list[str] = []
