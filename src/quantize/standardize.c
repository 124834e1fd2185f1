/*
 * Inputs in units of their own. Columns such as 1,013 hPa beside 0.4 have no common scale, nor has a loud sample beside
 * a quiet one: what brings them to one is computed in float, as is what brings results back to the units of the input.
 */
#include "ir/args.h"
#include "ir/op_list.h"
#include "quantize/annotate_private.h"

/* One second of speech. Beyond it these operators would take the CPU longer than most networks take in all. */
#define MOST_ELEMENTS 16384

struct standardizing {
    struct nuc_annotator *a;
    /* By node id. */
    const struct nuc_node **input; /* the input of the model that a value is made of alone, or NULL */
    bool *is_plain;                /* the input moved, or changed by constants */
    bool *differs;                 /* and so do the constants, along the last dimension */
    bool *brings_back;             /* results to the units of an input, perhaps before moves and constants */
    bool *in_float;
};

static int64_t elements(const struct nuc_node *node)
{
    return nuc_elements(&node->vals[0]);
}

static bool is_norm(const struct nuc_node *node)
{
    return nuc_op_is_in(node->op, NUC_OPS(NUC_OP_LAYER_NORM, NUC_OP_GROUP_NORM, NUC_OP_RMS_NORM));
}

static bool is_move(const struct nuc_node *node)
{
    return nuc_op_rearranges(node->op) || nuc_op_family(node->op) == NUC_FAMILY_SLICE;
}

/* Statistics of a value, and the functions that they are made with. */
static bool is_statistic(const struct nuc_node *node)
{
    return nuc_op_family(node->op) == NUC_FAMILY_REDUCE || nuc_has_bounds(node) ||
           !nuc_numbers_equal(nuc_power_of(node), 0) ||
           nuc_op_is_in(node->op, NUC_OPS(NUC_OP_LOG1P, NUC_OP_ABS, NUC_OP_NEG));
}

struct operands {
    const struct nuc_node *a, *b;
};

static struct operands swapped(struct operands x)
{
    return (struct operands){x.b, x.a};
}

/* Operands of arithmetic: if one is constant, `b` is it, but for the first one of a quotient, of which there are none.
 */
static bool operands_of(const struct nuc_node *node, struct operands *out)
{
    *out = (struct operands){nuc_arg_node(node, NUC_SELF), nuc_arg_node(node, NUC_OTHER)};
    if (!nuc_op_is_in(node->op, NUC_OPS(NUC_OP_ADD, NUC_OP_SUB, NUC_OP_MUL, NUC_OP_DIV)) || out->a == NULL ||
        out->b == NULL)
        return false;
    if (nuc_is_static(out->a) && node->op != NUC_OP_DIV)
        *out = swapped(*out);
    return !nuc_is_static(out->a);
}

/* Constants that differ along the last dimension, unlike those that repeat a value. */
static bool has_columns(struct nuc_graph *g, const struct nuc_node *constant)
{
    const struct nuc_meta *m = &constant->vals[0];
    int64_t columns = m->rank > 0 ? m->sizes[m->rank - 1] : 1;

    if (columns < 2 || m->dtype != NUC_F32)
        return false;
    const float *values = nuc_const_contiguous(g, constant);
    for (int64_t i = 0; i < elements(constant); i++) {
        if (!nuc_numbers_equal((double)values[i], (double)values[i - i % columns]))
            return true;
    }
    return false;
}

/* A value for many of the input, such as the mean of a row or its last element. */
static bool stands_for_many(const struct standardizing *s, const struct nuc_node *value)
{
    const struct nuc_node *input = s->input[value->id];

    return input != NULL && 4 * elements(value) <= elements(input);
}

/* Follows what is made of one input; returns whether the node brings it to one scale. */
static bool standardizes(const struct standardizing *s, const struct nuc_node *node)
{
    const struct nuc_node **input = &s->input[node->id];
    struct operands x;

    if (!operands_of(node, &x)) {
        if (x.a == NULL || !(is_move(node) || is_statistic(node) || is_norm(node)))
            return false;
        *input = s->input[x.a->id];
        s->is_plain[node->id] = s->is_plain[x.a->id] && (is_move(node) || node->op == NUC_OP_LOG1P);
        s->differs[node->id] = s->differs[x.a->id];
        s->brings_back[node->id] = is_move(node) && s->brings_back[x.a->id];
        return is_norm(node) && elements(node) <= MOST_ELEMENTS;
    }
    if (nuc_is_static(x.b)) {
        *input = s->input[x.a->id];
        s->is_plain[node->id] = s->is_plain[x.a->id];
        s->differs[node->id] = s->differs[x.a->id] || has_columns(s->a->g, x.b);
        s->brings_back[node->id] = s->brings_back[x.a->id];
        if (elements(node) > elements(x.a) && elements(node) > MOST_ELEMENTS)
            return false;
        return (s->is_plain[node->id] && s->differs[node->id]) || s->in_float[x.a->id];
    }
    *input = s->input[x.a->id] == s->input[x.b->id] ? s->input[x.a->id] : NULL;
    s->brings_back[node->id] = (stands_for_many(s, x.a) && s->input[x.b->id] == NULL) ||
                               (stands_for_many(s, x.b) && s->input[x.a->id] == NULL);
    return elements(x.a) != elements(x.b) && elements(node) <= MOST_ELEMENTS;
}

/*
 * A node on the way to a result in the units of the input: arithmetic stays in float, as do the statistics it takes;
 * the way goes on through moves and arithmetic with constants, which comes before it.
 */
static void follow_back(const struct standardizing *s, const struct nuc_node *node, bool *on_way)
{
    struct operands x;

    if (is_move(node) && nuc_arg_node(node, NUC_SELF) != NULL)
        on_way[nuc_arg_node(node, NUC_SELF)->id] = true;
    if (!operands_of(node, &x) || elements(node) > MOST_ELEMENTS)
        return;
    if (stands_for_many(s, x.a))
        x = swapped(x);
    if (!nuc_is_static(x.b) && !(stands_for_many(s, x.b) && s->input[x.a->id] == NULL))
        return;
    s->in_float[node->id] = true;
    s->in_float[x.b->id] = true;
    on_way[x.a->id] = true;
}

void nuc_leave_standardizing_in_float(struct nuc_annotator *a)
{
    struct nuc_graph *g = a->g;
    bool *on_way = nuc_alloc_array(g->cx, g->next_id, sizeof *on_way);
    const struct standardizing s = {
        .a = a,
        .input = nuc_alloc_array(g->cx, g->next_id, sizeof *s.input),
        .is_plain = nuc_alloc_array(g->cx, g->next_id, sizeof *s.is_plain),
        .differs = nuc_alloc_array(g->cx, g->next_id, sizeof *s.differs),
        .brings_back = nuc_alloc_array(g->cx, g->next_id, sizeof *s.brings_back),
        .in_float = nuc_alloc_array(g->cx, g->next_id, sizeof *s.in_float),
    };

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (nuc_is_placeholder(n) && n->input_kind == NUC_USER_INPUT && nuc_is_quantizable(n)) {
            s.input[n->id] = n;
            s.is_plain[n->id] = true;
            continue;
        }
        /* The model's result is no input of a layer: it is computed where others of its kind are. */
        s.in_float[n->id] = nuc_is_call(n) && nuc_is_quantizable(n) && standardizes(&s, n) && s.input[n->id] != NULL &&
                            !nuc_feeds_output(n);
    }
    for (const struct nuc_node *n = g->last; n != NULL; n = n->prev) {
        struct nuc_cursor at = {0, 0};
        if (on_way[n->id] && nuc_is_call(n) && nuc_is_quantizable(n) && s.input[n->id] == NULL)
            follow_back(&s, n, on_way);
        for (const struct nuc_node *in = nuc_next_input(n, &at); in != NULL; in = nuc_next_input(n, &at)) {
            if (n->op == NUC_OP_OUTPUT)
                on_way[in->id] |= s.brings_back[in->id];
            /* What leads to a node in float from the input. */
            if (s.in_float[n->id] && s.input[n->id] != NULL && s.input[in->id] != NULL && nuc_is_call(in))
                s.in_float[in->id] = true;
        }
        a->stays_float[n->id] |= s.in_float[n->id];
    }
}
