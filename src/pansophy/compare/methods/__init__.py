"""What can be tried on a table, and how each method becomes a pipeline.

listing   `choice` (what a method is, which ones a table gets), `portfolio`, `left_out`,
          `capabilities`, `costs`
building  `pipelines`, `wrappers`, `foreign`; `tuning` and `blending` decide inside
          their own `fit`, on the folds of `inner`
"""
