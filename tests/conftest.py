"""Small data, seeds and a server of files for all tests."""

import os
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("devnet", deadline=None, max_examples=60)
settings.load_profile("devnet")


def pytest_generate_tests(metafunc):
    """No test depends on one seed: DEVNET_SEEDS=5 runs each with seeds 0 to 4."""
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(int(os.environ.get("DEVNET_SEEDS", "1"))))


def make_task(seed, n=1200, d=8, n_labelled=20, shift=1.2, dtype=np.float32):
    """Rows, y and truth: anomalies are shifted in three columns, a few of them are labelled."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(n, d)).astype(dtype)
    truth = np.zeros(n, dtype=int)
    truth[: 3 * n_labelled] = 1
    rows[truth == 1, :3] += shift * np.array([1, -1, 1])
    y = np.zeros(n, dtype=int)
    y[:n_labelled] = 1
    return rows, y, truth


def numerical_slope(function, values, step=1e-6):
    """Central differences of a function of an array."""
    slope = np.zeros_like(values)
    for place in np.ndindex(values.shape):
        shifted = [values.copy(), values.copy()]
        shifted[0][place] += step
        shifted[1][place] -= step
        slope[place] = (function(shifted[0]) - function(shifted[1])) / (2 * step)
    return slope


@pytest.fixture
def task(seed):
    return make_task(seed)


class FileServer(ThreadingHTTPServer):
    """Serves `files` on this machine, as well or as badly as a test wants."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _FileHandler)
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.files = {}  # path -> bytes
        self.requests = []  # (path, Range header)
        self.knows_range = True
        self.shift = 0  # bytes by which an answer to a Range begins too late
        self.says_length = True
        self.cut = None  # bytes after which the connection breaks
        self.stall = 0  # seconds before it does
        self.type = "application/octet-stream"
        self.etag = ""


class _FileHandler(BaseHTTPRequestHandler):
    def do_GET(self):
        server, wanted = self.server, self.headers["Range"]
        server.requests.append((self.path, wanted))
        if self.path not in server.files:
            self.send_error(404)
            return
        content = server.files[self.path]
        start = 0
        is_same = self.headers["If-Range"] in (None, server.etag)
        if wanted and server.knows_range and is_same:
            start = int(re.fullmatch(r"bytes=(\d+)-", wanted).group(1)) + server.shift
            if start >= len(content):
                self.send_error(416)
                return
            self.send_response(206)
            last, size = len(content) - 1, len(content)
            self.send_header("Content-Range", f"bytes {start}-{last}/{size}")
        else:
            self.send_response(200)
        if server.says_length:
            self.send_header("Content-Length", str(len(content) - start))
        self.send_header("Content-Type", server.type)
        if server.etag:
            self.send_header("ETag", server.etag)
        self.end_headers()
        self.wfile.write(content[start:][: server.cut])
        time.sleep(server.stall)

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with FileServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()
