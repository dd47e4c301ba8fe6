"""Linear algebra beyond NumPy: factorisations, least squares, conjugate gradients.

`linalg` holds factorisations that report their rank or jitter, `least_squares` solves
to machine precision (`least_squares_passes` from files), `ridge_spectrum` for many
penalties at once, `cg` without a matrix, `truncated_svd` the leading directions.
"""
