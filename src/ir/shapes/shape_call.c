/* What shape rules share: reading arguments, setting results. */
#include <stdarg.h>
#include <stdio.h>

#include "ir/args.h"
#include "ir/shapes/shapes.h"

_Noreturn void nuc_shape_fail(const struct nuc_shape_call *c, const char *format, ...)
{
    char what[NUC_MESSAGE_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    nuc_fail(c->g->cx, NUC_BAD_INPUT, "%s: %s: %s", c->g->file, nuc_node_text(c->g->cx, c->node), what);
}

static const char *arg_name(const struct nuc_shape_call *c, uint32_t index)
{
    return nuc_op_schema(c->node->op)->args[index].name;
}

const struct nuc_arg *nuc_shape_arg(const struct nuc_shape_call *c, uint32_t index, enum nuc_arg_kind kind)
{
    if (index >= c->node->n_args)
        nuc_shape_fail(c, "argument %u is missing", (unsigned)index);
    const struct nuc_arg *a = &c->node->args[index];
    if (a->kind != kind)
        nuc_shape_fail(c, "argument '%s' is absent or of the wrong type", arg_name(c, index));
    return a;
}

bool nuc_shape_is_none(const struct nuc_shape_call *c, uint32_t index)
{
    return index >= c->node->n_args || c->node->args[index].kind == NUC_ARG_NONE;
}

const struct nuc_meta *nuc_shape_input(const struct nuc_shape_call *c, uint32_t index)
{
    const struct nuc_node *input = nuc_shape_arg(c, index, NUC_ARG_NODE)->u.node;

    if (input->is_tuple || input->n_vals != 1)
        nuc_shape_fail(c, "argument '%s' is '%s', which is not a single tensor", arg_name(c, index), input->name);
    return &input->vals[0];
}

const struct nuc_meta *nuc_shape_optional_input(const struct nuc_shape_call *c, uint32_t index)
{
    return nuc_shape_is_none(c, index) ? NULL : nuc_shape_input(c, index);
}

static int64_t limited(const struct nuc_shape_call *c, uint32_t index, int64_t value)
{
    if (value < -NUC_MAX_ELEMENTS || value > NUC_MAX_ELEMENTS)
        nuc_shape_fail(c, "argument '%s' is %lld, which does not fit 32 bits", arg_name(c, index), (long long)value);
    return value;
}

int64_t nuc_shape_int(const struct nuc_shape_call *c, uint32_t index)
{
    return limited(c, index, nuc_shape_arg(c, index, NUC_ARG_INT)->u.i);
}

bool nuc_shape_bool(const struct nuc_shape_call *c, uint32_t index)
{
    return nuc_shape_arg(c, index, NUC_ARG_BOOL)->u.b;
}

double nuc_shape_float(const struct nuc_shape_call *c, uint32_t index)
{
    return nuc_shape_arg(c, index, NUC_ARG_FLOAT)->u.f;
}

const char *nuc_shape_string(const struct nuc_shape_call *c, uint32_t index)
{
    return nuc_shape_arg(c, index, NUC_ARG_STRING)->u.string;
}

const int64_t *nuc_shape_ints(const struct nuc_shape_call *c, uint32_t index, uint32_t *count)
{
    *count = 0;
    if (nuc_shape_is_none(c, index))
        return NULL;
    const struct nuc_arg *a = nuc_shape_arg(c, index, NUC_ARG_INTS);
    for (uint32_t i = 0; i < a->count; i++)
        limited(c, index, a->u.ints[i]);
    *count = a->count;
    return a->u.ints;
}

const double *nuc_shape_floats(const struct nuc_shape_call *c, uint32_t index, uint32_t *count)
{
    *count = 0;
    if (nuc_shape_is_none(c, index))
        return NULL;
    const struct nuc_arg *a = nuc_shape_arg(c, index, NUC_ARG_FLOATS);
    *count = a->count;
    return a->u.floats;
}

bool nuc_shape_pair(const struct nuc_shape_call *c, uint32_t index, int64_t pair[2])
{
    uint32_t count;
    const int64_t *ints = nuc_shape_ints(c, index, &count);

    if (count == 0)
        return false;
    if (count > 2)
        nuc_shape_fail(c, "argument '%s' has %u numbers instead of 2", arg_name(c, index), (unsigned)count);
    pair[0] = ints[0];
    pair[1] = ints[count - 1];
    return true;
}

enum nuc_dtype nuc_shape_dtype(const struct nuc_shape_call *c, uint32_t index, enum nuc_dtype fallback)
{
    return nuc_shape_is_none(c, index) ? fallback : nuc_shape_arg(c, index, NUC_ARG_DTYPE)->u.dtype;
}

uint32_t nuc_shape_dim(const struct nuc_shape_call *c, int64_t dim, uint32_t rank)
{
    uint32_t found;

    if (!nuc_find_dim(dim, rank, &found))
        nuc_shape_fail(c, "dimension %lld does not exist in a tensor of rank %u", (long long)dim, (unsigned)rank);
    return found;
}

uint32_t nuc_shape_named_dims(const struct nuc_shape_call *c, uint32_t index, uint32_t rank, bool named[NUC_MAX_RANK])
{
    bool single = nuc_arg_at(c->node, index)->kind == NUC_ARG_INT;
    int64_t number = single ? nuc_shape_int(c, index) : 0;
    uint32_t count = 1;
    const int64_t *dims = single ? &number : nuc_shape_ints(c, index, &count);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t dim = nuc_shape_dim(c, dims[i], rank);
        if (named[dim])
            nuc_shape_fail(c, "dimension %u is named twice", (unsigned)dim);
        named[dim] = true;
    }
    return count;
}

const struct nuc_meta *nuc_shape_list_item(const struct nuc_shape_call *c, const struct nuc_arg *list, uint32_t index,
                                           const char *what)
{
    const struct nuc_node *node = list->u.nodes[index];

    if (node == NULL || node->is_tuple || node->n_vals != 1)
        nuc_shape_fail(c, "%s %u is not a tensor", what, (unsigned)index);
    return &node->vals[0];
}

void nuc_shape_check_channels(const struct nuc_shape_call *c, uint32_t index, int64_t channels)
{
    const struct nuc_meta *m = nuc_shape_optional_input(c, index);

    if (m != NULL && (m->rank != 1 || m->sizes[0] != channels))
        nuc_shape_fail(c, "%s is applied to %lld channels", nuc_meta_text(c->g->cx, m), (long long)channels);
}

void nuc_shape_check(const struct nuc_shape_call *c, const struct nuc_meta *m)
{
    if (nuc_checked_elements(m->sizes, m->rank) < 0)
        nuc_shape_fail(c, "the result %s has a negative size or more than %lld elements", nuc_meta_text(c->g->cx, m),
                       (long long)NUC_MAX_ELEMENTS);
}

static bool has_vals(const struct nuc_node *node, bool is_tuple, const struct nuc_meta *metas, uint32_t count)
{
    if (node->vals == NULL || node->is_tuple != is_tuple || node->n_vals != count)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (!nuc_meta_equal(&node->vals[i], &metas[i]))
            return false;
    }
    return true;
}

void nuc_shape_result(const struct nuc_shape_call *c, const struct nuc_meta *m)
{
    nuc_shape_check(c, m);
    if (!has_vals(c->node, false, m, 1))
        nuc_set_val(c->g, c->node, m);
}

void nuc_shape_results(const struct nuc_shape_call *c, const struct nuc_meta *metas, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        nuc_shape_check(c, &metas[i]);
    if (!has_vals(c->node, true, metas, count))
        nuc_set_tuple(c->g, c->node, metas, count);
}

bool nuc_shape_is_copy(const struct nuc_shape_call *c)
{
    return c->node->dialect == NUC_EDGE && c->node->op != NUC_OP_NUCLEON_PERMUTE_VIEW;
}
