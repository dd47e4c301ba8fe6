"""Clustering: rows into groups, without being told any."""

from .kmeans import KMeans, kmeans_objective, lloyd
from .seeding import kmeans_plusplus, seed

__all__ = ["KMeans", "kmeans_objective", "kmeans_plusplus", "lloyd", "seed"]
