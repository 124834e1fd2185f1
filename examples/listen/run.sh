#!/bin/sh
# Keywords that are found in a stream, latency and memory, on a page; options as of ../run.sh.
here=$(cd "$(dirname "$0")" && pwd)
exec sh "$here/../run.sh" "$here" --stream 1:320 "$@"
