"""Markov chains: their driver, the samplers, diagnostics."""
