/* Plans of convolutions and matrix products: geometry, weights and parameters in the kernels' layout. */
#include <stdlib.h>
#include <string.h>

#include "device/base/span.h"
#include "npusim_host/vector_call.h"

/* Of pixels that tiles sweep, again and again for each of their blocks of columns: in the second-level cache. */
#define SWEEP_BYTES 98304

struct vec_plan *vec_plan_new(struct vec_budget *budget, vec_run *run, uint64_t extra, uint8_t **memory)
{
    size_t head = nuc_align_up(sizeof(struct vec_plan), VEC_ALIGNMENT);

    if (extra > budget->left)
        return NULL;
    size_t size = nuc_align_up(head + (size_t)extra, VEC_ALIGNMENT);
    uint8_t *block = aligned_alloc(VEC_ALIGNMENT, size);
    if (!block)
        return NULL;
    memset(block, 0, size);
    budget->left -= extra;
    *memory = block + head;
    struct vec_plan *plan = (struct vec_plan *)(void *)block;
    plan->run = run;
    return plan;
}

void vec_plan_free(struct vec_plan *p)
{
    while (p) {
        struct vec_plan *next = p->next;
        free(p);
        p = next;
    }
}

#define MOST_RIGHT 21 /* beyond it the zero point does not fit next to an accumulator */

bool vec_params_set(struct vec_params *p, int32_t lane, uint64_t bound, int32_t multiplier, int32_t shift)
{
    int32_t left = shift > 0 ? shift : 0;

    p->multiplier[lane] = multiplier;
    p->left[lane] = left;
    p->right[lane] = left - shift;
    if (shift >= 0)
        p->not_lines = 1;
    if (multiplier < 0 || bound >= VEC_LIMIT || shift > 0 || shift < -MOST_RIGHT)
        p->bound = VEC_LIMIT;
    else if ((int32_t)bound > p->bound)
        p->bound = (int32_t)bound;
    return multiplier != INT32_MIN;
}

bool vec_params_set_word(struct vec_params *p, int32_t lane, uint64_t bound, int32_t multiplier, int32_t shift)
{
    if (bound < VEC_LIMIT && multiplier > 0 && shift <= 0 && shift >= -MOST_RIGHT &&
        bound * (uint64_t)multiplier >> (31 - shift) >= VEC_WORD)
        bound = VEC_LIMIT;
    return vec_params_set(p, lane, bound, multiplier, shift);
}

/* What the form needs of a lane whose shifts are set. */
static void close_lane(const struct vec_isa *isa, struct vec_params *p, int32_t zero, int32_t lane)
{
    int32_t right = p->right[lane], one = 1 << isa->bits;

    if (p->form == VEC_ANY) {
        p->away[lane] = (int32_t)(((int64_t)1 << right) - 1);
        return;
    }
    p->round[lane] = (right > 0 ? one << right >> 1 : 0) + one / 2 + zero * (one << right);
    p->right[lane] = right + isa->bits;
    p->away[lane] = right > 0 ? one : 0;
}

void vec_params_close(const struct vec_isa *isa, struct vec_params *p, const struct vec_output *o, int32_t *bias)
{
    p->zero = o->zero;
    p->form = p->bound == VEC_LIMIT ? VEC_ANY : VEC_BOUNDED;
    if (p->bound < VEC_LIMIT && !p->not_lines && bias && isa->lines && vec_params_bend(p, o, bias))
        return;
    for (int32_t lane = 0; lane < VEC_LANES; lane++)
        close_lane(isa, p, o->zero, lane);
}

void vec_weight_set(const struct vec_isa *isa, uint8_t *group, int32_t lane, int32_t k, int8_t weight)
{
    int16_t wide = weight;

    if (isa->weight_bytes == 1)
        group[lane * VEC_DEPTH + k] = (uint8_t)weight;
    else
        memcpy(group + (k % 2 * 2 * VEC_LANES + lane * 2 + k / 2) * 2, &wide, sizeof wide);
}

bool vec_output_set(const struct vec_isa *isa, struct vec_params *p, int32_t lane, int32_t *folded, int32_t bias,
                    const struct vec_sums *s, int32_t zero, const int32_t *requant)
{
    /* Inputs from the zero point; padding is 0. All products of the larger magnitude have one sign. */
    int64_t least = zero > INT8_MIN ? INT8_MIN - zero : 0, most = zero < INT8_MAX ? INT8_MAX - zero : 0;
    int64_t positive = (s->absolute + s->sum) / 2, negative = (s->absolute - s->sum) / 2;
    int64_t highest = bias + positive * most - negative * least, lowest = bias + positive * least - negative * most;
    uint64_t bound = (uint64_t)(highest > -lowest ? highest : -lowest);
    *folded = (int32_t)((uint32_t)bias - (uint32_t)(int32_t)(zero + isa->input_offset) * (uint32_t)(uint64_t)s->sum);
    return vec_params_set_word(p, lane, bound, requant[0], requant[1]);
}

/* ---- convolution and matrix product with constant weights ---- */

/* Weights as outputs of `segments` times `run` products with any strides. */
struct source {
    const int8_t *weight;
    const int32_t *bias, *requant;
    int64_t output, segment, product; /* strides in bytes */
    int32_t groups, columns, segments, run;
    int32_t requant_step; /* 0: one pair for all outputs, else 2 */
    int32_t channels;     /* column c is channel c % channels of pixel c / channels of those computed together */
    int32_t shift, taps;  /* products from one pixel to the next, and of a channel's run */
    int32_t zero;         /* of stored inputs */
    struct vec_output out;
    bool lines;  /* worth looking for */
    bool single; /* a pixel at a time */
};

/* step: bytes from one group of products to the next. */
static bool pack_column(const struct vec_isa *isa, const struct source *s, int32_t output, uint8_t *weights,
                        size_t step, struct vec_params *p, int32_t lane, int32_t *bias)
{
    struct vec_sums sums = {0, 0};
    int32_t channel = output % s->channels, first = output / s->channels * s->shift;
    bool in_order = isa->weight_bytes == 1 && s->product == 1 && first % VEC_DEPTH == 0;
    int32_t whole = in_order ? s->taps / VEC_DEPTH * VEC_DEPTH : 0;

    for (int32_t seg = 0; seg < s->segments; seg++) {
        const int8_t *from = s->weight + channel * s->output + seg * s->segment;
        uint8_t *to = weights + (size_t)seg * (size_t)vec_up(s->run, VEC_DEPTH) * step;
        for (int32_t k = 0; k < whole; k += VEC_DEPTH)
            memcpy(to + (size_t)((first + k) / VEC_DEPTH) * step + lane * VEC_DEPTH, from + k, VEC_DEPTH);
        for (int32_t k = 0; k < s->taps; k++) {
            int8_t w = from[k * s->product];
            int32_t at = first + k;
            vec_sums_add(&sums, w);
            if (k >= whole)
                vec_weight_set(isa, to + (size_t)(at / VEC_DEPTH) * step, lane, at % VEC_DEPTH, w);
        }
    }
    return vec_output_set(isa, p, lane, bias, s->bias ? s->bias[channel] : 0, &sums, s->zero,
                          s->requant + (int64_t)channel * s->requant_step);
}

/* Whether blocks that were given the same pair became the same: then the parameters of the first serve all. */
static bool are_alike(const struct vec_params *params, uint64_t blocks, int32_t columns)
{
    bool alike = columns >= VEC_LANES;

    for (uint64_t b = 1; b < blocks; b++)
        alike = alike && memcmp(params + b, params, offsetof(struct vec_params, not_lines)) == 0;
    return alike;
}

/* A plan with packed weights and memory for taps, which follow the parameters. */
static struct vec_plan *pack(const struct vec_isa *isa, const struct source *s, uint64_t taps_bytes,
                             struct vec_tap **taps, struct vec_budget *budget)
{
    bool by_turns = s->single && s->groups == 1 && s->columns > (isa->wide - 1) * VEC_LANES;
    int32_t turns = by_turns ? isa->wide : 1, group_blocks = vec_up(s->columns, VEC_LANES * turns) * turns;
    size_t vector = (size_t)VEC_LANES * VEC_DEPTH * (size_t)isa->weight_bytes;
    uint64_t blocks = (uint64_t)group_blocks * (uint64_t)s->groups;
    uint64_t block_bytes = (uint64_t)s->segments * (uint64_t)vec_up(s->run, VEC_DEPTH) * vector;
    uint8_t *memory;
    uint64_t bias_bytes = VEC_LANES * sizeof(int32_t);
    uint64_t size = blocks * (block_bytes + sizeof(struct vec_params) + bias_bytes) + taps_bytes;
    struct vec_plan *plan = vec_plan_new(budget, vec_run_conv, size, &memory);

    if (!plan)
        return NULL;
    struct vec_params *params = (struct vec_params *)(void *)(memory + blocks * block_bytes);
    int32_t *bias = (int32_t *)(void *)(params + blocks);
    struct vec_conv_plan *p = &plan->u.conv;
    *taps = (struct vec_tap *)(void *)(bias + blocks * VEC_LANES);
    p->images = 1;
    p->groups = s->groups;
    p->group_out = s->columns;
    p->group_params = group_blocks;
    p->group_weights = (size_t)p->group_params * (size_t)block_bytes;
    p->gemm = (struct vec_gemm){.weights = memory,
                                .bias = bias,
                                .params = params,
                                .block_bytes = (size_t)block_bytes,
                                .segments = s->segments,
                                .run = vec_up(s->run, VEC_DEPTH),
                                .columns = s->columns,
                                .by_turns = by_turns,
                                .output = s->out};
    const int32_t unused = vec_up(s->columns, VEC_LANES) * VEC_LANES - s->columns;
    for (int32_t o = 0; o < s->groups * s->columns; o++) {
        int32_t group = o / s->columns, column = o % s->columns;
        size_t block = (size_t)(group * p->group_params + column / VEC_LANES);
        uint8_t *weights =
            memory + block / (size_t)turns * (size_t)turns * block_bytes + block % (size_t)turns * vector;
        int32_t next = unused == VEC_LANES / 2 && column / VEC_LANES == s->columns / VEC_LANES ? unused : VEC_LANES;
        for (int32_t lane = column % VEC_LANES; lane < VEC_LANES; lane += next) {
            if (!pack_column(isa, s, o, weights, vector * (size_t)turns, params + block, lane,
                             bias + block * VEC_LANES + lane)) {
                free(plan);
                return NULL;
            }
        }
    }
    for (uint64_t b = 0; b < blocks; b++)
        vec_params_close(isa, params + b, &s->out, s->lines ? bias + b * VEC_LANES : NULL);
    p->gemm.params_step = s->groups == 1 && s->requant_step == 0 && are_alike(params, blocks, s->columns) ? 0 : 1;
    return plan;
}

struct vec_window vec_conv_window(const struct vec_isa *isa, const struct nuc_mc_conv *c)
{
    int64_t padded = (int64_t)(c->out_w - 1) * c->stride_w + (int64_t)(c->k_w - 1) * c->dilation_w + 1;
    int64_t ring = (int64_t)(c->k_h - 1) * c->dilation_h + 1;

    ptrdiff_t pixel = (ptrdiff_t)npu_pitch(c->in_pitch, c->in_c);
    return (struct vec_window){.isa = isa,
                               .in_h = c->in_h,
                               .in_w = c->in_w,
                               .out_h = c->out_h,
                               .out_w = c->out_w,
                               .in_row = c->in_w * pixel,
                               .in_batch = (ptrdiff_t)c->in_h * c->in_w * pixel,
                               .out_row = (ptrdiff_t)(c->out_w * npu_pitch(c->out_pitch, c->out_c)),
                               .stride_h = c->stride_h,
                               .dilation_h = c->dilation_h,
                               .pad_top = c->pad_top,
                               .pad_left = c->pad_left,
                               .pixel = c->in_c,
                               .in_pixel = pixel,
                               .pitch = (size_t)c->in_c,
                               .spread = 1,
                               .split = 1,
                               .padded_w = (int32_t)(padded < INT32_MAX ? padded : INT32_MAX),
                               .ring = (int32_t)ring,
                               .tap_rows = c->k_h,
                               .zero = c->input_zero};
}

static bool is_pointwise(const struct nuc_mc_conv *c)
{
    return c->k_h == 1 && c->k_w == 1 && c->stride_h == 1 && c->stride_w == 1 && c->pad_top == 0 && c->pad_left == 0 &&
           c->out_h == c->in_h && c->out_w == c->in_w;
}

/*
 * Pixels next to each other that are computed as one with as many times the channels: few channels fill vectors then,
 * and windows that overlap are read once. Dot products of a pixel, and what a vector of results costs, decide.
 */
static int32_t pixels_together(const struct nuc_mc_conv *c)
{
    const int64_t results = 8; /* cost of requantizing 16 outputs, in dot products */
    const int32_t most = 16;
    int32_t best = 1;
    int64_t best_cost = INT64_MAX;

    if (c->groups != 1 || c->dilation_w != 1 || npu_pitch(c->out_pitch, c->out_c) != c->out_c || c->out_c > 64)
        return 1;
    for (int32_t n = 1; n <= most; n *= 2) {
        int64_t run = ((int64_t)(n - 1) * c->stride_w + c->k_w) * c->in_c;
        int64_t vectors = vec_up(n * c->out_c, VEC_LANES);
        int64_t cost = vectors * (c->k_h * ((run + VEC_DEPTH - 1) / VEC_DEPTH) + results) * (most / n);
        if (c->out_w % n == 0 && run <= INT16_MAX && cost <= best_cost) {
            best = n;
            best_cost = cost;
        }
    }
    return best;
}

struct vec_plan *vec_plan_dense(const struct vec_isa *isa, const struct nuc_npu *npu, const struct nuc_mc_conv *c,
                                const struct vec_weights *w, struct vec_budget *budget)
{
    int32_t depth = c->in_c / c->groups;
    bool dense = c->groups == 1 && c->dilation_w == 1;
    int32_t per_row = dense ? 1 : c->k_w, together = pixels_together(c);

    if (!w->at || (int64_t)c->k_h * per_row > VEC_MAX_TAPS || (int64_t)c->dilation_w * c->k_w * c->in_c > INT32_MAX ||
        (int64_t)c->stride_w * depth > INT32_MAX)
        return NULL;
    struct source s = {.weight = w->at,
                       .bias = vec_constant(npu, c->bias),
                       .requant = vec_constant(npu, c->requant),
                       .output = w->output,
                       .segment = w->tap * depth * (dense ? c->k_w : 1),
                       .product = w->tap,
                       .groups = c->groups,
                       .columns = together * (c->out_c / c->groups),
                       .segments = c->k_h * per_row,
                       .run = dense ? ((together - 1) * c->stride_w + c->k_w) * depth : depth,
                       .requant_step = 2 * w->pairs,
                       .channels = c->out_c,
                       .shift = c->stride_w * depth,
                       .taps = dense ? c->k_w * depth : depth,
                       .zero = c->input_zero,
                       .out = vec_output_of(c->output_zero, c->clamp_min, c->clamp_max),
                       .lines = (int64_t)c->batches * c->out_h * c->out_w >= VEC_WORTH_LINES,
                       .single = (int64_t)c->batches * c->out_h * c->out_w == 1};
    struct vec_window window = vec_conv_window(isa, c);
    window.n_taps = s.segments;
    bool in_place = window.in_pixel == c->in_c || (is_pointwise(c) && together == 1);
    bool stage = c->pad_left > 0 || window.padded_w > c->in_w || s.run % VEC_DEPTH != 0 || !in_place;
    if (!stage)
        window.ring = 0;
    struct vec_plan *plan = pack(isa, &s, vec_window_taps(&window), &window.taps, budget);
    if (!plan)
        return NULL;
    struct vec_conv_plan *p = &plan->u.conv;
    p->window = window;
    for (int32_t t = 0; t < s.segments; t++)
        window.taps[t] = (struct vec_tap){t / per_row, t % per_row * c->dilation_w * c->in_c};
    p->rows = (int64_t)c->batches * c->out_h;
    p->window.out_w /= together;
    p->group_in = depth;
    p->gemm.taps = dense && together == 1 && c->stride_w == 1 && depth % VEC_DEPTH == 0 ? c->k_w : 1;
    p->gemm.pixel = together * c->stride_w * (stage ? c->in_c : p->window.in_pixel);
    p->gemm.out_pixel = (ptrdiff_t)(together * npu_pitch(c->out_pitch, c->out_c));
    if (!stage && is_pointwise(c)) { /* all pixels are as far from each other: they need no rows */
        int64_t most = SWEEP_BYTES / (VEC_DEPTH * (int64_t)p->gemm.run) / VEC_TILE * VEC_TILE;
        p->pixels = p->rows * p->window.out_w;
        p->sweep = (int32_t)(most < VEC_TILE ? VEC_TILE : most);
    }
    const uint64_t scratch = vec_window_measure(&p->window);
    plan->scratch = (size_t)scratch;
    p->gemm.staged = stage;
    p->window.flip = (int8_t)(stage ? isa->input_offset : 0);
    if (scratch <= VEC_MOST_SCRATCH) {
        vec_window_place(&p->window);
        return plan;
    }
    free(plan);
    return NULL;
}

struct nuc_mc_conv vec_laid_flat(const struct nuc_mc_conv *c)
{
    struct nuc_mc_conv flat = *c;

    if (c->in_w != 1 || c->out_w != 1 || c->k_w != 1 || c->pad_left != 0)
        return flat;
    flat.in_w = c->in_h;
    flat.out_w = c->out_h;
    flat.k_w = c->k_h;
    flat.stride_w = c->stride_h;
    flat.dilation_w = c->dilation_h;
    flat.pad_left = c->pad_top;
    flat.in_h = flat.out_h = flat.k_h = flat.stride_h = flat.dilation_h = 1;
    flat.pad_top = 0;
    return flat;
}

struct vec_plan *vec_plan_conv(const struct vec_isa *isa, const struct nuc_npu *npu, const union nuc_mc_record *r,
                               struct vec_budget *budget)
{
    const struct nuc_mc_conv c = vec_laid_flat(&r->conv);

    const struct vec_weights w = {vec_constant(npu, c.weight), (int64_t)c.k_h * c.k_w * (c.in_c / c.groups), 1, 1};

    return vec_plan_dense(isa, npu, &c, &w, budget);
}
