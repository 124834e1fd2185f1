#!/bin/sh
# Precision, latency and memory of the detector of persons and animals, on a page; options as of ../run.sh.
here=$(cd "$(dirname "$0")" && pwd)
exec sh "$here/../run.sh" "$here" "$@"
