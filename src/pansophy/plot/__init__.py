"""Figures of data, models and results, one small file for each kind of figure.

Each function takes plain results and arrays, draws on the axes given or on new ones,
and gives the axes back.

Rooms

    classification  figures of classifiers: curves, thresholds, regions
    regression      figures of regressors: residuals, dependence, paths of coefficients
    clusters        figures of clusterings: trees of merges, silhouettes, maps
    embeddings      figures of points in the plane: scores, ellipses, densities
    trees           figures of trees: the tree, its growth, importances, Shapley values
    training        figures of training: curves, gradients, activations, paths of a
                    search
    images          figures that are images: samples, reconstructions, attention,
                    saliency
    chains          figures of sampled chains: traces, ranks, autocorrelation
    series          figures of series and states: filters, regimes, poles, trellises
    networks        figures of graphs, grids of labels and matrices
    agents          figures of agents: worlds, values, returns, regret, beliefs
    comparison      figures of comparisons: scores with intervals, quality against time
    texts           figures of texts: alignments, topics
"""

from ..linear_model.bayesian.predictive_distribution import plot_predictive_band
from .agents.belief_simplex import belief_simplex
from .agents.gridworld import gridworld
from .agents.regret import regret
from .agents.returns import returns
from .agents.values import values
from .chains.autocorrelation import autocorrelation
from .chains.rank_histogram import rank_histogram
from .chains.rejection_envelope import rejection_envelope
from .chains.trace import trace
from .classification.calibration import calibration
from .classification.confusion_matrix import confusion_matrix
from .classification.decision_regions import decision_regions
from .classification.gain import gain
from .classification.precision_recall import precision_recall
from .classification.roc import roc
from .clusters.dbscan import dbscan
from .clusters.dendrogram import dendrogram
from .clusters.elbow import elbow
from .clusters.reachability import reachability
from .clusters.silhouette import silhouette
from .clusters.som import som
from .clusters.voronoi import voronoi
from .comparison.bias_variance import bias_variance
from .comparison.concentration import concentration
from .comparison.label_curve import label_curve
from .comparison.quality_time import quality_time
from .comparison.score_intervals import score_intervals
from .embeddings.biplot import biplot
from .embeddings.density_2d import density_2d
from .embeddings.ellipses import covariance_ellipses
from .embeddings.embedding import embedding
from .embeddings.scree import scree
from .images.attention import attention
from .images.diffusion import diffusion
from .images.feature_maps import feature_maps, filters
from .images.latent_walk import latent_grid, latent_walk
from .images.reconstructions import reconstructions
from .images.saliency import saliency
from .images.samples import samples
from .images.score_field import score_field
from .networks.label_grid import label_grid
from .networks.matrix import matrix
from .networks.message_passing import message_passing
from .networks.network_graph import network_graph
from .regression.partial_dependence import partial_dependence
from .regression.paths import regularization_path, validation_curve
from .regression.residuals import residuals
from .series.kalman import kalman
from .series.partial_sums import partial_sums
from .series.poles import poles
from .series.regimes import regimes
from .series.state_diagram import state_diagram
from .series.trellis import trellis
from .style import draw_styled
from .texts.alignment import alignment
from .texts.topics import topics
from .training.activations import activations
from .training.descent import descent_path
from .training.gan_losses import gan_losses
from .training.gradient_lag import gradient_lag
from .training.learning_curve import learning_curve
from .training.losses import losses
from .training.positions import positions
from .training.search_points import search_points
from .training.training_curves import training_curves
from .training.training_report import learning_rates, training_report
from .trees.growth_curve import growth_curve
from .trees.importance import importance
from .trees.impurity import impurity
from .trees.shap import shap_bar, shap_beeswarm
from .trees.tree import tree

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
