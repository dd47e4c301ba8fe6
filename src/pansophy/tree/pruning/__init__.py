"""Pruning of grown trees by cost or by rows held out."""
