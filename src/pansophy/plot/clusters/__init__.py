"""Figures of clusterings: trees of merges, silhouettes, maps."""
