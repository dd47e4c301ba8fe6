"""The methods that can be tried on a table, and how each becomes a pipeline.

listing   `method` (what a method is), `portfolio` (all of them), `method_choice` (which
          ones a table gets), `excluded`, `capabilities`, `costs`
building  `pipelines`, `wrappers`, `external_boosters`; `tuning` and `blending` decide
          inside their own `fit`, on inner folds
"""
