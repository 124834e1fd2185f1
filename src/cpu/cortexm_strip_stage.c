#include "cpu/strip_stage.h"

#include "ir/args.h"
#include "ir/conv_args.h"
#include "ir/op_list.h"
#include "rewrite/rewrite.h"

#define CONV(name) NUC_ARG(CORTEXM_CONV2D, name)
#define POOL(name) NUC_ARG(CORTEXM_MAX_POOL2D, name) /* average pooling has them in the same places */

static const enum nuc_op *const convolutions =
    NUC_OPS(NUC_OP_CORTEXM_CONV2D, NUC_OP_NUCLEON_CONV2D, NUC_OP_CORTEXM_DEPTHWISE, NUC_OP_NUCLEON_DEPTHWISE);
static const enum nuc_op *const pools = NUC_OPS(NUC_OP_CORTEXM_MAX_POOL2D, NUC_OP_CORTEXM_AVG_POOL2D);

/* Value by value, and which arguments are the values. */
static const struct {
    const enum nuc_op *ops;
    uint32_t first, second;
} elementwise[] = {
    {NUC_OPS(NUC_OP_CORTEXM_ADD), NUC_SELF, NUC_ARG(CORTEXM_ADD, other)},
    {NUC_OPS(NUC_OP_CORTEXM_MUL, NUC_OP_CORTEXM_DIV), NUC_SELF, NUC_ARG(CORTEXM_MUL, other)},
    {NUC_OPS(NUC_OP_CORTEXM_MINIMUM, NUC_OP_CORTEXM_MAXIMUM), NUC_SELF, NUC_OTHER},
    {NUC_OPS(NUC_OP_CORTEXM_ACTIVATION, NUC_OP_NUCLEON_PRELU, NUC_OP_CORTEXM_QUANTIZE, NUC_OP_CORTEXM_DEQUANTIZE,
             NUC_OP_NUCLEON_PERMUTE_VIEW),
     NUC_SELF, NUC_SELF},
};

/* Positions of the operands; false for other operators. */
static bool operands(enum nuc_op op, uint32_t at[2])
{
    at[0] = at[1] = NUC_SELF;
    if (nuc_op_is_in(op, convolutions) || nuc_op_is_in(op, pools))
        return true;
    for (size_t i = 0; i < sizeof elementwise / sizeof elementwise[0]; i++) {
        at[0] = elementwise[i].first;
        at[1] = elementwise[i].second;
        if (nuc_op_is_in(op, elementwise[i].ops))
            return true;
    }
    return false;
}

/* ---- rows ---- */

/* Along the height; 1, 1, 0 and 1 where an operator goes value by value. */
struct window {
    int64_t kernel, stride, before, dilation;
};

static struct window window_of(const struct nuc_node *node)
{
    struct window w = {1, 1, 0, 1};
    int64_t pair[2], after[2];

    if (nuc_op_is_in(node->op, convolutions)) {
        w.kernel = nuc_input_meta(node, CONV(weight))->sizes[1];
        nuc_conv_numbers(node, CONV(stride), 2, 1, pair);
        w.stride = pair[0];
        nuc_conv_numbers(node, CONV(dilation), 2, 1, pair);
        w.dilation = pair[0];
        (void)nuc_conv_paddings(node, CONV(padding), pair, after);
        w.before = pair[0];
    } else if (nuc_op_is_in(node->op, pools)) {
        nuc_conv_numbers(node, POOL(kernel_size), 2, 1, pair);
        w.kernel = pair[0];
        nuc_conv_numbers(node, POOL(stride), 2, 1, pair);
        w.stride = pair[0];
        nuc_conv_numbers(node, POOL(padding), 2, 0, pair);
        w.before = pair[0];
    }
    return w;
}

static uint32_t permuted_dim(const struct nuc_node *node, uint32_t dim)
{
    if (node->op != NUC_OP_NUCLEON_PERMUTE_VIEW)
        return dim;
    return (uint32_t)nuc_positive_dim(node->args[NUC_ARG(NUCLEON_PERMUTE_VIEW, dims)].u.ints[dim], node->vals[0].rank);
}

bool nuc_rows_read(const struct nuc_node *node, struct nuc_rows rows, struct nuc_rows *read, int64_t outside[2])
{
    struct window w = window_of(node);
    bool windows = nuc_op_is_in(node->op, convolutions) || nuc_op_is_in(node->op, pools);

    *read = rows;
    outside[0] = outside[1] = 0;
    if (!windows)
        return true;
    int64_t height = nuc_input_meta(node, NUC_SELF)->sizes[2];
    int64_t low = rows.low * w.stride - w.before;
    int64_t high = (rows.high - 1) * w.stride - w.before + (w.kernel - 1) * w.dilation + 1;
    outside[0] = low < 0 ? -low : 0;
    outside[1] = high > height ? high - height : 0;
    *read = (struct nuc_rows){low + outside[0], high - outside[1]};
    return read->low < read->high;
}

static void unite(struct nuc_rows *rows, struct nuc_rows more)
{
    if (nuc_no_rows(*rows)) {
        *rows = more;
        return;
    }
    rows->low = more.low < rows->low ? more.low : rows->low;
    rows->high = more.high > rows->high ? more.high : rows->high;
}

void nuc_begin_strips(struct nuc_strip_stage *s, const bool *keep)
{
    for (uint32_t i = 0; i < s->n; i++) {
        s->nodes[i].rows = s->nodes[i].fresh = (struct nuc_rows){0, 0};
        s->nodes[i].keep = keep != NULL && keep[i];
    }
}

/* `rows` are what the strip reads. */
static void set_fresh(struct nuc_strip_node *n)
{
    struct nuc_rows held = n->held;

    if (nuc_no_rows(n->rows) || (held.low <= n->rows.low && n->rows.high <= held.high)) {
        n->rows = held;
        n->fresh = (struct nuc_rows){held.high, held.high};
        return;
    }
    n->fresh = n->rows;
    if (held.low <= n->rows.low && n->rows.low < held.high)
        n->fresh.low = held.high;
}

static bool read_rows(struct nuc_strip_stage *s, const struct nuc_strip_node *n)
{
    uint32_t at[2];
    struct nuc_rows read;
    int64_t outside[2];

    if (!nuc_rows_read(n->node, n->fresh, &read, outside))
        return false;
    operands(n->node->op, at);
    for (int k = 0; k < (at[0] == at[1] ? 1 : 2); k++) {
        if (!nuc_is_strip_operand(n->node, at[k], n->dim))
            continue;
        uint32_t place = s->place[nuc_operand(s->g, n->node, at[k])->id];
        if (place != 0)
            unite(&s->nodes[place - 1].rows, read);
    }
    return true;
}

bool nuc_rows_of_strip(struct nuc_strip_stage *s, struct nuc_rows cut)
{
    for (uint32_t i = 0; i < s->n; i++) {
        s->nodes[i].held = s->nodes[i].keep ? s->nodes[i].rows : (struct nuc_rows){0, 0};
        s->nodes[i].rows = (struct nuc_rows){0, 0};
    }
    s->nodes[s->n - 1].rows = cut;
    for (uint32_t i = s->n; i-- > 0;) {
        set_fresh(&s->nodes[i]);
        if (!nuc_no_rows(s->nodes[i].fresh) && !read_rows(s, &s->nodes[i]))
            return false;
    }
    return true;
}

bool nuc_is_strip_view(const struct nuc_node *node)
{
    return node->op == NUC_OP_NUCLEON_PERMUTE_VIEW;
}

uint32_t *nuc_last_readers(const struct nuc_strip_stage *s, uint32_t *owner)
{
    uint32_t *last = nuc_alloc_array(s->g->cx, s->n, sizeof *last);

    for (uint32_t i = 0; i < s->n; i++) {
        struct nuc_cursor at = {0, 0};
        owner[i] = last[i] = i;
        for (const struct nuc_node *in = nuc_next_input(s->nodes[i].node, &at); in != NULL;
             in = nuc_next_input(s->nodes[i].node, &at)) {
            uint32_t place = s->place[in->id];
            if (place == 0)
                continue;
            if (nuc_is_strip_view(s->nodes[i].node))
                owner[i] = owner[place - 1];
            last[owner[place - 1]] = i;
        }
    }
    return last;
}

/* ---- which operators ---- */

/* The outermost dimension in memory with more than one index; the rank when there is none. */
static uint32_t outermost(const struct nuc_meta *m)
{
    for (uint32_t i = 0; i < m->rank; i++) {
        if (m->sizes[m->dim_order[i]] > 1)
            return m->dim_order[i];
    }
    return m->rank;
}

bool nuc_is_strip_operand(const struct nuc_node *node, uint32_t index, uint32_t dim)
{
    const struct nuc_node *in = nuc_arg_node(node, index);
    uint32_t at[2];

    if (!operands(node->op, at) || (index != at[0] && index != at[1]) || in == NULL)
        return false;
    if (index == NUC_SELF && at[0] == at[1])
        return true;
    /* One that is broadcast along the rows is read as a whole. */
    return in->vals[0].rank == node->vals[0].rank && in->vals[0].sizes[dim] > 1;
}

/* Pools have one padding for both ends. */
static bool pool_has_strips(const struct nuc_node *node)
{
    int64_t dilation[2] = {1, 1};
    bool max = node->op == NUC_OP_CORTEXM_MAX_POOL2D;

    if (max)
        nuc_conv_numbers(node, NUC_ARG(CORTEXM_MAX_POOL2D, dilation), 2, 1, dilation);
    return window_of(node).before == 0 && dilation[0] == 1 &&
           !nuc_flag(node, max ? NUC_ARG(CORTEXM_MAX_POOL2D, ceil_mode) : NUC_ARG(CORTEXM_AVG_POOL2D, ceil_mode));
}

/* What is read in rows lies in rows, and does so in a memory that has addresses. */
static bool operand_has_rows(const struct nuc_node *node, uint32_t index, uint32_t dim)
{
    const struct nuc_node *in = nuc_arg_node(node, index);
    uint32_t rank = node->vals[0].rank;

    if (in == NULL || in->n_vals != 1 || in->is_tuple)
        return false;
    const struct nuc_meta *m = &in->vals[0];
    if (!nuc_is_strip_operand(node, index, dim)) /* broadcast: aligned from the last dimension on */
        return m->rank + dim < rank || m->sizes[m->rank + dim - rank] == 1;
    dim = permuted_dim(node, dim);
    return !nuc_is_static(in) && dim < m->rank && nuc_is_outermost(m, dim);
}

/* The operator computes rows of dimension `dim` of its result alone. */
static bool computes_rows(const struct nuc_node *node, uint32_t dim)
{
    bool windows = nuc_op_is_in(node->op, convolutions) || nuc_op_is_in(node->op, pools);
    uint32_t at[2];

    if (!nuc_is_call(node) || !operands(node->op, at) || node->n_vals != 1 || !nuc_is_outermost(&node->vals[0], dim))
        return false;
    if (windows && (dim != 2 || node->vals[0].sizes[0] != 1))
        return false;
    if (nuc_op_is_in(node->op, pools) && !pool_has_strips(node))
        return false;
    if (node->op == NUC_OP_NUCLEON_PRELU && dim == 1 && /* a slope for each index */
        nuc_elements(nuc_input_meta(node, NUC_ARG(NUCLEON_PRELU, weight))) > 1)
        return false;
    return operand_has_rows(node, at[0], dim) && operand_has_rows(node, at[1], dim);
}

bool nuc_has_strips(const struct nuc_node *node)
{
    if (!nuc_is_call(node) || node->n_vals != 1 || node->is_tuple || node->op == NUC_OP_NUCLEON_PERMUTE_VIEW)
        return false;
    uint32_t dim = outermost(&node->vals[0]);
    return dim < node->vals[0].rank && computes_rows(node, dim);
}

/* ---- the stage ---- */

static bool all_users_inside(const struct nuc_strip_stage *s, const struct nuc_node *node)
{
    for (uint32_t i = 0; i < node->n_users; i++) {
        if (s->place[node->users[i]->id] == 0)
            return false;
    }
    return true;
}

/* One value is read in rows of one dimension, or the reader does not belong to the stage. */
static bool want_operands(struct nuc_strip_stage *s, const struct nuc_node *node, uint32_t dim)
{
    uint32_t at[2];

    operands(node->op, at);
    for (int pass = 0; pass < 2; pass++) {
        for (int k = 0; k < 2; k++) {
            if (!nuc_is_strip_operand(node, at[k], dim))
                continue;
            uint32_t *wanted = &s->dim_of[nuc_operand(s->g, node, at[k])->id], rows = 1 + permuted_dim(node, dim);
            if (pass == 0 && *wanted != 0 && *wanted != rows)
                return false;
            if (pass == 1)
                *wanted = rows;
        }
    }
    return true;
}

static struct nuc_strip_node strip_node(struct nuc_node *node, uint32_t dim)
{
    return (struct nuc_strip_node){
        .node = node, .dim = dim, .row_bytes = nuc_bytes(&node->vals[0]) / (uint64_t)node->vals[0].sizes[dim]};
}

static void reverse(struct nuc_strip_stage *s)
{
    for (uint32_t i = 0; i < s->n / 2; i++) {
        struct nuc_strip_node other = s->nodes[i];
        s->nodes[i] = s->nodes[s->n - 1 - i];
        s->nodes[s->n - 1 - i] = other;
    }
    for (uint32_t i = 0; i < s->n; i++)
        s->place[s->nodes[i].node->id] = 1 + i;
}

bool nuc_strip_stage(struct nuc_graph *g, struct nuc_node *cut, const struct nuc_node *from,
                     struct nuc_strip_stage *out)
{
    size_t ids = (size_t)g->next_id + 1;
    bool reaches_from = from == NULL;

    *out = (struct nuc_strip_stage){.g = g,
                                    .cut = cut,
                                    .nodes = nuc_alloc_array(g->cx, ids, sizeof *out->nodes),
                                    .place = nuc_alloc_array(g->cx, ids, sizeof *out->place),
                                    .dim_of = nuc_alloc_array(g->cx, ids, sizeof *out->dim_of)};
    if (!nuc_has_strips(cut))
        return false;
    out->dim_of[cut->id] = 1 + outermost(&cut->vals[0]);
    for (struct nuc_node *n = cut; n != NULL; n = n->prev) {
        uint32_t dim = out->dim_of[n->id] - 1;
        if (out->dim_of[n->id] == 0)
            continue;
        reaches_from = reaches_from || n == from;
        if (n == from || !computes_rows(n, dim) || (n != cut && !all_users_inside(out, n)) ||
            !want_operands(out, n, dim)) {
            if (n == cut)
                return false;
            continue;
        }
        out->nodes[out->n++] = strip_node(n, dim);
        out->place[n->id] = out->n;
    }
    reverse(out);
    return reaches_from;
}

bool nuc_is_read_in_windows(const struct nuc_strip_stage *s, uint32_t place)
{
    const struct nuc_node *node = s->nodes[place].node;
    bool windows = place + 1 < s->n && node->n_users > 1; /* readers may be at different heights */

    for (uint32_t i = 0; i < node->n_users && place + 1 < s->n && !windows; i++) {
        const struct nuc_node *user = node->users[i];
        windows =
            nuc_is_strip_view(user) ? nuc_is_read_in_windows(s, s->place[user->id] - 1) : window_of(user).kernel > 1;
    }
    return windows;
}
