"""Recommenders: ratings of users for items, most of them missing."""

__all__: list[str] = []
