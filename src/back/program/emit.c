#include "back/program/emit.h"

#include <string.h>

#include "back/program/out_variant.h"
#include "device/base/program_schema.h"
#include "host/hash.h"
#include "ir/args.h"
#include "ir/op_list.h"
#include "npu/layout/orders.h"

int nuc_scalar_type(enum nuc_dtype dtype)
{
    static const int8_t types[NUC_DTYPE_COUNT] = {
#define TYPE(number, dtype) [dtype] = number,
        NUC_SCALAR_TYPES(TYPE)
#undef TYPE
    };

    return (unsigned)dtype < NUC_DTYPE_COUNT ? types[dtype] : -1;
}

/* ---- values: numbers and lists that many calls have are in the program once ---- */

static bool same_bytes(struct nuc_span a, struct nuc_span b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* What a number or a list of numbers says. By the bits: 0 and -0 differ, and a NaN is itself. */
static struct nuc_span said_by(const struct nuc_emit_value *v)
{
    const bool is_list = v->kind == NUC_EMIT_INTS || v->kind == NUC_EMIT_DOUBLES;
    const size_t one = v->kind == NUC_EMIT_NONE ? 0 : v->kind == NUC_EMIT_BOOL ? sizeof v->u.b : sizeof v->u.i;
    const void *data = v->kind == NUC_EMIT_INTS ? (const void *)v->u.items
                       : is_list                ? (const void *)v->u.doubles
                                                : &v->u;

    return (struct nuc_span){data, is_list ? v->count * one : one};
}

/*
 * Index of a value that says the same, or NUC_NO_STORAGE: then `value`, which the caller adds as the next one, is found
 * from now on. Tensors are never shared: each is memory of its own, or a name of a constant.
 */
static uint32_t share_value(struct nuc_emission *e, const struct nuc_emit_value *value)
{
    if (value->kind != NUC_EMIT_NONE && value->kind != NUC_EMIT_INT && value->kind != NUC_EMIT_BOOL &&
        value->kind != NUC_EMIT_DOUBLE && value->kind != NUC_EMIT_INTS && value->kind != NUC_EMIT_DOUBLES)
        return NUC_NO_STORAGE;
    const struct nuc_span said = said_by(value);
    const uint64_t kind = nuc_hash_bytes(NUC_HASH_OF_NOTHING, &value->kind, sizeof value->kind);
    const uint32_t hash = nuc_index_folded(nuc_hash_bytes(kind, said.data, said.size));
    for (struct nuc_index_search s = nuc_index_search(e->shared, hash); nuc_index_next(&s);) {
        if (e->values[s.place].kind == value->kind && same_bytes(said_by(&e->values[s.place]), said))
            return s.place;
    }
    nuc_index_add(e->cx, e->shared, hash, (uint32_t)e->n_values);
    return NUC_NO_STORAGE;
}

static uint32_t add_value(struct nuc_emission *e, struct nuc_emit_value value)
{
    uint32_t same = e->shared != NULL ? share_value(e, &value) : NUC_NO_STORAGE;

    if (same != NUC_NO_STORAGE)
        return same;
    e->values = nuc_grow(e->cx, e->values, &e->values_capacity, e->n_values + 1, sizeof *e->values);
    e->values[e->n_values] = value;
    return (uint32_t)e->n_values++;
}

static uint32_t add_int(struct nuc_emission *e, int64_t i)
{
    return add_value(e, (struct nuc_emit_value){.kind = NUC_EMIT_INT, .u.i = i});
}

uint32_t nuc_emit_storage(struct nuc_emission *e, size_t bytes, const struct nuc_node *node, uint32_t result,
                          const char *form)
{
    e->storages = nuc_grow(e->cx, e->storages, &e->storages_capacity, e->n_storages + 1, sizeof *e->storages);
    e->storages[e->n_storages] =
        (struct nuc_emit_storage){.bytes = bytes, .node = node, .result = result, .form = form};
    return (uint32_t)e->n_storages++;
}

static uint32_t add_tensor(struct nuc_emission *e, const struct nuc_meta *meta, uint32_t storage, uint32_t constant)
{
    return add_value(
        e, (struct nuc_emit_value){.kind = NUC_EMIT_TENSOR, .meta = meta, .storage = storage, .constant = constant});
}

static uint32_t tensor_of(struct nuc_emission *e, const struct nuc_node *node)
{
    uint32_t *values = e->value_of[node->id];

    if (values == NULL)
        nuc_fail(e->cx, NUC_INTERNAL, "%s: %s is used before it is computed", e->g->file, nuc_node_text(e->cx, node));
    return values[0];
}

static uint32_t add_ints(struct nuc_emission *e, const int64_t *ints, uint32_t count)
{
    int64_t *items = nuc_alloc_array(e->cx, count, sizeof *items);

    for (uint32_t i = 0; i < count; i++)
        items[i] = add_int(e, ints[i]);
    return add_value(e, (struct nuc_emit_value){.kind = NUC_EMIT_INTS, .count = count, .u.items = items});
}

static uint32_t add_tensors(struct nuc_emission *e, struct nuc_node *const *nodes, uint32_t count, bool optional)
{
    int64_t *items = nuc_alloc_array(e->cx, count, sizeof *items);
    enum nuc_emit_kind kind = optional ? NUC_EMIT_OPTIONAL_TENSORS : NUC_EMIT_TENSORS;

    for (uint32_t i = 0; i < count; i++) {
        items[i] = nodes[i] == NULL ? -1 : (int64_t)tensor_of(e, nodes[i]);
        kind = nodes[i] == NULL ? NUC_EMIT_OPTIONAL_TENSORS : kind;
    }
    return add_value(e, (struct nuc_emit_value){.kind = kind, .count = count, .u.items = items});
}

#define HASHED_END ((size_t)128)

/* Index of the entry with these bytes, which is made when there is none: each distinct content is there once. */
static uint32_t add_constant(struct nuc_emission *e, struct nuc_span bytes)
{
    /* Of the size and both ends: what has these in common is seldom different. */
    const size_t end = bytes.size < HASHED_END ? bytes.size : HASHED_END;
    uint64_t hash = nuc_hash_bytes(NUC_HASH_OF_NOTHING, &bytes.size, sizeof bytes.size);
    if (end > 0)
        hash = nuc_hash_bytes(nuc_hash_bytes(hash, bytes.data, end), bytes.data + bytes.size - end, end);

    for (struct nuc_index_search s = nuc_index_search(&e->by_bytes, nuc_index_folded(hash)); nuc_index_next(&s);) {
        if (same_bytes(e->constants[s.place], bytes))
            return s.place;
    }
    nuc_index_add(e->cx, &e->by_bytes, nuc_index_folded(hash), (uint32_t)e->n_constants);
    e->constants = nuc_grow(e->cx, e->constants, &e->constants_capacity, e->n_constants + 1, sizeof *e->constants);
    e->constants[e->n_constants] = bytes;
    return (uint32_t)e->n_constants++;
}

/* Memory formats as torch numbers them. */
static int64_t memory_format_number(enum nuc_memory_format format)
{
    static const int8_t numbers[] = {
        [NUC_CONTIGUOUS_FORMAT] = 0,
        [NUC_PRESERVE_FORMAT] = 1,
        [NUC_CHANNELS_LAST] = 2,
        [NUC_CHANNELS_LAST_3D] = 3,
    };

    return numbers[format];
}

static uint32_t add_double(struct nuc_emission *e, double f)
{
    return add_value(e, (struct nuc_emit_value){.kind = NUC_EMIT_DOUBLE, .u.f = f});
}

static bool is_whole(double f)
{
    return f >= -1e9 && f <= 1e9 && (double)(int64_t)f >= f && (double)(int64_t)f <= f;
}

/* Argument `index` of a call. Floats of the schema are doubles and lists of optional tensors hold such, whatever is
 * there. */
static uint32_t add_argument(struct nuc_emission *e, const struct nuc_node *node, uint32_t index)
{
    const struct nuc_schema_arg *schema = &nuc_op_schema(node->op)->args[index];
    const struct nuc_arg *arg = &node->args[index];
    bool as_double = schema->kind == NUC_ARG_FLOAT && !schema->is_scalar;
    bool as_int = schema->is_scalar && nuc_out_prefers_ints(node->op);

    switch (arg->kind) {
    case NUC_ARG_NODE:
        return tensor_of(e, arg->u.node);
    case NUC_ARG_NODES:
        return add_tensors(e, arg->u.nodes, arg->count, node->op == NUC_OP_INDEX || node->op == NUC_OP_INDEX_PUT);
    case NUC_ARG_INT:
        return as_double ? add_double(e, (double)arg->u.i) : add_int(e, arg->u.i);
    case NUC_ARG_INTS:
        return add_ints(e, arg->u.ints, arg->count);
    case NUC_ARG_FLOAT:
        return as_int && is_whole(arg->u.f) ? add_int(e, (int64_t)arg->u.f) : add_double(e, arg->u.f);
    case NUC_ARG_FLOATS:
        return add_value(
            e, (struct nuc_emit_value){.kind = NUC_EMIT_DOUBLES, .count = arg->count, .u.doubles = arg->u.floats});
    case NUC_ARG_BOOL:
        return add_value(e, (struct nuc_emit_value){.kind = NUC_EMIT_BOOL, .u.b = arg->u.b});
    case NUC_ARG_STRING:
        return add_value(e, (struct nuc_emit_value){.kind = NUC_EMIT_STRING, .u.string = arg->u.string});
    case NUC_ARG_DTYPE:
        return add_int(e, nuc_scalar_type(arg->u.dtype));
    case NUC_ARG_MEMORY_FORMAT:
        return add_int(e, memory_format_number(arg->u.memory_format));
    case NUC_ARG_NONE:
    case NUC_ARG_OTHER:
        break;
    }
    return add_value(e, (struct nuc_emit_value){.kind = NUC_EMIT_NONE});
}

/* Reads of `node` are reads of that value. */
static void record(struct nuc_emission *e, const struct nuc_node *node, uint32_t value)
{
    e->value_of[node->id] = nuc_copy(e->cx, &value, sizeof value);
}

/* New tensors for the results of `node`, recorded under it. */
static uint32_t *add_results(struct nuc_emission *e, const struct nuc_node *node)
{
    uint32_t *values = nuc_alloc_array(e->cx, node->n_vals + 1, sizeof *values);

    if (e->places[node->id].part) {
        const struct nuc_emit_place *place = &e->places[node->id];
        values[0] = add_tensor(e, &node->vals[0], place->storage, 0);
        e->values[values[0]].offset = place->offset;
        e->value_of[node->id] = values;
        return values;
    }
    for (uint32_t i = 0; i < node->n_vals; i++) {
        uint32_t storage = nuc_emit_storage(e, nuc_bytes(&node->vals[i]), node, i, NULL);
        values[i] = add_tensor(e, &node->vals[i], storage, 0);
    }
    e->value_of[node->id] = values;
    return values;
}

/* ---- instructions ---- */

static void add_instruction(struct nuc_emission *e, struct nuc_emit_instruction instruction)
{
    e->instructions =
        nuc_grow(e->cx, e->instructions, &e->instructions_capacity, e->n_instructions + 1, sizeof *e->instructions);
    instruction.node = e->current;
    e->instructions[e->n_instructions++] = instruction;
}

static uint32_t add_result_list(struct nuc_emission *e, const uint32_t *results, uint32_t count)
{
    int64_t *items = nuc_alloc_array(e->cx, count, sizeof *items);

    for (uint32_t i = 0; i < count; i++)
        items[i] = results[i];
    return add_value(e, (struct nuc_emit_value){.kind = NUC_EMIT_TENSORS, .count = count, .u.items = items});
}

/*
 * Out arguments and return value: the tensors and the only one again or a list of them; for an operator that returns a
 * list, the list twice, as two values.
 */
static uint32_t add_outs(struct nuc_emission *e, const struct nuc_node *node, const uint32_t *results, uint32_t *args)
{
    uint32_t n = 0;

    if (nuc_op_schema(node->op)->returns_list) {
        args[n++] = add_result_list(e, results, node->n_vals);
        args[n++] = add_result_list(e, results, node->n_vals);
        return n;
    }
    for (uint32_t i = 0; i < node->n_vals; i++)
        args[n++] = results[i];
    args[n++] = node->n_vals == 1 ? results[0] : add_result_list(e, results, node->n_vals);
    return n;
}

static struct nuc_out_variant need_variant(struct nuc_emission *e, const struct nuc_node *node)
{
    struct nuc_out_variant variant = nuc_out_variant_of(e->cx, node);
    bool aten = node->dialect == NUC_ATEN && nuc_op_in_dialect(node->op, NUC_ATEN) && !nuc_is_quantize(node) &&
                !nuc_is_dequantize(node);

    if (variant.name == NULL || aten)
        nuc_fail(e->cx, NUC_UNSUPPORTED, "%s: %s has no operator at run time: delegate or decompose it", e->g->file,
                 nuc_node_text(e->cx, node));
    return variant;
}

/* A call of an operator, which is listed once, with a copy of the list of values. */
static void add_call(struct nuc_emission *e, struct nuc_out_variant variant, const uint32_t *args, uint32_t n)
{
    uint32_t i = 0;

    while (i < e->n_operators &&
           (strcmp(e->operators[i].name, variant.name) != 0 || strcmp(e->operators[i].overload, variant.overload) != 0))
        i++;
    if (i == e->n_operators) {
        e->operators = nuc_grow(e->cx, e->operators, &e->operators_capacity, e->n_operators + 1, sizeof *e->operators);
        e->operators[e->n_operators++] = (struct nuc_emit_operator){variant.name, variant.overload};
    }
    add_instruction(
        e, (struct nuc_emit_instruction){.index = i, .n_args = n, .args = nuc_copy(e->cx, args, n * sizeof *args)});
}

/* Results first, then scalars in schema order: the numbering of ExecuTorch's emitter. */
static void emit_kernel(struct nuc_emission *e, const struct nuc_node *node)
{
    struct nuc_out_variant variant = need_variant(e, node);
    uint32_t *args = nuc_alloc_array(e->cx, (size_t)node->n_args + node->n_vals + 2, sizeof *args);
    uint32_t n = 0;
    uint32_t *results = add_results(e, node);

    for (uint32_t i = 0; i < node->n_args; i++) {
        if (nuc_out_has_arg(node->op, i))
            args[n++] = add_argument(e, node, i);
    }
    n += add_outs(e, node, results, args + n);
    add_call(e, variant, args, n);
}

/*
 * An argument for each input of the payload, whose maps name arguments by place: also one value twice, as two inputs
 * may become one when the operators between them go.
 */
static void emit_delegate(struct nuc_emission *e, const struct nuc_node *node)
{
    const struct nuc_arg *inputs = &node->args[NUC_ARG(CALL_DELEGATE, inputs)];
    uint32_t *args = nuc_alloc_array(e->cx, inputs->count + node->n_vals + 1, sizeof *args);
    uint32_t n = 0;

    if (node->delegate == NULL)
        nuc_fail(e->cx, NUC_INTERNAL, "%s: %s has no payload", e->g->file, nuc_node_text(e->cx, node));
    for (uint32_t i = 0; i < inputs->count; i++)
        args[n++] = tensor_of(e, inputs->u.nodes[i]);
    uint32_t *results = add_results(e, node);
    for (uint32_t i = 0; i < node->n_vals; i++)
        args[n++] = results[i];
    e->delegates = nuc_grow(e->cx, e->delegates, &e->delegates_capacity, e->n_delegates + 1, sizeof *e->delegates);
    e->delegates[e->n_delegates] = node->delegate;
    add_instruction(e, (struct nuc_emit_instruction){
                           .delegate = true, .index = (uint32_t)e->n_delegates, .n_args = n, .args = args});
    e->n_delegates++;
}

/* ---- views ---- */

/* A copy of the view's input whose elements lie contiguously, by the operator that changes dim orders. */
static uint32_t emit_contiguous_copy(struct nuc_emission *e, const struct nuc_node *source)
{
    struct nuc_meta *meta = nuc_copy(e->cx, &source->vals[0], sizeof *meta);
    int64_t order[NUC_MAX_RANK];

    nuc_set_contiguous(meta);
    for (uint32_t d = 0; d < meta->rank; d++)
        order[d] = d;
    uint32_t copy = add_tensor(e, meta, nuc_emit_storage(e, nuc_bytes(meta), source, 0, "contiguous"), 0);
    uint32_t non_blocking = add_value(e, (struct nuc_emit_value){.kind = NUC_EMIT_BOOL});
    uint32_t dim_order = add_ints(e, order, meta->rank);
    const uint32_t args[] = {tensor_of(e, source), non_blocking, dim_order, copy, copy};
    add_call(e, nuc_out_variant(e->cx, NUC_OP_TO_DIM_ORDER_COPY), args, sizeof args / sizeof *args);
    return copy;
}

/* Whether each element of the view lies where it lay before: dimensions but those of size 1 agree in stride. */
static bool same_places(const struct nuc_meta *source, const struct nuc_meta *view)
{
    int64_t source_strides[NUC_MAX_RANK];
    int64_t view_strides[NUC_MAX_RANK];
    uint32_t s = 0;

    nuc_dense_strides(source, source_strides);
    nuc_dense_strides(view, view_strides);
    for (uint32_t v = 0; v < view->rank; v++) {
        if (view->sizes[v] == 1)
            continue;
        while (s < source->rank && source->sizes[s] == 1)
            s++;
        if (s == source->rank || source->sizes[s] != view->sizes[v] || source_strides[s] != view_strides[v])
            return false;
        s++;
    }
    return true;
}

/* The node is another name for the bytes of value `base`. */
static void emit_name(struct nuc_emission *e, const struct nuc_node *node, uint32_t base)
{
    uint32_t value = add_tensor(e, &node->vals[0], e->values[base].storage, e->values[base].constant);

    e->values[value].offset = e->values[base].offset;
    record(e, node, value);
}

/*
 * A view is another name for the same bytes and needs no instruction. Its elements keep their logical order, so that
 * the input has to lie contiguously, or as the view has it. An output gets bytes of its own: the caller may place it.
 */
static void emit_view(struct nuc_emission *e, const struct nuc_node *node)
{
    const struct nuc_node *source = nuc_arg_node(node, NUC_SELF);

    if (source == NULL)
        nuc_fail(e->cx, NUC_INTERNAL, "%s: %s does not view a tensor", e->g->file, nuc_node_text(e->cx, node));
    bool contiguous = nuc_lies_contiguous(&source->vals[0]), result = nuc_lies_contiguous(&node->vals[0]);
    bool in_place = same_places(&source->vals[0], &node->vals[0]);
    if (contiguous && result && nuc_feeds_output(node)) {
        /* The operator that copies: view_copy for all views, with the sizes as the graph has them or as they result. */
        uint32_t copy = add_results(e, node)[0];
        uint32_t sizes = node->op == NUC_OP_VIEW ? add_argument(e, node, NUC_ARG(VIEW, size))
                                                 : add_ints(e, node->vals[0].sizes, node->vals[0].rank);
        const uint32_t args[] = {tensor_of(e, source), sizes, copy, copy};
        add_call(e, need_variant(e, node), args, sizeof args / sizeof *args);
        return;
    }
    if (!result && !in_place)
        nuc_fail(e->cx, NUC_UNSUPPORTED,
                 "%s: %s makes a tensor that is not contiguous: clone it to the dim order expected", e->g->file,
                 nuc_node_text(e->cx, node));
    emit_name(e, node, contiguous || in_place ? tensor_of(e, source) : emit_contiguous_copy(e, source));
}

/* Another name for the same bytes, whatever the orders of dimensions say. */
static void emit_permute_view(struct nuc_emission *e, const struct nuc_node *node)
{
    const struct nuc_node *source = nuc_arg_node(node, NUC_SELF);
    const struct nuc_arg *dims = &node->args[NUC_ARG(NUCLEON_PERMUTE_VIEW, dims)];

    if (source == NULL || !nuc_is_permuted_in_place(&source->vals[0], dims->u.ints, &node->vals[0]))
        nuc_fail(e->cx, NUC_INTERNAL, "%s: %s is not a view of its input", e->g->file, nuc_node_text(e->cx, node));
    emit_name(e, node, tensor_of(e, source));
}

/* ---- rows ---- */

#define NPU_ALIGNMENT 16

/* Bytes of so many indices of the outermost dimension in memory. */
static size_t row_bytes(const struct nuc_meta *m, int64_t dim, int64_t rows)
{
    return m->sizes[dim] > 0 ? nuc_bytes(m) / (size_t)m->sizes[dim] * (size_t)rows : 0;
}

static void emit_rows_view(struct nuc_emission *e, const struct nuc_node *node)
{
    const struct nuc_node *source = nuc_arg_node(node, NUC_SELF);
    int64_t dim = nuc_integer(node, NUC_ARG(NUCLEON_ROWS_VIEW, dim), 0);

    if (source == NULL)
        nuc_fail(e->cx, NUC_INTERNAL, "%s: %s does not view a tensor", e->g->file, nuc_node_text(e->cx, node));
    uint32_t base = tensor_of(e, source);
    if (e->values[base].storage == NUC_NO_STORAGE)
        nuc_fail(e->cx, NUC_INTERNAL, "%s: %s views a constant", e->g->file, nuc_node_text(e->cx, node));
    emit_name(e, node, base);
    e->values[tensor_of(e, node)].offset +=
        row_bytes(&source->vals[0], dim, nuc_integer(node, NUC_ARG(NUCLEON_ROWS_VIEW, start), 0));
}

/* As it is or by another name. */
static bool is_read_by_delegate(const struct nuc_node *node)
{
    for (uint32_t i = 0; i < node->n_users; i++) {
        const struct nuc_node *user = node->users[i];
        bool names =
            nuc_op_family(user->op) == NUC_FAMILY_VIEW ||
            nuc_op_is_in(user->op, NUC_OPS(NUC_OP_NUCLEON_PERMUTE_VIEW, NUC_OP_NUCLEON_ROWS_VIEW, NUC_OP_SLICE));
        if (user->op == NUC_OP_CALL_DELEGATE || (names && is_read_by_delegate(user)))
            return true;
    }
    return false;
}

/*
 * A slice whose bytes lie together in what it is cut from is another name for them, unless that is a parameter. The NPU
 * reads from multiples of 16 bytes.
 */
static void emit_slice(struct nuc_emission *e, const struct nuc_node *node)
{
    const struct nuc_node *source = nuc_arg_node(node, NUC_SELF);
    const uint32_t *base = source != NULL ? e->value_of[source->id] : NULL;

    if (base == NULL || !e->names_rows || e->places[node->id].part || !nuc_cuts_rows(node) ||
        e->values[base[0]].storage == NUC_NO_STORAGE) {
        emit_kernel(e, node);
        return;
    }
    const struct nuc_meta *m = &source->vals[0];
    int64_t dim = nuc_dim(node, NUC_ARG(SLICE, dim), 0, m->rank);
    int64_t start = nuc_slice_end(nuc_integer(node, NUC_ARG(SLICE, start), 0), m->sizes[dim]);
    size_t offset = e->values[base[0]].offset + row_bytes(m, dim, start);
    if (offset % NPU_ALIGNMENT != 0 && is_read_by_delegate(node)) {
        emit_kernel(e, node);
        return;
    }
    emit_name(e, node, base[0]);
    e->values[tensor_of(e, node)].offset = offset;
    e->n_named_rows++;
}

/* The storage of the whole, made before its parts are. */
static void place_parts(struct nuc_emission *e, const struct nuc_node *joined)
{
    const struct nuc_arg *parts = &joined->args[NUC_ARG(NUCLEON_JOINED_ROWS, tensors)];
    int64_t dim = nuc_integer(joined, NUC_ARG(NUCLEON_JOINED_ROWS, dim), 0), row = 0;
    uint32_t storage = nuc_emit_storage(e, nuc_bytes(&joined->vals[0]), joined, 0, NULL);

    e->places[joined->id] = (struct nuc_emit_place){true, storage, 0};
    e->storages[storage].in_parts = true;
    for (uint32_t i = 0; i < parts->count; i++) {
        const struct nuc_node *part = parts->u.nodes[i];
        bool computed = part->n_vals == 1 && nuc_is_call(part) && nuc_out_variant(e->cx, part->op).name != NULL &&
                        nuc_op_family(part->op) != NUC_FAMILY_VIEW;
        if (!computed || part->n_users != 1 || e->places[part->id].part)
            nuc_fail(e->cx, NUC_INTERNAL, "%s: %s is not computed as a part of %s", e->g->file,
                     nuc_node_text(e->cx, part), joined->name);
        e->places[part->id] = (struct nuc_emit_place){true, storage, row_bytes(&joined->vals[0], dim, row)};
        row += part->vals[0].sizes[dim];
    }
}

/* ---- the graph ---- */

static void emit_placeholder(struct nuc_emission *e, const struct nuc_node *node)
{
    if (nuc_is_static(node)) {
        struct nuc_span bytes = {NULL, nuc_bytes(&node->vals[0])};
        if (node->n_users == 0)
            return;
        bytes.data = nuc_const_in_dim_order(e->g, node);
        record(e, node, add_tensor(e, &node->vals[0], NUC_NO_STORAGE, add_constant(e, bytes)));
        return;
    }
    uint32_t value = add_results(e, node)[0];
    if (nuc_is_state(node)) {
        e->initials = nuc_grow(e->cx, e->initials, &e->initials_capacity, e->n_initials + 2, sizeof *e->initials);
        e->n_initials += e->n_initials == 0;
        e->values[value].initial = (uint32_t)e->n_initials;
        e->values[value].state = node->target;
        e->initials[e->n_initials++] = (struct nuc_span){nuc_const_in_dim_order(e->g, node), nuc_bytes(&node->vals[0])};
        e->storages[e->values[value].storage].is_state = true;
        e->writes = nuc_grow(e->cx, e->writes, &e->writes_capacity, e->n_writes + 1, sizeof *e->writes);
        e->writes[e->n_writes++].state = value;
        return;
    }
    e->inputs = nuc_grow(e->cx, e->inputs, &e->inputs_capacity, e->n_inputs + 1, sizeof *e->inputs);
    e->inputs[e->n_inputs++] = value;
}

static void emit_getitem(struct nuc_emission *e, const struct nuc_node *node)
{
    const struct nuc_node *tuple = nuc_arg_node(node, NUC_ARG(GETITEM, self));
    int64_t index = nuc_integer(node, NUC_ARG(GETITEM, index), -1);

    if (tuple == NULL || e->value_of[tuple->id] == NULL || index < 0 || index >= tuple->n_vals)
        nuc_fail(e->cx, NUC_INTERNAL, "%s: %s does not read a result", e->g->file, nuc_node_text(e->cx, node));
    record(e, node, e->value_of[tuple->id][index]);
}

static void emit_outputs(struct nuc_emission *e, const struct nuc_node *node)
{
    const struct nuc_arg *list = &node->args[NUC_ARG(OUTPUT, values)];

    const uint32_t n_results = list->count - (uint32_t)e->n_writes;

    for (size_t i = 0; i < e->n_writes; i++)
        e->writes[i].value = tensor_of(e, list->u.nodes[n_results + i]);
    for (uint32_t i = 0; i < n_results; i++) {
        e->outputs = nuc_grow(e->cx, e->outputs, &e->outputs_capacity, e->n_outputs + 1, sizeof *e->outputs);
        e->outputs[e->n_outputs++] = tensor_of(e, list->u.nodes[i]);
    }
}

/* Memory alone: of scratch, and of joined rows, whose parts are computed. */
static void emit_storage(struct nuc_emission *e, const struct nuc_node *node)
{
    (void)add_results(e, node);
}

/* Those that are no call of a kernel; views are names. */
static void (*const emitters[NUC_OP_COUNT])(struct nuc_emission *e, const struct nuc_node *node) = {
    [NUC_OP_PLACEHOLDER] = emit_placeholder,
    [NUC_OP_OUTPUT] = emit_outputs,
    [NUC_OP_GETITEM] = emit_getitem,
    [NUC_OP_CALL_DELEGATE] = emit_delegate,
    [NUC_OP_ALLOC] = emit_storage,
    [NUC_OP_NUCLEON_PERMUTE_VIEW] = emit_permute_view,
    [NUC_OP_NUCLEON_ROWS_VIEW] = emit_rows_view,
    [NUC_OP_SLICE] = emit_slice,
    [NUC_OP_NUCLEON_JOINED_ROWS] = emit_storage,
};

void nuc_emit_writes(struct nuc_emission *e)
{
    e->current = nuc_output_node(e->g);
    for (size_t i = 0; i < e->n_writes; i++) {
        const struct nuc_emit_write *w = &e->writes[i];
        if (e->values[w->value].storage == e->values[w->state].storage)
            continue;
        uint32_t non_blocking = add_value(e, (struct nuc_emit_value){.kind = NUC_EMIT_BOOL});
        const uint32_t args[] = {w->state, w->value, non_blocking, w->state};
        add_call(e, (struct nuc_out_variant){"aten::copy_", ""}, args, sizeof args / sizeof *args);
    }
}

struct nuc_emission *nuc_emit_graph(struct nuc_graph *g, bool keep_order, bool names_rows)
{
    struct nuc_emission *e = nuc_alloc(g->cx, sizeof *e);

    e->cx = g->cx;
    e->g = g;
    e->names_rows = names_rows;
    e->shared = keep_order ? NULL : nuc_alloc(g->cx, sizeof *e->shared);
    e->value_of = nuc_alloc_array(g->cx, (size_t)g->next_id + 1, sizeof(*e->value_of));
    add_constant(e, (struct nuc_span){NULL, 0});
    e->n_constants = 1; /* entry 0 is not a constant */
    e->places = nuc_alloc_array(g->cx, (size_t)g->next_id + 1, sizeof *e->places);
    for (const struct nuc_node *node = g->first; node != NULL; node = node->next) {
        if (node->op == NUC_OP_NUCLEON_JOINED_ROWS)
            place_parts(e, node);
    }
    for (const struct nuc_node *node = g->first; node != NULL; node = node->next) {
        e->current = node;
        if (emitters[node->op] != NULL)
            emitters[node->op](e, node);
        else if (nuc_op_family(node->op) == NUC_FAMILY_VIEW)
            emit_view(e, node);
        else
            emit_kernel(e, node);
    }
    return e;
}
