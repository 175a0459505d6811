#!/usr/bin/env python3
"""A FUSE file system that can stop answering.

fuse_server.py SOURCE FOLDER: mounts on FOLDER what stands in SOURCE, files only, for all users, and
prints "ready". It remembers nothing, so that the kernel asks for each use of a name. After SIGUSR1
no request is answered any more. When it ends, what waits for it fails, and FOLDER is unmounted.

FUSE_LOG=FILE: the numbers of the requests, a line each, of processes in this one's process group:
others on the machine may look at what they like. FUSE_ALLOW_OTHER=0: for its user only.
FUSE_DEVICE=FILE: instead of /dev/fuse. FUSE_OWNER=UID: who is said to have mounted it.

Source: include/uapi/linux/fuse.h of the kernel, version 7.31 of the protocol.
"""

import ctypes
import errno
import os
import signal
import stat
import struct
import sys

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE = 1, 2, 3, 14, 15, 17, 18
FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, ACCESS, INTERRUPT, DESTROY, BATCH_FORGET = (
    25, 26, 27, 28, 29, 34, 36, 38, 42)
SILENT = {FORGET, INTERRUPT, DESTROY, BATCH_FORGET}
MAX_WRITE = 128 << 10
NOSUID_NODEV = 2 | 4

source, folder = sys.argv[1:3]
names = sorted(os.listdir(source))
log = open(os.environ.get("FUSE_LOG", os.devnull), "w", buffering=1)
libc = ctypes.CDLL(None, use_errno=True)
answers = True


def stop_answering(*_):
    global answers
    answers = False


def unmount_at_end():
    """A process that outlives this one, however it ends."""
    ours, its = os.pipe()
    if os.fork():
        os.close(ours)
        return its
    os.setsid()
    os.close(its)
    os.read(ours, 1)
    libc.umount2(folder.encode(), 2)  # MNT_DETACH
    os._exit(0)


def is_of_group(pid):
    try:
        return pid != 0 and os.getpgid(pid) == os.getpgrp()
    except ProcessLookupError:
        return False


def attributes(node):
    path = source if node == 1 else os.path.join(source, names[node - 2])
    st = os.stat(path)
    return struct.pack("<6Q10I", node, st.st_size, (st.st_size + 511) // 512, int(st.st_atime),
                       int(st.st_mtime), int(st.st_ctime), 0, st.st_mtime_ns % 10**9, 0, st.st_mode,
                       1, st.st_uid, st.st_gid, 0, 4096, 0)


def serve(opcode, node, body):
    """The answer's body; OSError: its number is the answer."""
    if opcode == INIT:
        major, minor, readahead, flags = struct.unpack_from("<4I", body)
        return struct.pack("<4I2H2I2H8I", 7, min(minor, 31), readahead, 0, 16, 12, MAX_WRITE, 1, 32,
                           0, *[0] * 8)
    if opcode == LOOKUP:
        name = os.fsdecode(body[:-1])
        if node != 1 or name not in names:
            raise OSError(errno.ENOENT, "")
        node = names.index(name) + 2
        return struct.pack("<4Q2I", node, 0, 0, 0, 0, 0) + attributes(node)
    if opcode == GETATTR:
        return struct.pack("<Q2I", 0, 0, 0) + attributes(node)
    if opcode in (OPEN, OPENDIR):
        return struct.pack("<QII", 0, 0, 0)
    if opcode == READ:
        _, offset, size = struct.unpack_from("<QQI", body)
        with open(os.path.join(source, names[node - 2]), "rb") as file:
            return os.pread(file.fileno(), size, offset)
    if opcode == READDIR:
        return b""
    if opcode == STATFS:
        return struct.pack("<5Q4I6I", *[0] * 5, 4096, 255, 4096, 0, *[0] * 6)
    if opcode in (RELEASE, RELEASEDIR, FLUSH, ACCESS):
        return b""
    raise OSError(errno.ENOSYS, "")


def main():
    alive = unmount_at_end()  # pylint: disable=unused-variable
    fd = os.open(os.environ.get("FUSE_DEVICE", "/dev/fuse"), os.O_RDWR)
    owner = os.environ.get("FUSE_OWNER", os.getuid())
    options = f"fd={fd},rootmode={stat.S_IFDIR:o},user_id={owner},group_id={os.getgid()}"
    if os.environ.get("FUSE_ALLOW_OTHER", "1") == "1":
        options += ",allow_other"
    if libc.mount(b"silent", folder.encode(), b"fuse.silent", NOSUID_NODEV, options.encode()):
        sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
    signal.signal(signal.SIGUSR1, stop_answering)
    print("ready", flush=True)
    while True:
        try:
            request = os.read(fd, MAX_WRITE + 4096)
        except OSError as err:
            if err.errno == errno.ENODEV:  # unmounted
                return
            raise
        _, opcode, unique, node = struct.unpack_from("<2I2Q", request)
        if is_of_group(struct.unpack_from("<I", request, 32)[0]):
            print(opcode, file=log)
        if opcode in SILENT or not (answers or opcode == INIT):
            continue
        try:
            error, body = 0, serve(opcode, node, request[40:])
        except OSError as err:
            error, body = -err.errno, b""
        try:
            os.write(fd, struct.pack("<IiQ", 16 + len(body), error, unique) + body)
        except FileNotFoundError:  # it was interrupted
            pass


main()
