/* The operator table and its schemas: ops.def as constant data. */
#include <assert.h>
#include <string.h>

#include "ir/graph.h"

/* ---- schemas ---- */

static const int64_t zeros[] = {0, 0, 0}, ones[] = {1, 1, 1}, first_two[] = {0, 1}, last_two[] = {-2, -1};

/* Types of arguments. */
#define TENSOR .kind = NUC_ARG_NODE
#define TENSOR_OPT .kind = NUC_ARG_NODE, .optional = true
#define TENSORS .kind = NUC_ARG_NODES, .is_list = true
#define TENSORS_OPT .kind = NUC_ARG_NODES, .is_list = true, .optional = true
#define INT .kind = NUC_ARG_INT
#define INT_OPT .kind = NUC_ARG_INT, .optional = true
#define INTS .kind = NUC_ARG_INTS, .is_list = true
#define INTS_OPT .kind = NUC_ARG_INTS, .is_list = true, .optional = true
#define INT1 .kind = NUC_ARG_INTS, .is_list = true, .list_size = 1
#define INT1_OPT .kind = NUC_ARG_INTS, .is_list = true, .list_size = 1, .optional = true
#define INT2 .kind = NUC_ARG_INTS, .is_list = true, .list_size = 2
#define INT3 .kind = NUC_ARG_INTS, .is_list = true, .list_size = 3
#define INT4 .kind = NUC_ARG_INTS, .is_list = true, .list_size = 4
#define INT6 .kind = NUC_ARG_INTS, .is_list = true, .list_size = 6
#define FLOAT .kind = NUC_ARG_FLOAT
#define FLOAT_OPT .kind = NUC_ARG_FLOAT, .optional = true
#define FLOATS_OPT .kind = NUC_ARG_FLOATS, .is_list = true, .optional = true
#define SCALAR .kind = NUC_ARG_FLOAT, .is_scalar = true
#define SCALAR_OPT .kind = NUC_ARG_FLOAT, .is_scalar = true, .optional = true
#define BOOL .kind = NUC_ARG_BOOL
#define BOOL_OPT .kind = NUC_ARG_BOOL, .optional = true
#define STR .kind = NUC_ARG_STRING
#define STR_OPT .kind = NUC_ARG_STRING, .optional = true
#define DTYPE .kind = NUC_ARG_DTYPE
#define DTYPE_OPT .kind = NUC_ARG_DTYPE, .optional = true
#define FORMAT .kind = NUC_ARG_MEMORY_FORMAT
#define FORMAT_OPT .kind = NUC_ARG_MEMORY_FORMAT, .optional = true
#define OTHER .kind = NUC_ARG_OTHER
#define OTHER_OPT .kind = NUC_ARG_OTHER, .optional = true

/* Defaults. A list of equal numbers has as many as the type says. */
#define NONE .kind = NUC_ARG_NONE
#define EMPTY .kind = NUC_ARG_INTS
#define ZEROS(n) .kind = NUC_ARG_INTS, .count = (n), .u.ints = zeros
#define ONES(n) .kind = NUC_ARG_INTS, .count = (n), .u.ints = ones
#define DIMS_0_1 .kind = NUC_ARG_INTS, .count = 2, .u.ints = first_two
#define LAST_TWO .kind = NUC_ARG_INTS, .count = 2, .u.ints = last_two
#define WHOLE(value) .kind = NUC_ARG_INT, .u.i = (value)
#define NUMBER(value) .kind = NUC_ARG_FLOAT, .u.f = (value)
#define TRUE .kind = NUC_ARG_BOOL, .u.b = true
#define FALSE .kind = NUC_ARG_BOOL, .u.b = false
#define TEXT(value) .kind = NUC_ARG_STRING, .u.string = (value)
#define OF_INT64 .kind = NUC_ARG_DTYPE, .u.dtype = NUC_I64
#define CONTIGUOUS_FORMAT .kind = NUC_ARG_MEMORY_FORMAT, .u.memory_format = NUC_CONTIGUOUS_FORMAT

#define NO_ARGS
#define A(type, arg) {.name = #arg, type},
#define D(type, arg, value) {.name = #arg, type, .has_default = true, .fallback = {value}},
#define K(type, arg, value) {.name = #arg, type, .keyword_only = true, .has_default = true, .fallback = {value}},
/* One row more than there are arguments, so that no array is empty. */
#define OP(enumerator, base, overload, family, forms, results, arguments)                                              \
    static const struct nuc_schema_arg args_##enumerator[] = {arguments{.name = NULL}};
#include "ir/ops.def"

/* ---- rows ---- */

enum {
    ANY = 0,
    ATEN = 1,
    INPLACE = 2,
    EDGE = 4,
    EDGE_COPY = 8,
    REAL = 16,
    PARTIAL = 32,
};

enum { LIST = -1 };

struct row {
    const char *functional, *in_place, *edge, *edge_copy;
    enum nuc_family family;
    unsigned forms;
    struct nuc_schema schema;
};

static const struct row rows[NUC_OP_COUNT] = {
#define OP(enumerator, name, overload, family, forms, results, arguments)                                              \
    [NUC_OP_##enumerator] = {                                                                                          \
        name overload,                                                                                                 \
        name "_" overload,                                                                                             \
        "edge." name overload,                                                                                         \
        "edge." name "_copy" overload,                                                                                 \
        NUC_FAMILY_##family,                                                                                           \
        (forms),                                                                                                       \
        {.n_args = NUC_ARG(enumerator, nuc_end),                                                                       \
         .args = args_##enumerator,                                                                                    \
         .n_returns = (results) == LIST ? 0u : (uint32_t)(results),                                                    \
         .returns_list = (results) == LIST},                                                                           \
    },
#define A(type, name)
#define D(type, name, value)
#define K(type, name, value)
#include "ir/ops.def"
};

static const enum nuc_op_kind kinds[NUC_FAMILY_COUNT] = {
    [NUC_FAMILY_GRAPH] = NUC_KIND_GRAPH,       [NUC_FAMILY_QUANT] = NUC_KIND_QUANT,
    [NUC_FAMILY_DEQUANT] = NUC_KIND_DEQUANT,   [NUC_FAMILY_MAP] = NUC_KIND_COMPUTE,
    [NUC_FAMILY_BINARY] = NUC_KIND_COMPUTE,    [NUC_FAMILY_COMPARE] = NUC_KIND_COMPUTE,
    [NUC_FAMILY_SELECT] = NUC_KIND_COMPUTE,    [NUC_FAMILY_CONV] = NUC_KIND_COMPUTE,
    [NUC_FAMILY_NORM] = NUC_KIND_COMPUTE,      [NUC_FAMILY_POOL] = NUC_KIND_COMPUTE,
    [NUC_FAMILY_RESIZE] = NUC_KIND_COMPUTE,    [NUC_FAMILY_REDUCE] = NUC_KIND_COMPUTE,
    [NUC_FAMILY_SOFTMAX] = NUC_KIND_COMPUTE,   [NUC_FAMILY_MATRIX] = NUC_KIND_COMPUTE,
    [NUC_FAMILY_RECURRENT] = NUC_KIND_COMPUTE, [NUC_FAMILY_VIEW] = NUC_KIND_SHAPE,
    [NUC_FAMILY_PERMUTE] = NUC_KIND_SHAPE,     [NUC_FAMILY_SLICE] = NUC_KIND_SHAPE,
    [NUC_FAMILY_COPY] = NUC_KIND_SHAPE,        [NUC_FAMILY_CAST] = NUC_KIND_SHAPE,
    [NUC_FAMILY_ASSERT] = NUC_KIND_SHAPE,      [NUC_FAMILY_CAT] = NUC_KIND_COMPUTE,
    [NUC_FAMILY_PAD] = NUC_KIND_COMPUTE,       [NUC_FAMILY_SCATTER] = NUC_KIND_COMPUTE,
    [NUC_FAMILY_FILL] = NUC_KIND_COMPUTE,      [NUC_FAMILY_CORTEXM] = NUC_KIND_COMPUTE,
    [NUC_FAMILY_SCAN] = NUC_KIND_COMPUTE,      [NUC_FAMILY_ORDER] = NUC_KIND_COMPUTE,
    [NUC_FAMILY_COMPOSITE] = NUC_KIND_COMPUTE,
};

bool nuc_op_rearranges(enum nuc_op op)
{
    enum nuc_family family = nuc_op_family(op);

    return family == NUC_FAMILY_VIEW || family == NUC_FAMILY_PERMUTE || family == NUC_FAMILY_COPY;
}

/* ---- names ---- */

static const char *edge_name(const struct row *row)
{
    return (row->forms & EDGE_COPY) != 0 ? row->edge_copy : row->edge;
}

/* Torch declares some under another overload. */
static const char *in_place_name(enum nuc_op op)
{
    switch ((int)op) {
    case NUC_OP_POW:
        return "aten.pow_.Tensor";
    case NUC_OP_POW_SCALAR:
        return "aten.pow_.Scalar";
    case NUC_OP_FLOOR_DIVIDE:
        return "aten.floor_divide_.Tensor";
    default:
        return rows[op].in_place;
    }
}

const char *nuc_op_name(enum nuc_op op, enum nuc_dialect dialect)
{
    if ((unsigned)op >= NUC_OP_COUNT)
        return "unknown";
    bool edge = rows[op].forms != ANY &&
                (!nuc_op_in_dialect(op, NUC_ATEN) || (dialect == NUC_EDGE && nuc_op_in_dialect(op, NUC_EDGE)));
    return edge ? edge_name(&rows[op]) : rows[op].functional;
}

const char *nuc_node_op_name(const struct nuc_node *node)
{
    if ((unsigned)node->op >= NUC_OP_COUNT)
        return "unknown";
    const struct row *row = &rows[node->op];
    if (row->forms == ANY)
        return row->functional;
    if (node->dialect == NUC_EDGE)
        return edge_name(row);
    return node->in_place ? in_place_name(node->op) : row->functional;
}

static bool has_name(enum nuc_op op, const char *name, struct nuc_op_form *form)
{
    const struct row *row = &rows[op];
    bool aten = nuc_op_in_dialect(op, NUC_ATEN);

    *form = (struct nuc_op_form){.op = op, .dialect = NUC_ATEN};
    if (aten && strcmp(row->functional, name) == 0)
        return true;
    form->in_place = true;
    if ((row->forms & INPLACE) != 0 && strcmp(in_place_name(op), name) == 0)
        return true;
    *form = (struct nuc_op_form){.op = op, .dialect = NUC_EDGE};
    return (row->forms & (EDGE | EDGE_COPY)) != 0 && strcmp(edge_name(row), name) == 0;
}

struct nuc_op_form nuc_op_find(const char *name)
{
    struct nuc_op_form form;

    for (unsigned op = 0; op < NUC_OP_COUNT; op++) {
        if (has_name((enum nuc_op)op, name, &form))
            return form;
    }
    return (struct nuc_op_form){.op = NUC_OP_COUNT};
}

/* ---- properties ---- */

const char *nuc_short_op_name(const char *name)
{
    return strncmp(name, "edge.", 5) == 0 ? name + 5 : name;
}

enum nuc_family nuc_op_family(enum nuc_op op)
{
    return (unsigned)op < NUC_OP_COUNT ? rows[op].family : NUC_FAMILY_GRAPH;
}

enum nuc_op_kind nuc_op_kind(enum nuc_op op)
{
    return kinds[nuc_op_family(op)];
}

bool nuc_op_in_dialect(enum nuc_op op, enum nuc_dialect dialect)
{
    assert((unsigned)op < NUC_OP_COUNT);
    return rows[op].forms == ANY || (rows[op].forms & (dialect == NUC_EDGE ? EDGE | EDGE_COPY : ATEN)) != 0;
}

bool nuc_op_has_in_place(enum nuc_op op)
{
    assert((unsigned)op < NUC_OP_COUNT);
    return (rows[op].forms & INPLACE) != 0;
}

bool nuc_op_makes_real(enum nuc_op op)
{
    assert((unsigned)op < NUC_OP_COUNT);
    return (rows[op].forms & REAL) != 0;
}

bool nuc_op_is_partial(enum nuc_op op)
{
    assert((unsigned)op < NUC_OP_COUNT);
    return (rows[op].forms & PARTIAL) != 0;
}

enum nuc_op nuc_int8_op(enum nuc_op op)
{
    /* Operator 0 is a placeholder, which nothing becomes. */
    static const uint16_t int8_ops[NUC_OP_COUNT] = {
#define INT8(from, to) [NUC_OP_##from] = NUC_OP_##to,
#include "ir/ops.def"
    };

    return int8_ops[op] != 0 ? (enum nuc_op)int8_ops[op] : op;
}

const struct nuc_schema *nuc_op_schema(enum nuc_op op)
{
    assert((unsigned)op < NUC_OP_COUNT);
    return &rows[op].schema;
}

int nuc_schema_arg_index(const struct nuc_schema *schema, const char *name)
{
    for (uint32_t i = 0; i < schema->n_args; i++) {
        if (schema->args[i].name[0] == name[0] && strcmp(schema->args[i].name, name) == 0)
            return (int)i;
    }
    return -1;
}
