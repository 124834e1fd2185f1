/* The order of operators that keeps the fewest bytes live, where the graph leaves a choice. */
#include "algorithms/plan.h"
#include "npu/convert/conversion.h"

/* The problem under construction: one operator per node that is left, one buffer per tensor. */
struct choice {
    struct nuc_cv *cv;
    uint32_t *nodes;    /* [operator] node */
    uint32_t *operator; /* [node] */
    struct nuc_plan_operator *operators;
    struct nuc_plan_buffer *buffers;
    uint32_t n;
};

/* The node that has to run before tensor `t` can be read, or -1: dropped ones hand on their input. */
static int32_t writer(const struct nuc_cv *cv, int32_t t)
{
    while (cv->tensors[t].producer >= 0) {
        const struct nuc_cv_node *n = &cv->nodes[cv->tensors[t].producer];
        if (!n->dropped)
            return (int32_t)n->index;
        t = n->input;
    }
    return -1;
}

/* Whether the result may be written over operand `t`. */
static bool may_overwrite(const struct nuc_cv *cv, const struct nuc_cv_node *n, int32_t t)
{
    struct nuc_cv_place x = nuc_cv_place(cv, t), y = nuc_cv_place(cv, n->output);

    if (!n->table && !nuc_cv_is_binary(n->op->code) && n->op->code != NUC_LT_SOFTMAX)
        return false;
    return nuc_cv_in_scratch(cv, x.holder) && nuc_cv_in_scratch(cv, y.holder) && y.holder == n->output &&
           nuc_cv_bytes(cv, x.holder) == nuc_cv_bytes(cv, y.holder);
}

/* Operand `t` of operator `op`: what it touches and has to follow. */
static void add_operand(struct choice *c, struct nuc_plan_operator *op, const struct nuc_cv_node *n, int32_t t,
                        uint32_t *lists[3])
{
    int32_t holder = nuc_cv_place(c->cv, t).holder, before = writer(c->cv, t);

    if (nuc_cv_in_scratch(c->cv, holder))
        op->n_buffers = nuc_plan_add_once(lists[0], op->n_buffers, (uint32_t)holder);
    if (before >= 0 && before != (int32_t)n->index)
        op->n_after = nuc_plan_add_once(lists[1], op->n_after, c->operator[before]);
    if (may_overwrite(c->cv, n, t))
        op->n_in_place = nuc_plan_add_once(lists[2], op->n_in_place, (uint32_t)holder);
}

static void add_operator(struct choice *c, const struct nuc_cv_node *n)
{
    struct nuc_plan_operator *op = &c->operators[c->n];
    uint32_t *lists[3], result = (uint32_t)nuc_cv_place(c->cv, n->output).holder;

    for (int i = 0; i < 3; i++)
        lists[i] = nuc_alloc_array(c->cv->cx, (size_t)n->op->n_inputs + 2, sizeof *lists[i]);
    *op = (struct nuc_plan_operator){.buffers = lists[0], .after = lists[1], .in_place = lists[2], .result = result};
    if (nuc_cv_in_scratch(c->cv, (int32_t)result))
        op->n_buffers = nuc_plan_add_once(lists[0], 0, result);
    for (uint32_t k = 0; k < nuc_cv_n_operands(n); k++) {
        if (nuc_cv_operand(n, k) >= 0)
            add_operand(c, op, n, nuc_cv_operand(n, k), lists);
    }
    if (!n->table && nuc_cv_is_binary(n->op->code))
        add_operand(c, op, n, n->op->inputs[0], lists);
    c->operator[n->index] = c->n;
    c->nodes[c->n++] = n->index;
}

void nuc_cv_find_order(struct nuc_cv *cv)
{
    uint32_t n = cv->graph->n_ops, at = 0;

    cv->order = nuc_alloc_array(cv->cx, (size_t)n + 1, sizeof *cv->order);
    struct nuc_arena *outer = nuc_push_arena(cv->cx);
    struct choice c = {.cv = cv,
                       .nodes = nuc_alloc_array(cv->cx, n, sizeof *c.nodes),
                       .operator= nuc_alloc_array(cv->cx, n, sizeof *c.operator),
                       .operators = nuc_alloc_array(cv->cx, n, sizeof *c.operators),
                       .buffers = nuc_alloc_array(cv->cx, cv->graph->n_tensors, sizeof *c.buffers)};
    for (uint32_t i = 0; i < n; i++) {
        if (!cv->nodes[i].dropped)
            add_operator(&c, &cv->nodes[i]);
    }
    for (uint32_t t = 0; t < cv->graph->n_tensors; t++)
        c.buffers[t].size = nuc_align_up((size_t)nuc_cv_bytes(cv, (int32_t)t), NUC_MC_ALIGNMENT);
    const struct nuc_order_problem problem = {c.operators, c.n, c.buffers, cv->graph->n_tensors, 0};
    struct nuc_plan_order order = nuc_plan_operators(cv->cx, &problem);
    for (uint32_t i = 0; i < c.n; i++)
        cv->order[at++] = c.nodes[order.operators[i]];
    nuc_pop_arena(cv->cx, outer);
    for (uint32_t i = 0; i < n; i++) {
        if (cv->nodes[i].dropped)
            cv->order[at++] = i;
    }
}
