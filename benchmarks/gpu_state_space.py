"""State-space layers on a CUDA device: correctness, and time against copying.

    python -m benchmarks.gpu_state_space     writes benchmarks/gpu_state_space.md

First the Triton kernels are compared with the recurrence, in float32 and bfloat16. Then
`ssd`, the recurrence of Mamba, is timed forward and backward at 8,192 steps. The floor
is the time to copy the tensors that it must read and write once: x, y, B, C, decays
and gains forward; these, dy and all gradients backward.
"""

import os
import statistics
from pathlib import Path

ROUNDS = 20
SIZES = {"n": 8, "length": 8192, "heads": 24, "P": 64, "N": 16}


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
        for sizes in ((2, 1000, 3, 64, 16), (1, 65, 2, 16, 32), (1, 300, 4, 32, 64)):
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


def time_ssd(dtype):
    import torch

    from pansophy.nn import ssd

    parts = inputs(**SIZES, dtype=dtype)
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

        time = milliseconds(both)
        first = milliseconds(only_forward)
        rows.append(
            f"| ssd {method} | {SIZES} {dtype} | {first:.3f} | {time:.3f} "
            f"| {floor:.3f} | **{time / floor:.2f}** |"
        )
    return rows


def time_layer():
    """A whole Mamba layer in bfloat16, projections included."""
    import torch

    from pansophy.nn import Mamba

    rows = []
    for method in ("triton", "chunked"):
        torch.manual_seed(0)
        layer = Mamba(768, n_states=16, head_size=64, method=method).cuda()
        x = torch.randn(8, 8192, 768, device="cuda", requires_grad=True)

        def step(layer=layer, x=x):
            with torch.autocast("cuda", torch.bfloat16):
                y = layer(x)
            y.float().square().mean().backward()

        time = milliseconds(step)
        peak = torch.cuda.max_memory_allocated() / 2**30
        torch.cuda.reset_peak_memory_stats()
        rows.append(
            f"| Mamba {method} | width 768, 8 x 8192 | | {time:.2f} | "
            f"| {peak:.0f} GiB |"
        )
    return rows


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

    lines = [
        "# State-space layers on a CUDA device",
        "",
        f"{torch.cuda.get_device_name(0)}, torch {torch.__version__}. Times in "
        f"milliseconds, medians of {ROUNDS}; the ratio is that of forward + backward "
        "to the copy. Made by `python -m benchmarks.gpu_state_space`.",
        "",
        "| kernel | sizes | worst difference | |",
        "|---|---|---|---|",
    ]
    timings = [
        "",
        "| kernel | sizes | forward | forward + backward | copy | ratio |",
        "|---|---|---|---|---|---|",
    ]
    jobs = [
        (lines, check_scan),
        (lines, check_ssd),
        (timings, time_scan),
        (timings, lambda: time_ssd(torch.bfloat16)),
        (timings, lambda: time_ssd(torch.float32)),
        (timings, time_layer),
    ]
    for place, job in jobs:
        try:
            rows = job()
        except Exception as error:  # the other rows are still worth having
            rows = [f"| {getattr(job, '__name__', 'timing')} failed | {error} | | |"]
        place += rows
        print("\n".join(rows), flush=True)
    out = Path(os.environ.get("OUT", Path(__file__).parent)) / "gpu_state_space.md"
    out.write_text("\n".join(lines + timings) + "\n", "utf-8")


if __name__ == "__main__":
    main()
