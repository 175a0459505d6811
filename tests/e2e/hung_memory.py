"""Spins in a function whose line table is in memory that its handler never brings (userfaultfd), for ever.
    hung_memory.py [nobody]     as that user then: root alone may let the kernel wait for memory"""
import ctypes
import mmap
import os
import sys

SYS_USERFAULTFD = 323  # x86-64
UFFDIO_API, UFFDIO_REGISTER = 0xC018AA3F, 0xC020AA00
BYTES = 1 << 16

libc = ctypes.CDLL(None, use_errno=True)


def map_unserved():
    fd = libc.syscall(SYS_USERFAULTFD, os.O_CLOEXEC)
    if fd < 0:
        sys.exit(77)
    region = mmap.mmap(-1, BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = ctypes.addressof(ctypes.c_char.from_buffer(region))
    api = (ctypes.c_uint64 * 3)(0xAA)
    register = (ctypes.c_uint64 * 4)(address, BYTES, 1)
    if libc.ioctl(fd, ctypes.c_ulong(UFFDIO_API), api) or libc.ioctl(
        fd, ctypes.c_ulong(UFFDIO_REGISTER), register
    ):
        sys.exit(77)
    return region, address


def hung():
    while True:
        spin()


def spin():
    for _ in range(100000):
        pass


# Where the code object keeps its line table: the word that is the table's address.
code = hung.__code__
table = code.co_linetable if hasattr(code, "co_linetable") else code.co_lnotab
words = ctypes.cast(id(code), ctypes.POINTER(ctypes.c_uint64))
places = [i for i in range(40) if words[i] == id(table)]
if not places:
    sys.exit(77)
region, address = map_unserved()
words[places[0]] = address
if sys.argv[1:] == ["nobody"]:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
print("ready", flush=True)
hung()
