/*
 * Functions of one value that a model computes in several operators, as x * sigmoid(x): where both operands of an
 * operator are functions of one tensor, its result is one, too, and its table replaces theirs. Byte for byte the same.
 */
#include "device/base/microcode_binary.h"
#include "npu/convert/conversion.h"

/* The node that computes tensor `t` as a function of each value of another, or NULL. */
static const struct nuc_cv_node *function_of(const struct nuc_cv *cv, int32_t t)
{
    int32_t producer = cv->tensors[t].producer;
    const struct nuc_cv_node *n = producer < 0 ? NULL : &cv->nodes[producer];

    return n && n->table && !n->dropped && nuc_cv_bytes(cv, n->input) == nuc_cv_bytes(cv, t) ? n : NULL;
}

/* The table of `t` as a function of `root`, which lies on its way. */
static void compose(const struct nuc_cv *cv, int32_t t, int32_t root, int8_t *table)
{
    const struct nuc_cv_node *n;

    for (int i = 0; i < 256; i++)
        table[i] = (int8_t)(i - 128);
    for (; t != root; t = n->input) {
        n = &cv->nodes[cv->tensors[t].producer];
        /* The functions are met from the last to the first. */
        int8_t before[256];
        for (int i = 0; i < 256; i++)
            before[i] = table[n->table[i] + 128];
        for (int i = 0; i < 256; i++)
            table[i] = before[i];
    }
}

/* The tensor nearest to both that `a` and `b` are functions of, or -1. */
static int32_t common_root(const struct nuc_cv *cv, const uint32_t *depth, int32_t a, int32_t b)
{
    while (a != b) {
        int32_t *deeper = depth[a] >= depth[b] ? &a : &b;
        if (depth[*deeper] == 0)
            return -1;
        *deeper = cv->nodes[cv->tensors[*deeper].producer].input;
    }
    return a;
}

/* One reader of `t` less. A function nobody reads any more is gone, and what it reads has one reader less. */
static void release(struct nuc_cv *cv, int32_t t, uint32_t whole)
{
    while (--cv->tensors[t].n_uses == 0 && function_of(cv, t)) {
        struct nuc_cv_node *n = &cv->nodes[cv->tensors[t].producer];
        n->dropped = true;
        n->whole = whole;
        t = n->input;
    }
}

static void find_function(struct nuc_cv *cv, const uint32_t *depth, struct nuc_cv_node *n)
{
    int32_t a = n->op->inputs[0], b = n->op->inputs[1];
    int64_t bytes = nuc_cv_bytes(cv, n->output);
    int8_t of_a[256], of_b[256];
    uint32_t opcode;

    if (cv->tensors[a].constant || cv->tensors[b].constant || nuc_cv_bytes(cv, a) != bytes ||
        nuc_cv_bytes(cv, b) != bytes)
        return;
    int32_t root = common_root(cv, depth, a, b);
    if (root < 0)
        return;
    compose(cv, a, root, of_a);
    compose(cv, b, root, of_b);
    struct nuc_mc_binary e = nuc_cv_binary(cv, n, &opcode);
    int8_t *table = nuc_alloc(cv->cx, 256);
    for (int i = 0; i < 256; i++)
        table[i] = nuc_mc_binary_value(&e, opcode, of_a[i], of_b[i]);
    n->table = table;
    n->input = root;
    cv->tensors[root].n_uses++;
    release(cv, a, n->index + 1);
    release(cv, b, n->index + 1);
}

void nuc_cv_find_functions(struct nuc_cv *cv)
{
    uint32_t *depth = nuc_alloc_array(cv->cx, cv->graph->n_tensors, sizeof *depth); /* functions on the way to t */

    for (uint32_t i = 0; i < cv->graph->n_ops; i++) {
        struct nuc_cv_node *n = &cv->nodes[i];
        if (!n->table && nuc_cv_is_binary(n->op->code) && n->op->n_inputs == 2 && n->op->inputs[1] >= 0)
            find_function(cv, depth, n);
        const struct nuc_cv_node *f = function_of(cv, n->output);
        depth[n->output] = f ? depth[f->input] + 1 : 0;
    }
}
