"""Drivers own the loops of fits: iterations, EM, chains, progress and routed arguments.

`iterate` runs a step until it converges, `em` is built on it, `metropolis` accepts the
proposals of chains. `progress` shows how far a fit is, `schedules` are rates over the
iterations, `routing` sends the arguments of `fit` to the parts of an estimator.
"""
