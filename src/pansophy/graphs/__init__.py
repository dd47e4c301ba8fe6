"""Graphs of rows (neighbours, trees, Laplacians, cuts) and directed acyclic graphs."""

from .cuts import connected_components, cut_value, degrees, laplacian
from .directed import (
    ancestors,
    descendants,
    elimination_order,
    markov_blanket,
    moral,
    topological_order,
)
from .neighbours import knn_graph, radius_graph, symmetrised, threshold_graph
from .spanning import Tree, minimum_spanning_tree, spanning_tree
from .spectral import spectral_map

__all__ = [
    "Tree",
    "ancestors",
    "connected_components",
    "cut_value",
    "degrees",
    "descendants",
    "elimination_order",
    "knn_graph",
    "laplacian",
    "markov_blanket",
    "minimum_spanning_tree",
    "moral",
    "radius_graph",
    "spanning_tree",
    "spectral_map",
    "symmetrised",
    "threshold_graph",
    "topological_order",
]
