"""Compiled pass of the kernel perceptron over the rows of a Gram matrix."""

from ..core.loops.compiled import compiled


@compiled
def perceptron_pass(K, y, order, eta, coef, scores):
    """One pass: coef (n,) and scores K coef (n,) are updated; returns the mistakes."""
    mistakes = 0
    for i in order:
        if y[i] * scores[i] <= 0.0:
            step = eta * y[i]
            coef[i] += step
            for j in range(len(scores)):
                scores[j] += step * K[i, j]
            mistakes += 1
    return mistakes
