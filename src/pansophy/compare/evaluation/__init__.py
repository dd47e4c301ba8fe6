"""How good, how sure, who is better: the arithmetic of a comparison.

Nothing here fits a method of the portfolio or knows of folders and pages: numbers and
predictions go in, intervals, probabilities, ties and decisions come out.

scores         over folds `statistics`, `bayes`, `ranking`; over rows `held_out`,
               `on_test`; over tables `many_tables`
probabilities  `calibration`, `decision`, `dominance`; `conformal`, `conformal_models`,
               `promise`: intervals and sets of single rows
procedures     `selection`, `nested`, `leak_guard`, `clusterings`
"""
