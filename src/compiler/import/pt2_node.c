/* The operator nodes of a .pt2 archive. */
#include <string.h>

#include "compiler/graph/shapes.h"
#include "compiler/import/importer.h"
#include "host/file.h"
#include "host/text.h"

/* ---- in-place operators ---- */

/*
 * The archive keeps in-place operators (relu_) and the aliases views make. Here every value is immutable, so a read of
 * the old name behind the write must read the result of the write. That is only possible to say when the written tensor
 * has no other name: views of it that are read later are refused.
 */
static bool is_in_place(enum nuc_op op)
{
    const char *overload = strrchr(nuc_op_name(op), '.');

    return overload != NULL && overload[-1] == '_';
}

/* Results that may share memory with their input in torch. */
static bool is_alias(enum nuc_op op)
{
    return is_in_place(op) || (nuc_op_kind(op) == NUC_KIND_SHAPE && op != NUC_OP_CLONE);
}

static struct nuc_value_state *state_of(struct nuc_importer *im, const struct nuc_node *node)
{
    im->states = nuc_grow(im->cx, im->states, &im->states_capacity, im->g->next_id, sizeof *im->states);
    return &im->states[node->id];
}

static const struct nuc_node *memory_of(struct nuc_importer *im, const struct nuc_node *node)
{
    const struct nuc_node *memory = state_of(im, node)->memory;

    return memory == NULL ? node : memory;
}

/* The value that holds what the memory of `node` contains now, as far as writes through this name go. */
static struct nuc_node *resolve(struct nuc_importer *im, struct nuc_node *node)
{
    struct nuc_node *last = node;

    while (state_of(im, last)->current != NULL)
        last = state_of(im, last)->current;
    if (last != node)
        state_of(im, node)->current = last;
    return last;
}

/* Notes what a new node shares and writes. */
static void note_memory(struct nuc_importer *im, struct nuc_node *node)
{
    struct nuc_node *self = nuc_arg_node(node, 0);

    if (self == NULL || !is_alias(node->op))
        return;
    state_of(im, node)->memory = memory_of(im, self);
    if (is_in_place(node->op)) {
        state_of(im, self)->current = node;
        state_of(im, memory_of(im, self))->written = node;
    }
}

/* No operator may have written to the memory of `node` under another name since `node` was made. */
static void check_stale(struct nuc_importer *im, const struct nuc_node *node, const struct nuc_json *at)
{
    const struct nuc_node *written = state_of(im, memory_of(im, node))->written;

    if (written != NULL && written->id > node->id)
        nuc_json_fail(at, NUC_UNSUPPORTED, "'%s' shares memory with what %s wrote: use the operator without '_'",
                      node->name, nuc_node_text(im->cx, written));
}

struct nuc_node *nuc_named_value(struct nuc_importer *im, const struct nuc_json *name)
{
    const char *text = nuc_json_string(name);
    struct nuc_node *node = nuc_find_node(im->g, text);

    if (node == NULL)
        nuc_json_fail(name, NUC_BAD_INPUT, "there is no value '%s' in front of this", text);
    node = resolve(im, node);
    check_stale(im, node, name);
    return node;
}

/* ---- arguments ---- */

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
    nuc_json_fail(r->value, NUC_BAD_INPUT, "argument '%s' of %s cannot be given so", r->schema->name,
                  nuc_node_text(r->im->cx, r->node));
}

static void set_tensor(const struct arg_reader *r)
{
    nuc_set_arg_node(r->node, r->im->g, r->index, read_tensor(r->im, r->value));
}

/*
 * A number where a tensor belongs (x + 2.0) becomes a constant without dimensions, which torch's promotion lets yield
 * to the type of the other operand.
 */
static void set_scalar_tensor(const struct arg_reader *r)
{
    const struct nuc_node *self = nuc_arg_node(r->node, 0);
    double value = nuc_json_double(r->value);
    struct nuc_context *cx = r->im->cx;
    struct nuc_meta meta = nuc_meta_make(NUC_F32, NULL, 0);
    float as_float = (float)value;
    const void *bytes = &as_float;
    int64_t as_int = 0;

    if (self == NULL)
        wrong_kind(r);
    if (json_is_integer(r->value->value) && !nuc_is_floating(self->vals[0].dtype)) {
        meta.dtype = NUC_I64;
        as_int = nuc_json_int(r->value);
        bytes = &as_int;
    }
    const char *name = nuc_format(cx, "%s_%s", r->node->name, r->schema->name);
    nuc_set_arg_node(r->node, r->im->g, r->index, nuc_add_constant(r->im->g, name, &meta, bytes));
}

/* An element of as_optional_tensors is {"as_tensor": ...} or {"as_none": ...}. */
static struct nuc_node *read_element(const struct arg_reader *r, const struct nuc_json *item)
{
    if (strcmp(r->value->key, "as_tensors") == 0)
        return read_tensor(r->im, item);
    struct nuc_json value = nuc_json_union(item);
    return strcmp(value.key, "as_none") == 0 ? NULL : read_tensor(r->im, &value);
}

static void set_tensors(const struct arg_reader *r)
{
    size_t count = nuc_json_count(r->value);
    struct nuc_node **nodes = nuc_alloc_array(r->im->cx, count, sizeof *nodes);

    for (size_t i = 0; i < count; i++) {
        struct nuc_json item = nuc_json_item(r->value, i);
        nodes[i] = read_element(r, &item);
    }
    nuc_set_arg_nodes(r->node, r->im->g, r->index, nodes, (uint32_t)count);
}

static void set_int(const struct arg_reader *r)
{
    nuc_set_arg_int(r->node, r->index, nuc_read_sym_int(r->value));
}

/* A single number stands for every element of an int[N]. */
static void set_ints(const struct arg_reader *r)
{
    bool is_list = json_is_array(r->value->value);
    size_t given = is_list ? nuc_json_count(r->value) : 1;
    size_t count = given == 1 && r->schema->list_size > 1 ? r->schema->list_size : given;
    int64_t *ints = nuc_alloc_array(r->im->cx, count, sizeof *ints);

    for (size_t i = 0; i < given; i++) {
        struct nuc_json item = is_list ? nuc_json_item(r->value, i) : *r->value;
        ints[i] = nuc_read_sym_int(&item);
    }
    for (size_t i = given; i < count; i++)
        ints[i] = ints[0];
    nuc_set_arg_ints(r->node, r->im->g, r->index, ints, (uint32_t)count);
}

static void set_float(const struct arg_reader *r)
{
    nuc_set_arg_float(r->node, r->index, nuc_json_double(r->value));
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
    nuc_set_arg_string(r->node, r->index, nuc_json_string(r->value));
}

static void set_dtype(const struct arg_reader *r)
{
    nuc_set_arg_dtype(r->node, r->index, nuc_read_dtype(r->value));
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

static void set_none(const struct arg_reader *r)
{
    if (!r->schema->optional)
        wrong_kind(r);
    r->node->args[r->index] = (struct nuc_arg){.kind = NUC_ARG_NONE, .given = true};
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
    {"as_tensors", NUC_ARG_NODES, set_tensors},
    {"as_optional_tensors", NUC_ARG_NODES, set_tensors},
    {"as_int", NUC_ARG_INT, set_int},
    {"as_sym_int", NUC_ARG_INT, set_int},
    {"as_ints", NUC_ARG_INTS, set_ints},
    {"as_sym_ints", NUC_ARG_INTS, set_ints},
    {"as_int", NUC_ARG_INTS, set_ints},
    {"as_sym_int", NUC_ARG_INTS, set_ints},
    {"as_float", NUC_ARG_FLOAT, set_float},
    {"as_int", NUC_ARG_FLOAT, set_float},
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

static void set_arg(const struct arg_reader *r)
{
    if (strcmp(r->value->key, "as_none") == 0) {
        set_none(r);
        return;
    }
    for (size_t i = 0; i < sizeof setters / sizeof setters[0]; i++) {
        if (setters[i].kind == r->schema->kind && strcmp(setters[i].key, r->value->key) == 0) {
            setters[i].set(r);
            return;
        }
    }
    wrong_kind(r);
}

static void read_arg(struct nuc_importer *im, struct nuc_node *node, const struct nuc_json *input)
{
    const struct nuc_schema *schema = nuc_op_schema(im->cx, node->op);
    struct nuc_json name = nuc_json_field(input, "name");
    struct nuc_json arg = nuc_json_field(input, "arg");
    int index = nuc_schema_arg_index(schema, nuc_json_string(&name));

    if (index < 0)
        nuc_json_fail(&name, NUC_UNSUPPORTED, "%s: the operator has no argument '%s' here", nuc_node_text(im->cx, node),
                      nuc_json_string(&name));
    if (node->args[index].given)
        nuc_json_fail(&name, NUC_BAD_INPUT, "%s: argument '%s' is given twice", nuc_node_text(im->cx, node),
                      nuc_json_string(&name));
    struct nuc_json value = nuc_json_union(&arg);
    set_arg(&(struct arg_reader){im, node, (uint32_t)index, &schema->args[index], &value});
}

static void read_args(struct nuc_importer *im, struct nuc_node *node, const struct nuc_json *json)
{
    const struct nuc_schema *schema = nuc_op_schema(im->cx, node->op);
    struct nuc_json inputs = nuc_json_field(json, "inputs");
    size_t count = nuc_json_count(&inputs);

    for (size_t i = 0; i < count; i++) {
        struct nuc_json input = nuc_json_item(&inputs, i);
        read_arg(im, node, &input);
    }
    for (uint32_t i = 0; i < schema->n_args; i++) {
        if (!node->args[i].given && !schema->args[i].has_default)
            nuc_json_fail(&inputs, NUC_BAD_INPUT, "%s: argument '%s' is missing", nuc_node_text(im->cx, node),
                          schema->args[i].name);
    }
}

/* ---- results ---- */

/* What the operator's shape rule computed must be what the archive states. */
static void check_value(const struct nuc_importer *im, const struct nuc_node *node, const struct nuc_meta *computed,
                        const struct nuc_json *name)
{
    struct nuc_tensor_meta stated = nuc_value_meta(im, nuc_json_string(name), name);

    if (computed->dtype != stated.meta.dtype || !nuc_same_sizes(computed, &stated.meta))
        nuc_json_fail(name, NUC_BAD_INPUT, "%s: the archive states %s, the operator makes %s",
                      nuc_node_text(im->cx, node), nuc_meta_text(im->cx, &stated.meta),
                      nuc_meta_text(im->cx, computed));
    if (!nuc_meta_equal(computed, &stated.meta))
        nuc_warn(im->cx, "%s: %s: the archive states %s, here it is made %s", im->zip->path,
                 nuc_node_text(im->cx, node), nuc_meta_text(im->cx, &stated.meta), nuc_meta_text(im->cx, computed));
}

static const char *unused_name(const struct nuc_importer *im, const struct nuc_json *name)
{
    const char *text = nuc_json_string(name);

    if (text[0] == '\0')
        nuc_json_fail(name, NUC_BAD_INPUT, "the name is empty");
    if (nuc_find_node(im->g, text) != NULL)
        nuc_json_fail(name, NUC_BAD_INPUT, "the name '%s' is used twice", text);
    return text;
}

static void add_item(struct nuc_importer *im, struct nuc_node *tuple, uint32_t index, const struct nuc_json *tensor)
{
    struct nuc_json name = nuc_json_field(tensor, "name");
    struct nuc_node *item = nuc_add_node(im->g, NULL, NUC_OP_GETITEM, unused_name(im, &name));

    nuc_set_arg_node(item, im->g, 0, tuple);
    nuc_set_arg_int(item, 1, index);
    item->source = tuple->source;
    nuc_infer_shape(im->g, item);
    check_value(im, item, &item->vals[0], &name);
}

/*
 * The results as the archive writes them: one tensor {"as_tensor": ...}, several of these, or one list of tensors
 * {"as_tensors": [...]}. The struct holds the way to them, so it must stay where it is.
 */
struct results {
    struct nuc_json outputs, item, value;
    bool is_tuple;
    bool is_list;
};

static void read_results(const struct nuc_json *node, struct results *r)
{
    r->outputs = nuc_json_field(node, "outputs");
    r->is_list = false;
    r->is_tuple = nuc_json_count(&r->outputs) != 1;
    if (r->is_tuple)
        return;
    r->item = nuc_json_item(&r->outputs, 0);
    r->value = nuc_json_union(&r->item);
    r->is_list = r->is_tuple = strcmp(r->value.key, "as_tensors") == 0;
    if (!r->is_list && strcmp(r->value.key, "as_tensor") != 0)
        nuc_json_fail(&r->value, NUC_UNSUPPORTED, "the result is not a tensor");
}

/* A tuple's items are getitem nodes with the names the archive gives them; as_none marks one that is not used. */
static void add_items(struct nuc_importer *im, struct nuc_node *node, const struct results *r)
{
    const struct nuc_json *list = r->is_list ? &r->value : &r->outputs;
    size_t count = nuc_json_count(list);

    if (count != node->n_vals)
        nuc_json_fail(list, NUC_BAD_INPUT, "%s: %zu results are named, the operator makes %u",
                      nuc_node_text(im->cx, node), count, (unsigned)node->n_vals);
    for (size_t i = 0; i < count; i++) {
        struct nuc_json item = nuc_json_item(list, i);
        struct nuc_json value = r->is_list ? item : nuc_json_union(&item);
        if (r->is_list || strcmp(value.key, "as_tensor") == 0)
            add_item(im, node, (uint32_t)i, &value);
        else if (strcmp(value.key, "as_none") != 0)
            nuc_json_fail(&value, NUC_UNSUPPORTED, "%s: a result is not a tensor", nuc_node_text(im->cx, node));
    }
}

/* ---- nodes ---- */

static const char *op_name(const struct nuc_json *node)
{
    static const char prefix[] = "torch.ops.";
    struct nuc_json target = nuc_json_field(node, "target");
    const char *name = nuc_json_string(&target);

    return strncmp(name, prefix, sizeof prefix - 1) == 0 ? name + sizeof prefix - 1 : name;
}

static void add_call(struct nuc_importer *im, enum nuc_op op, const struct nuc_json *json)
{
    struct nuc_json metadata = nuc_json_optional(json, "metadata");
    struct nuc_json name;
    struct results results;

    read_results(json, &results);
    if (results.is_tuple)
        name = nuc_json_optional(json, "name");
    else
        name = nuc_json_field(&results.value, "name");
    struct nuc_node *node = nuc_add_node(im->g, NULL, op, name.value == NULL ? NULL : unused_name(im, &name));
    node->source = nuc_read_source(im->cx, metadata.value);
    read_args(im, node, json);
    nuc_infer_shape(im->g, node);
    if (node->is_tuple != results.is_tuple)
        nuc_json_fail(&results.outputs, NUC_BAD_INPUT, "%s: these are not the results of the operator",
                      nuc_node_text(im->cx, node));
    if (results.is_tuple)
        add_items(im, node, &results);
    else
        check_value(im, node, &node->vals[0], &name);
    note_memory(im, node);
}

/* ---- unknown operators ---- */

static bool known(const char *name)
{
    enum nuc_op op = nuc_op_find(name);

    return op != NUC_OP_COUNT && nuc_op_kind(op) != NUC_KIND_GRAPH && strncmp(name, "edge.", 5) != 0;
}

#define MAX_LISTED 16

static bool listed(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

static void list_operator(struct nuc_importer *im, const struct nuc_json *node, struct nuc_text *list)
{
    struct nuc_json name = nuc_json_optional(node, "name");
    struct nuc_json metadata = nuc_json_optional(node, "metadata");
    struct nuc_source source = nuc_read_source(im->cx, metadata.value);

    nuc_text_addf(list, "%s%s (node '%s'", list->length == 0 ? "" : ", ", op_name(node),
                  name.value == NULL ? "?" : nuc_json_string(&name));
    if (source.file != NULL)
        nuc_text_addf(list, ", %s:%d", nuc_base_name(source.file), source.line);
    nuc_text_addf(list, ")");
}

/* One line that lists each unknown operator with the first place it is called at. */
static void check_operators(struct nuc_importer *im, const struct nuc_json *nodes)
{
    const char *names[MAX_LISTED];
    size_t n_names = 0;
    size_t count = nuc_json_count(nodes);
    struct nuc_text list;

    nuc_text_init(&list, im->cx);
    for (size_t i = 0; i < count && n_names < MAX_LISTED; i++) {
        struct nuc_json node = nuc_json_item(nodes, i);
        const char *name = op_name(&node);
        if (known(name) || listed(names, n_names, name))
            continue;
        names[n_names++] = name;
        list_operator(im, &node, &list);
    }
    if (n_names != 0)
        nuc_fail(im->cx, NUC_UNSUPPORTED, "%s: 'nucleon ops' lists the operators that are handled, these are not: %s",
                 im->zip->path, nuc_text_string(&list));
}

void nuc_import_nodes(struct nuc_importer *im)
{
    struct nuc_json nodes = nuc_json_field(&im->graph, "nodes");
    size_t count = nuc_json_count(&nodes);

    check_operators(im, &nodes);
    for (size_t i = 0; i < count; i++) {
        struct nuc_json node = nuc_json_item(&nodes, i);
        enum nuc_op op = nuc_op_find(op_name(&node));
        if (op != NUC_OP_ASSERT_TENSOR_METADATA)
            add_call(im, op, &node);
    }
}
