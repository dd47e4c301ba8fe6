"""Figures, one small file per kind; matplotlib loads with the first one drawn.

Each function takes plain results and arrays, draws on the axes given or on new ones,
and gives the axes back.
"""

from ..linear_model.predictive import plot_band as predictive_band
from .boundary import decision_boundary
from .descent import descent_path
from .growth import growth_curve
from .impurity import impurity
from .losses import losses
from .paths import regularization_path, validation_curve
from .search import search_points
from .shap import shap_bar, shap_beeswarm
from .tree import tree

__all__ = [
    "decision_boundary",
    "descent_path",
    "growth_curve",
    "impurity",
    "losses",
    "predictive_band",
    "regularization_path",
    "search_points",
    "shap_bar",
    "shap_beeswarm",
    "tree",
    "validation_curve",
]
