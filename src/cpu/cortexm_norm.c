/* Norms and logarithmic softmax in int8 and int16. */
#include <math.h>

#include "cpu/cortexm_site.h"

/*
 * A weight or bias as float32 in steps of the output; `fallback` for each of `count` where there is none. NULL when it
 * is not a constant.
 */
static struct nuc_node *in_output_steps(struct nuc_cm *c, const struct nuc_cm_unary *u, struct nuc_node *value,
                                        int64_t count, double fallback, const char *suffix)
{
    float *steps = nuc_alloc_array(c->g->cx, (size_t)count + 1, sizeof *steps);

    if (value != NULL && (!nuc_is_static_float(value) || nuc_elements(&value->vals[0]) != count))
        return NULL;
    const float *values = value == NULL ? NULL : nuc_const_contiguous(c->g, value);
    for (int64_t i = 0; i < count; i++)
        steps[i] = (float)((values == NULL ? fallback : (double)values[i]) / u->out.params.scale);
    return nuc_cm_constant(c, u->out.value, suffix, NUC_F32, &count, 1, steps);
}

/* Both at once, or false. */
static bool affine_of(struct nuc_cm *c, const struct nuc_cm_unary *u, struct nuc_node *weight, struct nuc_node *bias,
                      int64_t count, struct nuc_node *out[2])
{
    out[0] = in_output_steps(c, u, weight, count, 1, "_weight");
    out[1] = in_output_steps(c, u, bias, count, 0, "_bias");
    return out[0] != NULL && out[1] != NULL;
}

/* Variances are of steps of the input. */
static double eps_in_steps(const struct nuc_cm_unary *u, const struct nuc_node *node, uint32_t index)
{
    return nuc_scalar(node, index, 0x1p-23) / (u->in.scale * u->in.scale);
}

static bool takes_group(const struct nuc_cm_unary *u, int64_t count)
{
    return count >= 1 && count <= (u->in.dtype == NUC_I8 ? NUC_MOST_IN_GROUP : NUC_MOST_WIDE_IN_GROUP);
}

/* Layer and RMS norm: (input, normalized_shape, weight, ...). */
bool nuc_cm_lower_layer_norm(struct nuc_cm *c, struct nuc_node *node)
{
    bool rms = node->op == NUC_OP_RMS_NORM;
    const struct nuc_arg *sizes = nuc_arg_at(node, NUC_ARG(NATIVE_LAYER_NORM, normalized_shape));
    struct nuc_node *weight = nuc_arg_node(node, NUC_ARG(NATIVE_LAYER_NORM, weight));
    struct nuc_node *bias = rms ? NULL : nuc_arg_node(node, NUC_ARG(NATIVE_LAYER_NORM, bias));
    struct nuc_node *affine[2], *norm;
    struct nuc_cm_unary u;
    int64_t count = 1;

    if (!nuc_cm_is_own(c) || !nuc_cm_read_unary(node, false, &u))
        return false;
    for (uint32_t i = 0; sizes->kind == NUC_ARG_INTS && i < sizes->count; i++)
        count *= sizes->u.ints[i];
    if (!takes_group(&u, count) || !affine_of(c, &u, weight, bias, count, affine))
        return false;
    struct nuc_node *before = nuc_cm_place(&u.out);
    struct nuc_node *in = nuc_cm_contiguous(c, u.in.node, before);
    if (rms)
        norm = nuc_emit(c->g, before, NUC_OP_NUCLEON_RMS_NORM, u.out.value,
                        NUC_ARGS(in, affine[0], u.in.zero_point, u.out.params.zero_point,
                                 eps_in_steps(&u, node, NUC_ARG(RMS_NORM, eps))));
    else
        norm = nuc_emit(c->g, before, NUC_OP_NUCLEON_LAYER_NORM, u.out.value,
                        NUC_ARGS(in, affine[0], affine[1], u.out.params.zero_point,
                                 eps_in_steps(&u, node, NUC_ARG(NATIVE_LAYER_NORM, eps))));
    return nuc_cm_replace(c, &u.out, norm);
}

/* An image stays as it lies. */
bool nuc_cm_lower_group_norm(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_node *weight = nuc_arg_node(node, NUC_ARG(NATIVE_GROUP_NORM, weight));
    struct nuc_node *bias = nuc_arg_node(node, NUC_ARG(NATIVE_GROUP_NORM, bias));
    struct nuc_node *affine[2];
    struct nuc_cm_unary u;

    if (!nuc_cm_is_own(c) || !nuc_cm_read_unary(node, false, &u))
        return false;
    const struct nuc_meta *m = &u.in.node->vals[0];
    int64_t groups = nuc_integer(node, NUC_ARG(NATIVE_GROUP_NORM, group), 1);
    if (nuc_elements(m) == 0 || !takes_group(&u, nuc_elements(m) / (m->sizes[0] * groups)) ||
        !affine_of(c, &u, weight, bias, m->sizes[1], affine))
        return false;
    struct nuc_node *before = nuc_cm_place(&u.out);
    struct nuc_node *in = nuc_cm_is_nhwc(u.in.node) ? u.in.node : nuc_cm_contiguous(c, u.in.node, before);
    return nuc_cm_replace(c, &u.out,
                          nuc_emit(c->g, before, NUC_OP_NUCLEON_GROUP_NORM, u.out.value,
                                   NUC_ARGS(in, groups, affine[0], affine[1], u.out.params.zero_point,
                                            eps_in_steps(&u, node, NUC_ARG(NATIVE_GROUP_NORM, eps)))));
}

/* Along any dimension of a tensor as it lies. */
bool nuc_cm_lower_log_softmax(struct nuc_cm *c, struct nuc_node *node)
{
    struct nuc_cm_unary u;

    if (!nuc_cm_is_own(c) || !nuc_cm_read_unary(node, false, &u) ||
        nuc_flag(node, NUC_ARG(NATIVE_LOG_SOFTMAX, half_to_float)) || nuc_elements(&node->vals[0]) == 0)
        return false;
    /* exp of 0, -1, -2, ... steps of the input; of int16 then of 0, -256, -512, ... steps. */
    const int64_t count = u.in.dtype == NUC_I8 ? 256 : 512;
    float *values = nuc_alloc_array(c->g->cx, (size_t)count, sizeof *values);
    for (int i = 0; i < count; i++)
        values[i] = (float)exp(-(i < 256 ? i : (i - 256) * 256) * u.in.scale);
    return nuc_cm_replace(
        c, &u.out,
        nuc_emit(c->g, nuc_cm_place(&u.out), NUC_OP_NUCLEON_LOG_SOFTMAX, u.out.value,
                 NUC_ARGS(u.in.node, nuc_integer(node, NUC_ARG(NATIVE_LOG_SOFTMAX, dim), -1),
                          nuc_cm_constant(c, u.out.value, "_exponentials", NUC_F32, &count, 1, values),
                          u.out.params.zero_point, u.in.scale / u.out.params.scale, 1 / u.out.params.scale)));
}
