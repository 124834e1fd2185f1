#!/bin/sh
# Accuracy, latency and memory of the detector of persons, on a page; options as of ../run.sh.
here=$(cd "$(dirname "$0")" && pwd)
exec sh "$here/../run.sh" "$here" "$@"
