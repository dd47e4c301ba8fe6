"""Graphical models: Bayesian networks, Markov random fields, factor graphs."""

from .bayesian_network import BayesianNetwork
from .bif import parse_bif, read_bif, write_bif
from .chain_crf import ChainCRF
from .chow_liu import chow_liu
from .clique_tree import InferenceCost
from .conditional_distributions import (
    ConditionalLinearGaussian,
    ConditionalTable,
    LinearGaussian,
)
from .contingency_tables import ContingencyTables
from .cutset import CutsetResult, cutset_conditioning
from .d_separation import DSeparation, d_separated, markov_blanket, path_gate
from .dags import all_dags
from .example_networks import (
    alarm_network,
    random_network,
    sprinkler_network,
    student_network,
)
from .explaining import ExplainingAway, explaining_away
from .factor_graph import FactorGraph, to_factor_graph
from .factors import Factor
from .gaussian_belief_propagation import GaussianBeliefs, gaussian_bp
from .gibbs_sampling import ErgodicityWarning, GibbsDraws, gibbs_sample
from .graph_cuts import CutResult, alpha_expansion, binary_cut, graph_cut
from .grid_crf import GridCRF
from .ising_grid import IsingGrid
from .junction_tree import JunctionTree
from .loopy_belief_propagation import loopy_bp, mean_field
from .markov_equivalence import EquivalenceClass, equivalence_class, markov_equivalent
from .markov_random_field import MarkovRandomField
from .message_passing import (
    Assignment,
    Beliefs,
    Message,
    max_product,
    min_sum,
    sum_product,
)
from .parameter_learning import fit_tables, fit_tables_em, fit_tables_gradient
from .pc import PC
from .plates import Plate, to_bayesian_network, unroll_plates
from .posterior import MostProbableExplanation, NormalMixture, Posterior
from .potts_grid import PottsGrid
from .rule_network import from_rules
from .structure_scores import (
    aic_score,
    bdeu_score,
    bic_score,
    k2_score,
    log_likelihood_score,
    structure_score,
)
from .structure_search import StructureSearch
from .table_encoding import decode_table, encode_table
from .tree_augmented_nb import TreeAugmentedNB
from .tree_reweighted import tree_reweighted_bp
from .two_stage import TwoStage
from .variable_elimination import enumerate_joint
from .variables import VariableSpace

__all__ = [
    "ChainCRF",
    "GridCRF",
    "BayesianNetwork",
    "ConditionalLinearGaussian",
    "MostProbableExplanation",
    "ExplainingAway",
    "Factor",
    "InferenceCost",
    "JunctionTree",
    "LinearGaussian",
    "NormalMixture",
    "Posterior",
    "DSeparation",
    "VariableSpace",
    "ConditionalTable",
    "alarm_network",
    "d_separated",
    "enumerate_joint",
    "explaining_away",
    "from_rules",
    "path_gate",
    "markov_blanket",
    "random_network",
    "sprinkler_network",
    "student_network",
    "Assignment",
    "Beliefs",
    "CutsetResult",
    "CutResult",
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
    "gibbs_sample",
    "graph_cut",
    "loopy_bp",
    "max_product",
    "mean_field",
    "min_sum",
    "sum_product",
    "to_bayesian_network",
    "to_factor_graph",
    "tree_reweighted_bp",
    "unroll_plates",
    "ContingencyTables",
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
    "decode_table",
    "encode_table",
    "equivalence_class",
    "fit_tables_em",
    "fit_tables_gradient",
    "fit_tables",
    "k2_score",
    "log_likelihood_score",
    "markov_equivalent",
    "parse_bif",
    "read_bif",
    "structure_score",
    "write_bif",
]
