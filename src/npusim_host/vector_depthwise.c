/* Plans of depthwise convolutions. */
#include <stdlib.h>

#include "device/base/span.h"
#include "npusim_host/vector_call.h"

static int32_t common_divisor(int32_t a, int32_t b)
{
    while (b != 0) {
        int32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

#define MOST_TABLES 256 /* of a flat row: channels that share few factors with the block have many */

/* Where the parts of a depthwise plan lie after it, in bytes. */
struct layout {
    int32_t rows, height, tables, groups; /* height: rows of the image that taps are of */
    uint64_t table_bytes, params, bias, taps;
};

/*
 * Taps are numbered down the columns of the window. Two rows at once share those of the rows of the image that either
 * has; the other's weights are 0 there. Their rows of the image are staged in pairs.
 */
static struct layout depthwise_layout(const struct vec_isa *isa, const struct nuc_mc_conv *c, int32_t tables)
{
    int64_t height = (int64_t)(c->k_h + c->stride_h + 1) / 2 * 2, both = height * c->k_w,
            one = (int64_t)c->k_h * c->k_w;
    bool two = c->out_h > 1 && c->dilation_h == 1 && both <= VEC_MAX_TAPS &&
               (both + VEC_DEPTH - 1) / VEC_DEPTH < 2 * vec_up((int32_t)one, VEC_DEPTH);
    struct layout l = {.rows = two ? 2 : 1, .height = two ? (int32_t)height : c->k_h, .tables = tables};

    l.groups = vec_up(l.height * c->k_w, VEC_DEPTH);
    l.table_bytes = (uint64_t)(l.rows * l.groups) * VEC_DEPTH * (uint64_t)isa->block * (uint64_t)isa->weight_bytes;
    l.params = (uint64_t)tables * l.table_bytes;
    l.bias = l.params + (uint64_t)tables * (uint64_t)(isa->block / VEC_LANES) * sizeof(struct vec_params);
    l.taps = l.bias + (uint64_t)tables * (uint64_t)isa->block * sizeof(int32_t);
    return l;
}

/* Place of a tap in its group. Weights of 16 bits are multiplied in pairs of the first and the third. */
static int32_t tap_in_group(const struct vec_isa *isa, const struct layout *l, int32_t tap)
{
    int32_t k = tap % VEC_DEPTH;

    return l->rows == 2 && isa->weight_bytes == 2 ? k % 2 * 2 + k / 2 : k;
}

/* Weights and parameters of block `table`: outputs table * block and up, of channels that repeat in a flat row. */
static bool pack_table(const struct vec_isa *isa, const struct nuc_npu *npu, const struct nuc_mc_conv *c,
                       const struct layout *l, bool flat, int32_t table, uint8_t *weights, struct vec_params *params,
                       int32_t *folded)
{
    const int8_t *weight = vec_constant(npu, c->weight);
    const int32_t *bias = vec_constant(npu, c->bias), *requant = vec_constant(npu, c->requant);
    size_t group = (size_t)isa->block * VEC_DEPTH * (size_t)isa->weight_bytes;
    size_t vector = (size_t)VEC_LANES * VEC_DEPTH * (size_t)isa->weight_bytes;
    const struct vec_output out = vec_output_of(c->output_zero, c->clamp_min, c->clamp_max);
    bool worth_lines = (int64_t)c->batches * c->out_h * c->out_w >= VEC_WORTH_LINES;

    for (int32_t a = 0; a < isa->block; a++) {
        int64_t output = (int64_t)table * isa->block + isa->order[l->rows - 1][a];
        struct vec_sums sums = {0, 0};
        if (output >= c->out_c && !flat)
            continue;
        int32_t channel = (int32_t)(output % c->out_c);
        uint8_t *lane = weights + (size_t)(a / VEC_LANES) * vector;
        for (int32_t t = 0; t < c->k_h * c->k_w; t++) {
            int8_t w = weight[(int64_t)t * c->out_c + channel];
            vec_sums_add(&sums, w);
            for (int32_t r = 0; r < l->rows; r++) {
                int32_t tap = t % c->k_w * l->height + t / c->k_w + r * c->stride_h;
                vec_weight_set(isa, lane + (size_t)(tap / VEC_DEPTH * l->rows + r) * group, a % VEC_LANES,
                               tap_in_group(isa, l, tap), w);
            }
        }
        if (!vec_output_set(isa, params + a / VEC_LANES, a % VEC_LANES, folded + a, bias[channel], &sums, c->input_zero,
                            requant + (int64_t)channel * 2))
            return false;
    }
    for (int32_t v = 0; v < isa->block / VEC_LANES; v++)
        vec_params_close(isa, params + v, &out, worth_lines ? folded + v * VEC_LANES : NULL);
    return true;
}

/* Taps that fill up a group have weights of 0 and read what is there. */
static void depthwise_taps(const struct nuc_mc_conv *c, const struct vec_window *w, const struct layout *l)
{
    int32_t bytes = (int32_t)w->pitch * l->rows, height = l->height / l->rows;

    for (int32_t t = 0; t < w->n_taps; t++) {
        int32_t index = t < height * c->k_w ? t : 0;
        int32_t column = index / height * c->dilation_w;
        w->taps[t].row = index % height;
        w->taps[t].at = (int32_t)((size_t)(column % w->split) * w->plane) + column / w->split * bytes;
    }
}

static struct vec_depthwise depthwise_row(const struct nuc_mc_conv *c, const struct layout *l, bool flat,
                                          const uint8_t *memory)
{
    return (struct vec_depthwise){.weights = memory,
                                  .bias = (const int32_t *)(const void *)(memory + l->bias),
                                  .params = (const struct vec_params *)(const void *)(memory + l->params),
                                  .table_bytes = (size_t)l->table_bytes,
                                  .groups = l->groups,
                                  .rows = l->rows,
                                  .out_row = (ptrdiff_t)(c->out_w * npu_pitch(c->out_pitch, c->out_c)),
                                  .tables = l->tables,
                                  .lines = flat ? 1 : c->out_w,
                                  .line = flat ? c->out_w * c->out_c : c->out_c,
                                  .out_line = (ptrdiff_t)npu_pitch(c->out_pitch, c->out_c),
                                  .output = vec_output_of(c->output_zero, c->clamp_min, c->clamp_max)};
}

struct vec_plan *vec_plan_depthwise(const struct vec_isa *isa, const struct nuc_npu *npu, const union nuc_mc_record *r,
                                    struct vec_budget *budget)
{
    const struct nuc_mc_conv flattened = vec_laid_flat(&r->conv), *c = &flattened;
    int64_t n_taps = (int64_t)c->k_h * c->k_w;
    int32_t repeat = c->out_c / common_divisor(c->out_c, isa->block);
    int32_t padded = vec_up(c->out_c, isa->block) * isa->block;
    bool flat = npu_pitch(c->out_pitch, c->out_c) == c->out_c && repeat <= MOST_TABLES &&
                (int64_t)c->out_w * c->out_c < INT32_MAX && padded - c->out_c > c->out_c / 8;
    struct vec_window w = vec_conv_window(isa, c);
    uint8_t *memory;

    if (c->in_c == 1 && c->out_c > 1)
        return vec_plan_dense(isa, npu, c, &(struct vec_weights){vec_constant(npu, c->weight), 1, c->out_c, 1}, budget);
    w.spread = c->out_c / c->in_c;
    w.split = c->stride_w;
    w.pitch = (size_t)c->out_c;
    if (!flat)
        w.pitch = nuc_align_up(w.pitch, VEC_ALIGNMENT); /* no load of a block lies over two lines */
    w.flip = (int8_t)isa->input_offset;
    if (!vec_constant(npu, c->weight) || n_taps > VEC_MAX_TAPS)
        return NULL;
    struct layout l = depthwise_layout(isa, c, flat ? repeat : vec_up(c->out_c, isa->block));
    w.pairs = l.rows == 2;
    if (w.pairs) { /* of which a window begins with a whole one */
        w.before = w.pad_top % 2;
        w.image_h = w.in_h;
        w.in_h = vec_up(w.in_h + w.before, 2);
        w.pad_top /= 2;
        w.ring = w.tap_rows = l.height / 2;
    }
    w.n_taps = l.groups * VEC_DEPTH / l.rows;
    uint64_t scratch = vec_window_measure(&w);
    if (scratch > VEC_MOST_SCRATCH)
        return NULL;
    struct vec_plan *plan = vec_plan_new(budget, vec_run_depthwise, l.taps + vec_window_taps(&w), &memory);
    if (!plan)
        return NULL;
    w.taps = (struct vec_tap *)(void *)(memory + l.taps);
    depthwise_taps(c, &w, &l);
    vec_window_place(&w);
    plan->scratch = (size_t)scratch;
    plan->u.depthwise = (struct vec_depthwise_plan){w, depthwise_row(c, &l, flat, memory), c->batches};
    plan->u.depthwise.depthwise.in_line = (ptrdiff_t)w.pitch * l.rows;
    struct vec_params *params = (struct vec_params *)(void *)(memory + l.params);
    int32_t *bias = (int32_t *)(void *)(memory + l.bias);
    for (int32_t t = 0; t < l.tables; t++) {
        if (!pack_table(isa, npu, c, &l, flat, t, memory + (uint64_t)t * l.table_bytes,
                        params + t * (isa->block / VEC_LANES), bias + t * isa->block)) {
            free(plan);
            return NULL;
        }
    }
    return plan;
}
