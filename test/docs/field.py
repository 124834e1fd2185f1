#!/usr/bin/python3
"""field PATH...: members of the JSON object on standard input, one line: 'field latency_us memory.arena_bytes nodes.0.label'.
A path that ends in '#' gives the number of items."""

import json
import sys


def member(value, path):
    for name in path.rstrip("#").split("."):
        if name:
            value = value[int(name)] if isinstance(value, list) else value[name]
    return len(value) if path.endswith("#") else value


data = json.load(sys.stdin)
values = (member(data, path) for path in sys.argv[1:])
print(*(value if isinstance(value, str) else json.dumps(value) for value in values))
