#!/usr/bin/python3
"""Gives programs that a test has changed the checksum of what they are now: seal.py PROGRAM..."""
import sys
import zlib

HEAD = b'{"crc32":"'

for path in sys.argv[1:]:
    with open(path, 'r+b') as f:
        program = bytearray(f.read())
        digits = slice(program.rindex(HEAD) + len(HEAD), program.rindex(HEAD) + len(HEAD) + 8)
        program[digits] = b'00000000'
        program[digits] = b'%08x' % zlib.crc32(program)
        f.seek(0)
        f.write(program)
