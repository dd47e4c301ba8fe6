"""What exact inference refuses, each in one sentence."""

from .clique_tree import InferenceCost

MAX_TABLE_CELLS = 2**26  # cells: 512 MiB


def check_table_size(cost: InferenceCost, max_table: int) -> None:
    """Raise if the largest table of a plan is beyond the limit."""
    if cost.largest_table > max_table:
        raise MemoryError(
            f"exact inference needs a table of {cost.largest_table:,} cells, more than "
            f"max_table={max_table:,}: raise it, observe more variables, or sample "
            "with method='likelihood_weighting' or 'gibbs'."
        )


def zero_probability_message(evidence) -> str:
    """The sentence about evidence of probability zero."""
    told = ", ".join(f"{name}={state!r}" for name, state in dict(evidence).items())
    return f"the evidence {told or '(none)'} has probability 0 under this network."
