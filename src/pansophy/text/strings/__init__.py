"""Distances between strings, matching of names, correction of spelling."""
