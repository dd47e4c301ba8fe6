"""Covariance of columns, robust to outlying rows."""

__all__: list[str] = []
