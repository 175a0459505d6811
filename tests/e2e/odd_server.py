#!/usr/bin/env python3
"""A debuginfod server with a fault of choice.

odd_server.py KIND [FILE]: prints its port, then a line "METHOD PATH" for each request to stderr.
  unknown   404 for everything          hang     takes the request and says nothing
  drip      a byte each half second     die      closes in the middle of the file
  garbage   bytes of no format          serve    FILE, whatever build ID is asked for
  error     500 for everything          nosections  as serve, but 503 for sections
  huge      a terabyte, it says         close    closes without a word
  bomb      zeros, 200 MiB in less than 1 MiB of gzip: more takes a busy machine longer to unpack than
            the report waits
"""
import http.server
import struct
import subprocess
import sys
import time
import zlib

kind = sys.argv[1]
content = open(sys.argv[2], "rb").read() if len(sys.argv) > 2 else b"\x00garbage\n" * 1000


def section(name):
    """The bytes of one section of FILE, None when it has none."""
    run = subprocess.run(["readelf", "-SW", sys.argv[2]], capture_output=True, text=True)
    for line in run.stdout.splitlines():
        words = line.split("]", 1)[-1].split()
        if words and words[0] == name and words[1] != "NOBITS":
            offset, size = int(words[3], 16), int(words[4], 16)
            return content[offset:offset + size]
    return None


def gzip_of_zeros(mib):
    """One MiB is compressed; its block, which refers to none before it, stands there so often."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    zeros = bytes(1 << 20)
    block = packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH)
    crc = 0
    for _ in range(mib):
        crc = zlib.crc32(zeros, crc)
    head = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
    end = zlib.compressobj(9, zlib.DEFLATED, -15).flush()
    return head + block * mib + end + struct.pack("<II", crc, mib << 20 & 0xFFFFFFFF)


bomb = gzip_of_zeros(200) if kind == "bomb" else b""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def begin(self, length):
        self.send_response(200)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def refuse(self, code):
        self.send_response(code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self):
        print("GET", self.path, file=sys.stderr, flush=True)
        body = content
        if "/section/" in self.path and kind == "serve":
            body = section(self.path.rsplit("/", 1)[1])
        if kind == "hang":
            time.sleep(300)
        elif kind == "unknown" or body is None:
            self.refuse(404)
        elif kind == "error":
            self.refuse(500)
        elif kind == "nosections" and "/section/" in self.path:
            self.refuse(503)
        elif kind == "huge":
            self.begin(1 << 40)
            while True:
                self.wfile.write(body)
                time.sleep(0.01)
        elif kind == "bomb":
            self.send_response(200)
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(bomb)))
            self.end_headers()
            self.wfile.write(bomb)
        elif kind == "close":
            self.close_connection = True
        elif kind == "drip":
            self.begin(100000)
            for _ in range(600):
                self.wfile.write(b"x")
                self.wfile.flush()
                time.sleep(0.5)
        elif kind == "die":
            self.begin(1000000)
            self.wfile.write(body)
            self.wfile.flush()
            time.sleep(0.2)
            self.close_connection = True
            self.connection.close()
        else:
            self.begin(len(body))
            self.wfile.write(body)

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass


server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
