"""Chains of hidden states: Markov chains and hidden Markov models.

`hmm` is what all share, `hmm_inference` and `hmm_initialization` its parts.
"""
