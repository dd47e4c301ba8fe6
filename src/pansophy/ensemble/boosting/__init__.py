"""Boosting: trees that correct their predecessors."""
