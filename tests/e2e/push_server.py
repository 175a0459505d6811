#!/usr/bin/env python3
"""A server that profiles are pushed to, with a script of answers.

push_server.py FOLDER [--tls CERTIFICATE KEY | --port PORT] ANSWER...: prints its port; with one given
it is alone in a network namespace, whose loopback it brings up. Answers come in turn, the
last one for ever:
  CODE                      that status
  CODE:Header=Value         with a header             drop            closes without an answer
  CODE:body=TEXT            with a body               half            closes in the middle of one
  slow                      says nothing for 60 s     flood           an answer that does not end
  partial                   OTLP's partial success: 2 profiles rejected
Each request leaves FOLDER/N.head (a line "METHOD PATH", then its headers) and FOLDER/N.body.
SIGTERM ends it when what it has taken is answered: a request is there with its answer, or neither.
"""
import fcntl
import http.server
import os
import signal
import socket
import ssl
import struct
import sys
import threading
import time

folder, answers = sys.argv[1], sys.argv[2:]
tls = None
if answers[0] == "--tls":
    tls, answers = answers[1:3], answers[3:]
port = 0
if answers[0] == "--port":
    port, answers = int(answers[1]), answers[2:]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        # struct ifreq, <linux/if.h>; SIOCSIFFLAGS, <linux/sockios.h>
        fcntl.ioctl(control, 0x8914, struct.pack("16sH22x", b"lo", 1))  # IFF_UP
os.makedirs(folder, exist_ok=True)
count = 0
being_answered = threading.Lock()


def end(*_):
    with being_answered:
        os._exit(0)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, code, headers=(), body=b""):
        self.send_response(code)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def close(self):
        self.close_connection = True
        self.connection.close()

    def do_POST(self):
        global count
        count += 1
        body = self.rfile.read(int(self.headers["Content-Length"]))
        kind = answers[min(count, len(answers)) - 1]
        if kind == "slow":
            self.keep(body)
            time.sleep(60)
            self.close()
            return
        with being_answered:
            self.keep(body)
            self.answer_as(kind)

    def keep(self, body):
        with open(f"{folder}/{count}.body", "wb") as file:
            file.write(body)
        with open(f"{folder}/{count}.head", "w") as file:
            file.write(f"{self.command} {self.path}\n{self.headers}")

    def answer_as(self, kind):
        if kind == "drop":
            self.close()
        elif kind == "half":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            self.close()
        elif kind == "flood":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            for _ in range(16):
                self.wfile.write(b"x" * (1 << 20))
            self.close()
        elif kind == "partial":
            self.answer(200, body=b"\x0a\x0b\x08\x02\x12\x07no room")
        else:
            code, _, rest = kind.partition(":")
            name, _, value = rest.partition("=")
            if name == "body":
                self.answer(int(code), body=value.encode())
            else:
                self.answer(int(code), [(name, value)] if name else [])

    do_GET = do_PUT = do_POST

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request, address):
        pass


server = Server(("127.0.0.1", port), Handler)
if tls:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*tls)
    server.socket = context.wrap_socket(server.socket, server_side=True)
signal.signal(signal.SIGTERM, end)
print(server.server_address[1], flush=True)
server.serve_forever()
