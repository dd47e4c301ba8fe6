"""Decomposition: rows as few numbers times few directions."""

__all__: list[str] = []
