"""Features of words in sentences, and sentences with a tag for each word.

A word that training has not seen is known by its form: its ending, its beginning, its
shape (capitals, digits, signs) and its neighbours. `sentence_features` makes a dict of
them for every word, as `graphical.ChainCRF` takes it.

A model of whole sentences has no loss of a single word that a class weight could
multiply. Weights c of the tags move its probabilities instead, to those of a text in
which words with tag t are c_t times as frequent,

    P_c(t_1..t_n | words) ~ P(t_1..t_n | words) c_{t_1} ... c_{t_n}                (1)

which adds log c_t to the score of every word. For tags that do not depend on each other
this is where weights of the words in the loss lead in the limit.

Refs      [Menon2021] (1), log c as an offset of the scores
"""

import re

import numpy as np

from ...core.arrays.class_weight import compute_class_weight
from ...core.arrays.labels import refuse_missing
from ...params import check_count, check_list, check_string

RUNS = re.compile(r"(.)\1+")


def word_shape(word: str) -> str:
    """Letters as X, x, other letters as c, digits as d, runs shortened to one.

    Examples
    --------
    >>> from pansophy.text import word_shape
    >>> [word_shape(w) for w in ["Paris", "USA", "F-16s", "don't", "1,200"]]
    ['Xx', 'X', 'X-dx', "x'x", 'd,d']
    """
    shape = []
    for c in check_string("word", word):
        if c.isupper():
            shape.append("X")
        elif c.islower():
            shape.append("x")
        elif c.isdigit():
            shape.append("d")
        else:
            shape.append("c" if c.isalpha() else c)
    return RUNS.sub(r"\1", "".join(shape))


def word_form(word: str) -> dict[str, str]:
    """Features of the form of a word: lower case, endings, beginnings, shape."""
    lower = check_string("word", word).lower()
    form = {"word": lower, "shape": word_shape(word)}
    for n in (1, 2, 3, 4):
        if len(lower) > n:
            form[f"ending{n}"] = lower[-n:]
    for n in (1, 2, 3):
        if len(lower) > n:
            form[f"beginning{n}"] = lower[:n]
    return form


def sentence_features(words, window: int = 1) -> list[dict]:
    """Features of every word of a sentence, with those of its neighbours.

    Parameters
    ----------
    words : list of str
    window : int, default=1
        How far neighbours may be; of them the word and its shape are taken.

    Examples
    --------
    >>> from pansophy.text import sentence_features
    >>> first, second = sentence_features(["Dogs", "bark"])
    >>> first["shape"], first["+1word"], second["-1word"], second["ending2"]
    ('Xx', 'bark', 'dogs', 'rk')
    """
    check_count("window", window, 0)
    forms = [word_form(word) for word in check_list("words", words, "a list of texts")]
    rows = []
    for i, form in enumerate(forms):
        row: dict = {"bias": True, **form}
        for gap in range(1, window + 1):
            for sign, neighbor in (("-", i - gap), ("+", i + gap)):
                inside = 0 <= neighbor < len(forms)
                row[f"{sign}{gap}word"] = (
                    forms[neighbor]["word"] if inside else "<edge>"
                )
                if inside:
                    row[f"{sign}{gap}shape"] = forms[neighbor]["shape"]
        rows.append(row)
    return rows


def check_sentences(sentences) -> list[list[str]]:
    """Sentences as lists of words; a text is split at spaces."""
    if isinstance(sentences, str):
        raise ValueError("sentences must be a list of sentences, got one text.")
    results = []
    sentences = check_list("sentences", sentences, "a list of sentences")
    for i, sentence in enumerate(sentences):
        if isinstance(sentence, str):
            words = sentence.split()
        else:
            words = check_list(f"sentences[{i}]", sentence, "a text or a list of words")
        if not words:
            raise ValueError(f"sentence {i} has no words: leave it out.")
        wrong = next((word for word in words if not isinstance(word, str)), None)
        if wrong is not None:
            raise ValueError(f"words must be str, got {wrong!r} in sentence {i}.")
        results.append(words)
    if not results:
        raise ValueError("there must be at least one sentence.")
    return results


def check_tags(tags, sentences) -> list[np.ndarray]:
    """Tags of sentences, one for each word."""
    if tags is None:
        raise ValueError("tags are needed: a tag for each word of each sentence.")
    listed = [
        check_list(f"tags[{i}]", part, "a list of tags")
        for i, part in enumerate(check_list("tags", tags, "a list of lists of tags"))
    ]
    if len(listed) != len(sentences):
        raise ValueError(
            f"there are {len(sentences)} sentences, but tags of {len(listed)}."
        )
    for i, (part, words) in enumerate(zip(listed, sentences)):
        if len(part) != len(words):
            raise ValueError(
                f"sentence {i} has {len(words)} words, but {len(part)} tags."
            )
        refuse_missing(np.array(part, dtype=object))
    return [np.asarray(part) for part in listed]


def class_weight_offsets(class_weight, classes, tags) -> np.ndarray:
    """log c of every tag, eq. (1), given the tags of all training words."""
    codes = np.searchsorted(classes, tags)
    factors = compute_class_weight(class_weight, classes=classes, codes=codes)
    if not (np.isfinite(factors).all() and (factors > 0).all()):
        raise ValueError("the numbers in class_weight must be above 0.")
    return np.log(factors)


def split_by_sentence(values, sentences) -> list[np.ndarray]:
    """Rows for all words, end to end, as one array a sentence."""
    return np.split(values, np.cumsum([len(words) for words in sentences])[:-1])


def tag_accuracy(tagger, sentences, tags) -> float:
    """Share of the words that a tagger gives the right tag."""
    sentences = check_sentences(sentences)
    wanted = np.concatenate(check_tags(tags, sentences))
    result = np.concatenate([np.asarray(t) for t in tagger.predict(sentences)])
    return float(np.mean(result == wanted))
