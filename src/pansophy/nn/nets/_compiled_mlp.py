"""Compiled passes through small MLPs and the step of Adam; see `compiled_mlp`."""

import numpy as np

from ...core.loops.compiled import FASTMATH, compiled


@compiled(inner=True, fastmath=FASTMATH)
def activate_values(z, rectified):
    """g(z) in place, for a vector z: the positive part, or tanh."""
    zero, f1 = np.float32(0.0), np.float32(1.0)
    if rectified:
        for j in range(len(z)):
            z[j] = max(z[j], zero)
        return
    for j in range(len(z)):
        u = min(max(z[j], np.float32(-9.5)), np.float32(9.5)) * np.float32(0.25)
        s = u * u
        top = np.float32(135135.0) + s * (
            np.float32(17325.0) + s * (np.float32(378.0) + s)
        )
        bottom = np.float32(135135.0) + s * (
            np.float32(62370.0) + s * (np.float32(3150.0) + np.float32(28.0) * s)
        )
        t = u * top / bottom
        t = (t + t) / (f1 + t * t)
        z[j] = (t + t) / (f1 + t * t)


@compiled(inner=True, fastmath=FASTMATH)
def _activate_layer(Z, b, rectified, last):
    """g(Z + b) in place, for rows Z; without g in the last layer."""
    n, k = Z.shape
    for i in range(n):
        for j in range(k):
            Z[i, j] += b[j]
        if not last:
            activate_values(Z[i], rectified)


@compiled(inner=True, refcount=True)
def mlp_forward(w, layers, X, H):
    """H_1, ..., H_{L-1} and F one after the other in H; F is returned."""
    n = len(X)
    n_layers = len(layers.weights)
    inputs = X
    offset = 0
    for i in range(n_layers):
        m, k = layers.sizes[i], layers.sizes[i + 1]
        W = w[layers.weights[i] : layers.weights[i] + m * k].reshape(m, k)
        b = w[layers.biases[i] : layers.biases[i] + k]
        Z = H[offset : offset + n * k].reshape(n, k)
        np.dot(inputs, W, Z)
        _activate_layer(Z, b, layers.rectified, i == n_layers - 1)
        inputs = Z
        offset += n * k
    return inputs


@compiled(inner=True, fastmath=FASTMATH)
def mlp_forward_row(w, layers, x, spare, f):
    """Outputs f for one row x; BLAS would copy each matrix for so short a product.

    `spare` (2, widest layer) holds the units of a layer and of the one before it.
    """
    n_layers = len(layers.weights)
    for layer in range(n_layers):
        m, k = layers.sizes[layer], layers.sizes[layer + 1]
        offset, bias = layers.weights[layer], layers.biases[layer]
        last = layer == n_layers - 1
        inputs = x if layer == 0 else spare[(layer - 1) % 2]
        outputs = f if last else spare[layer % 2]
        z = outputs[:k]
        b = w[bias : bias + k]
        for j in range(k):
            z[j] = b[j]
        for i in range(m):
            h = inputs[i]
            if h != np.float32(0.0):
                row = w[offset + i * k : offset + (i + 1) * k]
                for j in range(k):
                    z[j] += h * row[j]
        if not last:
            activate_values(z, layers.rectified)


@compiled(inner=True, fastmath=FASTMATH)
def slope_times(D, H, rectified):
    """D * g'(Z) in place, from H = g(Z)."""
    n, k = D.shape
    zero, f1 = np.float32(0.0), np.float32(1.0)
    for i in range(n):
        if rectified:
            for j in range(k):
                D[i, j] = D[i, j] if H[i, j] > zero else zero
        else:
            for j in range(k):
                D[i, j] *= f1 - H[i, j] * H[i, j]


@compiled(inner=True, fastmath=FASTMATH)
def _sum_rows(D, out):
    """Sums of the columns of D."""
    out[:] = np.float32(0.0)
    for i in range(D.shape[0]):
        for j in range(D.shape[1]):
            out[j] += D[i, j]


@compiled(inner=True, refcount=True)
def mlp_backward(w, g, layers, X, H, D, spare):
    """Gradients of all layers into g; D holds dJ/dF and is overwritten, as `spare`."""
    n = len(X)
    n_layers = len(layers.weights)
    offset = 0
    for i in range(n_layers - 1):
        offset += n * layers.sizes[i + 1]
    for i in range(n_layers - 1, -1, -1):
        m, k = layers.sizes[i], layers.sizes[i + 1]
        W = w[layers.weights[i] : layers.weights[i] + m * k].reshape(m, k)
        G = g[layers.weights[i] : layers.weights[i] + m * k].reshape(m, k)
        d = D[: n * k].reshape(n, k)
        _sum_rows(d, g[layers.biases[i] : layers.biases[i] + k])
        if i == 0:
            np.dot(X.T, d, G)
            break
        offset -= n * m
        inputs = H[offset : offset + n * m].reshape(n, m)
        np.dot(inputs.T, d, G)
        earlier = spare[: n * m].reshape(n, m)
        np.dot(d, W.T, earlier)
        slope_times(earlier, inputs, layers.rectified)
        D, spare = spare, D


@compiled(inner=True, fastmath=FASTMATH)
def adam_step(net, eta):
    """Shorten the gradient to the longest allowed, then one step at the rate eta."""
    w, g, m, v = net.w, net.g, net.m, net.v
    factor = np.float32(1.0)
    if net.clip < np.inf:
        total = 0.0
        for j in range(len(g)):
            total += g[j] * g[j]
        norm = np.sqrt(total)
        if norm > net.clip:
            factor = np.float32(net.clip / norm)
    net.t[0] += np.float32(1.0)
    t = np.float64(net.t[0])
    rate = np.float32(eta / (1.0 - net.beta1**t))
    correction = np.float32(1.0 / np.sqrt(1.0 - net.beta2**t))
    eps = np.float32(net.eps)
    b1, b2 = np.float32(net.beta1), np.float32(net.beta2)
    c1, c2 = np.float32(1.0 - net.beta1), np.float32(1.0 - net.beta2)
    for j in range(len(w)):
        d = g[j] * factor
        m[j] = b1 * m[j] + c1 * d
        v[j] = b2 * v[j] + c2 * d * d
        w[j] -= rate * m[j] / (np.sqrt(v[j]) * correction + eps)
