#!/bin/sh
# features.sh NUCLEON SOURCE_ROOT: front ends of sound in front of a network that gives the negative of its input: their
# features next to those of features.py, recordings as files, and by hops.
# shellcheck source=test/e2e/begin.sh
. "$(dirname "$0")/begin.sh"
python=/usr/bin/python3
features=$root/test/e2e/features.py
model=$root/test/e2e/features.pt2

$python "$features" recordings r.npz 60 16000 || fail "no recordings"
for kind in mlperf_kws tf_mfcc; do
    $python "$features" front_end $kind >$kind.json || fail "$kind has no description"
    $python "$features" features $kind r.npz expected.npz || fail "$kind has no features"
    "$nucleon" compile "$model" --front-end $kind.json --no-quantize -o p.pte -q || fail "$kind is not compiled"
    "$nucleon" run p.pte --input r.npz --output got.npz -q || fail "$kind does not run"
    # In units of a hundredth of 0.58, the step of the int8 input of MLPerf Tiny's network.
    $python "$features" compare got.npz expected.npz 0.0058 || fail "$kind is another one"
done

# Files of sound, and hops of them: those of the whole recording, a frame later.
$python "$features" files r.npz wav || fail "no files"
"$nucleon" compile "$model" --front-end tf_mfcc.json --no-quantize -o p.pte -q
"$nucleon" compile "$model" --front-end tf_mfcc.json --no-quantize --stream 1:640 -o s.pte -q
for program in p s; do
    "$nucleon" run $program.pte --input wav --output $program.npz -q || fail "$program does not run"
done
$python "$features" same_by_hops p.npz s.npz 1 || fail "hops give other features"

# LiteRT's micro frontend: each number is that of Python's integers, over 1,029 frames, and in hops, where the estimate
# of the noise is a state.
$python "$features" recordings few.npz 21 16000
$python "$features" files few.npz few
$python "$features" front_end micro >micro.json
$python "$features" features micro few.npz expected.npz || fail "the micro frontend has no features"
"$nucleon" compile "$root/test/e2e/micro.pt2" --front-end micro.json --no-quantize -o m.pte -q || fail "micro is not compiled"
"$nucleon" compile "$root/test/e2e/micro.pt2" --front-end micro.json --no-quantize --stream 1:640 -o t.pte -q
for program in m t; do
    "$nucleon" run $program.pte --input few --output $program.npz -q || fail "$program does not run"
done
$python "$features" compare m.npz expected.npz 1e-9 || fail "the micro frontend is another one"
$python "$features" same_by_hops m.npz t.npz 2 || fail "hops give another micro frontend"

# refuses WORDS COMMAND...: ends with an error that has these words.
refuses() {
    words=$1
    shift
    if "$@" >out 2>&1; then fail "is accepted: $*"; fi
    grep -qF -- "$words" out || fail "'$words' is not in: $(cat out)"
}
describe() { printf '%s\n' "$1" >f.json; }
compile() { "$nucleon" compile "$model" --front-end f.json --no-quantize -o x.pte; }
describe '{"audoi": {}}'
refuses "f.json: audoi: is not known here (did you mean 'audio'?)" compile
describe '{"audio": {"windw": 480}}'
refuses "audio.windw: is not known here (did you mean 'window'?)" compile
describe '{"audio": {"log": "log2"}}'
refuses "audio.log: 'log2' is none of: ln, log10, db, none" compile
describe '{"audio": {"fft": 600}}'
refuses "audio.fft: is 600: powers of two are taken" compile
describe '{"audio": {"coefficients": 12}}'
refuses "features of" compile
describe '{"audio": {"samples": 100, "coefficients": 10}}'
refuses "makes 0 frames of 10 features of 100 samples, and the input 'x'" compile
describe '{"audio": {}, "sensor": {}}'
refuses "is not an object with one member: give one of: audio, image, micro_frontend, sensor" compile
describe '{"audio": {"coefficients": 10, "pad": "zero"}}'
refuses "audio.pad: 'zero' is none of: reflect, zeros" compile
describe '{"audio": {"coefficients": 10, "order": "bands"}}'
refuses "features outermost, and the input 'x'" compile
describe '{"sensor": {"bands": 5, "axes": 2}}'
refuses "of each of 2 axes, and the input 'x'" compile
refuses "micro_frontend: makes 49 frames of 41 features" "$nucleon" compile "$root/test/e2e/micro.pt2" --front-end \
    '{"micro_frontend": {"bands": 41, "samples": 15840}}' --no-quantize -o x.pte
refuses "micro_frontend: has the last bin of its transform between lowest and highest" "$nucleon" compile \
    "$root/test/e2e/micro.pt2" --front-end '{"micro_frontend": {"highest": 8000}}' --no-quantize -o x.pte
refuses "micro_frontend: has a transform of 512: smoothing_bits 2" "$nucleon" compile "$root/test/e2e/micro.pt2" \
    --front-end '{"micro_frontend": {"smoothing_bits": 2}}' --no-quantize -o x.pte
refuses "--front-end: audio.coefficient: is not known here (did you mean 'coefficients'?)" \
    "$nucleon" compile "$model" --front-end ' {"audio": {"coefficient": 10}}' --no-quantize -o x.pte
refuses "the model has 2 inputs, a front end makes the only one" \
    "$nucleon" compile "$root/test/e2e/two_inputs.pt2" --front-end '{"audio": {}}' --no-quantize -o x.pte
$python "$features" wrong_files r.npz wrong || fail "no wrong files"
refuses "has 2 channels, one is taken" "$nucleon" run p.pte --input wrong/stereo.wav
refuses "has 8000 samples a second, the front end takes 16000" "$nucleon" run p.pte --input wrong/slow.wav
refuses "cut it, or compile the model with --stream" "$nucleon" run p.pte --input wrong/long.wav
[ $failures -eq 0 ] || exit 1
