"""Evaluation: scores with intervals, tests of differences, ranking and decisions.

Nothing here fits a method of the portfolio or knows of folders and pages: numbers and
predictions go in, intervals, probabilities, ties and decisions come out.

scores         over rows `paired_tests`, `row_tests`, `holdout_comparison`; over folds
               `statistics`; `bayesian_tests`, `ranking`; over data sets
               `multi_dataset`
probabilities  `calibration`, `decision_threshold`, `curve_dominance`
conformal      `conformal`, `conformal_estimators`, `conformal_scores`,
               `residual_scale`, `adaptive_conformal`: prediction intervals and sets
procedures     `validation_selection`, `nested_cv`, `leak_guard`,
               `clustering_comparison`
"""
