/* Elementwise operators of two operands with broadcasting. */
#include "device/base/microcode_binary.h"
#include "npu.h"
#include "npu_math.h"

void npu_binary(const struct nuc_npu_memory *m, const union nuc_mc_record *record)
{
    const struct nuc_mc_binary *e = &record->binary;
    uint32_t opcode = nuc_mc_opcode_of(&e->call);
    const int8_t *a = npu_source_i8(m, e->a);
    const int8_t *b = npu_source_i8(m, e->b);
    int8_t *out = npu_target_i8(m, e->output);
    int32_t last = e->rank - 1;
    struct npu_walk walk = {.rank = last, .shape = e->shape};
    int64_t at_a = 0, at_b = 0;

    do {
        const int8_t *pa = a + at_a, *pb = b + at_b;
        for (int32_t i = 0; i < e->shape[last]; i++) {
            out[i] = nuc_mc_binary_value(e, opcode, *pa, *pb);
            pa += e->a_stride[last];
            pb += e->b_stride[last];
        }
        out += npu_pitch(e->out_pitch, e->shape[last]);
    } while (npu_step(&walk, &at_a, e->a_stride, &at_b, e->b_stride));
}
