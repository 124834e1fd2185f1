/* Reductions, softmax, and tables. */
#include <math.h>

#include "npu/convert/conversion.h"

static void set_dimensions(const struct nuc_cv *cv, const struct nuc_cv_node *n, uint32_t axes, struct nuc_mc_reduce *d)
{
    const struct nuc_lt_tensor *x = nuc_cv_x(cv, n);
    struct nuc_cv_dimensions reduced = {&d->reduced_rank, d->reduced_shape, d->reduced_stride, d->reduced_stride};
    struct nuc_cv_dimensions kept = {&d->rank, d->shape, d->stride, d->stride};
    struct nuc_cv_place place = nuc_cv_place(cv, n->input);
    int64_t stride[NUC_MAX_RANK];
    bool fits = nuc_cv_strides(x, &place.layout, stride);

    for (uint32_t i = 0; i < x->rank; i++) {
        fits =
            fits && nuc_cv_add_dimension(axes >> i & 1u ? &reduced : &kept, x->shape[i], stride[i], stride[i], false);
    }
    if (!fits)
        nuc_cv_fail(cv, n, "more than %d separate dimensions: reshape the input", NUC_MC_MAX_RANK);
    if (d->reduced_rank == 0) {
        d->reduced_rank = 1;
        d->reduced_shape[0] = 1;
    }
}

void nuc_cv_emit_reduce(struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    const struct nuc_lt_tensor *x = nuc_cv_x(cv, n), *y = nuc_cv_y(cv, n);
    struct nuc_cv_params px = nuc_cv_params(cv, n, x), py = nuc_cv_params(cv, n, y);
    union nuc_mc_record r = {.reduce = {.input_zero = px.zero, .output_zero = py.zero, .divisor = 1}};
    struct nuc_mc_reduce *d = &r.reduce;
    uint32_t opcode = nuc_cv_opcode(n->op->code);
    int64_t count = 1;

    set_dimensions(cv, n, nuc_cv_axes(cv, n, x->rank), d);
    for (int32_t i = 0; i < d->reduced_rank; i++)
        count *= d->reduced_shape[i];
    if (nuc_lt_elements(y) * count != nuc_lt_elements(x) || count > 1 << 23)
        nuc_cv_fail(cv, n, "output shape does not follow from the axes, or more than 2^23 values are reduced to one");
    if (opcode == NUC_MC_OP_MEAN) {
        /* The mean's 1 / count goes into the multiplier. Source: LiteRT QuantizedMeanOrSum. */
        float x_scale = px.scale;
        float y_scale = py.scale;
        struct nuc_multiplier m = nuc_mean_multiplier((double)x_scale / (double)y_scale, count);
        d->multiplier = m.multiplier;
        d->shift = m.shift;
    } else if (opcode == NUC_MC_OP_SUM) {
        /* x_scale / y_scale = multiplier / divisor * 2^shift, exactly: both floats have 24-bit mantissas. */
        float x_scale = px.scale;
        float y_scale = py.scale;
        int ex, ey;
        d->multiplier = (int32_t)ldexpf(frexpf(x_scale, &ex), 24);
        d->divisor = (int32_t)ldexpf(frexpf(y_scale, &ey), 24);
        d->shift = ex - ey;
    } else if (!nuc_cv_same_params(cv, n, x, y)) {
        nuc_cv_fail(cv, n, "input and output must have one scale and zero point");
    }
    d->clamp_min = n->clamp_min;
    d->clamp_max = n->clamp_max;
    d->input = nuc_cv_tensor_ref(cv, n->input);
    d->output = nuc_cv_output_ref(cv);
    nuc_cv_emit(cv, opcode, &r);
}

/* The real function: exponentials of the 256 possible differences in units of 2^-31. */
static void emit_softmax_table(struct nuc_cv *cv, const struct nuc_cv_node *n, int32_t rows, int32_t depth)
{
    double scale = (double)n->op->options.softmax.beta * (double)nuc_cv_params(cv, n, nuc_cv_x(cv, n)).scale;
    union nuc_mc_record r = {.softmax_table = {.rows = rows, .depth = depth}};
    uint8_t table[256 * 4];

    for (int d = 0; d < 256; d++)
        nuc_store_u32(table + d * 4, (uint32_t)floor(exp(-d * scale) * 2147483648.0 + 0.5));
    r.softmax_table.input = nuc_cv_tensor_ref(cv, n->input);
    r.softmax_table.output = nuc_cv_output_ref(cv);
    r.softmax_table.out_pitch = nuc_cv_out_pitch(cv);
    r.softmax_table.table = nuc_cv_weights_ref(cv, table, sizeof table);
    nuc_cv_emit(cv, NUC_MC_OP_SOFTMAX_TABLE, &r);
}

void nuc_cv_emit_softmax(struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    const struct nuc_lt_tensor *x = nuc_cv_x(cv, n), *y = nuc_cv_y(cv, n);
    struct nuc_cv_params py = nuc_cv_params(cv, n, y);

    if (py.scale != 1.0f / 256 || py.zero != -128)
        nuc_cv_fail(cv, n, "output must have scale 1/256 and zero point -128");
    if (!(n->op->options.softmax.beta > 0.0f) || isinf(n->op->options.softmax.beta))
        nuc_cv_fail(cv, n, "beta must be positive and finite");
    if (x->rank < 1 || nuc_lt_elements(x) != nuc_lt_elements(y))
        nuc_cv_fail(cv, n, "input and output differ in size");
    int32_t depth = x->shape[x->rank - 1], rows = (int32_t)(nuc_lt_elements(x) / depth);
    union nuc_mc_record r = {.softmax = {.rows = rows, .depth = depth}};
    if (depth > NUC_FIXED_SOFTMAX_ROW) {
        emit_softmax_table(cv, n, rows, depth);
    } else {
        /*
         * Differences are scaled to 5 integer bits. Source: LiteRT PreprocessSoftmaxScaling and CalculateInputRadius.
         */
        struct nuc_cv_params px = nuc_cv_params(cv, n, nuc_cv_x(cv, n));
        struct nuc_mc_softmax *s = &r.softmax;
        double scale = (double)n->op->options.softmax.beta * (double)px.scale * (1 << 26);
        struct nuc_multiplier m = nuc_multiplier_from_scale(fmin(scale, 2147483647.0));
        if (m.shift < 0)
            nuc_cv_fail(cv, n, "input scale %g is below 2^-27: requantize the input", (double)px.scale);
        s->multiplier = m.multiplier;
        s->left_shift = m.shift;
        s->diff_min = -(int32_t)floor(31.0 * (double)(1 << 26) / (double)((int64_t)1 << m.shift));
        s->input = nuc_cv_tensor_ref(cv, n->input);
        s->output = nuc_cv_output_ref(cv);
        s->out_pitch = nuc_cv_out_pitch(cv);
        nuc_cv_emit(cv, NUC_MC_OP_SOFTMAX, &r);
    }
}

void nuc_cv_emit_table(struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    union nuc_mc_record r = {.lut = {.count = (int32_t)nuc_lt_elements(nuc_cv_y(cv, n))}};

    if (nuc_lt_elements(nuc_cv_x(cv, n)) != r.lut.count)
        nuc_cv_fail(cv, n, "input and output differ in size");
    r.lut.input = nuc_cv_tensor_ref(cv, n->input);
    r.lut.output = nuc_cv_output_ref(cv);
    r.lut.in_pitch = nuc_cv_in_pitch(cv, n->input);
    r.lut.run = (int32_t)(r.lut.in_pitch != 0 ? nuc_cv_place(cv, n->input) : nuc_cv_place(cv, n->output)).layout.row;
    r.lut.out_pitch = nuc_cv_out_pitch(cv);
    r.lut.table = nuc_cv_weights_ref(cv, n->table, 256);
    nuc_cv_emit(cv, NUC_MC_OP_LUT, &r);
}
