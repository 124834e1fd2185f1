/* Rules about the quantization around an operator that the reference leaves to its verifier, or to nobody. */
#include "npu/support/facts.h"

/* Results are values of the input, or means of them: the NPU has no other scale for them. */
static const bool keeps_scale[NUC_FAMILY_COUNT] = {
    [NUC_FAMILY_VIEW] = true, [NUC_FAMILY_PERMUTE] = true, [NUC_FAMILY_COPY] = true,   [NUC_FAMILY_SLICE] = true,
    [NUC_FAMILY_PAD] = true,  [NUC_FAMILY_POOL] = true,    [NUC_FAMILY_RESIZE] = true,
};

struct results {
    struct nuc_quant first;
    uint32_t count;
    bool same;
};

static void add_results(const struct nuc_node *node, struct results *r)
{
    for (uint32_t i = 0; i < node->n_users; i++) {
        struct nuc_quant q;
        if (!nuc_quantize_quant(node->users[i], &q))
            continue;
        if (r->count++ == 0)
            r->first = q;
        r->same = r->same && nuc_same_parameters(&r->first, &q) && r->first.dtype == q.dtype;
    }
}

/* What the quantize nodes make of the first result, which getitem nodes take out of a tuple. */
static struct results results_of(const struct nuc_node *node)
{
    struct results r = {.same = true};

    if (!node->is_tuple)
        add_results(node, &r);
    for (uint32_t i = 0; node->is_tuple && i < node->n_users; i++) {
        const struct nuc_node *item = node->users[i];
        if (item->op == NUC_OP_GETITEM && nuc_integer(item, NUC_ARG(GETITEM, index), 0) == 0)
            add_results(item, &r);
    }
    return r;
}

/* Parameters of int8 results the NPU has no others for, as LiteRT fixes them. */
static const struct {
    enum nuc_op op;
    double scale;
    int64_t zero_point;
} fixed[] = {
    {NUC_OP_SIGMOID, 1.0 / 256, -128},
    {NUC_OP_TANH, 1.0 / 128, 0},
    {NUC_OP_NATIVE_SOFTMAX, 1.0 / 256, -128},
};

static struct nuc_verdict check_fixed(const struct nuc_support *s, const struct nuc_node *node,
                                      const struct nuc_quant *found)
{
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        const char *actual, *limit;
        if (fixed[i].op != node->op || found->dtype != NUC_I8 ||
            ((float)found->scale == (float)fixed[i].scale && found->zero_point == fixed[i].zero_point))
            continue;
        actual = nuc_format(s->g->cx, "%.9g, %lld", found->scale, (long long)found->zero_point);
        limit = nuc_format(s->g->cx, "%.9g, %lld", fixed[i].scale, (long long)fixed[i].zero_point);
        return (struct nuc_verdict){false, "the result has the scale and zero point of the NPU's table", actual, limit};
    }
    return (struct nuc_verdict){.ok = true};
}

struct nuc_verdict nuc_check_parameters(const struct nuc_support *s, const struct nuc_node *node)
{
    struct results r = results_of(node);
    const struct nuc_node *x = nuc_arg_node(node, NUC_SELF);
    struct nuc_quant in;

    /* Past copies in front of it that nothing quantizes. */
    while (x != NULL && x->cluster == node && nuc_is_call(x) && !nuc_is_dequantize(x))
        x = nuc_arg_node(x, NUC_SELF);
    if (!r.same)
        return (struct nuc_verdict){false, "every reader takes the result in one quantization", "several", "one"};
    if (r.count > 0) {
        struct nuc_verdict v = check_fixed(s, node, &r.first);
        if (!v.ok)
            return v;
    }
    if (r.count == 0 || !keeps_scale[nuc_op_family(node->op)] || x == NULL || !nuc_dequantize_quant(x, &in))
        return (struct nuc_verdict){.ok = true};
    if (!nuc_same_parameters(&in, &r.first)) {
        const char *actual = nuc_format(s->g->cx, "%.9g, %lld and %.9g, %lld", in.scale, (long long)in.zero_point,
                                        r.first.scale, (long long)r.first.zero_point);
        return (struct nuc_verdict){false, "input and output have the same scale and zero point", actual, "the same"};
    }
    return (struct nuc_verdict){.ok = true};
}
