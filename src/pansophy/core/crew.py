"""Threads that share work inside compiled loops: see `_crew.py` for how they do it.

A method gives two compiled functions: a *lead* that goes through the work and
publishes items on the board, and a *hand* that waits for items. The lead can do
without hands, so the result never depends on whether, or when, threads come to help.
"""

import numpy as np

from . import _crew as loops
from . import threads


def run(lead, hand, hands=None):
    """lead(board) in this thread, hand(board, number) in `hands` others, from 1 on.

    `hands` is all but one of the cores we may use if None. Returns what lead does.
    """
    hands = threads.count() - 1 if hands is None else hands
    board = np.zeros(loops.SIZE, np.int64)
    if hands < 1:
        return lead(board)
    with threads.beside([lambda k=k: hand(board, k) for k in range(1, hands + 1)]):
        try:
            return lead(board)
        finally:
            loops.stop(board)
