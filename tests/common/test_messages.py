"""Messages by battery: what a caller can get wrong is told in our words.

Every estimator is given wrong types, shapes, text, None and ragged rows for X, y, the
weights, rows to predict and each parameter. The fit may succeed, or end in a ValueError
or TypeError that is no sentence of NumPy, SciPy, torch or the interpreter about its own
business ("could not convert string to float", "object has no attribute", ...).

Functions of text and of generated samples, and agents asked about wrong observations,
likewise; and none of them answers NaN for nothing.
"""

import inspect
import re
import warnings

import gymnasium
import numpy as np
import pandas as pd
import pytest
from gymnasium import spaces

from pansophy import generative, kernel_model, rl, text
from pansophy.core.arrays.unreadable import array_of_rows, what_is_unreadable
from pansophy.rl.envs import CartPole, Corridor
from pansophy.testing import all_estimators, quick_instance, usual_table
from pansophy.tree import DecisionTreeRegressor

N = 20
ESTIMATORS = [pytest.param(cls, id=name) for name, cls in all_estimators()]
ASKED = ("predict", "transform", "score_samples", "predict_proba", "decision_function")

# pieces of other libraries' sentences, none of which names what the caller gave
FOREIGN = re.compile(
    r"could not convert|inhomogeneous|mat1 and mat2|has no attribute|"
    r"not supported between|0-d array|unsized|not iterable|float\(\) argument|"
    r"int\(\) argument|unhashable|only length-1|only 0-dim|setting an array element|"
    r"truth value|unsupported operand|cannot reshape|broadcast|ufunc|invalid literal|"
    r"has no len|not subscriptable|expected np.ndarray|not callable|list index|"
    r"out of bounds|must be real number|Cannot interpret|object is not|"
    r"can't convert|division by zero|core dimension|unpack|only integer scalar|"
    r"Cannot cast|no matching|nopython|must be str, not|at least 1 dimension i.e."
)
ALLOWED = (ValueError, TypeError)
RAGGED = [[1], [1, 2]] * (N // 2)


def wrong_training_data(X, y, weighted):
    """Names and arguments (X, y, weights) of fits with one thing wrong."""
    rows = X.tolist()
    wrong = {
        "X None": None, "X number": 3.0, "X texts": [["a", "b", "c"]] * N,
        "X words": ["a b", "c"] * (N // 2), "X empty": [],
        "X ragged": [row[: 1 + i % 2] for i, row in enumerate(rows)],
        "X 3d": np.ones((N, 2, 2)), "X 1d": np.ones(N), "X dict": {"a": 1},
        "X dicts": [{"a": 1}] * N, "X mixed": [[1.0, "a", None]] * N,
        "X Nones": [[None] * 3] * N, "X complex": X + 1j,
    }  # fmt: skip
    for name, bad in wrong.items():
        yield name, (bad, [] if name == "X empty" else y, None)
    wrong = {
        "y None": None, "y number": 3.0, "y text": "text", "y short": y[:-3],
        "y ragged": RAGGED, "y dicts": [{"a": 1}] * N, "y mixed": [1, "a"] * (N // 2),
        "y texts": ["a", "b"] * (N // 2), "y Nones": [None] * N,
        "y 3d": np.ones((N, 2, 2)), "y complex": np.ones(N) * 1j,
    }  # fmt: skip
    for name, bad in wrong.items():
        yield name, (X, bad, None)
    wrong = {
        "w text": "text", "w texts": ["a"] * N, "w short": np.ones(N - 3),
        "w 2d": np.ones((N, 2)), "w negative": -np.ones(N), "w dict": {"a": 1},
        "w ragged": RAGGED, "w NaN": np.full(N, np.nan), "w Nones": [None] * N,
    }  # fmt: skip
    for name, bad in wrong.items() if weighted else ():
        yield name, (X, y, bad)


def wrong_new_rows(d):
    """Names and arguments of predictions with something wrong."""
    return {
        "rows None": None, "rows number": 3.0, "rows texts": [["a"] * d] * 3,
        "rows ragged": [[1.0], [1.0, 2.0, 3.0]], "rows 3d": np.ones((3, 2, 2)),
        "rows 1d": np.ones(3), "rows wide": np.ones((3, d + 4)), "rows dict": {"a": 1},
        "rows empty": [], "rows complex": np.ones((3, d)) * 1j,
        "rows Nones": [[None] * d] * 3,
    }  # fmt: skip


def foreign_message(call, *args, pattern=FOREIGN, **kwargs) -> str | None:
    """The message of another library that a call ends in; None if it does not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call(*args, **kwargs)
    except ALLOWED as error:
        said = str(error)
        return f"{type(error).__name__}: {said}" if pattern.search(said) else None
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def usual_data(cls):
    estimator = quick_instance(cls)
    X, y = usual_table(estimator, n_rows=N, n_columns=3, seed=np.random.default_rng(0))
    return np.asarray(X, dtype=float), np.asarray(y)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_wrong_data_are_told_in_our_words(cls):
    X, y = usual_data(cls)
    parameters = inspect.signature(cls.fit).parameters
    found = {}
    for name, (rows, target, w) in wrong_training_data(
        X, y, "sample_weight" in parameters
    ):
        if name.startswith("y") and "y" not in parameters:
            continue
        weights = {} if w is None else {"sample_weight": w}
        model = quick_instance(cls)
        found[name] = foreign_message(model.fit, rows, target, **weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = quick_instance(cls).fit(X, y)
    for method in [m for m in ASKED if hasattr(model, m)][:1]:
        for name, rows in wrong_new_rows(X.shape[1]).items():
            found[name] = foreign_message(getattr(model, method), rows)
    assert {k: v for k, v in found.items() if v is not None} == {}


# said of the data and not of the parameter, and plain enough
OTHER_WORDS = {
    ("connectivity", "list"),
    ("estimator", "list"),  # "an expert of ... must take sample_weight"
    ("formulas", "text"),  # "'no such value' is no formula"
    ("monotonic_cst", "list"),
}


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_wrong_parameters_are_named(cls, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names of files are parameters too
    X, y = usual_data(cls)
    found = {}
    for parameter in quick_instance(cls).get_params(deep=False):
        wrong = {"object": object(), "NaN": np.nan, "list": [{}]}
        if parameter not in ("checkpoint", "resume"):
            wrong["text"] = "no such value"
        for kind, value in wrong.items():
            model = quick_instance(cls).set_params(**{parameter: value})
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model.fit(X, y)
            except ALLOWED as error:
                if parameter in str(error) or (parameter, kind) in OTHER_WORDS:
                    continue
                found[parameter, kind] = f"{type(error).__name__}: {error}"
            except Exception as error:
                found[parameter, kind] = f"{type(error).__name__}: {error}"
    assert found == {}


# -- functions and agents ------------------------------------------------------------

FOREIGN_TO_FUNCTIONS = re.compile(
    FOREIGN.pattern
    + r"|zip\(\) argument|cannot convert|did not contain a loop|can only concatenate|"
    r"cannot safely|'NoneType'|'object' object|mismatch in its core"
)
WRONG_VALUES = {
    "None": None, "object": object(), "text": "text", "texts": ["a", "b"],
    "empty": [], "dict": {"a": 1}, "dicts": [{"z": 1}], "ragged": [[1.0], [1.0, 2.0]],
    "Nones": [None, None], "NaN": [np.nan, np.nan], "number": 3.5,
    "complex": np.ones(3) * 1j, "wide": np.ones((2, 9)),
}  # fmt: skip
ROWS = np.random.default_rng(0).normal(size=(12, 2))
RANKINGS = [["a", "b"], ["b", "c"]]
STEPS = generative.noise_schedule(n_steps=5)
FUNCTIONS = {
    "perplexity": text.perplexity,
    "token_cross_entropy": text.token_cross_entropy,
    "token_cross_entropy, base": lambda v: text.token_cross_entropy([-1.0], base=v),
    "bits_per_byte": lambda v: text.bits_per_byte(v, "ab"),
    "bits_per_byte, text": lambda v: text.bits_per_byte([-1.0], v),
    "collocations": text.collocations,
    "cooccurrence": text.cooccurrence,
    "pmi": text.pmi,
    "remove_stop_words": text.remove_stop_words,
    "edit_distance": lambda v: text.edit_distance(v, "ab"),
    "edit_alignment": lambda v: text.edit_alignment("ab", v),
    "edit_distances": text.edit_distances,
    "jaro_similarity": lambda v: text.jaro_similarity(v, "a"),
    "jaro_winkler": lambda v: text.jaro_winkler_similarity("a", v),
    "jaro_winkler, prefix": lambda v: text.jaro_winkler_similarity(
        "ab", "ac", prefix_weight=v
    ),
    "subsequence": lambda v: text.longest_common_subsequence(v, "a"),
    "match_names": lambda v: text.match_names(v, ["a"]),
    "term_frequency": text.term_frequency,
    "inverse_document_frequency": text.inverse_document_frequency,
    "reciprocal_rank_fusion": text.reciprocal_rank_fusion,
    "rank fusion, weights": lambda v: text.reciprocal_rank_fusion(RANKINGS, weights=v),
    "rank fusion, k": lambda v: text.reciprocal_rank_fusion(RANKINGS, k=v),
    "score_fusion": text.score_fusion,
    "sentence_features": text.sentence_features,
    "word_shape": text.word_shape,
    "most_frequent_tags": lambda v: text.most_frequent_tags(v, [["N"]]),
    "most_frequent_tags, tags": lambda v: text.most_frequent_tags([["a"]], v),
    "span_report": lambda v: text.span_report(v, v),
    "tag_report": lambda v: text.tag_report(v, v),
    "spans_to_tags": lambda v: text.spans_to_tags(v, 3),
    "tags_to_spans": text.tags_to_spans,
    "split_chunks": text.split_chunks,
    "split_text": text.split_text,
    "read_html": text.read_html,
    "best_snippet": lambda v: text.best_snippet(v, "a"),
    "best_snippet, query": lambda v: text.best_snippet("a b", v),
    "title_questions": text.title_questions,
    "top_words": lambda v: text.top_words(v, ["a", "b"]),
    "top_words, terms": lambda v: text.top_words(np.ones((1, 2)), v),
    "topic_coherence": lambda v: text.topic_coherence(v, np.ones((2, 2))),
    "topic_coherence, X": lambda v: text.topic_coherence(np.ones((1, 2)), v),
    "sample_topic_corpus": lambda v: text.sample_topic_corpus(v, [3]),
    "sample_topic_corpus, lengths": lambda v: text.sample_topic_corpus([[1.0]], v),
    "dpo_loss": lambda v: text.dpo_loss(v, [-1.0], [-1.0], [-1.0]),
    "gan_value": lambda v: generative.gan_value(v, [0.5]),
    "gan_value, fake": lambda v: generative.gan_value([0.5], v, logits=True),
    "virtual_criterion": lambda v: generative.virtual_criterion(v, [0.5, 0.5]),
    "bits_per_dimension": lambda v: generative.bits_per_dimension(v, 2),
    "bits_per_dimension, bins": lambda v: generative.bits_per_dimension(
        [-1.0], 2, bin_width=v
    ),
    "frechet_distance": lambda v: generative.frechet_distance(ROWS, v),
    "precision_recall": lambda v: generative.precision_recall(v, ROWS, k=2),
    "two samples": lambda v: generative.classifier_two_sample_accuracy(ROWS, v),
    "mmd": lambda v: generative.mmd(ROWS, v),
    "mmd of rows": lambda v: kernel_model.mmd(v, ROWS),
    "mmd, length_scale": lambda v: kernel_model.mmd(
        ROWS, ROWS, length_scale=v, permutations=0
    ),
    "sample_quality": lambda v: generative.sample_quality(ROWS, v),
    "mode_coverage": lambda v: generative.mode_coverage(v, ROWS, reach=1.0),
    "error_threshold": generative.error_threshold,
    "latent_interpolation": lambda v: generative.latent_interpolation(v, [1.0, 2.0]),
    "diffuse": lambda v: generative.diffuse(v, 3, STEPS),
    "diffuse, t": lambda v: generative.diffuse(ROWS, v, STEPS),
    "noise_schedule": lambda v: generative.noise_schedule(n_steps=v),
    "reparameterize": lambda v: generative.reparameterize(v, 1.0, random_state=0),
    "reparameterize, scale": lambda v: generative.reparameterize(
        [0.0, 1.0], v, random_state=0
    ),
    "memorisation_report": lambda v: generative.memorisation_report(ROWS, v, ROWS),
}


def answer_to_wrong_value(call, value) -> str | None:
    """What is wrong with the answer of a call: another library's error, or NaN."""
    answers = []
    told = foreign_message(
        lambda: answers.append(call(value)), pattern=FOREIGN_TO_FUNCTIONS
    )
    is_nan = bool(answers) and isinstance(answers[0], float) and np.isnan(answers[0])
    return "NaN" if is_nan else told


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_tell_wrong_arguments_in_our_words(name):
    call = FUNCTIONS[name]
    found = {k: answer_to_wrong_value(call, v) for k, v in WRONG_VALUES.items()}
    assert {k: v for k, v in found.items() if v is not None} == {}


class RandomParts(gymnasium.Env):
    """A world of one step whose observations are drawn from any space."""

    action_space = spaces.Discrete(2)

    def __init__(self, space):
        self.observation_space = space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), 1.0, False, True, {}


PARTS = spaces.Dict(a=spaces.Box(-1, 1, (2,)), b=spaces.Discrete(3))
SHORT = {"n_steps": 16, "random_state": 0}
DEEP = {**SHORT, "n_envs": 2, "hidden_layer_sizes": (4,)}


def logged_steps():
    policy = rl.Policy([[0.5, 0.5]] * 3)
    return rl.rollout(Corridor(3), policy, n_steps=60, keep=True, random_state=0)


AGENTS = {
    "table": lambda: rl.QLearning(**SHORT).fit(Corridor(3)),
    "table of parts": lambda: rl.QLearning(**SHORT).fit(
        RandomParts(spaces.MultiDiscrete([2, 3]))
    ),
    "td": lambda: rl.TDControl(**SHORT).fit(Corridor(3)),
    "indicators": lambda: rl.LinearQ(**SHORT).fit(Corridor(3)),
    "tiles": lambda: rl.LinearQ(**SHORT).fit(RandomParts(spaces.Box(-1, 1, (2,)))),
    "lspi": lambda: rl.LSPI(rl.OneHotFeatures(3), 2, gamma=0.9).fit(logged_steps()),
    "fitted q": lambda: rl.FittedQ(DecisionTreeRegressor(), 2, n_iter=2).fit(
        logged_steps()
    ),
    "values": lambda: rl.LinearValue(
        rl.LinearFeatures(2), n_passes=1, tol=1e9, random_state=0
    ).fit(ROWS, ROWS[:, 0]),
    "net of numbers": lambda: rl.A2C(**DEEP).fit(CartPole()),
    "net of states": lambda: rl.A2C(**DEEP).fit(Corridor(3)),
    "net of parts": lambda: rl.A2C(**DEEP).fit(RandomParts(PARTS)),
}


@pytest.mark.parametrize("name", AGENTS)
def test_agents_tell_wrong_observations_in_our_words(name):
    agent = AGENTS[name]()
    found = {}
    for method in ("predict", "act", "value", "action_values"):
        for kind, value in WRONG_VALUES.items():
            if hasattr(agent, method):
                call = getattr(agent, method)
                found[method, kind] = answer_to_wrong_value(call, value)
    assert {k: v for k, v in found.items() if v is not None} == {}


@pytest.mark.parametrize("name", ["table", "td", "indicators", "lspi", "net of states"])
def test_a_fraction_is_no_state(name):
    """It used to be the state below."""
    agent = AGENTS[name]()
    assert agent.predict([1.0]) == agent.predict([1])
    with pytest.raises(ValueError, match="whole number"):
        agent.predict([1.5])


def test_a_part_that_is_absent_is_named():
    agent = AGENTS["net of parts"]()
    with pytest.raises(ValueError, match=r"must have the parts \['a', 'b'\]"):
        agent.act({"a": np.zeros(2)})


def test_mmd_takes_mixed_tables():
    real = pd.DataFrame({"city": ["a", "b"] * 20, "age": np.arange(40.0)})
    other = real.assign(city="b")
    assert generative.mmd(real, real).value == 0
    assert generative.mmd(real, other).p < 0.05


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ([[1, 2], [3, 4, 5]], "row 1 has 3 entries and row 0 has 2"),
        ([[1, 2], 3], "row 1 has no entries of its own and row 0 has 2"),
        ([[1, "2"], [3, "x"]], "row 1 holds the text 'x' in column 1"),
        ([1.0, None, 2.0], "entry 1 is None"),
        ({"a": [1]}, "it is a dict"),
        ("abc", "it is the text 'abc'"),
        (np.array([[1, "y"]]), "row 0 holds the text 'y' in column 1"),
        (3.0, "it is a float"),
        ([[1.0, 2.0]], None),
    ],
)
def test_the_place_is_told(values, problem):
    assert what_is_unreadable(values) == problem


def test_rows_of_unequal_length_are_named():
    with pytest.raises(ValueError, match="X of PCA must hold numbers, but row 2 has 1"):
        array_of_rows([[1, 2], [3, 4], [5]], "X of PCA")
