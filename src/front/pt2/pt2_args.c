/* The arguments of the operator nodes of a .pt2 archive. */
#include <string.h>

#include "front/pt2/importer.h"
#include "host/numbers.h"
#include "host/text.h"
#include "ir/args.h"
#include "ir/shapes/shapes.h"

static struct nuc_node *read_tensor(struct nuc_importer *im, const struct nuc_json *tensor)
{
    struct nuc_json name = nuc_json_field(tensor, "name");

    return nuc_named_value(im, &name);
}

struct arg_reader {
    struct nuc_importer *im;
    struct nuc_node *node;
    uint32_t index;
    const struct nuc_schema_arg *schema;
    const struct nuc_json *value; /* the member of the union: its key says the type */
};

_Noreturn static void wrong_kind(const struct arg_reader *r)
{
    if (strcmp(r->value->key, "as_complex") == 0)
        nuc_json_fail(r->value, NUC_UNSUPPORTED, "argument '%s' of %s must be real: compute with z.real and z.imag",
                      r->schema->name, nuc_node_text(r->im->cx, r->node));
    nuc_json_fail(r->value, NUC_BAD_INPUT, "argument '%s' of %s cannot be given so", r->schema->name,
                  nuc_node_text(r->im->cx, r->node));
}

static void set_tensor(const struct arg_reader *r)
{
    nuc_set_arg_node(r->node, r->im->g, r->index, read_tensor(r->im, r->value));
}

/*
 * A number beside a tensor of its kind is of the tensor's type, also where the tensor has no dimensions either.
 * Integers are little-endian here, so that the narrow one begins where the wide one does.
 */
static enum nuc_dtype number_dtype(enum nuc_dtype own, enum nuc_dtype other, const double *real, const int64_t *whole,
                                   const void **bytes)
{
    if (own == NUC_F32 && other == NUC_F64) {
        *bytes = real;
        return NUC_F64;
    }
    size_t bits = 8 * nuc_dtype_size(other);
    bool narrow = own == NUC_I64 && !nuc_is_floating(other) && other != NUC_BOOL && bits < 64;
    bool is_signed = other == NUC_I8 || other == NUC_I16 || other == NUC_I32;
    int64_t limit = narrow ? (int64_t)1 << (bits - is_signed) : 0;
    return narrow && *whole < limit && *whole >= (is_signed ? -limit : 0) ? other : own;
}

/*
 * A number where a tensor belongs (x + 2.0) becomes a constant without dimensions, which torch's promotion lets yield
 * to the type of the other operand.
 */
static void set_scalar_tensor(const struct arg_reader *r)
{
    const struct nuc_node *self = nuc_arg_node(r->node, NUC_SELF);
    const bool of_none = r->im->part == NUC_PART_IMAGINARY; /* a real number has no imaginary part */
    bool truth = r->value->type == NUC_JSON_TRUE, is_truth = truth || r->value->type == NUC_JSON_FALSE;
    double value = is_truth ? (truth ? 1.0 : 0.0) : nuc_json_double(r->value);
    struct nuc_context *cx = r->im->cx;
    struct nuc_meta meta = nuc_meta_make(NUC_F32, NULL, 0);
    float as_float = (float)value;
    const void *bytes = &as_float;
    int64_t as_int = 0;

    if (self == NULL && r->index != NUC_SELF)
        wrong_kind(r);
    if (is_truth) {
        meta.dtype = NUC_BOOL;
        bytes = &truth;
    }
    value = of_none ? 0 : value;
    as_float = of_none ? 0 : as_float;
    if (r->value->type == NUC_JSON_INTEGER && (self == NULL || !nuc_is_floating(self->vals[0].dtype))) {
        meta.dtype = NUC_I64;
        as_int = of_none ? 0 : nuc_json_int(r->value);
        bytes = &as_int;
    }
    if (self != NULL)
        meta.dtype = number_dtype(meta.dtype, self->vals[0].dtype, &value, &as_int, &bytes);
    const char *name = nuc_format(cx, "%s_%s", r->node->name, r->schema->name);
    nuc_set_arg_node(r->node, r->im->g, r->index, nuc_add_constant(r->im->g, name, &meta, bytes));
}

static void set_tensors(const struct arg_reader *r)
{
    size_t count = nuc_json_count(r->value);
    struct nuc_node **nodes = nuc_alloc_array(r->im->cx, count, sizeof *nodes);
    bool are_optional = strcmp(r->value->key, "as_tensors") != 0;

    for (size_t i = 0; i < count; i++) {
        struct nuc_json item = nuc_json_item(r->value, i);
        /* An element of as_optional_tensors is {"as_tensor": ...} or {"as_none": ...}. */
        struct nuc_json value = are_optional ? nuc_json_union(&item) : item;
        if (!are_optional || strcmp(value.key, "as_none") != 0)
            nodes[i] = read_tensor(r->im, &value);
    }
    nuc_set_arg_nodes(r->node, r->im->g, r->index, nodes, (uint32_t)count);
}

static void set_int(const struct arg_reader *r)
{
    nuc_set_arg_int(r->node, r->index, nuc_read_sym_int(r->im, r->value));
}

/* A single number stands for every element of an int[N]. */
static void set_ints(const struct arg_reader *r)
{
    bool is_list = r->value->type == NUC_JSON_ARRAY;
    size_t given = is_list ? nuc_json_count(r->value) : 1;
    size_t count = given == 1 && r->schema->list_size > 1 ? r->schema->list_size : given;
    int64_t *ints = nuc_alloc_array(r->im->cx, count, sizeof *ints);

    for (size_t i = 0; i < given; i++) {
        struct nuc_json item = is_list ? nuc_json_item(r->value, i) : *r->value;
        ints[i] = nuc_read_sym_int(r->im, &item);
    }
    for (size_t i = given; i < count; i++)
        ints[i] = ints[0];
    nuc_set_arg_ints(r->node, r->im->g, r->index, ints, (uint32_t)count);
}

/*
 * A tensor where a number belongs, in the .tensor overloads of quantization: the one element of a constant, which may
 * be seen through the copies torch makes of torch.tensor(...).
 */
static double constant_number(const struct arg_reader *r)
{
    const struct nuc_node *node = read_tensor(r->im, r->value);

    while (node != NULL && (node->op == NUC_OP_CLONE || node->op == NUC_OP_ALIAS))
        node = nuc_arg_node(node, NUC_SELF);
    if (node == NULL || !nuc_is_static(node) || nuc_elements(&node->vals[0]) != 1)
        nuc_json_fail(r->value, NUC_UNSUPPORTED,
                      "argument '%s' of %s is computed: it must be a constant of one element", r->schema->name,
                      nuc_node_text(r->im->cx, r->node));
    if (nuc_dtype_size(node->vals[0].dtype) < sizeof(float))
        wrong_kind(r);
    return nuc_number_at(node->vals[0].dtype, node->data->bytes.data, 0);
}

static void set_constant_float(const struct arg_reader *r)
{
    nuc_set_arg_float(r->node, r->index, constant_number(r));
}

static void set_constant_int(const struct arg_reader *r)
{
    double value = constant_number(r);

    if (!(value >= -(double)NUC_MAX_ELEMENTS && value <= (double)NUC_MAX_ELEMENTS))
        wrong_kind(r);
    nuc_set_arg_int(r->node, r->index, (int64_t)value);
}

/* The part of a complex number that is being read. */
static void set_complex_scalar(const struct arg_reader *r)
{
    const bool imaginary = r->im->part == NUC_PART_IMAGINARY;
    struct nuc_json part = nuc_json_field(r->value, imaginary ? "imag" : "real");
    float value = (float)nuc_json_double(&part);
    struct nuc_meta meta = nuc_meta_make(NUC_F32, NULL, 0);
    const char *name = nuc_format(r->im->cx, "%s_%s", r->node->name, r->schema->name);

    nuc_set_arg_node(r->node, r->im->g, r->index, nuc_add_constant(r->im->g, name, &meta, &value));
}

/* A whole number stays one beside integers, whose type it leaves as it is. */
static void set_float_or_int(const struct arg_reader *r)
{
    if (r->im->part == NUC_PART_IMAGINARY)
        nuc_set_arg_float(r->node, r->index, 0);
    else if (r->schema->is_scalar && nuc_keeps_whole_numbers(r->node))
        nuc_set_arg_int(r->node, r->index, nuc_json_int(r->value));
    else
        nuc_set_arg_float(r->node, r->index, nuc_json_double(r->value));
}

static void set_float(const struct arg_reader *r)
{
    nuc_set_arg_float(r->node, r->index, r->im->part == NUC_PART_IMAGINARY ? 0 : nuc_json_double(r->value));
}

static void set_floats(const struct arg_reader *r)
{
    size_t count = nuc_json_count(r->value);
    double *floats = nuc_alloc_array(r->im->cx, count, sizeof *floats);

    for (size_t i = 0; i < count; i++) {
        struct nuc_json item = nuc_json_item(r->value, i);
        floats[i] = nuc_json_double(&item);
    }
    r->node->args[r->index] =
        (struct nuc_arg){.kind = NUC_ARG_FLOATS, .given = true, .count = (uint32_t)count, .u.floats = floats};
}

static void set_bool(const struct arg_reader *r)
{
    nuc_set_arg_bool(r->node, r->index, nuc_json_bool(r->value));
}

/* Scalar arguments are floats here, where Python also takes True for 1. */
static void set_scalar_bool(const struct arg_reader *r)
{
    nuc_set_arg_float(r->node, r->index, nuc_json_bool(r->value) ? 1.0 : 0.0);
}

static void set_string(const struct arg_reader *r)
{
    nuc_set_arg_string(r->node, r->index, nuc_strdup(r->im->cx, nuc_json_string(r->value)));
}

static void set_dtype(const struct arg_reader *r)
{
    nuc_set_arg_dtype(r->node, r->index, nuc_read_dtype(r->im, r->value));
}

static void set_memory_format(const struct arg_reader *r)
{
    enum nuc_memory_format format = nuc_read_memory_format(r->value);

    r->node->args[r->index] = (struct nuc_arg){.kind = NUC_ARG_MEMORY_FORMAT, .given = true, .u.memory_format = format};
}

static void set_other(const struct arg_reader *r)
{
    r->node->args[r->index] = (struct nuc_arg){.kind = NUC_ARG_OTHER, .given = true};
}

static void set_sym_float(const struct arg_reader *r)
{
    nuc_set_arg_float(r->node, r->index, (double)nuc_read_sym_int(r->im, r->value));
}

/* A size where a tensor belongs is a number there. */
static void set_sym_scalar_tensor(const struct arg_reader *r)
{
    struct nuc_meta meta = nuc_meta_make(NUC_I64, NULL, 0);
    int64_t size = nuc_read_sym_int(r->im, r->value);
    const struct nuc_node *self = nuc_arg_node(r->node, NUC_SELF);
    float real = (float)size;
    bool is_real = self != NULL && self->vals[0].dtype == NUC_F32;

    meta.dtype = is_real ? NUC_F32 : NUC_I64;
    const char *name = nuc_format(r->im->cx, "%s_%s", r->node->name, r->schema->name);
    nuc_set_arg_node(r->node, r->im->g, r->index,
                     nuc_add_constant(r->im->g, name, &meta, is_real ? (const void *)&real : (const void *)&size));
}

/* Which spelling of the union fits which kind of schema argument. */
static const struct {
    const char *key;
    enum nuc_arg_kind kind;
    void (*set)(const struct arg_reader *r);
} setters[] = {
    {"as_tensor", NUC_ARG_NODE, set_tensor},
    {"as_float", NUC_ARG_NODE, set_scalar_tensor},
    {"as_int", NUC_ARG_NODE, set_scalar_tensor},
    {"as_bool", NUC_ARG_NODE, set_scalar_tensor},
    {"as_complex", NUC_ARG_NODE, set_complex_scalar},
    {"as_tensors", NUC_ARG_NODES, set_tensors},
    {"as_optional_tensors", NUC_ARG_NODES, set_tensors},
    {"as_int", NUC_ARG_INT, set_int},
    {"as_sym_int", NUC_ARG_INT, set_int},
    {"as_tensor", NUC_ARG_INT, set_constant_int},
    {"as_ints", NUC_ARG_INTS, set_ints},
    {"as_sym_ints", NUC_ARG_INTS, set_ints},
    {"as_int", NUC_ARG_INTS, set_ints},
    {"as_sym_int", NUC_ARG_INTS, set_ints},
    {"as_float", NUC_ARG_FLOAT, set_float},
    {"as_int", NUC_ARG_FLOAT, set_float_or_int},
    {"as_sym_int", NUC_ARG_FLOAT, set_sym_float},
    {"as_sym_int", NUC_ARG_NODE, set_sym_scalar_tensor},
    {"as_tensor", NUC_ARG_FLOAT, set_constant_float},
    {"as_bool", NUC_ARG_FLOAT, set_scalar_bool},
    {"as_floats", NUC_ARG_FLOATS, set_floats},
    {"as_ints", NUC_ARG_FLOATS, set_floats},
    {"as_bool", NUC_ARG_BOOL, set_bool},
    {"as_string", NUC_ARG_STRING, set_string},
    {"as_scalar_type", NUC_ARG_DTYPE, set_dtype},
    {"as_memory_format", NUC_ARG_MEMORY_FORMAT, set_memory_format},
    {"as_layout", NUC_ARG_OTHER, set_other},
    {"as_device", NUC_ARG_OTHER, set_other},
};

/* `position` among the arguments that the archive lists. */
static void read_arg(struct nuc_importer *im, struct nuc_node *node, const struct nuc_json *input, uint32_t position,
                     bool is_alias)
{
    const struct nuc_schema *schema = nuc_op_schema(node->op);
    struct nuc_json name = nuc_json_field(input, "name");
    struct nuc_json arg = nuc_json_field(input, "arg");
    int index = nuc_schema_arg_index(schema, nuc_json_string(&name));

    /* What an operator in place writes to is 'self', whatever the other form calls it. */
    if (index < 0 && node->in_place && strcmp(nuc_json_string(&name), "self") == 0)
        index = NUC_SELF;
    /* Another name of an operator may call its arguments otherwise; their order is the same. */
    if (index < 0 && is_alias && position < schema->n_args && !schema->args[position].keyword_only)
        index = (int)position;
    if (index < 0)
        nuc_json_fail(&name, NUC_UNSUPPORTED, "%s: the operator has no argument '%s' here", nuc_node_text(im->cx, node),
                      nuc_json_string(&name));
    if (node->args[index].given)
        nuc_json_fail(&name, NUC_BAD_INPUT, "%s: argument '%s' is given twice", nuc_node_text(im->cx, node),
                      nuc_json_string(&name));
    nuc_read_arg_value(im, node, (uint32_t)index, &arg);
}

void nuc_read_arg_value(struct nuc_importer *im, struct nuc_node *node, uint32_t index, const struct nuc_json *arg)
{
    static const char *const for_both_parts[] = {"index", "indices", "mask", "condition", "repeats", NULL};
    struct nuc_json value = nuc_json_union(arg);
    const struct arg_reader *r = &(struct arg_reader){im, node, index, &nuc_op_schema(node->op)->args[index], &value};

    if (strcmp(r->value->key, "as_none") == 0) {
        if (!r->schema->optional)
            wrong_kind(r);
        r->node->args[r->index] = (struct nuc_arg){.kind = NUC_ARG_NONE, .given = true};
        return;
    }
    const enum nuc_part part = im->part;
    if (part == NUC_PART_IMAGINARY && nuc_is_one_of(r->schema->name, for_both_parts, SIZE_MAX))
        im->part = NUC_PART_REAL;
    for (size_t i = 0; i < sizeof setters / sizeof setters[0]; i++) {
        if (setters[i].kind == r->schema->kind && strcmp(setters[i].key, r->value->key) == 0) {
            setters[i].set(r);
            im->part = part;
            return;
        }
    }
    wrong_kind(r);
}

void nuc_read_args(struct nuc_importer *im, struct nuc_node *node, const struct nuc_json *json)
{
    const struct nuc_schema *schema = nuc_op_schema(node->op);
    struct nuc_json inputs = nuc_json_field(json, "inputs");
    size_t count = nuc_json_count(&inputs);
    bool is_alias = strcmp(nuc_pt2_op_name(json), nuc_node_op_name(node)) != 0;

    for (size_t i = 0; i < count; i++) {
        struct nuc_json input = nuc_json_item(&inputs, i);
        read_arg(im, node, &input, (uint32_t)i, is_alias);
    }
    for (uint32_t i = 0; i < schema->n_args; i++) {
        if (!node->args[i].given && !schema->args[i].has_default)
            nuc_json_fail(&inputs, NUC_BAD_INPUT, "%s: argument '%s' is missing", nuc_node_text(im->cx, node),
                          schema->args[i].name);
    }
}
