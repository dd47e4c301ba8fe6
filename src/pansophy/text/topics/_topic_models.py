"""Compiled loops of topic models: expected counts of pLSA, Gibbs sweeps of LDA."""

import math
from typing import NamedTuple

import numpy as np

from ...core._random import random_uniform
from ...core.loops._intrinsics import EIGHT, prefetch, running_products_eight
from ...core.loops.compiled import compiled

BLOCK = EIGHT  # rows of counts are padded to a multiple of it
LINE = 16  # numbers of a cache line
AHEAD = 3  # tokens whose row of counts is asked for before it is needed


@compiled
def expected_topic_counts(rows, weights, theta, phi, theta_sums, phi_sums):
    """E-step: expected counts of topics by document and by word; the log-likelihood.

    `rows` is (indptr, indices, counts) of a CSR matrix. `phi_sums` may have no rows:
    then the counts of words are left out (for new documents).
    """
    indptr, indices, counts = rows
    n_topics = theta.shape[1]
    learn = len(phi_sums) > 0
    q = np.empty(n_topics)
    value = 0.0
    for d in range(len(theta)):
        for i in range(indptr[d], indptr[d + 1]):
            w = indices[i]
            n = counts[i]
            if n <= 0:
                continue
            s = 0.0
            for k in range(n_topics):
                q[k] = theta[d, k] * phi[w, k]
                s += q[k]
            value += weights[d] * n * math.log(max(s, 1e-300))
            share = n / max(s, 1e-300)
            for k in range(n_topics):
                theta_sums[d, k] += share * q[k]
            if learn:
                for k in range(n_topics):
                    phi_sums[w, k] += weights[d] * share * q[k]
    return value


class TopicCounts(NamedTuple):
    """Numbers of tokens by document and topic, by word and topic, and by topic.

    Rows are padded with zeros to a multiple of `BLOCK`.
    """

    documents: np.ndarray  # (D, K) float32
    words: np.ndarray  # (V, K) float32
    topics: np.ndarray  # (K,) float32


@compiled
def add_assignments(documents, words, weights, z, counts):
    """Add the topics of tokens, with their weights, to counts of zeros."""
    for i in range(len(z)):
        counts.documents[documents[i], z[i]] += weights[i]
        counts.words[words[i], z[i]] += weights[i]
        counts.topics[z[i]] += weights[i]


@compiled
def gibbs_sweep(
    documents, words, weights, z, counts, alpha, beta, stream, inverse, running
):
    """Draw the topic of every token anew, given those of all others, eq. (3).

    `inverse` is 1 / (n_k + V beta), 0 for topics that fill up rows, and kept up to
    date. `running` is scratch: sums of probabilities of the topics k, k - 8, k - 16,
    ..., eight sequences (lanes) side by side. A topic is drawn by its lane, from the
    last sums, and then by its place in the lane. The probabilities are computed with
    the token itself, and that of its own topic is put right, so that counts are written
    only if the topic changes.
    """
    beta_total = np.float32(len(counts.words) * beta)
    zero = np.float32(0.0)
    size = counts.words.shape[1]
    end = size - BLOCK
    n = len(z)
    for i in range(n):
        old = np.int64(z[i])
        d = np.int64(documents[i])
        w = np.int64(words[i])
        v = weights[i]
        if i + AHEAD < n:
            start = np.int64(words[i + AHEAD]) * size
            for k in range(0, size, LINE):
                prefetch(counts.words, start + k)
        running_products_eight(
            counts.documents, d * size, alpha, counts.words, w * size, beta, inverse,
            size, running,
        )  # fmt: skip
        of_document = counts.documents[d]
        of_word = counts.words[w]
        left_document = max(of_document[old] - v, zero)
        left_word = max(of_word[old] - v, zero)
        left_topic = max(counts.topics[old] - v, zero)
        change = (left_document + alpha) * (left_word + beta) / (
            left_topic + beta_total
        ) - (of_document[old] + alpha) * (of_word[old] + beta) * inverse[old]
        lane = old % BLOCK
        running[end + lane] += change
        total = zero
        for j in range(BLOCK):
            total += running[end + j]
        left = np.float32(random_uniform(stream)) * total
        j = 0
        while j < BLOCK - 1 and left >= running[end + j]:
            left -= running[end + j]
            j += 1
        if j == lane:  # the change is in the sums from its own place on
            for k in range(old, end, BLOCK):
                running[k] += change
        new = j
        while new < end and left >= running[new]:
            new += BLOCK
        if inverse[new] == zero:  # rounding led to a topic that fills up rows
            new = old
        if new != old:
            z[i] = new
            of_document[old] = left_document
            of_word[old] = left_word
            counts.topics[old] = left_topic
            inverse[old] = 1 / (left_topic + beta_total)
            of_document[new] += v
            of_word[new] += v
            counts.topics[new] += v
            inverse[new] = 1 / (counts.topics[new] + beta_total)


@compiled
def log_gamma_sum(counts, n_topics, table):
    """Sum over n of log Gamma(n + prior) - log Gamma(prior), by a table if n is whole.

    table[m] is the value for n = m; other numbers and larger ones are worked out with
    the prior, which is table[0].
    """
    prior = table[0]
    total = 0.0
    for row in range(len(counts)):
        for k in range(n_topics):
            n = counts[row, k]
            if n == 0:
                continue
            m = np.int64(n)
            if m == n and m < len(table):
                total += table[m]
            else:
                total += math.lgamma(n + prior) - math.lgamma(prior)
    return total
