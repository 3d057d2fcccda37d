"""A local file server that behaves as well or as badly as a test needs."""

import re
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FileServer(ThreadingHTTPServer):
    """Serves `files` locally, as well or as badly as a test needs."""

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
