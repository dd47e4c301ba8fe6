"""Forests: trees of their own that vote, their uncertainty and leaves."""
