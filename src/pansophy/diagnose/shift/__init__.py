"""Shift: new rows against old ones, selected samples, reversed comparisons."""
