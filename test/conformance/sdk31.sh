#!/bin/sh
# sdk31.sh NUCLEON DIR: the CifarNet of the reference data below DIR by the rules of sdk-3.1, as the integration test of
# that generation's backend counts it with the NPU's format conversion off: 45 nodes delegated in one partition, 11
# others. Those 11 are the nodes outside, the allocation of a result for each of them, and the call's getitem.
set -u
[ $# -eq 2 ] || { echo "usage: sdk31.sh NUCLEON DIR" >&2; exit 2; }
model=$2/models/cifar10/contiguous/cifar10.qdq.pt2
[ -f "$model" ] || { echo "sdk31.sh: no $model" >&2; exit 2; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
"$1" compile "$model" --converter-flavor sdk-3.1 --neutron-format-conversion off --reference-compat \
    -o "$work/cifar10.pte" --json >"$work/out" || exit 1
"$1" explain "$model" --converter-flavor sdk-3.1 --reference-compat --json >"$work/nodes" || exit 1
set -- $(jq '[.nodes[] | select((.partition // "") | startswith("tag"))] | length' "$work/nodes") \
    $(jq '[.nodes[] | select(has("partition"))] | length' "$work/nodes") \
    $(sed -n 's/^ *"partitions": \([0-9]*\),*$/\1/p' "$work/out")
[ $# -eq 3 ] || { echo "sdk31.sh: no figures in: $(cat "$work/out")" >&2; exit 1; }
others=$((2 * ($2 - $1) + 1))
echo "sdk31: CifarNet $1 nodes delegated in $3 partition, $others others"
[ "$1" -eq 45 ] && [ "$3" -eq 1 ] && [ $others -eq 11 ]
