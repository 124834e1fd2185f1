#!/bin/sh
# cortexm.sh NUCLEON SOURCE: operators of the digits network forced to the CPU one kind after the other. No float
# operator is left, and the outputs are those of the program that runs on the NPU alone.
# shellcheck source=test/e2e/begin.sh
. "$(dirname "$0")/begin.sh"

# run_program NAME OPTIONS...: compiles the quantized model, runs all samples; operators in NAME.txt, outputs in NAME.npz.
run_program() {
    name=$1
    shift
    "$nucleon" compile q.pt2 "$@" --io int8 --dump-after lower -o "$name.pte" >"$name.txt" 2>err ||
        { fail "$name: $(cat err)"; return; }
    "$nucleon" run "$name.pte" -i "$digits/calibration.npz" -o "$name.npz" >/dev/null 2>err ||
        fail "$name: $(cat err)"
    ! grep '^%' "$name.txt" | grep -E ': float32' | grep -vE '= (parameter|input|buffer|constant) ' ||
        fail "$name: float operators"
}

"$nucleon" quantize "$digits/digits.pt2" --calibration "$digits/calibration.npz" -o q.pt2 >/dev/null ||
    fail "quantize"
run_program npu --target imxrt700cm
for ops in 'aten.convolution*' 'aten.add*' 'aten.addmm*' 'aten._softmax*' 'aten.hardtanh*' '*'; do
    run_program cpu --target imxrt700cm --operators-not-to-delegate "$ops"
    cmp -s npu.npz cpu.npz || fail "$ops on the CPU: other outputs"
done
for target in cortex-m33 cortex-m55 cortex-m0plus; do
    run_program "$target" --target "$target"
    cmp -s npu.npz "$target.npz" || fail "$target: other outputs"
done
run_program only --target cortex-m33 --executorch-ops-only
! grep -q 'edge.nucleon.quantized' only.txt || fail "--executorch-ops-only: an operator of our own"
# Depthwise layers whose results lie over their inputs, where that saves memory.
grep -q 'edge.nucleon.quantized_depthwise' cortex-m33.txt || fail "no depthwise layer over its input"
"$nucleon" compile "$root/examples/scenes/scenes.pt2" --calibration "$root/examples/scenes/calibration.npz" --target cortex-m33 \
    --dump-after lower -o apart.pte >apart.txt 2>err || fail "apart: $(cat err)"
grep -q 'edge.cortex_m.quantized_depthwise' apart.txt || fail "apart: no depthwise layer"
! grep -q 'edge.nucleon.quantized_depthwise' apart.txt || fail "a depthwise layer over its input saves nothing"
# In strips of rows, where a budget asks for it: the same bytes.
arena() {
    sed -n 's/.*arena \([0-9,]*\) bytes.*/\1/p' "$1.txt" | tr -d ,
}
plain=$(arena cortex-m33)
budget=$((plain * 3 / 4))
run_program strips --target cortex-m33 --memory-budget "$budget"
cmp -s npu.npz strips.npz || fail "strips: other outputs"
[ "$(arena strips)" -le "$budget" ] || fail "strips: more than the budget"
tr -d , <strips.txt | grep -q "^  strips    [0-9]* in [0-9]* stages* .* % more cycles: $plain bytes without$" || fail "strips: not printed"
"$nucleon" compile q.pt2 --target cortex-m33 --io int8 --memory-budget 64 -o no.pte >/dev/null 2>err
[ $? -eq 3 ] || fail "a budget of 64 bytes: exit code"
grep -q 'in strips the least found is' err || fail "a budget of 64 bytes: $(cat err)"
[ ! -e no.pte ] || fail "a budget of 64 bytes: a program was written"
# What it names can be asked for.
least=$(sed -n 's/.*the least found is \([0-9]*\),.*/\1/p' err)
"$nucleon" compile q.pt2 --target cortex-m33 --io int8 --memory-budget "$least" -o least.pte >/dev/null 2>err ||
    fail "a budget of the least found: $(cat err)"
"$nucleon" compile q.pt2 --memory-budget 64 -o no.pte >/dev/null 2>err
least=$(sed -n 's/.*with --plan-delegate-scratch the least found is \([0-9]*\),.*/\1/p' err)
scratch=$(sed -n 's/.*NPU scratch \([0-9]*\)).*/\1/p' err)
"$nucleon" compile q.pt2 --memory-budget "${scratch:-1}" -o no.pte >/dev/null 2>err
grep -q "try --plan-delegate-scratch, with which it takes $scratch to $least\$" err ||
    fail "what the scratch may have room for: $(cat err)"
"$nucleon" compile q.pt2 --memory-budget "${least:-1}" -o no.pte >/dev/null 2>err
grep -q "with --plan-delegate-scratch it takes $least\$" err || fail "the scratch inside is not named: $(cat err)"
"$nucleon" compile q.pt2 --memory-budget "${least:-1}" --plan-delegate-scratch -o least.pte >/dev/null 2>err ||
    fail "a budget of the scratch inside: $(cat err)"
"$nucleon" explain q.pt2 --target cortex-m33 --io int8 --memory-budget "$budget" >explained.txt 2>err ||
    fail "explain: $(cat err)"
grep -q 'which fit the memory budget' explained.txt || fail "explain: strips are not printed"
"$nucleon" explain q.pt2 --target cortex-m33 --io int8 --memory-budget 64 >explained.txt 2>err
[ $? -eq 3 ] || fail "explain, a budget of 64 bytes: exit code"
"$nucleon" explain q.pt2 --cpu float --memory-budget 64 >explained.txt 2>err
grep -q 'has no effect here' err || fail "explain, no int8 kernels: $(cat err)"
"$nucleon" targets >targets.txt
for target in imxrt700 imxrt700cm cortex-m33 cortex-m55 cortex-m85 cortex-m0plus; do
    grep -qx "$target" targets.txt || fail "targets: no $target"
done
# int16: the archive of quantize gives the outputs of compile alone; no operator of the digits is in float.
set -- --calibration "$digits/calibration.npz" --target cortex-m33 --activations int16
"$nucleon" quantize "$digits/digits.pt2" "$@" -o q16.pt2 >/dev/null 2>err || fail "quantize in int16: $(cat err)"
"$nucleon" compile "$digits/digits.pt2" "$@" -o whole.pte >/dev/null 2>err || fail "compile in int16: $(cat err)"
"$nucleon" compile q16.pt2 --target cortex-m33 --dump-after lower -o parts.pte >parts.txt 2>err ||
    fail "compile what is int16: $(cat err)"
for name in whole parts; do
    "$nucleon" run $name.pte -i "$digits/calibration.npz" -o $name.npz >/dev/null 2>err || fail "$name: $(cat err)"
done
cmp -s whole.npz parts.npz || fail "int16: other outputs by the archive"
grep -q 'edge.nucleon.quantized_conv2d.*: int16' parts.txt || fail "int16: no convolution of it"
! grep '^%' parts.txt | grep ': float32' | grep -vE '= (parameter|input|buffer|constant|edge.cortex_m.dequantize)' ||
    fail "int16: float operators"
# A network that torch has quantized (int16.py made it): with int16 on the CPU of either target, as torch computes it.
for target in cortex-m33 imxrt700; do
    "$nucleon" compile "$root/test/e2e/int16.pt2" --target $target -o torch.pte >torch.txt 2>err ||
        fail "int16 of torch: $(cat err)"
    grep -q 'CPU 5 of 5 operators (5 in int16, 0 in float)' torch.txt || fail "int16 of torch: $(cat torch.txt)"
    "$nucleon" evaluate torch.pte --dataset "$root/test/e2e/int16.npz" --reference "$root/test/e2e/int16.pt2" \
        --min-sqnr 80 >torch.txt 2>&1 || fail "int16 of torch: $(cat torch.txt)"
done
[ $failures -eq 0 ] && echo "passed"
exit $failures
