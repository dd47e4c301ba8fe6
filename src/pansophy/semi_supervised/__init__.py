"""Few labels: classifiers that also learn from rows without one."""

__all__: list[str] = []
