"""The server as a process: many clients, rude clients, and a graceful stop."""

import asyncio
import contextlib
import json
import signal
import socket
import subprocess
import sys
import time
from http.client import HTTPConnection

import numpy as np
import pytest

from pansophy import save
from pansophy.serve import run
from tests.compare.table_models import fitted, people

TABLE = people()
ROW = {"age": 41.5, "city": "Bonn"}
BODY = json.dumps(ROW).encode()
HEAD = (
    b"POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
)
REQUEST = HEAD + b"content-length: %d\r\n\r\n" % len(BODY) + BODY


def start(path):
    """A server on a free port, and the port it says it has taken."""
    code = (
        "from pansophy import serve\n"
        "limits = serve.ServerLimits(head_seconds=3.0, body_seconds=60.0)\n"
        f"serve.run({str(path)!r}, port=0, limits=limits)"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], stderr=subprocess.PIPE, text=True
    )
    for line in child.stderr:
        if "Uvicorn running on" in line:
            return child, int(line.split("http://127.0.0.1:")[1].split()[0])
    raise RuntimeError("the server did not start")


@pytest.fixture(scope="module")
def model():
    return fitted(TABLE.select(["age", "city", "yes"]), "yes", "logistic regression")


@pytest.fixture
def server(model, tmp_path):
    save(model, tmp_path / "m.pansophy")
    child, port = start(tmp_path / "m.pansophy")
    yield child, port
    if child.poll() is None:
        child.kill()
    child.wait(120)
    child.stderr.close()


async def answer(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    at = head.lower().index(b"content-length:") + 15
    body = await reader.readexactly(int(head[at : head.index(b"\r", at)]))
    return int(head[9:12]), body


async def polite(port, n):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    got = []
    for _ in range(n):
        writer.write(REQUEST)
        got.append(await answer(reader))
    writer.close()
    await writer.wait_closed()
    return got


async def rude(port, data):
    """What comes back for bytes that are no request, until it is hung up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    try:
        return await asyncio.wait_for(reader.read(), 120)
    except ConnectionError:  # hung up before all was read, or written
        return b""
    finally:
        writer.transport.abort()  # what was not taken would keep it open
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def crowd(port):
    rng = np.random.default_rng(0)
    noise = [rng.bytes(400) for _ in range(10)]
    slow = [rude(port, b"POST /predict HTT"), rude(port, b"")]
    wide = rude(port, b"GET / HTTP/1.1\r\nx: " + b"a" * 200_000)
    lying = rude(port, HEAD + b"content-length: 99999999999\r\n\r\n")
    jobs = [polite(port, 3) for _ in range(200)]
    jobs += [rude(port, n) for n in noise] + slow + [wide, lying]
    return await asyncio.gather(*jobs)


def test_many_and_rude_clients_then_a_graceful_stop(server, model):
    child, port = server
    got = asyncio.run(crowd(port))
    p = model.predict_proba({"age": [41.5], "city": ["Bonn"]})[0, 1]
    for one in got[:200]:
        assert [status for status, _ in one] == [200, 200, 200]
        found = json.loads(one[0][1])["predictions"][0]["probabilities"]["yes"]
        assert abs(found - p) < 1e-12
    for said in got[200:210]:  # noise is told that it is noise, or hung up on
        assert said[:12] in (b"", b"HTTP/1.1 400", b"HTTP/1.1 408")
    assert [said[:12] for said in got[210:212]] == [b"HTTP/1.1 408"] * 2
    assert got[212][:12] in (b"HTTP/1.1 431", b"")
    assert got[213][:12] == b"HTTP/1.1 413"
    with socket.create_connection(("127.0.0.1", port)) as late:
        half = len(REQUEST) - 4
        late.sendall(REQUEST[:half])
        # whoever comes after it is answered: the server has the half
        with contextlib.closing(HTTPConnection("127.0.0.1", port)) as other:
            other.request("GET", "/health")
            assert other.getresponse().status == 200
        child.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        late.sendall(REQUEST[half:])  # under way: it is answered
        assert late.recv(65536).startswith(b"HTTP/1.1 200")
    log = child.stderr.read()
    assert child.wait(120) in (0, -signal.SIGTERM)
    assert log.count("POST /predict 200") == 601 and "Traceback" not in log
    with pytest.raises(OSError, match=r"refused|reset|timed out"):
        socket.create_connection(("127.0.0.1", port), timeout=1)


def raw_answer(port, *parts):
    """What a client hears that sends everything before it listens."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        for part in parts:
            client.sendall(part)
        heard = b""
        while b"\r\n\r\n" not in heard:
            more = client.recv(65536)
            if not more:
                break
            heard += more
        return heard


def test_long_heads_and_bodies_hear_why_they_are_refused(server):
    _, port = server
    for size in (11_000_000, 30_000_000):  # the limit is 10 million bytes
        head = HEAD + b"content-length: %d\r\n\r\n" % size
        assert raw_answer(port, head, b" " * size).startswith(b"HTTP/1.1 413"), size
    chunk = b"%x\r\n%s\r\n" % (1_000_000, b" " * 1_000_000)
    head = HEAD + b"transfer-encoding: chunked\r\n\r\n"
    heard = raw_answer(port, head, *[chunk] * 12, b"0\r\n\r\n")
    assert heard.startswith(b"HTTP/1.1 413")
    wide = b"GET /health HTTP/1.1\r\nhost: localhost\r\nx: %s\r\n\r\n"
    assert raw_answer(port, wide % (b"a" * 100_000)).startswith(b"HTTP/1.1 431")
    assert raw_answer(port, wide % (b"a" * 1_000_000)).startswith(b"HTTP/1.1 431")
    many = b"GET /health HTTP/1.1\r\nhost: localhost\r\n" + b"x: y\r\n" * 20_000
    assert raw_answer(port, many + b"\r\n").startswith(b"HTTP/1.1 431")
    assert raw_answer(port, wide % (b"a" * 8_000)).startswith(b"HTTP/1.1 200")
    other = b"GET /health HTTP/1.1\r\nhost: evil.example\r\n\r\n"
    assert raw_answer(port, other).startswith(b"HTTP/1.1 421")
    wrong = REQUEST.replace(b"application/json", b"text/plain")
    assert raw_answer(port, wrong).startswith(b"HTTP/1.1 415")


def test_a_port_in_use_is_one_sentence(dummy):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"another program listens on .*:{port}"):
            run(dummy, port=port)
