"""State-space layers on a CUDA device: correctness, and time against copying.

    python -m benchmarks.studies.gpu_state_space  writes gpu_state_space.md
    python -m benchmarks.studies.gpu_state_space tune  tries tilings of `ssd`

First the Triton kernels are compared with the recurrence, in float32 and bfloat16. Then
`ssd`, the recurrence of Mamba, is timed forward and backward at 8,192 steps. The floor
is the time to copy the tensors that it must read and write once: x, y, B, C, decays
and gains forward; these, dy and all gradients backward. The whole layer is timed with
its parts: projections, convolution, recurrence, gated norm; then kernel by kernel.
"""

import os
import statistics
import sys
from pathlib import Path

ROUNDS = 20
SIZES = {"n": 8, "length": 8192, "heads": 24, "P": 64, "N": 16}
CHECKED = (
    (2, 1000, 3, 64, 16),
    (1, 65, 2, 16, 32),
    (1, 300, 4, 32, 64),
    (1, 200, 2, 128, 128),
)


def inputs(n, length, heads, P, N, dtype):
    import torch

    torch.manual_seed(0)
    draw = lambda *shape: torch.randn(*shape, device="cuda", dtype=dtype)
    log_a = -0.1 * torch.rand(n, length, heads, device="cuda")
    gain = torch.rand(n, length, heads, device="cuda")
    parts = [draw(n, length, heads, P), log_a, draw(n, length, N), draw(n, length, N)]
    return [p.requires_grad_() for p in (*parts, gain)]


def milliseconds(call):
    """Median time of a call on the device."""
    import torch

    for _ in range(5):
        call()
    found = []
    for _ in range(ROUNDS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        found.append(begin.elapsed_time(end))
    return statistics.median(found)


def device_milliseconds(call, calls=10):
    """Least time of a call as part of a CUDA graph, which the host does not slow."""
    import torch

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            call()
    found = []
    for _ in range(6):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        found.append(begin.elapsed_time(end) / calls)
    return min(found)


def outcome(method, parts):
    import torch

    from pansophy.nn import ssd

    y, h = ssd(*parts, method=method)
    dy = torch.linspace(-1, 1, y.shape[1], device="cuda", dtype=y.dtype)
    value = (y * dy[None, :, None, None]).float().sum() + h.square().sum()
    return [y.detach(), h.detach(), *torch.autograd.grad(value, parts)]


def check_ssd():
    """Largest relative differences from the recurrence in float64."""
    import torch

    rows = []
    for dtype in (torch.float32, torch.bfloat16):
        for sizes in CHECKED:
            parts = inputs(*sizes, dtype)
            exact = [p.detach().double().requires_grad_() for p in parts]
            wanted = outcome("loop", exact)
            for method in ("triton", "chunked"):
                found = outcome(method, parts)
                worst = max(
                    float((a.double() - b).abs().max() / b.abs().max())
                    for a, b in zip(found, wanted)
                )
                limit = 1e-4 if dtype == torch.float32 else 5e-2
                word = "ok" if worst < limit else "WRONG"
                rows.append(
                    f"| ssd {method} | {sizes} {dtype} | {worst:.1e} | {word} |"
                )
    return rows


def check_scan():
    import torch

    from pansophy.nn import scan

    rows = []
    for shape in ((2, 1000, 40), (3, 65, 7), (1, 16_384, 64)):
        a = torch.rand(shape, device="cuda")
        b = torch.randn(shape, device="cuda")
        exact = scan(a.double(), b.double(), method="chunked")
        for method in ("triton", "chunked"):
            h = scan(a, b, method=method)
            worst = float((h.double() - exact).abs().max() / exact.abs().max())
            word = "ok" if worst < 1e-5 else "WRONG"
            rows.append(f"| scan {method} | {shape} | {worst:.1e} | {word} |")
    return rows


def copy_milliseconds(n_bytes):
    """Time to read and write so many bytes in all, by one copy."""
    import torch

    source = torch.empty(max(n_bytes // 2, 1), dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return milliseconds(lambda: target.copy_(source))


def time_ssd(dtype, n=SIZES["n"]):
    import torch

    from pansophy.nn import ssd

    sizes = {**SIZES, "n": n}
    parts = inputs(**sizes, dtype=dtype)
    bytes_of = lambda tensors: sum(t.numel() * t.element_size() for t in tensors)
    x = parts[0]
    once = bytes_of(parts)
    forward = once + bytes_of([x])  # and y
    backward = once + bytes_of([x]) + once  # and dy, and all gradients
    floor = copy_milliseconds(forward + backward)
    dy = torch.randn_like(x)
    rows = []
    for method in ("triton", "chunked"):

        def both(method=method):
            y, _ = ssd(*parts, method=method)
            torch.autograd.grad(y, parts, dy)

        def only_forward(method=method):
            with torch.no_grad():
                ssd(*parts, method=method)

        time = device_milliseconds(both)
        first = device_milliseconds(only_forward)
        rows.append(
            f"| ssd {method} | {tuple(sizes.values())} {dtype} | {first:.3f} "
            f"| {time:.3f} ({milliseconds(both):.3f}) | {floor:.3f} "
            f"| **{time / floor:.2f}** |"
        )
    return rows


def make_layer(method):
    import torch

    from pansophy.nn import Mamba

    generator = torch.Generator().manual_seed(0)
    return Mamba(
        768, n_states=16, head_size=64, method=method, generator=generator
    ).cuda()


def layer_input():
    import torch

    torch.manual_seed(0)
    return torch.randn(8, 8192, 768, device="cuda", requires_grad=True)


def training_step(layer, x):
    import torch

    with torch.autocast("cuda", torch.bfloat16):
        y = layer(x)
    y.float().square().mean().backward()


def check_layer():
    """The fused layer against the torch path in float64, and in bfloat16."""
    import torch

    rows = []
    x = torch.randn(2, 300, 768, device="cuda")
    found = {}
    for method, dtype in (("chunked", torch.float64), ("triton", torch.float32)):
        layer = make_layer(method).to(dtype)
        at = x.to(dtype).requires_grad_()
        y = layer(at)
        y.square().sum().backward()
        found[method] = [y.detach(), at.grad, *(p.grad for p in layer.parameters())]
    worst = max(
        float((a.double() - b).abs().max() / b.abs().max())
        for a, b in zip(found["triton"], found["chunked"])
    )
    word = "ok" if worst < 1e-4 else "WRONG"
    rows.append(f"| Mamba triton | {tuple(x.shape)} float32 | {worst:.1e} | {word} |")
    layer = make_layer("triton")
    with torch.autocast("cuda", torch.bfloat16):
        y = layer(x)
    worst = float((y.double() - found["chunked"][0]).abs().max())
    worst /= float(found["chunked"][0].abs().max())
    word = "ok" if worst < 5e-2 else "WRONG"
    rows.append(f"| Mamba triton | {tuple(x.shape)} bfloat16 | {worst:.1e} | {word} |")
    return rows


def time_layer():
    """A whole Mamba layer in bfloat16, projections included."""
    import torch

    rows = []
    for method in ("triton", "chunked"):
        layer = make_layer(method)
        x = layer_input()
        torch.cuda.reset_peak_memory_stats()
        time = milliseconds(lambda layer=layer, x=x: training_step(layer, x))
        peak = torch.cuda.max_memory_allocated() / 2**30
        rows.append(
            f"| Mamba {method} | width 768, 8 x 8192 | | {time:.2f} | "
            f"| {peak:.0f} GiB |"
        )
    return rows


def time_parts():
    """Parts of the layer of `time_layer`, each forward and forward + backward."""
    import torch
    from torch.nn import functional

    from pansophy.nn.layers._causal_conv_triton import silu_conv, silu_conv_gradient
    from pansophy.nn.layers._gated_norm_triton import gated_norm, gated_norm_gradient

    layer = make_layer("triton")
    half = {"device": "cuda", "dtype": torch.bfloat16}
    x = torch.randn(8, 8192, 768, **half, requires_grad=True)
    inner, channels = layer.inner, layer.channels
    total = inner + channels + layer.heads
    projected = torch.randn(8, 8192, total, **half)
    normed = torch.randn(8, 8192, inner, **half, requires_grad=True)
    W_in = layer.in_projection.weight.detach().bfloat16().requires_grad_()
    W_out = layer.out_projection.weight.detach().bfloat16().requires_grad_()
    dprojected = torch.randn_like(projected)
    dout = torch.randn(8, 8192, 768, **half)

    def projections(backward):
        first = functional.linear(x, W_in)
        second = functional.linear(normed, W_out)
        if backward:
            torch.autograd.grad(first, [x, W_in], dprojected)
            torch.autograd.grad(second, [normed, W_out], dout)

    w = layer.kernel.detach()[:, 0].t().contiguous()
    bias = layer.kernel_bias.detach()
    before = projected[..., inner : inner + channels]
    dbefore = dprojected[..., inner : inner + channels]
    mixed = torch.empty(8, 8192, channels, **half)
    dmixed = torch.randn_like(mixed)

    def convolution(backward):
        silu_conv(before, w, bias, mixed)
        if backward:
            silu_conv_gradient(before, w, bias, dmixed, dbefore)

    y = torch.randn(8, 8192, inner, **half)
    dnormed = torch.randn_like(y)
    gain = layer.gain.detach()

    def norm(backward):
        gated_norm(y, projected[..., :inner], gain, 1e-5)
        if backward:
            dz = dprojected[..., :inner]
            gated_norm_gradient(y, projected[..., :inner], gain, dnormed, dz, 1e-5)

    size = y.numel() * 2
    # bytes read and written: the convolution's and the norm's tensors once each
    floors = {"convolution": 5 * size, "norm": 8 * size}
    rows = []
    for name, part in (
        ("projections", projections), ("convolution", convolution), ("norm", norm),
    ):  # fmt: skip
        both = milliseconds(lambda part=part: part(True))
        with torch.no_grad():
            first = milliseconds(lambda part=part: part(False))
        floor = copy_milliseconds(floors[name]) if name in floors else None
        last = "| | |" if floor is None else f"| {floor:.3f} | **{both / floor:.2f}** |"
        rows.append(
            f"| part: {name} | width 768, 8 x 8192 bfloat16 | {first:.3f} "
            f"| {both:.3f} {last}"
        )
    return rows


def profile_layer():
    """Time of each kernel in five steps of the layer and of `ssd`, longest first."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    from pansophy.nn import ssd

    layer = make_layer("triton")
    x = layer_input()
    parts = inputs(**SIZES, dtype=torch.bfloat16)
    dy = torch.randn_like(parts[0])

    def both():
        y, _ = ssd(*parts, method="triton")
        torch.autograd.grad(y, parts, dy)

    rows = []
    for name, step in (("layer", lambda: training_step(layer, x)), ("ssd", both)):
        step()
        with profile(activities=[ProfilerActivity.CUDA]) as found:
            for _ in range(5):
                step()
            torch.cuda.synchronize()
        events = sorted(found.key_averages(), key=lambda e: -e.device_time_total)
        for event in events[:14]:
            each = event.device_time_total / 5000
            if each > 0.01:
                rows.append(f"| {name} | {event.key[:60]} | {each:.3f} |")
    return rows


def tune():
    """Times of `ssd` forward + backward under other tilings, one change at a time."""
    import torch

    from pansophy.nn import ssd
    from pansophy.nn.layers import _ssd_triton
    from pansophy.nn.layers._ssd_triton import Cut

    cuts = {
        "gradient": [
            Cut(programs, warps, stages, registers)
            for programs in (1024, 3072)
            for warps, registers in ((4, None), (4, 168), (8, None))
            for stages in (1, 3)
        ],
        "output": [
            Cut(programs, 4, stages, registers)
            for programs in (1024, 3072)
            for stages in (1, 3)
            for registers in (None, 128)
        ],
        "states": [Cut(192, 4, 3), Cut(192, 4, 6), Cut(384, 4, 4)],
    }
    for dtype in (torch.bfloat16, torch.float32):
        parts = inputs(**SIZES, dtype=dtype)
        dy = torch.randn_like(parts[0])

        def both(parts=parts, dy=dy):
            y, _ = ssd(*parts, method="triton")
            torch.autograd.grad(y, parts, dy)

        overall = (float("inf"), None)
        chunks = (64, 128, 32) if dtype == torch.bfloat16 else (64, 32)
        for chunk in chunks:
            tiling = _ssd_triton.TILINGS[dtype]._replace(chunk=chunk)
            best = (float("inf"), tiling)
            for kernel in ("gradient", "output", "states"):
                for cut in cuts[kernel]:
                    candidate = best[1]._replace(**{kernel: cut})
                    _ssd_triton.TILINGS[dtype] = candidate
                    try:
                        time = device_milliseconds(both)
                    except Exception as error:
                        print(f"{dtype} {chunk} {kernel} {cut}: {str(error)[:80]}")
                        continue
                    print(f"{dtype} {chunk} {kernel} {cut}: {time:.3f}", flush=True)
                    best = min(best, (time, candidate), key=lambda b: b[0])
            overall = min(overall, best, key=lambda b: b[0])
        print(f"BEST {dtype}: {overall[0]:.3f} {overall[1]}", flush=True)


def time_scan():
    import torch

    from pansophy.nn import scan

    shape = (8, 8192, 1536)
    a = torch.rand(shape, device="cuda")
    b = torch.randn(shape, device="cuda")
    floor = copy_milliseconds(3 * a.numel() * 4)
    rows = []
    for method in ("triton", "chunked"):
        time = milliseconds(lambda method=method: scan(a, b, method=method))
        ratio = time / floor
        rows.append(
            f"| scan {method} | {shape} float32 | {time:.3f} | | {floor:.3f} "
            f"| **{ratio:.2f}** |"
        )
    return rows


def main():
    import torch

    if "tune" in sys.argv[1:]:
        tune()
        return
    lines = [
        "# State-space layers on a CUDA device",
        "",
        f"{torch.cuda.get_device_name(0)}, torch {torch.__version__}. Times in "
        f"milliseconds, medians of {ROUNDS}; the ratio is that of forward + backward "
        "to the copy. Those of `ssd` are times inside a CUDA graph, in brackets called "
        "from Python. Made by `python -m benchmarks.studies.gpu_state_space`.",
        "",
        "| kernel | sizes | worst difference | |",
        "|---|---|---|---|",
    ]
    timings = [
        "",
        "| kernel | sizes | forward | forward + backward | copy | ratio |",
        "|---|---|---|---|---|---|",
    ]
    kernels = ["", "| of | kernel | ms a step |", "|---|---|---|"]
    jobs = [
        (lines, check_scan),
        (lines, check_ssd),
        (lines, check_layer),
        (timings, time_scan),
        (timings, lambda: time_ssd(torch.bfloat16)),
        (timings, lambda: time_ssd(torch.bfloat16, n=32)),
        (timings, lambda: time_ssd(torch.float32)),
        (timings, time_layer),
        (timings, time_parts),
        (kernels, profile_layer),
    ]
    for place, job in jobs:
        try:
            rows = job()
        except Exception as error:  # the other rows are still worth having
            rows = [f"| {getattr(job, '__name__', 'timing')} failed | {error} | | |"]
        place += rows
        print("\n".join(rows), flush=True)
    out = Path(os.environ.get("OUT", Path(__file__).parent)) / "gpu_state_space.md"
    out.write_text("\n".join(lines + timings + kernels) + "\n", "utf-8")


if __name__ == "__main__":
    main()
