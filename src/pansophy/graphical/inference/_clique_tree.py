"""Compiled messages between the flat tables of a clique tree.

Table c lies in T[table_ptr[c] : table_ptr[c + 1]], and its axes have the lengths
dims[dim_ptr[c] : dim_ptr[c + 1]]. A smaller table S is read along it through one stride
for each axis of c, 0 for an axis that S lacks. The iteration is an odometer over all
axes but the last, with a plain loop inside.

Arrays that belong together are passed as plain tuples (a NamedTuple would make the call
of a small query several times as long):

    geometry   table_ptr, dims, dim_ptr
    factors    values, clique, start, strides, stride_ptr, observed_ptr, observed,
               observed_stride: the values of all factors, the clique that each is
               multiplied into, where it starts, its strides along the axes of that
               clique, and how observed codes move its start
    links      ends, sep_ptr, near, near_ptr, far, far_ptr: cliques of each edge, where
               its message lies, strides of the message along both cliques
    output     out_clique, out_ptr, out_strides, out_stride_ptr: what to read
"""

import numpy as np

from ...core.loops.compiled import compiled

RESCALE_EVERY = 8  # products after which a table is rescaled, so that none underflows


@compiled
def _multiply_table(T, t0, dims, d0, k, S, s0, strides, q0, digit):
    """T *= S along the axes of T."""
    if k == 0:
        T[t0] *= S[s0]
        return
    last = dims[d0 + k - 1]
    step = strides[q0 + k - 1]
    digit[:k] = 0
    pos, cell = t0, s0
    while True:
        if step == 0:
            v = S[cell]
            for j in range(last):
                T[pos + j] *= v
        else:
            for j in range(last):
                T[pos + j] *= S[cell + j * step]
        pos += last
        i = k - 2
        while i >= 0:
            digit[i] += 1
            cell += strides[q0 + i]
            if digit[i] < dims[d0 + i]:
                break
            cell -= strides[q0 + i] * digit[i]
            digit[i] = 0
            i -= 1
        if i < 0:
            return


@compiled
def _marginalize_table(S, s0, size, T, t0, dims, d0, k, strides, q0, digit):
    """S = the sum of T over the axes that S lacks."""
    S[s0 : s0 + size] = 0.0
    if k == 0:
        S[s0] = T[t0]
        return
    last = dims[d0 + k - 1]
    step = strides[q0 + k - 1]
    digit[:k] = 0
    pos, cell = t0, s0
    while True:
        if step == 0:
            total = 0.0
            for j in range(last):
                total += T[pos + j]
            S[cell] += total
        else:
            for j in range(last):
                S[cell + j * step] += T[pos + j]
        pos += last
        i = k - 2
        while i >= 0:
            digit[i] += 1
            cell += strides[q0 + i]
            if digit[i] < dims[d0 + i]:
                break
            cell -= strides[q0 + i] * digit[i]
            digit[i] = 0
            i -= 1
        if i < 0:
            return


@compiled
def _rescale_table(T, start, end):
    """Divide a table by its largest value and return its logarithm."""
    top = 0.0
    for i in range(start, end):
        top = max(top, T[i])
    if top == 0.0:
        return -np.inf
    for i in range(start, end):
        T[i] /= top
    return np.log(top)


@compiled
def load_factors(T, geometry, factors, codes, digit, n_products):
    """Tables as products of factors at the observed codes; log of their scale."""
    table_ptr, dims, dim_ptr = geometry
    values, clique, start, strides, stride_ptr = factors[:5]
    observed_ptr, observed, observed_stride = factors[5:]
    T[:] = 1.0
    n_products[:] = 0
    scale = 0.0
    for f in range(len(clique)):
        c = clique[f]
        cell = start[f]
        for e in range(observed_ptr[f], observed_ptr[f + 1]):
            cell += observed_stride[e] * codes[observed[e]]
        d0 = dim_ptr[c]
        k = dim_ptr[c + 1] - d0
        _multiply_table(
            T, table_ptr[c], dims, d0, k, values, cell, strides, stride_ptr[f], digit
        )
        n_products[c] += 1
        if n_products[c] % RESCALE_EVERY == 0:
            scale += _rescale_table(T, table_ptr[c], table_ptr[c + 1])
    return scale


@compiled
def pass_messages(T, geometry, M, links, schedule, message, digit, n_products, changed):
    """Send the messages of a schedule (edge, direction); log of their scale.

    A table that has not changed since its last message sends none. `message` is scratch
    for the largest message.
    """
    table_ptr, dims, dim_ptr = geometry
    ends, sep_ptr, near, near_ptr, far, far_ptr = links
    scale = 0.0
    first = sep_ptr[0]  # 0, but not a constant: one version to compile
    for m in range(len(schedule)):
        e, back = schedule[m, 0], schedule[m, 1]
        a, b = ends[e, back], ends[e, 1 - back]
        if not changed[a]:
            continue
        changed[b] = True
        size = sep_ptr[e + 1] - sep_ptr[e]
        da, db = dim_ptr[a], dim_ptr[b]
        ka, kb = dim_ptr[a + 1] - da, dim_ptr[b + 1] - db
        if back == 0:
            A = near
            a0 = near_ptr[e]
            B = far
            b0 = far_ptr[e]
        else:
            A = far
            a0 = far_ptr[e]
            B = near
            b0 = near_ptr[e]
        _marginalize_table(
            message, first, size, T, table_ptr[a], dims, da, ka, A, a0, digit
        )
        scale += _rescale_table(message, first, size)
        m0 = sep_ptr[e]
        for i in range(size):
            new, old = message[i], M[m0 + i]
            M[m0 + i] = new
            message[i] = new / old if old > 0.0 else 0.0
        _multiply_table(T, table_ptr[b], dims, db, kb, message, first, B, b0, digit)
        n_products[b] += 1
        if n_products[b] % RESCALE_EVERY == 0:
            scale += _rescale_table(T, table_ptr[b], table_ptr[b + 1])
    return scale


@compiled
def read_marginals(out, T, geometry, output, digit):
    """Normalised marginals of cliques, end to end; log sum of the first."""
    table_ptr, dims, dim_ptr = geometry
    out_clique, out_ptr, out_strides, out_stride_ptr = output
    scale = 0.0
    for o in range(len(out_clique)):
        c = out_clique[o]
        d0, s0 = dim_ptr[c], out_ptr[o]
        k, size = dim_ptr[c + 1] - d0, out_ptr[o + 1] - s0
        q0 = out_stride_ptr[o]
        _marginalize_table(
            out, s0, size, T, table_ptr[c], dims, d0, k, out_strides, q0, digit
        )
        total = 0.0
        for i in range(s0, s0 + size):
            total += out[i]
        if o == 0:
            scale = np.log(total) if total > 0.0 else -np.inf
        for i in range(s0, s0 + size):
            out[i] = out[i] / total if total > 0.0 else np.nan
    return scale


@compiled
def marginals_of_rows(
    out, log_z, codes, geometry, factors, links, schedule, n_collect, output, widest
):
    """Marginals and log evidence of rows of codes (n, e), one after the other.

    The first n_collect messages of the schedule go to the root, the others back.
    """
    table_ptr, dims = geometry[0], geometry[1]
    T = np.empty(table_ptr[-1])
    M = np.empty(links[1][-1])
    message = np.empty(widest)
    digit = np.zeros(len(dims) + 1, np.int64)
    n_products = np.zeros(len(table_ptr), np.int64)
    changed = np.ones(len(table_ptr), np.bool_)
    for i in range(len(codes)):
        scale = load_factors(T, geometry, factors, codes[i], digit, n_products)
        M[:] = 1.0
        scale += pass_messages(
            T,
            geometry,
            M,
            links,
            schedule[:n_collect],
            message,
            digit,
            n_products,
            changed,
        )
        if n_collect < len(schedule) and scale > -np.inf:
            pass_messages(
                T,
                geometry,
                M,
                links,
                schedule[n_collect:],
                message,
                digit,
                n_products,
                changed,
            )
        scale += read_marginals(out[i], T, geometry, output, digit)
        log_z[i] = scale


@compiled
def multiply_likelihoods(T, geometry, homes, likelihood, like_ptr, observed, digit):
    """Multiply the likelihoods of observed variables into their home tables.

    homes (d, 2) has the table of a variable and its axis there.
    """
    table_ptr, dims, dim_ptr = geometry
    unit = np.zeros(len(dims) + 1, np.int64)
    first = table_ptr[0]
    for o in range(len(observed)):
        v = observed[o]
        c, axis = homes[v, 0], homes[v, 1]
        d0 = dim_ptr[c]
        k = dim_ptr[c + 1] - d0
        unit[axis] = 1
        _multiply_table(
            T, table_ptr[c], dims, d0, k, likelihood, like_ptr[v], unit, first, digit
        )
        unit[axis] = 0


@compiled
def marginal_from_calibrated(
    tables,
    messages,
    geometry,
    links,
    homes,
    likelihood,
    like_ptr,
    observed,
    schedule,
    output,
    widest,
):
    """One marginal of a calibrated tree after likelihoods are entered; log evidence.

    Only messages on the way from the observed variables to the answer are sent.
    """
    table_ptr, dims = geometry[0], geometry[1]
    T = tables.copy()
    M = messages.copy()
    changed = np.zeros(len(table_ptr), np.bool_)
    for o in range(len(observed)):
        changed[homes[observed[o], 0]] = True
    message = np.empty(widest)
    digit = np.zeros(len(dims) + 1, np.int64)
    n_products = np.zeros(len(table_ptr), np.int64)
    out = np.empty(output[1][-1])
    multiply_likelihoods(T, geometry, homes, likelihood, like_ptr, observed, digit)
    scale = pass_messages(
        T, geometry, M, links, schedule, message, digit, n_products, changed
    )
    scale += read_marginals(out, T, geometry, output, digit)
    return out, scale
