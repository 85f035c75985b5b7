"""A relay between a client and a server. It can cut connections as a failing network does."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

LOOPBACK = "127.0.0.1"


class Relay:
    """Listens on `port` and forwards everything. `cut` ends all open connections without a message; `lose_answer_to`
    does so when the server has answered a message with the given text."""

    def __init__(self, host: str, port: int) -> None:
        self._server = host, port
        self._listener = socket.create_server((LOOPBACK, 0))
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self._text: bytes | None = None
        self._asked: socket.socket | None = None
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self) -> Relay:
        return self

    def __exit__(self, *exc: object) -> None:
        with suppress(OSError):  # this ends a thread that waits for a client
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def lose_answer_to(self, text: bytes) -> None:
        self._text = text

    def cut(self) -> None:
        with self._lock:
            for end in self._open:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()
            self._open.clear()

    def _listen(self) -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                with self._lock:
                    self._open += [client, server]
                for source, sink in ((client, server), (server, client)):
                    threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):  # one of the ends has closed its connection
            while data := source.recv(65536):
                if self._text and self._text in data:
                    self._text, self._asked = None, sink
                if source is self._asked:
                    self.cut()
                sink.sendall(data)
        with suppress(OSError):  # close the other end too
            sink.shutdown(socket.SHUT_WR)
