"""Figures of sampled chains: traces, ranks, autocorrelation."""
