"""Recursions over hidden chains: filters, smoothers, best paths and decoded sequences.

A hidden chain has `predict`, `update` and `reverse`; `filtering` runs it
(`hidden_chain` on threads, `batched_chains` many at once), `viterbi` finds the most
probable path, and `decoding` writes sequences token by token.
"""
