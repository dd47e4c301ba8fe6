"""A network that has learnt from made-up tables how to predict on a new one.

- `cells`: the numbers that the network reads of a column: clipped, ranked, waved
- `network`: the forward pass, written once for NumPy arrays and torch tensors
- `operations`: the four operations of the pass, by kind of array
"""
