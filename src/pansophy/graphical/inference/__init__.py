"""Inference: exact, by messages, by sampling; factors and the plans that order them."""
