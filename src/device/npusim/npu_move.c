/* Kernels that move or look up values: tables, strided copies, gathers. */
#include <string.h>

#include "npu.h"
#include "npu_math.h"

void npu_lut(const struct nuc_npu_memory *m, const union nuc_mc_record *r)
{
    const int8_t *table = npu_source_i8(m, r->lut.table) + 128;
    const int8_t *in = npu_source_i8(m, r->lut.input);
    int8_t *out = npu_target_i8(m, r->lut.output);

    int32_t run = r->lut.out_pitch == 0 && r->lut.in_pitch == 0 ? r->lut.count : r->lut.run;

    for (int32_t done = 0; done < r->lut.count; done += run) {
        for (int32_t i = 0; i < run; i++)
            out[i] = table[in[i]];
        in += npu_pitch(r->lut.in_pitch, run);
        out += npu_pitch(r->lut.out_pitch, run);
    }
}

#define SHORT_RUN 8 /* units of the innermost dimension */

/* `n` units along the innermost dimension. */
static void copy_run(uint8_t *out, const uint8_t *in, int32_t n, int32_t out_stride, int32_t in_stride, size_t unit)
{
    if (out_stride == in_stride && out_stride == (int64_t)unit) {
        memmove(out, in, (size_t)n * unit);
        return;
    }
    if (unit == 1) {
        for (int64_t i = 0; i < n; i++)
            out[i * out_stride] = in[i * in_stride];
        return;
    }
    for (int64_t i = 0; i < n; i++)
        memmove(out + i * out_stride, in + i * in_stride, unit);
}

static void swap_words(int32_t *a, int32_t *b)
{
    int32_t word = *a;

    *a = *b;
    *b = word;
}

/* The longest dimension becomes the innermost where that is short: the walk steps less often. */
static void lengthen_runs(struct nuc_mc_copy *c)
{
    int32_t last = c->rank - 1, longest = last;

    for (int32_t d = 0; d < last; d++)
        longest = c->shape[d] > c->shape[longest] ? d : longest;
    if (c->shape[last] >= SHORT_RUN)
        return;
    swap_words(&c->shape[last], &c->shape[longest]);
    swap_words(&c->in_stride[last], &c->in_stride[longest]);
    swap_words(&c->out_stride[last], &c->out_stride[longest]);
}

void npu_copy(const struct nuc_npu_memory *m, const union nuc_mc_record *r)
{
    struct nuc_mc_copy copy = r->copy, *c = &copy;
    const uint8_t *in = npu_source(m, c->input);
    uint8_t *out = npu_target(m, c->output);
    int32_t last = c->rank - 1;
    struct npu_walk walk = {.rank = last, .shape = c->shape};
    int64_t at_in = 0, at_out = c->out_start;

    lengthen_runs(c);
    if (c->fill_size > 0)
        memset(out, c->fill_value, (size_t)c->fill_size);
    do {
        copy_run(out + at_out, in + at_in, c->shape[last], c->out_stride[last], c->in_stride[last], (size_t)c->unit);
    } while (npu_step(&walk, &at_in, c->in_stride, &at_out, c->out_stride));
}

/* Sum of the tables' entries at an index, and the step to the next index. */
static bool next_index(const struct nuc_mc_gather *g, int32_t *index)
{
    for (int32_t d = g->rank - 1; d >= 0; d--) {
        if (++index[d] < g->shape[d])
            return true;
        index[d] = 0;
    }
    return false;
}

void npu_gather(const struct nuc_npu_memory *m, const union nuc_mc_record *r)
{
    const struct nuc_mc_gather *g = &r->gather;
    const uint8_t *in = npu_source(m, g->input);
    uint8_t *out = npu_target(m, g->output);
    int32_t index[NUC_MC_MAX_RANK] = {0};

    do {
        const int32_t *table = npu_source_i32(m, g->table);
        int64_t at = 0;
        for (int32_t d = 0; d < g->rank; d++) {
            at += table[index[d]];
            table += g->shape[d];
        }
        memmove(out, in + at, (size_t)g->unit);
        out += g->unit;
    } while (next_index(g, index));
}
