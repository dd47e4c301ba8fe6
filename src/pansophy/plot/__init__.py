"""Figures, one small file per kind; matplotlib loads with the first one drawn.

Each function takes plain results and arrays, draws on the axes given or on new ones,
and gives the axes back.
"""

from ..linear_model.predictive import plot_band as predictive_band
from .biplot import biplot
from .boundary import decision_boundary
from .dbscan import dbscan
from .dendrogram import dendrogram
from .descent import descent_path
from .elbow import elbow
from .ellipses import covariance_ellipses
from .embedding import embedding
from .growth import growth_curve
from .impurity import impurity
from .label_curve import label_curve
from .losses import losses
from .partial_sums import partial_sums
from .paths import regularization_path, validation_curve
from .poles import poles
from .reachability import reachability
from .scree import scree
from .search import search_points
from .shap import shap_bar, shap_beeswarm
from .silhouette import silhouette
from .som import som
from .state_diagram import state_diagram
from .tree import tree
from .voronoi import voronoi

__all__ = [
    "biplot",
    "covariance_ellipses",
    "dbscan",
    "decision_boundary",
    "dendrogram",
    "descent_path",
    "embedding",
    "elbow",
    "growth_curve",
    "impurity",
    "label_curve",
    "losses",
    "partial_sums",
    "poles",
    "predictive_band",
    "reachability",
    "regularization_path",
    "scree",
    "search_points",
    "shap_bar",
    "shap_beeswarm",
    "som",
    "silhouette",
    "state_diagram",
    "tree",
    "validation_curve",
    "voronoi",
]
