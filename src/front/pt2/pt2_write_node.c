/* The operator nodes of a .pt2 archive. */
#include <math.h>
#include <string.h>

#include "front/pt2/pt2_writer.h"
#include "front/pt2/torch_schema.h"
#include "host/numbers.h"

enum { POSITIONAL = 1, KEYWORD = 2 }; /* torch's ArgumentKind */

/* ---- tensors ---- */

void nuc_put_name(struct nuc_context *cx, json_t *parent, const char *key, const char *name)
{
    nuc_put_string(cx, nuc_put_object(cx, parent, key), "name", name);
}

void nuc_put_tensor(struct nuc_context *cx, json_t *parent, const char *key, const char *name)
{
    nuc_put_name(cx, nuc_put_object(cx, parent, key), "as_tensor", name);
}

static void put_sym_ints(struct nuc_context *cx, json_t *parent, const char *key, const int64_t *values, uint32_t count)
{
    json_t *list = nuc_put_array(cx, parent, key);

    for (uint32_t i = 0; i < count; i++)
        nuc_put_int(cx, nuc_put_object(cx, list, NULL), "as_int", values[i]);
}

void nuc_put_tensor_meta(struct nuc_context *cx, json_t *parent, const char *key, const struct nuc_meta *meta,
                         const int64_t *strides, bool requires_grad)
{
    json_t *json = nuc_put_object(cx, parent, key);

    nuc_put_int(cx, json, "dtype", nuc_torch_dtype(meta->dtype));
    put_sym_ints(cx, json, "sizes", meta->sizes, meta->rank);
    nuc_put_bool(cx, json, "requires_grad", requires_grad);
    json_t *device = nuc_put_object(cx, json, "device");
    nuc_put_string(cx, device, "type", "cpu");
    nuc_put_null(cx, device, "index");
    put_sym_ints(cx, json, "strides", strides, meta->rank);
    nuc_put_int(cx, nuc_put_object(cx, json, "storage_offset"), "as_int", 0);
    nuc_put_int(cx, json, "layout", NUC_TORCH_STRIDED);
}

void nuc_put_value(struct nuc_pt2_writer *w, const char *name, const struct nuc_meta *meta, bool requires_grad)
{
    int64_t strides[NUC_MAX_RANK];

    nuc_dense_strides(meta, strides);
    nuc_put_tensor_meta(w->cx, w->tensor_values.container, name, meta, strides, requires_grad);
    nuc_json_member_done(w->cx, &w->tensor_values);
}

/* ---- operators in place ---- */

/*
 * The graph's values never change, those of torch do when an operator works in place. Such an operator may be written
 * as it is only when no value that shares the memory is read after it, and when the memory belongs to no parameter.
 */
struct memory {
    const struct nuc_node *owner; /* the value whose memory this one has, or may have, in torch */
    uint32_t made, last_read;     /* positions in the graph */
};

/* Anything that does not compute new values may hand on its input. */
static bool may_alias(const struct nuc_node *node)
{
    enum nuc_op_kind kind = nuc_op_kind(node->op);

    if (!nuc_is_call(node) || node->op == NUC_OP_CLONE)
        return false;
    return kind == NUC_KIND_SHAPE || kind == NUC_KIND_GRAPH || node->in_place;
}

static struct memory *list_memory(struct nuc_graph *g)
{
    struct memory *list = nuc_alloc_array(g->cx, g->next_id, sizeof *list);
    uint32_t position = 0;

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next, position++) {
        const struct nuc_node *self = nuc_arg_node(n, NUC_SELF);
        list[n->id].owner = self != NULL && may_alias(n) ? list[self->id].owner : n;
        list[n->id].made = position;
    }
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        for (uint32_t i = 0; i < n->n_users; i++) {
            uint32_t read = list[n->users[i]->id].made;
            if (read > list[n->id].last_read)
                list[n->id].last_read = read;
        }
    }
    return list;
}

static bool is_safe(const struct memory *list, const struct nuc_node *node)
{
    const struct memory *own = &list[node->id];

    if (nuc_is_static(own->owner))
        return false;
    for (const struct nuc_node *n = own->owner; n != node; n = n->next) {
        if (list[n->id].owner == own->owner && list[n->id].last_read > own->made)
            return false;
    }
    return true;
}

static const bool *find_safe_in_place(struct nuc_graph *g)
{
    const struct memory *list = list_memory(g);
    bool *safe = nuc_alloc_array(g->cx, g->next_id, sizeof *safe);

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        safe[n->id] = nuc_is_call(n) && n->in_place && is_safe(list, n);
    return safe;
}

/* ---- numbers that the importer made constants ---- */

/*
 * `x + 2.0` was read as a constant without dimensions, named after node and argument and put after the user inputs.
 * It becomes the number again.
 */
static bool is_scalar(struct nuc_pt2_writer *w, const struct nuc_node *node)
{
    const struct nuc_meta *m = &node->vals[0];

    if (node->input_kind != NUC_CONSTANT || node->n_users != 1 || m->rank != 0)
        return false;
    if (m->dtype != NUC_F32 && m->dtype != NUC_I64)
        return false;
    const struct nuc_node *user = node->users[0];
    const struct nuc_schema *schema = nuc_op_schema(user->op);
    uint32_t reads = 0;
    bool named = false;
    for (uint32_t i = 0; i < user->n_args; i++) {
        if (nuc_arg_node(user, i) != node)
            continue;
        reads++;
        named = strcmp(node->name, nuc_format(w->cx, "%s_%s", user->name, schema->args[i].name)) == 0;
    }
    return reads == 1 && named;
}

void nuc_find_scalars(struct nuc_pt2_writer *w)
{
    bool after_input = false;

    for (const struct nuc_node *n = w->g->first; n != NULL && nuc_is_placeholder(n); n = n->next) {
        after_input = after_input || n->input_kind == NUC_USER_INPUT;
        w->is_scalar[n->id] = after_input && is_scalar(w, n);
    }
}

/* ---- arguments ---- */

static void put_node(struct nuc_pt2_writer *w, json_t *arg, const struct nuc_node *node)
{
    if (w->is_scalar[node->id]) {
        const void *number = node->data->bytes.data;
        if (node->vals[0].dtype == NUC_F32)
            nuc_put_double(w->cx, arg, "as_float", nuc_number_at(NUC_F32, number, 0));
        else
            nuc_put_int(w->cx, arg, "as_int", nuc_int_at(NUC_I64, number, 0));
    } else {
        nuc_put_name(w->cx, arg, "as_tensor", w->names[node->id]);
    }
}

static void put_nodes(struct nuc_pt2_writer *w, json_t *arg, const struct nuc_arg *a)
{
    bool has_none = false;

    for (uint32_t i = 0; i < a->count; i++)
        has_none = has_none || a->u.nodes[i] == NULL;
    json_t *list = nuc_put_array(w->cx, arg, has_none ? "as_optional_tensors" : "as_tensors");
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->u.nodes[i] == NULL)
            nuc_put_bool(w->cx, nuc_put_object(w->cx, list, NULL), "as_none", true);
        else if (has_none)
            nuc_put_tensor(w->cx, list, NULL, w->names[a->u.nodes[i]->id]);
        else
            nuc_put_name(w->cx, list, NULL, w->names[a->u.nodes[i]->id]);
    }
}

static void put_numbers(struct nuc_pt2_writer *w, json_t *arg, const struct nuc_arg *a)
{
    json_t *list = nuc_put_array(w->cx, arg, a->kind == NUC_ARG_INTS ? "as_ints" : "as_floats");

    for (uint32_t i = 0; i < a->count; i++) {
        if (a->kind == NUC_ARG_INTS)
            nuc_put_int(w->cx, list, NULL, a->u.ints[i]);
        else
            nuc_put_double(w->cx, list, NULL, a->u.floats[i]);
    }
}

/*
 * Scalar arguments are kept as floats, but torch's promotion tells clamp(x, 0) from clamp(x, 0.0) when x is an integer
 * tensor: where no floating tensor is around, a whole number is written as an integer.
 */
static void put_float(struct nuc_pt2_writer *w, json_t *arg, const struct nuc_node *node, double value)
{
    const struct nuc_node *self = nuc_arg_node(node, NUC_SELF);
    bool floating = node->n_vals != 0 && nuc_is_floating(node->vals[0].dtype);

    if (self != NULL && self->n_vals != 0)
        floating = floating || nuc_is_floating(self->vals[0].dtype);
    floating = floating || (signbit(value) && fpclassify(value) == FP_ZERO); /* integers have no such zero */
    if (!floating && fabs(value) <= 9007199254740992.0 && value == floor(value))
        nuc_put_int(w->cx, arg, "as_int", (int64_t)value);
    else
        nuc_put_double(w->cx, arg, "as_float", value);
}

/* Layout and device have one meaning here. */
static void put_other(struct nuc_pt2_writer *w, json_t *arg, const char *name)
{
    if (strcmp(name, "layout") == 0) {
        nuc_put_int(w->cx, arg, "as_layout", NUC_TORCH_STRIDED);
        return;
    }
    json_t *device = nuc_put_object(w->cx, arg, "as_device");
    nuc_put_string(w->cx, device, "type", "cpu");
    nuc_put_null(w->cx, device, "index");
}

static void put_value(struct nuc_pt2_writer *w, json_t *arg, const struct nuc_node *node, uint32_t index)
{
    const struct nuc_arg *a = &node->args[index];

    switch (a->kind) {
    case NUC_ARG_NONE:
        nuc_put_bool(w->cx, arg, "as_none", true);
        break;
    case NUC_ARG_NODE:
        put_node(w, arg, a->u.node);
        break;
    case NUC_ARG_NODES:
        put_nodes(w, arg, a);
        break;
    case NUC_ARG_INT:
        nuc_put_int(w->cx, arg, "as_int", a->u.i);
        break;
    case NUC_ARG_INTS:
    case NUC_ARG_FLOATS:
        put_numbers(w, arg, a);
        break;
    case NUC_ARG_FLOAT:
        put_float(w, arg, node, a->u.f);
        break;
    case NUC_ARG_BOOL:
        nuc_put_bool(w->cx, arg, "as_bool", a->u.b);
        break;
    case NUC_ARG_STRING:
        nuc_put_string(w->cx, arg, "as_string", a->u.string);
        break;
    case NUC_ARG_DTYPE:
        nuc_put_int(w->cx, arg, "as_scalar_type", nuc_torch_dtype(a->u.dtype));
        break;
    case NUC_ARG_MEMORY_FORMAT:
        nuc_put_int(w->cx, arg, "as_memory_format", nuc_torch_memory_format(a->u.memory_format));
        break;
    case NUC_ARG_OTHER:
        put_other(w, arg, nuc_op_schema(node->op)->args[index].name);
        break;
    }
}

/* ---- results ---- */

/* The getitem that reads the item and stands for it; NULL when nothing reads it. */
static const struct nuc_node *item_reader(const struct nuc_node *tuple, uint32_t index)
{
    for (uint32_t i = 0; i < tuple->n_users; i++) {
        const struct nuc_node *user = tuple->users[i];
        if (user->op == NUC_OP_GETITEM && user->args[NUC_ARG(GETITEM, index)].u.i == (int64_t)index)
            return user;
    }
    return NULL;
}

/* Items of a tuple are named after the nodes that read them, which the archive does not hold. */
static void put_items(struct nuc_pt2_writer *w, json_t *outputs, const struct nuc_node *node)
{
    bool is_list = nuc_op_schema(node->op)->returns_list;

    if (is_list)
        outputs = nuc_put_array(w->cx, nuc_put_object(w->cx, outputs, NULL), "as_tensors");
    for (uint32_t i = 0; i < node->n_vals; i++) {
        const struct nuc_node *reader = item_reader(node, i);
        const char *name = reader != NULL ? reader->name : nuc_format(w->cx, "%s_unused_%u", node->name, (unsigned)i);
        while (reader == NULL && nuc_find_node(w->g, name) != NULL)
            name = nuc_format(w->cx, "%s_", name);
        if (is_list)
            nuc_put_name(w->cx, outputs, NULL, name);
        else
            nuc_put_tensor(w->cx, outputs, NULL, name);
        nuc_put_value(w, name, &node->vals[i], false);
    }
    for (uint32_t i = 0; i < node->n_users; i++) {
        const struct nuc_node *user = node->users[i];
        const struct nuc_node *reader = NULL;
        if (user->op == NUC_OP_GETITEM)
            reader = item_reader(node, (uint32_t)user->args[NUC_ARG(GETITEM, index)].u.i);
        w->names[user->id] = reader == NULL ? user->name : reader->name;
    }
}

static void put_results(struct nuc_pt2_writer *w, json_t *json, const struct nuc_node *node)
{
    json_t *outputs = nuc_put_array(w->cx, json, "outputs");

    if (node->is_tuple) {
        put_items(w, outputs, node);
        return;
    }
    w->names[node->id] = node->name;
    nuc_put_tensor(w->cx, outputs, NULL, node->name);
    nuc_put_value(w, node->name, &node->vals[0], false);
}

/* ---- metadata ---- */

/*
 * The form of Python's traceback and of torch's module stack: key, path and type of each module, between commas. The
 * call that the node is made of, where its name does not say it, the label, why the operator stays in float, or in
 * int16, and that its rows have no mean are for readers of ours; torch passes them by.
 */
static void put_metadata(struct nuc_pt2_writer *w, json_t *json, const struct nuc_node *node)
{
    json_t *metadata = nuc_put_object(w->cx, json, "metadata");
    const struct nuc_source *source = node->source;
    const char *module = source->module, *call = nuc_first_call(node);

    if (call != NULL && strcmp(call, node->name) != 0)
        nuc_put_string(w->cx, metadata, "nucleon_call", call);
    if (source->label != NULL && nuc_is_operator(node))
        nuc_put_string(w->cx, metadata, "nucleon_label", source->label);
    if (source->wide != NULL && nuc_is_operator(node))
        nuc_put_string(w->cx, metadata, source->width == NUC_WIDTH_INT16 ? "nucleon_int16" : "nucleon_wide",
                       source->wide);
    if (source->is_centred && nuc_is_operator(node))
        nuc_put_bool(w->cx, metadata, "nucleon_centred", true);
    if (source->file != NULL && strchr(source->file, '\n') == NULL && strstr(source->file, "\", line ") == NULL)
        nuc_put_string(w->cx, metadata, "stack_trace",
                       nuc_format(w->cx, "  File \"%s\", line %d, in forward\n", source->file, source->line));
    if (module == NULL || strpbrk(module, ",;()[]") != NULL)
        return;
    const char *root = "L__self__,,torch.nn.modules.module.Module";
    if (*module != '\0')
        root = nuc_format(w->cx, "%s;%s,%s,torch.nn.modules.module.Module", root, module, module);
    nuc_put_string(w->cx, metadata, "nn_module_stack", root);
}

/* ---- nodes ---- */

void nuc_put_nodes(struct nuc_pt2_writer *w)
{
    const bool *safe_in_place = find_safe_in_place(w->g);

    w->nodes.container = nuc_put_array(w->cx, w->graph, "nodes");

    for (const struct nuc_node *n = w->g->first; n != NULL; n = n->next) {
        if (!nuc_is_call(n) || n->op == NUC_OP_GETITEM)
            continue;
        json_t *json = nuc_put_object(w->cx, w->nodes.container, NULL);
        /* "torch.ops.aten.relu_.default", without the '_' when the operator may not work in place. */
        const char *name = safe_in_place[n->id] ? nuc_node_op_name(n) : nuc_op_name(n->op, n->dialect);
        if (strncmp(name, "aten.", 5) != 0 && strncmp(name, "quantized_decomposed.", 21) != 0)
            nuc_fail(w->cx, NUC_BAD_USAGE,
                     "%s: %s: only ATen operators and those of quantization go into a .pt2 archive", w->g->file,
                     nuc_node_text(w->cx, n));
        nuc_put_string(w->cx, json, "target", nuc_format(w->cx, "torch.ops.%s", name));
        /* By position as long as no argument is left out, then by name; one that has no default never is. */
        const struct nuc_schema *schema = nuc_op_schema(n->op);
        json_t *inputs = nuc_put_array(w->cx, json, "inputs");
        bool by_position = true;
        for (uint32_t i = 0; i < n->n_args; i++) {
            const bool is_given = n->args[i].given || !schema->args[i].has_default;
            by_position = by_position && is_given && !schema->args[i].keyword_only;
            if (!is_given)
                continue;
            json_t *input = nuc_put_object(w->cx, inputs, NULL);
            nuc_put_string(w->cx, input, "name", schema->args[i].name);
            put_value(w, nuc_put_object(w->cx, input, "arg"), n, i);
            nuc_put_int(w->cx, input, "kind", by_position ? POSITIONAL : KEYWORD);
        }
        put_results(w, json, n);
        put_metadata(w, json, n);
        nuc_put_null(w->cx, json, "is_hop_single_tensor_return");
        nuc_put_string(w->cx, json, "name", n->name);
        nuc_json_member_done(w->cx, &w->nodes);
    }
}
