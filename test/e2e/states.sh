#!/bin/sh
# states.sh NUCLEON SOURCE_ROOT BUILD: a program that remembers, in what is made of it and said of it.
# shellcheck source=test/e2e/begin.sh
. "$(dirname "$0")/begin.sh"

# 20 samples of 8 values, one sequence.
/usr/bin/python3 - <<'PYTHON' || fail "no sequence"
import array
header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (20, 8), }"
values = array.array("f", [((i * 37) % 41 - 20) / 16 for i in range(160)])
open("x.npy", "wb").write(b"\x93NUMPY\x01\x00v\x00" + b"%-117s\n" % header + values.tobytes())
open("x.bin", "wb").write(values.tobytes())
PYTHON
"$nucleon" compile "$root/test/e2e/states.pt2" --calibration x.npy -o states.pte -q || fail "is not compiled"

# ---- evaluate: no part of a sequence stands for itself ----

"$nucleon" evaluate states.pte --dataset x.npy --reference "$root/test/e2e/states.pt2" >out || fail "evaluate"
"$nucleon" evaluate states.pte --dataset x.npy --shard 1/2 --json >out 2>err
check "exit code of a shard" [ $? -eq 2 ]
check "a shard: $(cat err)" \
    grep -q -e "--shard 1/2: the program has states, .*: evaluate the whole data set without --shard" err
check "a shard: one line" [ "$(wc -l <err)" -eq 1 ]

[ $failures -eq 0 ] && echo "states: $passes cases are good"
exit $((failures != 0))
