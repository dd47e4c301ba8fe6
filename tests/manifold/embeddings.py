"""How far two embeddings are the same."""

import numpy as np


def same_up_to_turns(A, B, room=1e-6):
    """Two embeddings that differ by a turn, a reflection and a common scale only."""
    A, B = A - A.mean(axis=0), B - B.mean(axis=0)
    A, B = A / np.linalg.norm(A), B / np.linalg.norm(B)
    return 1 - np.linalg.svd(A.T @ B)[1].sum() < room
