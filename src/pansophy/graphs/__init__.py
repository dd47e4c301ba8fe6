"""Graphs of rows: neighbours, components, spanning trees, Laplacians, cuts."""

from .cuts import connected_components, cut_value, degrees, laplacian
from .neighbours import knn_graph, radius_graph, symmetrised, threshold_graph
from .spanning import Tree, minimum_spanning_tree, spanning_tree
from .spectral import spectral_map

__all__ = [
    "Tree",
    "connected_components",
    "cut_value",
    "degrees",
    "knn_graph",
    "laplacian",
    "minimum_spanning_tree",
    "radius_graph",
    "spanning_tree",
    "spectral_map",
    "symmetrised",
    "threshold_graph",
]
