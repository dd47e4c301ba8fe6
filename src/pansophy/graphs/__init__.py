"""Neighbour graphs, spanning trees, Laplacians and directed acyclic graphs."""

from .directed import (
    ancestors,
    descendants,
    elimination_order,
    moral_graph,
    node_markov_blanket,
    topological_order,
)
from .graph_laplacian import connected_components, cut_value, laplacian, node_degrees
from .laplacian_spectrum import laplacian_eigenvectors
from .neighbor_graphs import knn_graph, radius_graph, symmetrize_graph, threshold_graph
from .pair_matrices import (
    EdgeList,
    edge_list,
    graph_from_matrix,
    matrix_from_edges,
    symmetric_pair_matrix,
)
from .spanning_trees import SpanningTree, minimum_spanning_tree, point_spanning_tree

__all__ = [
    "EdgeList",
    "SpanningTree",
    "ancestors",
    "connected_components",
    "cut_value",
    "node_degrees",
    "descendants",
    "edge_list",
    "elimination_order",
    "graph_from_matrix",
    "knn_graph",
    "laplacian",
    "node_markov_blanket",
    "matrix_from_edges",
    "minimum_spanning_tree",
    "moral_graph",
    "radius_graph",
    "point_spanning_tree",
    "laplacian_eigenvectors",
    "symmetric_pair_matrix",
    "symmetrize_graph",
    "threshold_graph",
    "topological_order",
]
