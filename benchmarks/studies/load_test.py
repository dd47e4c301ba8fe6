"""How many requests of one row a served model answers on one core.

    python -m benchmarks.studies.load_test [--seconds 5] [--clients 1 32 200]

Fits a linear model, a booster, a forest and their blend on a table of 30 columns,
serves each in a process pinned to one core, and posts single rows over keep-alive
connections from another core. Prints requests a second, also a second of the server's
own processor time (what a core of its own would give), and the times of half and of
99 % of them.
"""

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import numpy as np

PARTS = ["logistic regression", "gradient boosting", "random forest", "blend"]


def table(n=4000, seed=0):
    """Rows with 24 numbers, 6 categories, gaps, and a class."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 24))
    columns = {f"x{j}": X[:, j] for j in range(24)}
    columns["x3"] = np.where(rng.random(n) < 0.1, np.nan, columns["x3"])
    for j in range(6):
        columns[f"k{j}"] = rng.choice([f"level {i}" for i in range(4 + 5 * j)], n)
    score = X[:, 0] - X[:, 1] * X[:, 2] + (columns["k0"] == "level 1")
    columns["y"] = np.where(score + rng.normal(size=n) > 0.3, "yes", "no")
    return pa.table(columns)


def save_models(names, folder, rows):
    """Files of fitted models, by name of the method."""
    from pansophy import persist
    from pansophy.compare import compare

    out = {}
    for name in names:
        named = PARTS if name == "blend" else [name]
        result = compare(rows, "y", methods=named, folds=2, repeats=1, progress=False)
        result.winner = name
        out[name] = os.path.join(folder, f"{name.replace(' ', '_')}.pansophy")
        persist.save(result.model, out[name])
    return out


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(path, port, core):
    """A server on one core; waits until it answers."""
    code = (
        f"import os; os.sched_setaffinity(0, {{{core}}})\n"
        f"from pansophy import serve; serve.run({path!r}, port={port}, log='info')"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    for _ in range(300):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1).read()
            return child
        except OSError:
            time.sleep(0.1)
    child.kill()
    raise RuntimeError("the server did not start")


def cpu_seconds(pid) -> float:
    """Processor time of a process so far: its share of a busy machine cancels out."""
    with open(f"/proc/{pid}/stat") as file:
        parts = file.read().rsplit(")", 1)[1].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


async def client(port, request, until, times, wrong):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.perf_counter() < until:
        begun = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        at = head.lower().index(b"content-length:") + 15
        await reader.readexactly(int(head[at : head.index(b"\r", at)]))
        times.append(time.perf_counter() - begun)
        wrong += [head] if b" 200 " not in head[:15] else []
    writer.close()


async def load(port, body, clients, seconds):
    """(requests a second, median, 99 %, refused)."""
    head = f"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n"
    request = head.encode() + b"content-type: application/json\r\n\r\n" + body
    times, wrong, begun = [], [], time.perf_counter()
    until = begun + seconds
    await asyncio.gather(
        *(client(port, request, until, times, wrong) for _ in range(clients))
    )
    spent = time.perf_counter() - begun
    half, most = np.quantile(times, [0.5, 0.99])
    return len(times) / spent, 1000 * half, 1000 * most, len(wrong)


def main():
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--seconds", type=float, default=5.0)
    ask.add_argument("--clients", type=int, nargs="+", default=[1, 32, 200])
    ask.add_argument("--methods", nargs="+", default=PARTS)
    given = ask.parse_args()
    rows = table()
    body = json.dumps(rows.drop(["y"]).slice(7, 1).to_pylist()[0]).encode()
    with tempfile.TemporaryDirectory() as folder:
        files = save_models(given.methods, folder, rows)
        for name, path in files.items():
            port = free_port()
            child = start(path, port, 0)
            os.sched_setaffinity(0, {1 % os.cpu_count()})
            for clients in given.clients:
                asyncio.run(load(port, body, clients, 0.5))
                before = cpu_seconds(child.pid)
                rate, half, most, wrong = asyncio.run(
                    load(port, body, clients, given.seconds)
                )
                spent = cpu_seconds(child.pid) - before
                print(
                    f"{name:20} {clients:4} clients {rate:7.0f} requests/s, "
                    f"{rate * given.seconds / spent:6.0f} a core second   "
                    f"p50 {half:6.1f} ms   p99 {most:6.1f} ms   refused {wrong}",
                    flush=True,
                )
            child.send_signal(signal.SIGTERM)
            child.wait(30)


if __name__ == "__main__":
    main()
