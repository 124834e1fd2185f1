#!/bin/sh
# stream.sh NUCLEON SOURCE_ROOT: a network over a window of 64 frames, and what --stream makes of it.
# shellcheck source=test/e2e/begin.sh
. "$(dirname "$0")/begin.sh"
model=$root/test/e2e/stream.pt2

# 6 recordings of 4 channels and 64 frames.
/usr/bin/python3 - <<'PYTHON' || fail "no recordings"
import array
header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (6, 4, 64), }"
values = array.array("f", [((i * 37) % 101 - 50) / 32 + ((i // 64) % 3) / 8 for i in range(6 * 4 * 64)])
open("x.npy", "wb").write(b"\x93NUMPY\x01\x00v\x00" + b"%-117s\n" % header + values.tobytes())
PYTHON

# outputs NAME OPTIONS: compiles, runs over the recordings, and takes the values of the output.
outputs() {
    name=$1
    shift
    "$nucleon" compile "$model" "$@" -o "$name.pte" >"$name.out" 2>&1 || fail "$name: $(cat "$name.out")"
    "$nucleon" run "$name.pte" --input x.npy --output "$name.npz" -q && unzip -q -o "$name.npz" out0.npy ||
        fail "$name: does not run"
    tail -c $((6 * 2 * 64 * 4)) out0.npy >"$name.values"
}

# same NAME HOP: hops of [2, HOP] one after the other are the whole's [2, 64].
same() {
    /usr/bin/python3 - "$1" "$2" <<'PYTHON'
import array, sys
name, hop = sys.argv[1], int(sys.argv[2])
read = lambda file: array.array("f", open(file, "rb").read())
whole, stream = read(name + ".values"), read(name + "_stream.values")
joined = array.array("f", [stream[((r * 64 // hop + t // hop) * 2 + c) * hop + t % hop]
                           for r in range(6) for c in range(2) for t in range(64)])
sys.exit(joined.tobytes() != whole.tobytes() or len(set(whole)) < 50)
PYTHON
}

for hop in 1 4 16; do
    outputs real --no-quantize
    outputs real_stream --no-quantize --stream 2:$hop
    check "float, a hop of $hop: the stream differs" same real $hop
    outputs int8 --calibration x.npy
    outputs int8_stream --calibration x.npy --stream -1:$hop
    check "int8, a hop of $hop: the stream differs" same int8 $hop
done

# ---- what is said of it ----

outputs int8_stream --calibration x.npy --stream 2
check "the least hop" grep -q "stream *a hop of 1 frame, 0 late" int8_stream.out
"$nucleon" inspect int8_stream.pte >out || fail "inspect"
check "rings of the minimum: 2 and 8 frames" [ "$(sed -n "s/^  state '[^']*', \([0-9]*\) bytes.*/\1/p" out | sort | tr '\n' ' ')" = "64 8 " ]
"$nucleon" explain "$model" --calibration x.npy --stream 2:4 >out || fail "explain"
check "explain: work" grep -q "^a hop of 4 frames of a window of 64: 1,216 of 19,456 multiply-accumulates, " out
check "explain: memory" grep -q "^results come 0 frames late; earlier frames take 72 bytes$" out
"$nucleon" explain "$model" --calibration x.npy --stream 2:4 --json >out || fail "explain as JSON"
check "explain as JSON" grep -q '"stream": {"hop": 4, "window": 64, "latency": 0, "ring_bytes": 72, "macs": 1216' out

# ---- what is refused ----

# refused STATUS TEXT OPTION
refused() {
    "$nucleon" compile "$model" --calibration x.npy -o no.pte --stream "$3" >out 2>&1
    status=$?
    check "--stream $3: exit code $status" [ $status -eq "$1" ]
    check "--stream $3: $(cat out)" grep -q -e "$2" out
}
refused 2 "input 'x' is float32\[1, 4, 64\] and has no axis 5: give one from 0 to 2" 5
refused 2 "a hop of 65 frames: axis 2 of input 'x' has 64: give a hop from 1 to that" 2:65
refused 2 "'time' is not AXIS or AXIS:HOP: give the input's axis of time and frames of a hop, as 2:10" time
refused 1 "reads the axis as a whole, and nothing in front of it is saved by a stream: compile the network without --stream" 1
