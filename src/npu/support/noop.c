/* Whether a node returns its input: known by its operator, or found by running it. */
#include <string.h>

#include "eval/eval.h"
#include "host/numbers.h"
#include "npu/support/facts.h"

struct trial {
    const struct nuc_support *s;
    const struct nuc_node *node;
    struct nuc_graph *g;
    const struct nuc_node *input; /* the operand that is not static */
    void *data;                   /* its elements */
    bool returns_input;
};

/* Arbitrary values in [-5, 5), negative ones included so that no activation looks like the identity. */
static void fill(float *data, size_t count)
{
    uint32_t state = 42;

    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        data[i] = (float)(state >> 8) * (10.0f / 16777216.0f) - 5.0f;
    }
}

/* The real values of a per-tensor dequantize node over static data, or NULL. */
static float *dequantized(struct trial *t, const struct nuc_node *dequantize)
{
    const struct nuc_node *source = nuc_dequantize_source(dequantize);
    struct nuc_quant q;

    if (source == NULL || !nuc_is_static(source) || !nuc_dequantize_quant(dequantize, &q) || q.per_channel)
        return NULL;
    if (q.dtype != NUC_I8 && q.dtype != NUC_U8 && q.dtype != NUC_I32)
        return NULL;
    size_t count = (size_t)nuc_elements(&source->vals[0]);
    const void *quantized = nuc_const_contiguous(t->s->g, source);
    float *data = nuc_alloc_array(t->g->cx, count, sizeof *data);
    for (size_t i = 0; i < count; i++)
        data[i] = (float)(nuc_int_at(q.dtype, quantized, i) - q.zero_point) * (float)q.scale;
    return data;
}

/* Keyword arguments keep their defaults: only positional ones take part. */
static bool build(struct trial *t, struct nuc_node *copy)
{
    const struct nuc_schema *schema = nuc_op_schema(t->node->op);

    for (uint32_t i = 0; i < t->node->n_args; i++) {
        const struct nuc_arg *a = &t->node->args[i];
        if (schema->args[i].keyword_only)
            continue;
        if (a->kind == NUC_ARG_NODES)
            return false;
        if (a->kind != NUC_ARG_NODE) {
            copy->args[i] = *a;
            continue;
        }
        /* The stand-in of one operand, or NULL when the node cannot be tried. */
        const struct nuc_node *input = a->u.node;
        struct nuc_meta meta = input->vals[0];
        void *data = dequantized(t, input);
        nuc_set_contiguous(&meta);
        if (data == NULL) {
            if (t->input != NULL || meta.dtype != NUC_F32)
                return false;
            size_t count = (size_t)nuc_elements(&meta);
            data = nuc_alloc_array(t->g->cx, count, sizeof(float));
            fill(data, count);
            t->input = input;
            t->data = data;
        }
        struct nuc_node *value = nuc_add_constant(t->g, "operand", &meta, data);
        if (value == NULL)
            return false;
        nuc_set_arg_node(copy, t->g, i, value);
    }
    return t->input != NULL;
}

static void run_trial(struct nuc_context *cx, void *arg)
{
    struct trial *t = arg;
    void *out[1] = {NULL};

    (void)cx;
    struct nuc_node *copy = nuc_add_node(t->g, NULL, t->node->op, "trial");
    if (!build(t, copy) || !nuc_same_sizes(&t->input->vals[0], &t->node->vals[0]) ||
        t->input->vals[0].dtype != t->node->vals[0].dtype)
        return;
    struct nuc_meta meta = t->node->vals[0];
    nuc_set_contiguous(&meta);
    nuc_set_val(t->g, copy, &meta);
    if (nuc_eval_constant(t->g, copy, out))
        t->returns_input = memcmp(out[0], t->data, nuc_bytes(&meta)) == 0;
}

bool nuc_is_no_op(const struct nuc_support *s, const struct nuc_node *node)
{
    struct nuc_context *cx = s->g->cx;
    enum nuc_no_op kind = nuc_no_op_kind(s, node->op);

    if (kind == NUC_NO_OP_OF_ONE)
        return nuc_arg_at(node, NUC_SELF)->kind == NUC_ARG_NODES && nuc_arg_at(node, NUC_SELF)->count == 1;
    if (kind != NUC_NO_OP_BY_TRIAL || node->is_tuple || node->n_vals != 1)
        return kind == NUC_ALWAYS_NO_OP;
    struct nuc_arena *outer = nuc_push_arena(cx);
    struct trial t = {.s = s, .node = node, .g = nuc_graph_new(cx, s->g->file)};
    enum nuc_status status = nuc_try(cx, run_trial, &t);
    nuc_pop_arena(cx, outer);
    if (status == NUC_NO_MEMORY || status == NUC_INTERRUPTED)
        nuc_fail_again(cx, status);
    /* An operator that cannot be tried, as one of constants whose data are not there, counts as one that works. */
    return status == NUC_OK && t.returns_input;
}
