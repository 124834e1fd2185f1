#!/bin/sh
# AUC, faults found, latency and memory of the anomaly detector, on a page; options as of ../run.sh.
here=$(cd "$(dirname "$0")" && pwd)
exec sh "$here/../run.sh" "$here" "$@"
