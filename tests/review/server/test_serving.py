"""The socket of a server."""

import socket

from devnet.review.server.listening import Listening
from devnet.review.server.serving import bind


def test_no_packet_of_an_answer_waits_until_another_is_acknowledged():
    """Head and body are two packets; without this, each answer would take 40 ms."""
    listener, listening = bind(Listening(port=0))
    with listener, socket.create_connection((listening.host, listening.port)):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
