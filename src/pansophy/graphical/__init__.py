"""Networks of variables: Bayesian networks, Markov fields, factor graphs."""

from .bayesian_network import BayesianNetwork
from .bif import parse_bif, read_bif, write_bif
from .chain_crf import ChainCRF
from .chow_liu import chow_liu
from .clique_tree import InferenceCost
from .coding import decode, encode
from .counts import Counts
from .cuts import Cut, alpha_expansion, binary_cut, graph_cut
from .cutset import Conditioned, cutset_conditioning
from .dags import all_dags
from .elimination import enumerate_joint
from .equivalence import EquivalenceClass, equivalence_class, markov_equivalent
from .examples import alarm, random_network, sprinkler, student
from .explain import ExplainingAway, explaining_away
from .factor_graph import FactorGraph, to_factor_graph
from .factors import Factor
from .gaussian_messages import GaussianBeliefs, gaussian_bp
from .gibbs_sampling import ErgodicityWarning, GibbsDraws, gibbs
from .grid_crf import GridCRF
from .incomplete import fit_em
from .ising import IsingGrid
from .junction_tree import JunctionTree
from .loopy import loopy_bp, mean_field
from .markov_field import MarkovRandomField
from .messages import Assignment, Beliefs, Message, max_product, min_sum, sum_product
from .names import Space
from .nodes import ConditionalLinear, LinearGaussian, Table
from .parameters import fit_gradient, fit_tables
from .pc import PC
from .plates import Plate, unroll
from .posterior import Explanation, NormalMixture, Posterior
from .potts import PottsGrid
from .rules import from_rules
from .scores import (
    aic_score,
    bdeu_score,
    bic_score,
    k2_score,
    log_likelihood_score,
    structure_score,
)
from .separation import Separation, d_separated, gate, markov_blanket
from .structure import StructureSearch
from .tan import TreeAugmentedNB
from .templates import to_bayesian_network
from .tree_reweighted import trw
from .two_stage import TwoStage

__all__ = [
    "ChainCRF",
    "GridCRF",
    "BayesianNetwork",
    "ConditionalLinear",
    "Explanation",
    "ExplainingAway",
    "Factor",
    "InferenceCost",
    "JunctionTree",
    "LinearGaussian",
    "NormalMixture",
    "Posterior",
    "Separation",
    "Space",
    "Table",
    "alarm",
    "d_separated",
    "enumerate_joint",
    "explaining_away",
    "from_rules",
    "gate",
    "markov_blanket",
    "random_network",
    "sprinkler",
    "student",
    "Assignment",
    "Beliefs",
    "Conditioned",
    "Cut",
    "ErgodicityWarning",
    "FactorGraph",
    "GaussianBeliefs",
    "GibbsDraws",
    "IsingGrid",
    "MarkovRandomField",
    "Message",
    "Plate",
    "PottsGrid",
    "alpha_expansion",
    "binary_cut",
    "cutset_conditioning",
    "gaussian_bp",
    "gibbs",
    "graph_cut",
    "loopy_bp",
    "max_product",
    "mean_field",
    "min_sum",
    "sum_product",
    "to_bayesian_network",
    "to_factor_graph",
    "trw",
    "unroll",
    "Counts",
    "EquivalenceClass",
    "PC",
    "StructureSearch",
    "TreeAugmentedNB",
    "TwoStage",
    "aic_score",
    "all_dags",
    "bdeu_score",
    "bic_score",
    "chow_liu",
    "decode",
    "encode",
    "equivalence_class",
    "fit_em",
    "fit_gradient",
    "fit_tables",
    "k2_score",
    "log_likelihood_score",
    "markov_equivalent",
    "parse_bif",
    "read_bif",
    "structure_score",
    "write_bif",
]
