/* Expansions of values out of nothing: constants, computed here. */
#include <math.h>
#include <string.h>

#include "rewrite/expand/expand_list.h"
#include "rewrite/known.h"

/* ---- building blocks ---- */

/* Element `i`; a number outside the type's range is one that torch does not define. */
static void store(struct nuc_graph *g, const struct nuc_node *node, enum nuc_dtype dtype, void *data, size_t i,
                  double value)
{
    int64_t whole = fabs(value) < 0x1p63 ? (int64_t)value : 0;

    switch ((unsigned)dtype) {
    case NUC_F32:
        ((float *)data)[i] = (float)value;
        return;
    case NUC_F64:
        ((double *)data)[i] = value;
        return;
    case NUC_I64:
        ((int64_t *)data)[i] = whole;
        return;
    case NUC_I32:
        ((int32_t *)data)[i] = (int32_t)whole;
        return;
    case NUC_I16:
        ((int16_t *)data)[i] = (int16_t)whole;
        return;
    case NUC_I8:
    case NUC_U8:
        ((uint8_t *)data)[i] = (uint8_t)whole;
        return;
    case NUC_BOOL:
        ((uint8_t *)data)[i] = value < 0 || value > 0 || isnan(value);
        return;
    default:
        nuc_expand_fail(g, node, "a constant of type %s is not supported: use float32 or int64", nuc_dtype_name(dtype));
    }
}

struct nuc_node *nuc_insert_filled(struct nuc_graph *g, struct nuc_node *node, const struct nuc_meta *meta,
                                   double value)
{
    size_t count = (size_t)nuc_elements(meta);
    void *data = nuc_alloc(g->cx, nuc_bytes(meta) + 1);

    for (size_t i = 0; i < count; i++)
        store(g, node, meta->dtype, data, i, value);
    return nuc_add_constant(g, nuc_format(g->cx, "%s_constant", node->name), meta, data);
}

/* A contiguous constant of the stated type and sizes; values[i] element by element. */
static struct nuc_node *made_of(struct nuc_graph *g, struct nuc_node *node, const double *values)
{
    struct nuc_meta meta = nuc_meta_make(node->vals[0].dtype, node->vals[0].sizes, node->vals[0].rank);
    void *data = nuc_alloc(g->cx, nuc_bytes(&meta) + 1);

    for (size_t i = 0; i < (size_t)nuc_elements(&meta); i++)
        store(g, node, meta.dtype, data, i, values[i]);
    return nuc_add_constant(g, nuc_format(g->cx, "%s_constant", node->name), &meta, data);
}

static double *new_values(struct nuc_graph *g, const struct nuc_node *node)
{
    return nuc_alloc_array(g->cx, (size_t)nuc_elements(&node->vals[0]) + 1, sizeof(double));
}

/* ---- one value everywhere ---- */

/* Where the number stands among the arguments; zeros and what torch leaves undefined have none. */
static const struct {
    enum nuc_op op;
    uint32_t argument;
} numbers[] = {
    {NUC_OP_FULL, NUC_ARG(FULL, fill_value)},
    {NUC_OP_FULL_LIKE, NUC_ARG(FULL_LIKE, fill_value)},
    {NUC_OP_NEW_FULL, NUC_ARG(NEW_FULL, fill_value)},
    {NUC_OP_SCALAR_TENSOR, NUC_ARG(SCALAR_TENSOR, s)},
    {NUC_OP_FILL, NUC_ARG(FILL, value)},
};

struct nuc_node *nuc_expand_number(struct nuc_graph *g, struct nuc_node *node)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (numbers[i].op == node->op)
            return nuc_insert_filled(g, node, &node->vals[0], nuc_scalar(node, numbers[i].argument, 0));
    }
    return nuc_insert_filled(g, node, &node->vals[0], 0);
}

struct nuc_node *nuc_expand_ones(struct nuc_graph *g, struct nuc_node *node)
{
    return nuc_insert_filled(g, node, &node->vals[0], 1);
}

struct nuc_node *nuc_expand_fill_tensor(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *value = nuc_operand(g, node, NUC_ARG(FILL_TENSOR, value));

    value = nuc_insert_cast(g, node, value, node->vals[0].dtype);
    return nuc_insert_expanded(g, node, value, node->vals[0].sizes, node->vals[0].rank);
}

/* ---- ranges ---- */

/* The steps of torch: in float32 from both ends of a range of float32, in double from the start of an arange. */
struct nuc_node *nuc_expand_arange(struct nuc_graph *g, struct nuc_node *node)
{
    bool from_zero = node->op == NUC_OP_ARANGE_END;
    double start = from_zero ? 0 : nuc_scalar(node, NUC_ARG(ARANGE_START, start), 0);
    double end = nuc_scalar(node, from_zero ? NUC_ARG(ARANGE_END, end) : NUC_ARG(ARANGE_START, end), 0);
    double *values = new_values(g, node);

    if (node->vals[0].rank != 1 || node->vals[0].sizes[0] != (int64_t)fmax(ceil(end - start), 0))
        nuc_expand_fail(g, node, "the archive states %s for the range from %g to %g",
                        nuc_meta_text(g->cx, &node->vals[0]), start, end);
    for (int64_t i = 0; i < node->vals[0].sizes[0]; i++)
        values[i] = start + (double)i;
    return made_of(g, node, values);
}

static double *line(struct nuc_graph *g, struct nuc_node *node, uint32_t steps_arg)
{
    double start = nuc_scalar(node, NUC_ARG(LINSPACE, start), 0), end = nuc_scalar(node, NUC_ARG(LINSPACE, end), 0);
    int64_t steps = nuc_integer(node, steps_arg, 0);
    float step = steps > 1 ? ((float)end - (float)start) / (float)(steps - 1) : 0;
    double *values = new_values(g, node);

    if (node->vals[0].rank != 1 || steps != node->vals[0].sizes[0])
        nuc_expand_fail(g, node, "the archive states %s", nuc_meta_text(g->cx, &node->vals[0]));
    for (int64_t i = 0; i < steps; i++) {
        bool second_half = i >= steps / 2 && steps > 1;
        values[i] = second_half ? (double)((float)end - step * (float)(steps - i - 1))
                                : (double)((float)start + step * (float)i);
    }
    return values;
}

struct nuc_node *nuc_expand_linspace(struct nuc_graph *g, struct nuc_node *node)
{
    return made_of(g, node, line(g, node, NUC_ARG(LINSPACE, steps)));
}

struct nuc_node *nuc_expand_logspace(struct nuc_graph *g, struct nuc_node *node)
{
    double base = nuc_scalar(node, NUC_ARG(LOGSPACE, base), 10), *values = line(g, node, NUC_ARG(LOGSPACE, steps));

    for (int64_t i = 0; i < node->vals[0].sizes[0]; i++)
        values[i] = pow(base, values[i]);
    return made_of(g, node, values);
}

/* ---- patterns ---- */

static void check_rank(struct nuc_graph *g, const struct nuc_node *node, uint32_t rank)
{
    if (node->vals[0].rank != rank)
        nuc_expand_fail(g, node, "the archive states %s", nuc_meta_text(g->cx, &node->vals[0]));
}

struct nuc_node *nuc_expand_eye(struct nuc_graph *g, struct nuc_node *node)
{
    double *values = new_values(g, node);

    check_rank(g, node, 2);
    for (int64_t i = 0; i < node->vals[0].sizes[0] && i < node->vals[0].sizes[1]; i++)
        values[i * node->vals[0].sizes[1] + i] = 1;
    return made_of(g, node, values);
}

/* Rows, then columns, of the elements of a triangle. */
struct nuc_node *nuc_expand_triangle_indices(struct nuc_graph *g, struct nuc_node *node)
{
    int64_t rows = nuc_integer(node, NUC_ARG(TRIL_INDICES, row), 0);
    int64_t columns = nuc_integer(node, NUC_ARG(TRIL_INDICES, col), 0);
    int64_t offset = nuc_integer(node, NUC_ARG(TRIL_INDICES, offset), 0), count = 0;
    bool lower = node->op == NUC_OP_TRIL_INDICES;
    double *values = new_values(g, node);

    check_rank(g, node, 2);
    int64_t wanted = node->vals[0].sizes[1];
    if (rows < 0 || columns < 0 || rows > INT32_MAX || columns > INT32_MAX || rows * columns > INT32_MAX)
        nuc_expand_fail(g, node, "a matrix of %lld rows and %lld columns is too large", (long long)rows,
                        (long long)columns);
    for (int64_t i = 0; i < rows * columns; i++) {
        int64_t r = i / columns, c = i % columns;
        if ((lower && c - r > offset) || (!lower && c - r < offset))
            continue;
        if (count < wanted) {
            values[count] = (double)r;
            values[wanted + count] = (double)c;
        }
        count++;
    }
    if (count != wanted || node->vals[0].sizes[0] != 2)
        nuc_expand_fail(g, node, "the archive states %s", nuc_meta_text(g->cx, &node->vals[0]));
    return made_of(g, node, values);
}

/* 1 where the class has the number, 0 elsewhere. How many classes there are is stated. */
struct nuc_node *nuc_expand_one_hot(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *self = nuc_operand(g, node, NUC_SELF);
    const struct nuc_meta *m = &node->vals[0];

    check_rank(g, node, self->vals[0].rank + 1u);
    const int64_t classes = m->sizes[m->rank - 1];
    int64_t *numbers_of = nuc_alloc_array(g->cx, (size_t)classes + 1, sizeof *numbers_of);
    for (int64_t i = 0; i < classes; i++)
        numbers_of[i] = i;
    struct nuc_node *column = nuc_insert_with_dim(g, node, NUC_OP_UNSQUEEZE, self, -1);
    struct nuc_node *all = nuc_insert_indices(g, node, numbers_of, &classes, 1);
    return nuc_insert_cast(g, node, nuc_insert_binary(g, node, NUC_OP_EQ, column, all), m->dtype);
}

/* Powers of the elements of a vector from 0 on, or down to it. */
struct nuc_node *nuc_expand_vander(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *self = nuc_operand(g, node, NUC_SELF);
    bool increasing = nuc_flag(node, NUC_ARG(VANDER, increasing));

    check_rank(g, node, 2);
    int64_t count = node->vals[0].sizes[1];
    struct nuc_node **columns = nuc_alloc_array(g->cx, (size_t)count + 1, sizeof(struct nuc_node *));
    const int64_t sizes[] = {nuc_elements(&self->vals[0]), 1};
    struct nuc_node *x = nuc_insert_reshaped(g, node, self, sizes, 2), *power = NULL;
    struct nuc_meta one = nuc_meta_make(node->vals[0].dtype, sizes, 2);
    x = nuc_insert_cast(g, node, x, one.dtype);
    for (int64_t i = 0; i < count; i++) {
        power = i == 0   ? nuc_insert_filled(g, node, &one, 1)
                : i == 1 ? x
                         : nuc_insert_binary(g, node, NUC_OP_MUL, power, x);
        columns[increasing ? i : count - 1 - i] = power;
    }
    if (count == 0)
        return nuc_insert_filled(g, node, &node->vals[0], 0);
    return nuc_insert_cat(g, node, columns, (uint32_t)count, 1);
}
