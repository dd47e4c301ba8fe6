"""Which estimators read their rows in blocks, so that these may stay in a file.

The `fit` of those named here takes a file or a dataset of rows (`core.arrays.rows`),
with y as an array or the name of a column, and an Arrow table without a copy of it. All
others need an array: they refuse a file and read an Arrow table, which is in memory, as
a dataframe.
"""


def name_set(names) -> frozenset[str]:
    """The names in a text, parted by blanks."""
    return frozenset(names.split())


BLOCK_READERS = name_set(
    """
    ARDRegression AttributeClassifier BasisFeatures BayesianGaussianMixture
    BayesianLinearRegression BayesianRidge BernoulliNB CategoricalNB
    ClassifierWithOutliers ComplementNB CostSensitiveClassifier
    DensityOutlierDetector ExponentialFamilyClassifier ExtraTreesClassifier
    ExtraTreesRegressor FeatureThenClassify
    GammaRegressor GaussianMixture GaussianMixtureClassifier GaussianNB
    GeneralizedLinearModel GenerativeClassifier HistGradientBoostingClassifier
    HistGradientBoostingRegressor HuberRegressor IncrementalPCA IsolationForest
    JointTableClassifier
    KMeans LeastSquaresClassifier LinearDiscriminantAnalysis LinearRegression
    LogisticRegression MiniBatchKMeans MixedNB Mixture MultinomialNB
    MultipleInstance NaiveBayes NormalInverseGammaRegression PCA PoissonRegressor
    ProbabilisticPCA QuadraticDiscriminantAnalysis RandomForestClassifier
    RandomForestRegressor RecursiveLeastSquares Ridge
    RidgeCV RidgeClassifier RidgeClassifierCV SelfTrainingClassifier SubsetSelector
    Tikhonov TreeAugmentedNB TruncatedSVD TweedieRegressor
    """
)

# of these, whose fit on a cluster needs the rows on the machine that fits
ROWS_COME_HOME = name_set(
    """
    ExtraTreesClassifier ExtraTreesRegressor HistGradientBoostingClassifier
    HistGradientBoostingRegressor IncrementalPCA IsolationForest JointTableClassifier
    MiniBatchKMeans RandomForestClassifier RandomForestRegressor TreeAugmentedNB
    """
)


def rows_come_home(cls) -> bool:
    """Whether a fit of the class on a cluster brings rows home, or bytes made of them.

    Examples
    --------
    >>> from pansophy.ensemble import RandomForestClassifier
    >>> rows_come_home(RandomForestClassifier)
    True
    """
    return any(base.__name__ in ROWS_COME_HOME for base in cls.__mro__)


def reads_blocks(cls) -> bool:
    """Whether a class, or one that it is derived from, is among `BLOCK_READERS`.

    Examples
    --------
    >>> from pansophy.linear_model import Lasso, Ridge
    >>> reads_blocks(Ridge), reads_blocks(Lasso)
    (True, False)
    """
    return any(base.__name__ in BLOCK_READERS for base in cls.__mro__)
