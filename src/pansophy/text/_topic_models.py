"""Compiled loops of topic models: expected counts of pLSA, Gibbs sweeps of LDA."""

import math
from typing import NamedTuple

import numpy as np

from ..core._random import random_uniform
from ..core.compiled import FASTMATH, compiled

BLOCK = 16  # topics whose probabilities are added up together


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
    """Numbers of tokens by document and topic, by word and topic, and by topic."""

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


@compiled(inner=True, fastmath=FASTMATH)
def topic_weights(of_document, of_word, inverse, alpha, beta, p, sums):
    """p_k = (n_dk + alpha)(n_wk + beta) / (n_k + V beta), and its sums over blocks."""
    total = np.float32(0.0)
    n = len(p)
    for b in range(len(sums)):
        s = np.float32(0.0)
        for k in range(b * BLOCK, min(n, (b + 1) * BLOCK)):
            v = (of_document[k] + alpha) * (of_word[k] + beta) * inverse[k]
            p[k] = v
            s += v
        sums[b] = s
        total += s
    return total


@compiled
def gibbs_sweep(
    documents, words, weights, z, counts, alpha, beta, stream, inverse, p, sums
):
    """Draw the topic of every token anew, given those of all others, eq. (3).

    `inverse` is 1 / (n_k + V beta), kept up to date; `p` and `sums` are scratch.
    """
    beta_total = np.float32(len(counts.words) * beta)
    n_topics = len(p)
    for i in range(len(z)):
        d = documents[i]
        w = words[i]
        old = z[i]
        of_document = counts.documents[d]
        of_word = counts.words[w]
        v = weights[i]
        of_document[old] = max(of_document[old] - v, np.float32(0.0))
        of_word[old] = max(of_word[old] - v, np.float32(0.0))
        counts.topics[old] = max(counts.topics[old] - v, np.float32(0.0))
        inverse[old] = 1 / (counts.topics[old] + beta_total)
        total = topic_weights(of_document, of_word, inverse, alpha, beta, p, sums)
        left = np.float32(random_uniform(stream)) * total
        b = 0
        while b < len(sums) - 1 and left >= sums[b]:
            left -= sums[b]
            b += 1
        new = b * BLOCK
        last = min(n_topics, new + BLOCK) - 1
        while new < last and left >= p[new]:
            left -= p[new]
            new += 1
        z[i] = new
        of_document[new] += v
        of_word[new] += v
        counts.topics[new] += v
        inverse[new] = 1 / (counts.topics[new] + beta_total)
