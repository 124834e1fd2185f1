#include "ir/args.h"

#include <math.h>

#include "host/numbers.h"
#include "ir/op_list.h"
#include "ir/shapes/shapes.h"

const struct nuc_arg *nuc_arg_at(const struct nuc_node *node, uint32_t index)
{
    static const struct nuc_arg none = {.kind = NUC_ARG_NONE};

    return index < node->n_args ? &node->args[index] : &none;
}

uint32_t nuc_arg_named(const struct nuc_node *node, const char *name)
{
    int index = nuc_schema_arg_index(nuc_op_schema(node->op), name);

    return index < 0 ? NUC_NO_ARG : (uint32_t)index;
}

enum nuc_memory_format nuc_format_asked(const struct nuc_node *node)
{
    const struct nuc_arg *a = nuc_arg_at(node, nuc_arg_named(node, "memory_format"));

    return a->kind == NUC_ARG_MEMORY_FORMAT ? a->u.memory_format : NUC_PRESERVE_FORMAT;
}

double nuc_scalar(const struct nuc_node *node, uint32_t index, double fallback)
{
    const struct nuc_arg *a = nuc_arg_at(node, index);

    if (a->kind == NUC_ARG_FLOAT)
        return a->u.f;
    return a->kind == NUC_ARG_INT ? (double)a->u.i : fallback;
}

bool nuc_keeps_whole_numbers(const struct nuc_node *node)
{
    const struct nuc_node *self = nuc_arg_node(node, NUC_SELF);

    if (self == NULL)
        return node->op == NUC_OP_POW_OF_SCALAR;
    return self->n_vals == 1 && !nuc_is_floating(self->vals[0].dtype);
}

int64_t nuc_integer(const struct nuc_node *node, uint32_t index, int64_t fallback)
{
    const struct nuc_arg *a = nuc_arg_at(node, index);

    return a->kind == NUC_ARG_INT ? a->u.i : fallback;
}

bool nuc_flag(const struct nuc_node *node, uint32_t index)
{
    const struct nuc_arg *a = nuc_arg_at(node, index);

    return a->kind == NUC_ARG_BOOL && a->u.b;
}

struct nuc_pair nuc_pair(const struct nuc_node *node, uint32_t index, struct nuc_pair fallback)
{
    const struct nuc_arg *a = nuc_arg_at(node, index);

    if (a->kind == NUC_ARG_INT)
        return (struct nuc_pair){a->u.i, a->u.i};
    if (a->kind != NUC_ARG_INTS || a->count == 0)
        return fallback;
    return (struct nuc_pair){a->u.ints[0], a->u.ints[a->count == 1 ? 0 : 1]};
}

bool nuc_has_plain_alpha(const struct nuc_node *node)
{
    return nuc_numbers_equal(nuc_scalar(node, NUC_ARG(ADD, alpha), 1), 1);
}

int64_t nuc_positive_dim(int64_t dim, uint32_t rank)
{
    return dim < 0 ? dim + rank : dim;
}

bool nuc_find_dim(int64_t dim, uint32_t rank, uint32_t *found)
{
    const int64_t limit = rank == 0 ? 1 : rank;

    if (dim < -limit || dim >= limit)
        return false;
    *found = (uint32_t)(dim < 0 ? dim + limit : dim);
    return true;
}

int64_t nuc_dim(const struct nuc_node *node, uint32_t index, int64_t fallback, uint32_t rank)
{
    return nuc_positive_dim(nuc_integer(node, index, fallback), rank);
}

uint32_t nuc_dims_mask(const struct nuc_node *node, uint32_t index, uint32_t rank)
{
    const struct nuc_arg *dims = nuc_arg_at(node, index);
    uint32_t mask = 0;

    if (dims->kind != NUC_ARG_INTS || dims->count == 0)
        return (1u << rank) - 1;
    for (uint32_t i = 0; i < dims->count; i++) {
        int64_t d = nuc_positive_dim(dims->u.ints[i], rank);
        if (d >= 0 && d < rank)
            mask |= 1u << (uint32_t)d;
    }
    return mask;
}

uint32_t nuc_list_dims(uint32_t mask, uint32_t rank, int64_t *dims)
{
    uint32_t count = 0;

    for (uint32_t d = 0; d < rank; d++) {
        if ((mask >> d & 1) != 0)
            dims[count++] = d;
    }
    return count;
}

const struct nuc_meta *nuc_input_meta(const struct nuc_node *node, uint32_t index)
{
    static const struct nuc_meta none = {.rank = 0};
    const struct nuc_node *input = nuc_arg_node(node, index);

    return input != NULL && input->n_vals > 0 ? &input->vals[0] : &none;
}

bool nuc_has_bounds(const struct nuc_node *node)
{
    return node->op == NUC_OP_RELU || node->op == NUC_OP_RELU6 || node->op == NUC_OP_HARDTANH ||
           node->op == NUC_OP_CLAMP || node->op == NUC_OP_CLAMP_MIN || node->op == NUC_OP_CLAMP_MAX;
}

static struct nuc_bounds given_bounds(const struct nuc_node *node)
{
    const struct nuc_bounds none = {-HUGE_VAL, HUGE_VAL};

    switch ((int)node->op) {
    case NUC_OP_RELU:
        return (struct nuc_bounds){0.0, none.max};
    case NUC_OP_RELU6:
        return (struct nuc_bounds){0.0, 6.0};
    case NUC_OP_HARDTANH:
        return (struct nuc_bounds){nuc_scalar(node, NUC_ARG(HARDTANH, min_val), none.min),
                                   nuc_scalar(node, NUC_ARG(HARDTANH, max_val), none.max)};
    case NUC_OP_CLAMP:
        return (struct nuc_bounds){nuc_scalar(node, NUC_ARG(CLAMP, min), none.min),
                                   nuc_scalar(node, NUC_ARG(CLAMP, max), none.max)};
    case NUC_OP_CLAMP_MIN:
        return (struct nuc_bounds){nuc_scalar(node, NUC_ARG(CLAMP_MIN, min), none.min), none.max};
    case NUC_OP_CLAMP_MAX:
        return (struct nuc_bounds){none.min, nuc_scalar(node, NUC_ARG(CLAMP_MAX, max), none.max)};
    default:
        return none;
    }
}

struct nuc_bounds nuc_bounds_of(const struct nuc_node *node)
{
    struct nuc_bounds b = given_bounds(node);

    if (isnan(b.min) || isnan(b.max))
        return (struct nuc_bounds){(double)NAN, (double)NAN};
    b.min = fmin(b.min, b.max);
    return b;
}

void nuc_set_args(struct nuc_graph *g, struct nuc_node *node, const struct nuc_arg *args, size_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        switch ((int)args[i].kind) {
        case NUC_ARG_NODE:
            nuc_set_arg_node(node, g, i, args[i].u.node);
            break;
        case NUC_ARG_NODES:
            nuc_set_arg_nodes(node, g, i, args[i].u.nodes, args[i].count);
            break;
        case NUC_ARG_INTS:
            nuc_set_arg_ints(node, g, i, args[i].u.ints, args[i].count);
            break;
        case NUC_ARG_NONE:
            break;
        default:
            node->args[i] = args[i];
            node->args[i].given = true;
            break;
        }
    }
}

double nuc_power_of(const struct nuc_node *node)
{
    static const double powers[NUC_OP_COUNT] = {
#define POWER(op, exponent) [NUC_OP_##op] = (exponent),
#include "ir/ops.def"
    };

    return node->op == NUC_OP_POW_SCALAR ? nuc_scalar(node, NUC_ARG(POW_SCALAR, exponent), 0) : powers[node->op];
}

int64_t nuc_slice_end(int64_t value, int64_t size)
{
    value = value < 0 ? value + size : value;
    return value < 0 ? 0 : value > size ? size : value;
}

bool nuc_takes_one(const struct nuc_node *node, struct nuc_taken *taken)
{
    taken->of = node != NULL && node->op == NUC_OP_SLICE ? nuc_arg_node(node, NUC_SELF) : NULL;
    if (taken->of == NULL)
        return false;
    const struct nuc_meta *m = &taken->of->vals[0];
    taken->dim = nuc_dim(node, NUC_ARG(SLICE, dim), 0, m->rank);
    if (taken->dim < 0 || taken->dim >= m->rank || node->vals[0].sizes[taken->dim] != 1)
        return false;
    taken->at = nuc_slice_end(nuc_integer(node, NUC_ARG(SLICE, start), 0), m->sizes[taken->dim]);
    return true;
}

bool nuc_cuts_rows(const struct nuc_node *node)
{
    const bool slices = node->op == NUC_OP_SLICE;
    const bool splits = nuc_op_is_in(node->op, NUC_OPS(NUC_OP_SPLIT, NUC_OP_SPLIT_SIZES, NUC_OP_SPLIT_WITH_SIZES));
    const struct nuc_node *from = slices || splits ? nuc_arg_node(node, NUC_SELF) : NULL;

    if (from == NULL || nuc_is_static(from) || node->n_vals == 0 || nuc_feeds_output(node) ||
        (slices && nuc_integer(node, NUC_ARG(SLICE, step), 1) != 1))
        return false;
    struct nuc_meta rows = from->vals[0];
    int64_t dim = nuc_dim(node, slices ? NUC_ARG(SLICE, dim) : NUC_ARG(SPLIT, dim), 0, rows.rank);
    if (dim < 0 || dim >= rows.rank || node->vals[0].rank != rows.rank || !nuc_is_outermost(&rows, (uint32_t)dim))
        return false;
    rows.sizes[dim] = node->vals[0].sizes[dim];
    return nuc_same_layout(&rows, &node->vals[0]);
}
