"""Values only: grids, random and local search, swarms, genes, annealing."""
