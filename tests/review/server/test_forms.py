"""Forms that arrive slowly, or not at all."""

import logging
import socket
import threading
import time
from contextlib import contextmanager

import pytest
from support.review_site import Notes

from devnet.review.server.doors import LocalDoor
from devnet.review.server.listening import Listening
from devnet.review.server.serving import bind, make_server

HEAD = (
    "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n"
    "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\na=b"
)


@contextmanager
def serving():
    """Where a site is served."""
    sock, listening = bind(Listening(port=0))
    server = make_server(Notes(LocalDoor(), listening).app, listening)
    with sock:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
        thread.start()
        try:
            yield listening
        finally:
            server.should_exit = True
            thread.join()


def begin(listening, path):
    """A connection on which the beginning of a form was sent."""
    connection = socket.create_connection((listening.host, listening.port), timeout=20)
    connection.sendall(HEAD.format(path=path, port=listening.port).encode())
    return connection


@pytest.mark.parametrize("path", ["/keep", "/sign-in"])
def test_a_form_that_breaks_off_leaves_one_line_in_the_log(path, caplog):
    caplog.set_level(logging.INFO)
    with serving() as listening:
        begin(listening, path).close()
        deadline = time.monotonic() + 20
        while not any(path in one.getMessage() for one in caplog.records):
            assert time.monotonic() < deadline
            time.sleep(0.01)
    own = [one for one in caplog.records if not one.name.startswith(("uvicorn", "asyncio"))]
    assert [one.getMessage().rpartition(" 400 ")[0] for one in own] == [f"POST {path}"]
    assert not any(one.exc_info or one.levelno > logging.INFO for one in caplog.records)


@pytest.mark.parametrize("path", ["/keep", "/sign-in"])
def test_a_form_that_never_ends_is_not_waited_for(path, monkeypatch):
    monkeypatch.setattr("devnet.review.server.forms.MOST_SECONDS", 0.2)
    with serving() as listening, begin(listening, path) as connection:
        answer = b""
        while part := connection.recv(65_536):  # until the server closes the connection
            answer += part
    head, _, page = answer.decode().partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 408 ")
    assert "did not arrive within 0 seconds; send it again" in page
