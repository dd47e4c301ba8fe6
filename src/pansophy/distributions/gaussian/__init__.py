"""Normal distributions: shapes of covariance, priors, missing values, kin."""
