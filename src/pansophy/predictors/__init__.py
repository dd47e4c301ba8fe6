"""Abstract predictors that several families of methods share.

`abstract_linear` predicts by linear scores, `abstract_bayes` by prior times density,
`abstract_kernel_model` by sums of kernels. Methods that are one of them stand in their
families (`linear_model`, `svm`, `naive_bayes`, `discriminant_analysis`, `kernel_model`,
`kernel_ridge`); nothing here can be fitted by itself.
"""
