"""Counts of terms: equal to scikit-learn's for every analysis, compiled or not."""

import pydoc_data.topics

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer as Peer

import pansophy
from pansophy.text import CountVectorizer

TEXTS = pydoc_data.topics.topics
DOCUMENTS = [part for text in list(TEXTS.values())[:12] for part in text.split("\n\n")]
DOCUMENTS += [
    "Ünïcode Straße naïve İstanbul ΣΑΣ x_y 日本語", "", "  \t\n", "a b c", "\ud800 x"
]  # fmt: skip

ANALYSES = [
    {},
    {"stop_words": "english"},
    {"ngram_range": (1, 2)},
    {"ngram_range": (2, 3), "stop_words": ["the", "of"]},
    {"analyzer": "char", "ngram_range": (1, 3)},
    {"analyzer": "char", "ngram_range": (3, 3)},
    {"analyzer": "char_wb", "ngram_range": (2, 4)},
    {"analyzer": "char_wb", "ngram_range": (7, 9)},
    {"max_features": 50},
    {"max_features": 20, "binary": True},
    {"min_df": 3, "max_df": 0.5},
    {"binary": True},
    {"token_pattern": r"\b\w+\b"},
    {"token_pattern": r"[a-z]+"},
    {"lowercase": False},
    {"strip_accents": "unicode"},
    {"strip_accents": "ascii", "ngram_range": (1, 2)},
    {"tokenizer": str.split, "token_pattern": None},
    {"preprocessor": str.upper},
    {"analyzer": str.split},
    {"dtype": np.float32},
]


@pytest.mark.parametrize("options", ANALYSES, ids=str)
def test_equal_to_scikit_learn(options):
    ours = CountVectorizer(**options)
    theirs = Peer(**options)
    A = ours.fit_transform(DOCUMENTS)
    B = theirs.fit_transform(DOCUMENTS)
    assert ours.vocabulary_ == theirs.vocabulary_
    assert A.dtype == B.dtype
    assert abs(A - B).nnz == 0
    new = ["the new statement", *DOCUMENTS[::7], "unheard words the statement"]
    assert abs(ours.transform(new) - theirs.transform(new)).nnz == 0
    fixed = CountVectorizer(**options, vocabulary=theirs.vocabulary_)
    assert abs(fixed.transform(new) - theirs.transform(new)).nnz == 0


def test_row_sums_are_document_lengths():
    X = CountVectorizer(token_pattern=r"\b\w+\b").fit_transform(["a b a", "c", ""])
    assert X.sum(axis=1).ravel().tolist() == [[3, 1, 0]]


def test_columns_of_a_given_vocabulary_are_kept():
    model = CountVectorizer(vocabulary={"cat": 1, "dog": 0})
    assert model.transform(["cat cat dog"]).toarray().tolist() == [[1, 2]]
    assert model.get_feature_names_out().tolist() == ["dog", "cat"]
    assert [t.tolist() for t in model.inverse_transform([[0, 3]])] == [["cat"]]


def test_replaced_steps_of_a_subclass_are_used():
    class FirstWord(CountVectorizer):
        def build_tokenizer(self):
            return lambda text: text.split()[:1]

    assert FirstWord().fit(["one two", "three four"]).vocabulary_ == {
        "one": 0,
        "three": 1,
    }


def test_documents_are_read_once_and_in_blocks(monkeypatch):
    monkeypatch.setattr("pansophy.text.vectorizers.abstract_vectorizer.BLOCK", 50)
    small = CountVectorizer(ngram_range=(1, 2)).fit_transform(iter(DOCUMENTS))
    monkeypatch.undo()
    whole = CountVectorizer(ngram_range=(1, 2)).fit_transform(DOCUMENTS)
    assert abs(small - whole).nnz == 0


@pytest.mark.parametrize("options", [{}, {"ngram_range": (1, 2)}], ids=str)
def test_save_and_load(options, tmp_path):
    model = CountVectorizer(**options).fit(DOCUMENTS)
    pansophy.save(model, tmp_path / "model.pansophy")
    again = pansophy.load(tmp_path / "model.pansophy")
    assert abs(again.transform(DOCUMENTS) - model.transform(DOCUMENTS)).nnz == 0


@pytest.mark.parametrize(
    ("options", "documents", "message"),
    [
        ({}, "one text", "string object received"),
        ({}, ["a text", None], "None is an invalid document"),
        ({}, ["a text", 3], "3 is an invalid document"),
        ({}, ["a", "b"], "empty vocabulary"),
        ({"ngram_range": (2, 1)}, ["ab"], "ngram_range"),
        ({"ngram_range": (0, 1)}, ["ab"], "ngram_range of CountVectorizer"),
        ({"ngram_range": 3}, ["ab"], "ngram_range"),
        ({"stop_words": "german"}, ["ab"], "stop_words of CountVectorizer"),
        ({"min_df": 2}, ["ab", "cd"], "no terms remain"),
        ({"vocabulary": ["ab", "ab"]}, ["ab"], "Duplicate term"),
    ],
)
def test_bad_input(options, documents, message):
    with pytest.raises(ValueError, match=message):
        CountVectorizer(**options).fit(documents)
