"""Active learning: which row is worth a label next."""

__all__: list[str] = []
