"""Figures of data, models and results, one small file for each kind of figure.

Each function takes plain results and arrays, draws on the axes given or on new ones,
and gives the axes back.
"""

from ..linear_model.predictive_distribution import plot_predictive_band
from .activations import activations
from .alignment import alignment
from .attention import attention
from .autocorrelation import autocorrelation
from .belief_simplex import belief_simplex
from .bias_variance import bias_variance
from .biplot import biplot
from .calibration import calibration
from .concentration import concentration
from .confusion_matrix import confusion_matrix
from .dbscan import dbscan
from .decision_regions import decision_regions
from .dendrogram import dendrogram
from .density_2d import density_2d
from .descent import descent_path
from .diffusion import diffusion
from .elbow import elbow
from .ellipses import covariance_ellipses
from .embedding import embedding
from .feature_maps import feature_maps, filters
from .gain import gain
from .gan_losses import gan_losses
from .gradient_lag import gradient_lag
from .gridworld import gridworld
from .growth_curve import growth_curve
from .importance import importance
from .impurity import impurity
from .kalman import kalman
from .label_curve import label_curve
from .label_grid import label_grid
from .latent_walk import latent_grid, latent_walk
from .learning_curve import learning_curve
from .losses import losses
from .matrix import matrix
from .message_passing import message_passing
from .network_graph import network_graph
from .partial_dependence import partial_dependence
from .partial_sums import partial_sums
from .paths import regularization_path, validation_curve
from .poles import poles
from .positions import positions
from .precision_recall import precision_recall
from .quality_time import quality_time
from .rank_histogram import rank_histogram
from .reachability import reachability
from .reconstructions import reconstructions
from .regimes import regimes
from .regret import regret
from .rejection_envelope import rejection_envelope
from .residuals import residuals
from .returns import returns
from .roc import roc
from .saliency import saliency
from .samples import samples
from .score_field import score_field
from .score_intervals import score_intervals
from .scree import scree
from .search_points import search_points
from .shap import shap_bar, shap_beeswarm
from .silhouette import silhouette
from .som import som
from .state_diagram import state_diagram
from .style import draw_styled
from .topics import topics
from .trace import trace
from .training_curves import training_curves
from .training_report import learning_rates, training_report
from .tree import tree
from .trellis import trellis
from .values import values
from .voronoi import voronoi

predictive_band = draw_styled(plot_predictive_band)

__all__ = [
    "activations",
    "alignment",
    "attention",
    "autocorrelation",
    "belief_simplex",
    "bias_variance",
    "biplot",
    "calibration",
    "concentration",
    "confusion_matrix",
    "covariance_ellipses",
    "dbscan",
    "decision_regions",
    "dendrogram",
    "density_2d",
    "descent_path",
    "diffusion",
    "elbow",
    "embedding",
    "feature_maps",
    "filters",
    "gain",
    "gan_losses",
    "gradient_lag",
    "gridworld",
    "growth_curve",
    "importance",
    "impurity",
    "kalman",
    "label_curve",
    "label_grid",
    "latent_grid",
    "latent_walk",
    "learning_curve",
    "learning_rates",
    "losses",
    "matrix",
    "message_passing",
    "network_graph",
    "partial_dependence",
    "partial_sums",
    "poles",
    "positions",
    "precision_recall",
    "predictive_band",
    "quality_time",
    "rank_histogram",
    "reachability",
    "reconstructions",
    "regimes",
    "regret",
    "regularization_path",
    "rejection_envelope",
    "residuals",
    "returns",
    "roc",
    "saliency",
    "samples",
    "score_field",
    "score_intervals",
    "scree",
    "search_points",
    "shap_bar",
    "shap_beeswarm",
    "silhouette",
    "som",
    "state_diagram",
    "topics",
    "trace",
    "training_curves",
    "training_report",
    "tree",
    "trellis",
    "validation_curve",
    "values",
    "voronoi",
]
