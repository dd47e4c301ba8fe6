"""Shared foundations: arrays, randomness, numerics, linear algebra, drivers, row sums.

Nothing in here knows an estimator. See `docs/design.md` for the order of layers.

Rooms

    arrays   what holds rows: arrays of any library, blocks, sequences, labels and
             weights
    drivers  drivers own the loops of fits: iterations, EM, chains, progress and routed
             arguments
    linalg   linear algebra beyond NumPy: factorisations, least squares, conjugate
             gradients
    chains   recursions over hidden chains: filters, smoothers, best paths and decoded
             sequences
    loops    compiled loops and the threads that run them
"""
