"""What teaches rather than serves: small worked pieces of theory, to look at and to
try.

A neuron and the backward pass by hand (`neuron`, `backward`, `backward_through_time`,
`xor`), what nets can express (`function_approximation`, `weight_symmetries`,
`graph_of_units`), convexity and critical points, reasoning in networks (`explaining`,
`rule_network`, `plates`, `two_stage`), how splits are chosen and trees grow
(`threshold_gains`, `tree_growth`), true risk and which stage causes the errors (`risk`,
`measurement`, `attribution`), axioms of a metric, and the representer form. Nothing
else in the package rests on them but figures.
"""

from ..core.lazy_names import lazy_names

HOMES = {
    ".attribution": "Attribution attribute_error",
    ".backward_pass": "backward",
    ".backward_through_time": "TimeGradients bptt clip_gradients gradient_by_lag",
    ".convexity": "check_convex",
    ".explaining": "ExplainingAway explaining_away",
    ".function_approximation": "approximation_curve",
    ".graph_of_units": "check_graph",
    ".measurement": "MeasurementRisk measurement_risk",
    ".metric_axioms": "MetricReport check_metric mutual_neighbour",
    ".neuron": "Neuron",
    ".plates": "Plate to_bayesian_network unroll_plates",
    ".representer_form": "KernelExpansion representer rkhs_norm",
    ".risk": "Optimism SimulatedRisk optimism sample_error true_risk",
    ".rule_network": "from_rules",
    ".stationary_points": "critical_points solve_convex",
    ".step_length": "step_report",
    ".threshold_gains": "split_curve",
    ".tree_growth": "GrowthCurve growth_curve",
    ".two_stage": "TwoStage",
    ".weight_symmetries": "canonicalize count_equivalent_weights",
    ".xor": "xor_network",
}
NEEDS = {
    "torch": """Neuron TimeGradients approximation_curve backward bptt clip_gradients
        gradient_by_lag xor_network canonicalize count_equivalent_weights check_graph"""
}

__all__, __getattr__, __dir__ = lazy_names(__name__, HOMES, NEEDS)
