"""Limits of the server on the size, rows and duration of requests."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ServerLimits:
    """Bounds that keep one client from taking the server from the others.

    Attributes
    ----------
    head_bytes : int
        Longest head; beyond it the answer is 431.
    body_bytes : int
        Longest body; beyond it the answer is 413.
    rows : int
        Most rows in one request to /predict; beyond it the answer is 413.
    explained : int
        Most rows in one request to /explain.
    waiting : int
        Most rows waiting for the model; beyond it the answer is 503.
    head_seconds : float
        Time for the head of a request to arrive; then the connection is closed.
    body_seconds : float
        Time for the body to arrive; then the answer is 408.
    idle_seconds : int
        How long an unused connection is kept.
    stop_seconds : int
        How long requests under way may take when the server is told to stop.
    connections : int
        Most connections at a time; beyond it the answer is 503.
    """

    head_bytes: int = 32_768
    body_bytes: int = 10_000_000  # as for `pansophy serve`
    rows: int = 10_000
    explained: int = 200
    waiting: int = 50_000
    head_seconds: float = 10.0
    body_seconds: float = 30.0
    idle_seconds: int = 30
    stop_seconds: int = 30
    connections: int = 1000
