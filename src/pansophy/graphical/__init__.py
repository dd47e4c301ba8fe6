"""Graphical models: Bayesian networks, Markov random fields, factor graphs.

Rooms

    networks   Bayesian networks: structure, distributions, files and what follows from
               the graph
    inference  inference: exact, by messages, by sampling; factors and the plans that
               order them
    structure  learning of networks from rows: counts, scores, searches, parameters
    fields     Markov random fields: grids, cuts, transfer matrices
    crf        conditional random fields of chains and grids, and features of their
               tokens
"""

from .crf.chain_crf import ChainCRF
from .crf.grid_crf import GridCRF
from .fields.graph_cuts import CutResult, alpha_expansion, binary_cut, graph_cut
from .fields.ising_grid import IsingGrid
from .fields.markov_random_field import MarkovRandomField
from .fields.potts_grid import PottsGrid
from .inference.clique_tree import InferenceCost
from .inference.cutset import CutsetResult, cutset_conditioning
from .inference.factor_graph import FactorGraph, to_factor_graph
from .inference.factors import Factor
from .inference.gaussian_belief_propagation import GaussianBeliefs, gaussian_bp
from .inference.gibbs_sampling import ErgodicityWarning, GibbsDraws, gibbs_sample
from .inference.junction_tree import JunctionTree
from .inference.loopy_belief_propagation import loopy_bp, mean_field
from .inference.message_passing import (
    Assignment,
    Beliefs,
    Message,
    max_product,
    min_sum,
    sum_product,
)
from .inference.posterior import MostProbableExplanation, NormalMixture, Posterior
from .inference.tree_reweighted import tree_reweighted_bp
from .inference.variable_elimination import enumerate_joint
from .networks.bayesian_network import BayesianNetwork
from .networks.bif import parse_bif, read_bif, write_bif
from .networks.conditional_distributions import (
    ConditionalLinearGaussian,
    ConditionalTable,
    LinearGaussian,
)
from .networks.d_separation import DSeparation, d_separated, markov_blanket, path_gate
from .networks.dags import all_dags
from .networks.example_networks import (
    alarm_network,
    random_network,
    sprinkler_network,
    student_network,
)
from .networks.markov_equivalence import (
    EquivalenceClass,
    equivalence_class,
    markov_equivalent,
)
from .networks.table_encoding import decode_table, encode_table
from .networks.variables import VariableSpace
from .structure.chow_liu import chow_liu
from .structure.contingency_tables import ContingencyTables
from .structure.parameter_learning import fit_tables, fit_tables_em, fit_tables_gradient
from .structure.pc import PC
from .structure.structure_scores import (
    aic_score,
    bdeu_score,
    bic_score,
    k2_score,
    log_likelihood_score,
    structure_score,
)
from .structure.structure_search import StructureSearch
from .structure.tree_augmented_nb import TreeAugmentedNB

__all__ = [
    "ChainCRF",
    "GridCRF",
    "BayesianNetwork",
    "ConditionalLinearGaussian",
    "MostProbableExplanation",
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
    "to_factor_graph",
    "tree_reweighted_bp",
    "ContingencyTables",
    "EquivalenceClass",
    "PC",
    "StructureSearch",
    "TreeAugmentedNB",
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
