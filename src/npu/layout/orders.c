#include "npu/layout/orders.h"

#include <assert.h>
#include <string.h>

#include "host/text.h"
#include "ir/args.h"
#include "ir/shapes/shapes.h"

/* ---- which orders there are ---- */

bool nuc_same_order(const struct nuc_meta *a, const struct nuc_meta *b)
{
    return a->rank == b->rank && memcmp(a->dim_order, b->dim_order, a->rank) == 0;
}

struct nuc_meta nuc_in_contiguous_order(const struct nuc_meta *m)
{
    struct nuc_meta contiguous = *m;

    nuc_set_contiguous(&contiguous);
    return contiguous;
}

struct nuc_meta nuc_in_channels_last_order(const struct nuc_meta *m)
{
    struct nuc_meta channels_last = *m;

    nuc_set_channels_last(&channels_last);
    return channels_last;
}

bool nuc_lies_contiguous(const struct nuc_meta *m)
{
    struct nuc_meta contiguous = nuc_in_contiguous_order(m);

    return nuc_same_layout(m, &contiguous);
}

bool nuc_is_usable_order(const struct nuc_meta *m)
{
    struct nuc_meta channels_last = nuc_in_channels_last_order(m);

    return nuc_lies_contiguous(m) || nuc_same_layout(m, &channels_last);
}

bool nuc_is_known_order(const struct nuc_meta *m)
{
    return nuc_is_contiguous(m) || (nuc_is_channels_last(m) && (m->rank == 4 || (m->rank == 5 && m->sizes[2] != 1)));
}

struct nuc_meta nuc_named_contiguous(const struct nuc_meta *m)
{
    return nuc_lies_contiguous(m) ? nuc_in_contiguous_order(m) : *m;
}

bool nuc_is_viewable(const struct nuc_meta *in, const int64_t *sizes, uint32_t rank)
{
    int64_t strides[NUC_MAX_RANK], chunk = 1, taken = 1;
    int32_t v = (int32_t)rank - 1;

    if (nuc_elements(in) == 0)
        return true;
    nuc_dense_strides(in, strides);
    for (int32_t d = (int32_t)in->rank - 1, base = d; d >= 0; d--) {
        chunk *= in->sizes[d];
        if (d > 0 && (in->sizes[d - 1] == 1 || strides[d - 1] == chunk * strides[base]))
            continue;
        while (v >= 0 && (taken < chunk || sizes[v] == 1))
            taken *= sizes[v--];
        if (taken != chunk)
            return false;
        base = d - 1;
        chunk = taken = 1;
    }
    return v == -1;
}

bool nuc_is_permuted_in_place(const struct nuc_meta *in, const int64_t *dims, const struct nuc_meta *out)
{
    int64_t from[NUC_MAX_RANK], to[NUC_MAX_RANK];

    nuc_dense_strides(in, from);
    nuc_dense_strides(out, to);
    for (uint32_t i = 0; i < out->rank && nuc_elements(out) > 0; i++) {
        if (out->sizes[i] > 1 && to[i] != from[nuc_positive_dim(dims[i], out->rank)])
            return false;
    }
    return true;
}

/* ---- copies ---- */

void nuc_set_order_arg(struct nuc_graph *g, struct nuc_node *copy, const struct nuc_meta *like)
{
    int index = nuc_schema_arg_index(nuc_op_schema(copy->op), "dim_order");
    int64_t order[NUC_MAX_RANK];

    for (uint32_t d = 0; d < like->rank; d++)
        order[d] = like->dim_order[d];
    assert(index >= 0);
    nuc_set_arg_ints(copy, g, (uint32_t)index, order, like->rank);
}

struct nuc_node *nuc_insert_in_order(struct nuc_graph *g, struct nuc_node *before, enum nuc_op op,
                                     struct nuc_node *value, const struct nuc_meta *like)
{
    struct nuc_node *copy = nuc_add_node(g, before, op, NULL);
    struct nuc_meta meta = value->vals[0];

    assert(!value->is_tuple && like->rank == meta.rank);
    nuc_set_arg_node(copy, g, NUC_SELF, value);
    nuc_set_order_arg(g, copy, like);
    nuc_made_of(copy, value);
    /* Not inferred: kernels ask for the name the argument has. */
    memcpy(meta.dim_order, like->dim_order, sizeof meta.dim_order);
    nuc_set_val(g, copy, &meta);
    return copy;
}

void nuc_copy_operands_contiguous(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_cursor at = {0, 0};

    for (struct nuc_node *in = nuc_next_input(node, &at); in != NULL; in = nuc_next_input(node, &at)) {
        if (in->is_tuple || nuc_is_contiguous(&in->vals[0]))
            continue;
        struct nuc_meta contiguous = nuc_in_contiguous_order(&in->vals[0]);
        struct nuc_node *copy = nuc_insert_in_order(g, node, NUC_OP_CLONE_DIM_ORDER, in, &contiguous);
        nuc_made_of(copy, node);
        nuc_replace_input(g, node, in, copy);
    }
}

/* ---- what follows ---- */

static void allow_copy(struct nuc_graph *g, struct nuc_node *node)
{
    bool view = node->op == NUC_OP_VIEW && node->dialect == NUC_ATEN;
    const struct nuc_node *input = view ? nuc_arg_node(node, NUC_SELF) : NULL;

    if (input != NULL && !nuc_is_viewable(&input->vals[0], node->vals[0].sizes, node->vals[0].rank))
        nuc_set_op(g, node, NUC_OP_RESHAPE);
}

void nuc_infer_all(struct nuc_graph *g)
{
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!nuc_is_call(n))
            continue;
        allow_copy(g, n);
        nuc_infer_shape(g, n);
    }
}

bool nuc_refresh_layout(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node inferred = *node;

    if (node->op == NUC_OP_CALL_DELEGATE)
        return false;
    nuc_infer_shape(g, &inferred);
    bool same = node->n_vals == inferred.n_vals;
    for (uint32_t i = 0; same && i < node->n_vals; i++)
        same = nuc_same_layout(&node->vals[i], &inferred.vals[i]);
    if (!same)
        node->vals = inferred.vals;
    return !same;
}

bool nuc_refresh_layouts(struct nuc_graph *g)
{
    bool changed = false;

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!nuc_is_call(n))
            continue;
        allow_copy(g, n);
        changed |= nuc_refresh_layout(g, n);
    }
    return changed;
}

static struct nuc_node *user_that(const struct nuc_node *node, bool (*keeps)(const struct nuc_node *user))
{
    for (uint32_t i = 0; i < node->n_users; i++) {
        if (keeps(node->users[i]))
            return node->users[i];
    }
    return NULL;
}

void nuc_keep_order_for(struct nuc_graph *g, struct nuc_node *node, const struct nuc_meta *before,
                        bool (*keeps)(const struct nuc_node *user))
{
    struct nuc_node *user = user_that(node, keeps), *copy = NULL;

    if (user != NULL)
        copy = nuc_insert_in_order(g, node->next, NUC_OP_TO_DIM_ORDER_COPY, node, before);
    for (; user != NULL; user = user_that(node, keeps))
        nuc_replace_input(g, user, node, copy);
}

/* ---- another order for a whole graph ---- */

/* N, C, H, W tensors; torch's channels-last has no other. Buffers of integers, too: quantized weights are such. */
static bool is_converted(const struct nuc_node *n)
{
    return nuc_is_placeholder(n) && n->vals[0].rank == 4 && n->input_kind != NUC_CONSTANT;
}

void nuc_convert_orders(struct nuc_graph *g, bool channels_last)
{
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!is_converted(n))
            continue;
        struct nuc_meta to = n->vals[0];
        nuc_order_as(&to, channels_last);
        if (nuc_same_layout(&to, &n->vals[0]))
            continue;
        if (n->data != NULL)
            n->data = nuc_dense_data(g->cx, &to, nuc_in_dim_order(g->cx, &to, nuc_const_contiguous(g, n)));
        nuc_set_val(g, n, &to);
        if (n->input_kind == NUC_USER_INPUT) {
            /* A changed input is reported: from now on its bytes lie in another order. */
            const struct nuc_meta *m = &n->vals[0];
            struct nuc_text text = {.cx = g->cx};
            for (uint32_t i = 0; i < m->rank; i++)
                nuc_text_addf(&text, "%s%lld", i == 0 ? "" : ", ", (long long)m->sizes[m->dim_order[i]]);
            nuc_warn(g->cx,
                     "%s: input '%s' is %s now: its bytes are those of an array [%s], dimensions %s ('nucleon run' and "
                     "'evaluate' take arrays as before)",
                     g->file, n->name, nuc_is_contiguous(m) ? "contiguous" : "channels-last", nuc_text_string(&text),
                     nuc_is_contiguous(m) ? "N, C, H, W" : "N, H, W, C");
        }
    }
    nuc_infer_all(g);
}

/* ---- boundaries ---- */

struct nuc_meta *nuc_output_metas(const struct nuc_graph *g)
{
    const struct nuc_arg *outputs = &nuc_output_node(g)->args[NUC_ARG(OUTPUT, values)];
    struct nuc_meta *metas = nuc_alloc_array(g->cx, (size_t)outputs->count + 1, sizeof *metas);

    for (uint32_t i = 0; i < outputs->count; i++) {
        if (outputs->u.nodes[i] != NULL)
            metas[i] = outputs->u.nodes[i]->vals[0];
    }
    return metas;
}

/* The ATen dialect has names for two orders alone, one of them of four dimensions. */
static bool has_format(const struct nuc_meta *m)
{
    return nuc_is_contiguous(m) || (m->rank == 4 && nuc_is_channels_last(m));
}

static struct nuc_node *insert_clone(struct nuc_graph *g, struct nuc_node *value, const struct nuc_meta *like)
{
    struct nuc_node *clone = nuc_add_node(g, nuc_output_node(g), NUC_OP_CLONE, NULL);

    nuc_set_arg_node(clone, g, NUC_SELF, value);
    clone->args[NUC_ARG(CLONE, memory_format)] =
        (struct nuc_arg){.kind = NUC_ARG_MEMORY_FORMAT,
                         .given = true,
                         .u.memory_format = nuc_is_contiguous(like) ? NUC_CONTIGUOUS_FORMAT : NUC_CHANNELS_LAST};
    nuc_made_of(clone, value);
    nuc_infer_shape(g, clone);
    return clone;
}

void nuc_restore_output_orders(struct nuc_graph *g, const struct nuc_meta *metas)
{
    struct nuc_node *output = nuc_output_node(g);

    for (uint32_t i = 0; i < output->args[NUC_ARG(OUTPUT, values)].count; i++) {
        struct nuc_node *node = output->args[NUC_ARG(OUTPUT, values)].u.nodes[i];
        if (node == NULL || nuc_same_layout(&metas[i], &node->vals[0]))
            continue;
        if (g->dialect == NUC_EDGE)
            nuc_replace_input(g, output, node,
                              nuc_insert_in_order(g, node->next, NUC_OP_TO_DIM_ORDER_COPY, node, &metas[i]));
        else if (has_format(&metas[i]))
            nuc_replace_input(g, output, node, insert_clone(g, node, &metas[i]));
    }
}

static void name_contiguous(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_meta named = nuc_named_contiguous(&node->vals[0]);

    nuc_set_val(g, node, &named);
}

/* Operators on the CPU take the dim order of their results from that of their inputs, and were planned with it. */
static bool is_read_by_cpu(const struct nuc_node *node)
{
    for (uint32_t i = 0; i < node->n_users; i++) {
        const struct nuc_node *user = node->users[i];
        if (user->op != NUC_OP_OUTPUT && user->op != NUC_OP_CALL_DELEGATE && !nuc_is_quantize(user))
            return true;
    }
    return false;
}

void nuc_name_boundary_orders(struct nuc_graph *g, struct nuc_node *call)
{
    const struct nuc_arg *inputs = &call->args[NUC_ARG(CALL_DELEGATE, inputs)];

    for (uint32_t i = 0; i < inputs->count; i++) {
        struct nuc_node *input = inputs->u.nodes[i];
        struct nuc_node *source = nuc_is_quantize(input) ? nuc_arg_node(input, NUC_SELF) : NULL;
        name_contiguous(g, input);
        if (source != NULL && nuc_is_placeholder(source) && !is_read_by_cpu(source))
            name_contiguous(g, source);
    }
    struct nuc_meta *results = nuc_copy(g->cx, call->vals, call->n_vals * sizeof *results);
    for (uint32_t i = 0; i < call->n_users; i++) {
        struct nuc_node *result = call->users[i];
        name_contiguous(g, result);
        results[result->args[NUC_ARG(GETITEM, index)].u.i] = result->vals[0];
        for (uint32_t k = 0; k < result->n_users; k++) {
            struct nuc_node *reader = result->users[k];
            if (nuc_is_dequantize(reader) && !is_read_by_cpu(reader))
                name_contiguous(g, reader);
        }
    }
    nuc_set_tuple(g, call, results, call->n_vals);
}

/* Delegates, whose payloads are made, and the program's outputs read a value in the dim order it had. */
static bool is_settled(const struct nuc_node *user)
{
    return user->op == NUC_OP_CALL_DELEGATE || user->op == NUC_OP_OUTPUT;
}

void nuc_refresh_after_delegates(struct nuc_graph *g)
{
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        struct nuc_node *from = nuc_arg_node(n, NUC_SELF);
        bool is_result = n->op == NUC_OP_GETITEM && from != NULL && from->op == NUC_OP_CALL_DELEGATE;
        if (!nuc_is_call(n) || is_result || n->n_vals == 0)
            continue;
        struct nuc_meta before = n->vals[0];
        if (nuc_refresh_layout(g, n) && !n->is_tuple)
            nuc_keep_order_for(g, n, &before, is_settled);
    }
}
