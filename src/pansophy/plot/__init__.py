"""Figures, one small file per kind; matplotlib loads with the first one drawn.

Each function takes plain results and arrays, draws on the axes given or on new ones,
and gives the axes back.
"""

from ..linear_model.predictive_distribution import (
    plot_predictive_band as predictive_band,
)
from .bias_variance import bias_variance
from .biplot import biplot
from .calibration import calibration
from .concentration import concentration
from .confusion import confusion
from .correlogram import autocorrelation
from .dbscan import dbscan
from .decision_regions import decision_regions
from .dendrogram import dendrogram
from .descent import descent_path
from .elbow import elbow
from .ellipses import covariance_ellipses
from .embedding import embedding
from .envelopes import envelope
from .gain import gain
from .graph import graph
from .growth import growth_curve
from .importance import importance
from .impurity import impurity
from .kalman import kalman
from .label_curve import label_curve
from .learning_curve import learning_curve
from .losses import losses
from .message_passing import messages
from .partial_dependence import partial_dependence
from .partial_sums import partial_sums
from .paths import regularization_path, validation_curve
from .pictures import grid
from .poles import poles
from .precision_recall import precision_recall
from .quality_time import quality_time
from .ranks import rank
from .reachability import reachability
from .regimes import regimes
from .residuals import residuals
from .roc import roc
from .score_intervals import score_intervals
from .scree import scree
from .search import search_points
from .shap import shap_bar, shap_beeswarm
from .silhouette import silhouette
from .som import som
from .state_diagram import state_diagram
from .traces import trace
from .tree import tree
from .trellis import trellis
from .voronoi import voronoi

__all__ = [
    "bias_variance",
    "calibration",
    "concentration",
    "confusion",
    "decision_regions",
    "gain",
    "importance",
    "learning_curve",
    "partial_dependence",
    "precision_recall",
    "quality_time",
    "residuals",
    "roc",
    "score_intervals",
    "autocorrelation",
    "envelope",
    "rank",
    "trace",
    "biplot",
    "covariance_ellipses",
    "dbscan",
    "dendrogram",
    "descent_path",
    "embedding",
    "elbow",
    "graph",
    "grid",
    "growth_curve",
    "impurity",
    "kalman",
    "label_curve",
    "losses",
    "messages",
    "partial_sums",
    "poles",
    "predictive_band",
    "reachability",
    "regimes",
    "regularization_path",
    "scree",
    "search_points",
    "shap_bar",
    "shap_beeswarm",
    "som",
    "silhouette",
    "state_diagram",
    "tree",
    "trellis",
    "validation_curve",
    "voronoi",
]
