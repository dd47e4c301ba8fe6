"""Candidate kernels of the state-space layers against those of `nn`, on a CUDA device.

    python -m benchmarks.gpu_candidates

First all tilings are compiled by several processes at once, then timed one by one; with
the best ones the candidates (`gpu_ssd_candidates`, `gpu_conv_candidates`) are compared
with the recurrence in float64 and timed against the kernels of `nn`, interleaved, also
where there are few rows and heads. Every timing goes to `gpu_candidates.txt` in $OUT
(default: here); the end of the output is the summary. It takes three minutes or less.

A candidate may replace a kernel of `nn` if it agrees with the recurrence as well as
that one does and is quicker at (8, 8192, 24) and where there are few rows and heads.
"""

import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.gpu_state_space import SIZES, inputs, milliseconds, outcome

LIMIT = 200  # seconds, after which no further tiling is tried
PROCESSES = 14
COMPILE_LIMIT = 90
OUT = Path(os.environ.get("OUT", Path(__file__).parent))
COMPARED = ((8, 8192, 24), (1, 8192, 24), (1, 65_536, 24), (2, 2048, 8), (32, 2048, 24))

# chunk -> (programs, warps, stages) of states_kernel
STATES = {
    64: [
        (192, 4, 2), (192, 4, 3), (192, 4, 4), (192, 4, 6), (192, 8, 4), (384, 4, 3),
        (384, 4, 4), (384, 4, 6), (384, 2, 4), (768, 4, 4), (768, 2, 4),
    ],
    32: [(192, 4, 4), (192, 4, 6), (384, 4, 4)],
    128: [(192, 4, 2), (192, 4, 3), (384, 4, 3)],
}  # fmt: skip
# chunk -> (warps, stages, registers)
OUTPUT = {
    64: [
        (4, 1, None), (4, 2, None), (4, 3, None), (4, 2, 128), (4, 3, 128),
        (4, 1, 128), (4, 2, 168),
    ],
    32: [(4, 1, None), (4, 2, None), (2, 1, None), (2, 2, None)],
    128: [(8, 1, None), (8, 2, None)],
}  # fmt: skip
GRADIENT = {
    64: [
        (4, 1, None), (4, 2, None), (4, 3, None), (4, 1, 168), (4, 2, 168),
        (4, 3, 168), (4, 1, 128), (8, 1, None), (8, 1, 128),
    ],
    32: [
        (4, 1, None), (4, 1, 168), (4, 1, 128), (4, 2, 168), (2, 1, None), (2, 2, None),
    ],
    128: [(8, 1, None)],
}  # fmt: skip
PROGRAMS = {64: (1024, 2048, 3072, 6144), 32: (2048, 4096, 6144), 128: (1024, 2048)}
# (channels, group) of the convolution, each with these spans
CONVOLUTION = [(64, 8), (128, 8), (128, 4), (256, 8), (256, 4), (64, 16)]
CONVOLUTION_BACK = [(64, 8), (64, 4), (128, 4), (128, 8), (64, 16), (32, 8)]
SPANS = (128, 256)


class Trial(NamedTuple):
    """One tiling of one kernel; its call must be made before the next is drawn."""

    kernel: str
    chunk: int
    tiling: tuple
    call: Any


def ssd_trials(all_programs):
    """Trials of the kernels of `gpu_ssd_candidates`, bfloat16 without a skip."""
    import torch

    from benchmarks import gpu_ssd_candidates as ssd

    x, log_a, B, C, gain = (p.detach() for p in inputs(**SIZES, dtype=torch.bfloat16))
    dy = torch.randn_like(x)
    dx, y = torch.empty_like(x), torch.empty_like(x)
    n, _, heads, P = x.shape
    h0 = x.new_zeros(n, heads, P, B.shape[-1], dtype=torch.float32)

    options: Any = {"rows": (x, B), "skip": False}

    def launch(chunk, **cuts):
        tiling = ssd.HALF_TILING._replace(
            chunk=chunk, **{name: ssd.Cut(*cut) for name, cut in cuts.items()}
        )
        ssd.TILINGS[x.dtype] = tiling
        return ssd.Launch(x, B)

    for chunk, programs in PROGRAMS.items():
        L = launch(chunk)
        sums = L.sums(log_a, gain)
        yield Trial("sums", chunk, (), lambda L=L: L.sums(log_a, gain))
        for cut in STATES[chunk]:
            L = launch(chunk, states=cut)

            def both_ways(L=L, sums=sums):
                L.states(x, sums, B, h0, reverse=False)
                L.states(dy, sums, C, h0, reverse=True)

            yield Trial("states", chunk, cut, both_ways)
        before, dafter = torch.randn(
            2, *L.place_shape, P, B.shape[-1], device=x.device, dtype=x.dtype
        )
        tried = programs if all_programs else programs[:1]
        for shape in OUTPUT[chunk]:
            for number in tried:
                L = launch(chunk, output=(number, *shape))
                tensors = (x, sums, B, C, before, None, y)
                yield Trial(
                    "output", chunk, (number, *shape),
                    lambda L=L, tensors=tensors: L.over_heads(
                        "output", ssd.output_kernel, *tensors, **options
                    ),
                )  # fmt: skip
        dsums = sums.new_empty(3, *sums.shape[1:])
        through = sums.new_empty(*L.place_shape, P)
        for shape in GRADIENT[chunk]:
            for number in tried:
                L = launch(chunk, gradient=(number, *shape))
                dBC = sums.new_empty(2, L.parts("gradient"), *B.shape)
                made = (dx, dsums, through, dBC)
                tensors = (x, sums, B, C, before, None, dy, dafter, *made)
                yield Trial(
                    "gradient", chunk, (number, *shape),
                    lambda L=L, tensors=tensors: L.over_heads(
                        "gradient", ssd.gradient_kernel, *tensors, **options
                    ),
                )  # fmt: skip
        da, dgain = sums.new_empty(2, *x.shape[:3])
        tensors = (dsums, through, da, dgain, None)
        yield Trial(
            "steps", chunk, (),
            lambda L=L, tensors=tensors: L.by_steps(
                ssd.steps_kernel, *tensors, SKIP=False, P=P
            ),
        )  # fmt: skip


def convolution_tensors():
    """Columns of a projected input as in a `Mamba` of width 768; their gradients."""
    import torch

    half: Any = {"device": "cuda", "dtype": torch.bfloat16}
    n, length = SIZES["n"], SIZES["length"]
    wide = torch.randn(n, length, 3128, **half)
    mixed = torch.empty(n, length, 1568, **half)
    w = torch.randn(4, 1568, device="cuda")
    b = torch.randn(1568, device="cuda")
    u, du = (t[..., 1536:3104] for t in (wide, torch.empty_like(wide)))
    return u, w, b, mixed, torch.randn_like(mixed), du


def convolution_trials():
    from benchmarks import gpu_conv_candidates as conv

    u, w, b, mixed, dmixed, du = convolution_tensors()
    for span in SPANS:
        for tiling in CONVOLUTION:
            conv.FORWARD = conv.ConvTiling(*tiling, span)
            call = lambda: conv.silu_conv(u, w, b, mixed)
            yield Trial("convolution", 0, (*tiling, span), call)
        for tiling in CONVOLUTION_BACK:
            conv.BACKWARD = conv.ConvTiling(*tiling, span)
            call = lambda: conv.silu_conv_gradient(u, w, b, dmixed, du)
            yield Trial("convolution back", 0, (*tiling, span), call)


def trials(all_programs):
    yield from ssd_trials(all_programs)
    yield from convolution_trials()


def reason(error) -> str:
    return f"{type(error).__name__}: {str(error)[:90]}".replace("\n", " ")


def compile_share(share):
    """Run every PROCESSES-th trial once, so that Triton's cache has it."""
    import torch

    for k, trial in enumerate(trials(all_programs=False)):
        if k % PROCESSES == share:
            try:
                trial.call()
                torch.cuda.synchronize()
            except Exception as error:
                print("not compiled:", *trial[:3], reason(error), flush=True)


def compile_all():
    command = [sys.executable, "-m", "benchmarks.gpu_candidates", "compile"]
    running = [subprocess.Popen([*command, str(i)]) for i in range(PROCESSES)]
    end = time.monotonic() + COMPILE_LIMIT
    for process in running:
        try:
            process.wait(max(1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()


def sweep(end):
    """Times of every tiling by kernel and chunk, best first."""
    found = defaultdict(list)
    with (OUT / "gpu_candidates.txt").open("w", encoding="utf-8") as file:
        for kernel, chunk, tiling, call in trials(all_programs=True):
            if time.monotonic() > end:
                break
            try:
                took = milliseconds(call)
            except Exception as error:
                file.write(f"{kernel} {chunk} {tiling} {reason(error)}\n")
                continue
            file.write(f"{kernel} {chunk} {tiling} {took:.4f}\n")
            file.flush()
            found[kernel, chunk].append((took, tiling))
    for (kernel, chunk), timed in found.items():
        timed.sort(key=lambda t: t[0])
        best = "  ".join(f"{took:.4f} {tiling}" for took, tiling in timed[:3])
        print(f"{kernel} {chunk}: {best}", flush=True)
    return found


def use_best(found):
    """Give the candidates their best tilings; of chunks the one of the least sum."""
    import torch

    from benchmarks import gpu_conv_candidates as conv
    from benchmarks import gpu_ssd_candidates as ssd

    kernels = ("sums", "states", "output", "gradient", "steps")
    totals = {
        chunk: sum(found[kernel, chunk][0][0] for kernel in kernels)
        for chunk in PROGRAMS
        if all(found[kernel, chunk] for kernel in kernels)
    }
    chosen: dict[str, Any] = {"sums of the best": totals}
    if totals:
        chunk = min(totals, key=lambda c: totals[c])
        best = {k: found[k, chunk][0][1] for k in ("states", "output", "gradient")}
        tiling = ssd.Tiling(chunk, **{k: ssd.Cut(*cut) for k, cut in best.items()})
        ssd.TILINGS[torch.bfloat16] = ssd.TILINGS[torch.float16] = tiling
        chosen |= {"chunk": chunk, **best}
    for name, kernel in (("FORWARD", "convolution"), ("BACKWARD", "convolution back")):
        if found[kernel, 0]:
            setattr(conv, name, conv.ConvTiling(*found[kernel, 0][0][1]))
            chosen[kernel] = found[kernel, 0][0][1]
    print("chosen", json.dumps(chosen), flush=True)


def candidate_outcome(parts):
    """`gpu_state_space.outcome` of the candidates."""
    import torch

    from benchmarks.gpu_ssd_candidates import CandidateSSD

    x, _, B, *_ = parts
    n, length, heads, P = x.shape
    h0 = torch.zeros(n, heads, P, B.shape[-1], device=x.device)
    y, h = CandidateSSD.apply(*parts, h0, None)
    dy = torch.linspace(-1, 1, length, device=x.device, dtype=y.dtype)
    value = (y * dy[None, :, None, None]).float().sum() + h.square().sum()
    return [y.detach(), h.detach(), *torch.autograd.grad(value, parts)]


def largest_difference(found, wanted) -> float:
    return max(
        float((a.double() - b).abs().max() / b.abs().max())
        for a, b in zip(found, wanted)
    )


def check():
    """Largest relative differences of both from the recurrence in float64."""
    import torch

    for sizes in ((2, 1000, 3, 64, 16), (1, 65, 2, 16, 32), (1, 200, 2, 128, 128)):
        for dtype in (torch.bfloat16, torch.float32):
            parts = inputs(*sizes, dtype)
            exact = [p.detach().double().requires_grad_() for p in parts]
            wanted = outcome("loop", exact)
            ours = largest_difference(outcome("triton", parts), wanted)
            theirs = largest_difference(candidate_outcome(parts), wanted)
            print(f"difference {sizes} {dtype} nn {ours:.1e} candidate {theirs:.1e}")


def compare():
    """Candidates and kernels of `nn` in turn, forward + backward."""
    import torch

    from benchmarks import gpu_conv_candidates as conv
    from benchmarks.gpu_ssd_candidates import CandidateSSD
    from pansophy.nn import _causal_conv_triton as own_conv
    from pansophy.nn._ssd_triton import TritonSSD

    for sizes in COMPARED:
        n, _, heads = sizes
        parts = inputs(*sizes, SIZES["P"], SIZES["N"], torch.bfloat16)
        h0 = torch.zeros(n, heads, SIZES["P"], SIZES["N"], device="cuda")
        D = torch.zeros(heads, device="cuda")
        dy = torch.randn_like(parts[0])

        def both(function, skip, parts=parts, h0=h0, dy=dy):
            y, _ = function.apply(*parts, h0, skip)
            torch.autograd.grad(y, parts, dy)

        took = defaultdict(list)
        for _ in range(2):
            for name, function in (("nn", TritonSSD), ("candidate", CandidateSSD)):
                call = lambda function=function, both=both, D=D: both(function, D)
                took[name].append(round(milliseconds(call), 3))
        bare = milliseconds(lambda both=both: both(CandidateSSD, None))
        took["candidate without skip"].append(round(bare, 3))
        print(f"ssd {sizes} {dict(took)}", flush=True)
    u, w, b, mixed, dmixed, du = convolution_tensors()
    took = defaultdict(list)
    for _ in range(2):
        for name, module in (("nn", own_conv), ("candidate", conv)):

            def both_ways(module=module):
                module.silu_conv(u, w, b, mixed)
                module.silu_conv_gradient(u, w, b, dmixed, du)

            took[name].append(round(milliseconds(both_ways), 3))
    print(f"convolution {dict(took)}", flush=True)


def main():
    if sys.argv[1:2] == ["compile"]:
        compile_share(int(sys.argv[2]))
        return
    end = time.monotonic() + LIMIT
    compile_all()
    use_best(sweep(end))
    for stage in (compare, check):
        try:
            stage()
        except Exception as error:  # the other stage is still worth having
            print(stage.__name__, "failed:", reason(error), flush=True)


if __name__ == "__main__":
    main()
