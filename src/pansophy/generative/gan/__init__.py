"""Adversarial models: games, critics, what keeps them stable."""
