/* The archive as a whole: its layout, versions, signature and placeholders. */
#include "front/pt2/pt2.h"

#include <string.h>

#include "front/pt2/importer.h"
#include "ir/labels.h"

/* ---- entries ---- */

static const struct nuc_zip_entry *wanted_entry(const struct nuc_importer *im, const char *name)
{
    /* An entry of a well-known name below the top folder, or NULL. */
    const struct nuc_zip_entry *entry = nuc_zip_find(im->zip, nuc_format(im->cx, "%s%s", im->top, name));

    if (entry == NULL)
        nuc_fail(im->cx, NUC_BAD_INPUT, "%s: the archive has no entry %s%s: save it again with torch.export.save",
                 im->zip->path, im->top, name);
    return entry;
}

/* Archives of torch before 2.8 hold other files, at the top or in a folder. */
static bool is_old_archive(const struct nuc_zip *zip)
{
    static const char name[] = "serialized_exported_program.json";
    size_t length = sizeof name - 1;

    for (size_t i = 0; i < zip->count; i++) {
        size_t size = strlen(zip->entries[i].name);
        if (size >= length && strcmp(zip->entries[i].name + size - length, name) == 0)
            return true;
    }
    return false;
}

/* The one folder everything lies in: that of the entry archive_format. */
static const char *find_top(struct nuc_context *cx, const struct nuc_zip *zip)
{
    static const char name[] = "archive_format";

    for (size_t i = 0; i < zip->count; i++) {
        const char *entry = zip->entries[i].name;
        const char *slash = strchr(entry, '/');
        const char *base = slash == NULL ? entry : slash + 1;
        if (strcmp(base, name) != 0)
            continue;
        char *top = nuc_alloc(cx, (size_t)(base - entry) + 1);
        memcpy(top, entry, (size_t)(base - entry));
        return top;
    }
    if (is_old_archive(zip))
        nuc_fail(cx, NUC_UNSUPPORTED,
                 "%s: written by torch before 2.8: load it with torch.export.load and write it again with "
                 "torch.export.save of torch 2.8 or later",
                 zip->path);
    nuc_fail(cx, NUC_BAD_INPUT, "%s: is a zip archive, but not one of torch.export.save (no entry archive_format)",
             zip->path);
}

/* A small text entry that must say `wanted`, white space around it not counted. */
static void check_text(const struct nuc_importer *im, const char *name, const char *wanted)
{
    struct nuc_span text = nuc_zip_read(im->zip, wanted_entry(im, name));
    size_t length = strlen(wanted);

    while (text.size > length && text.data[text.size - 1] <= ' ')
        text.size--;
    if (text.size != length || memcmp(text.data, wanted, length) != 0)
        nuc_fail(im->cx, NUC_UNSUPPORTED, "%s: %s is not '%s'", im->zip->path, name, wanted);
}

static struct nuc_json read_json(const struct nuc_importer *im, const char *name)
{
    const struct nuc_zip_entry *entry = wanted_entry(im, name);
    const char *where = nuc_format(im->cx, "%s: %s", im->zip->path, name);
    struct nuc_json_text *text = nuc_json_room(im->cx, where, entry->size);

    nuc_zip_read_to(im->zip, entry, text->text);
    return nuc_json_parse_own(im->cx, where, text);
}

static struct nuc_json read_config(const struct nuc_importer *im, const char *name, struct nuc_json *root)
{
    *root = read_json(im, name);
    return nuc_json_field(root, "config");
}

/* ---- placeholders ---- */

const struct nuc_torch_input nuc_torch_inputs[] = {
    [NUC_USER_INPUT] = {"user_input", NULL},  [NUC_PARAMETER] = {"parameter", "parameter_name"},
    [NUC_BUFFER] = {"buffer", "buffer_name"}, [NUC_CONSTANT] = {"tensor_constant", "tensor_constant_name"},
    [NUC_STATE] = {"buffer", "buffer_name"},
};

static enum nuc_input_kind input_kind(const struct nuc_json *spec)
{
    for (enum nuc_input_kind kind = NUC_USER_INPUT; kind <= NUC_CONSTANT; kind++) {
        if (strcmp(nuc_torch_inputs[kind].kind, spec->key) == 0)
            return kind;
    }
    nuc_json_fail(spec, NUC_UNSUPPORTED,
                  strcmp(spec->key, "token") == 0
                      ? "an operator does more than compute values, such as to check for errors: export without "
                        "run_decompositions(), so that the message names it"
                      : "an input of this kind is not handled: pass tensors only");
}

/*
 * An input that is not a tensor: the graph is made for the value it had, and does not read it. None needs no word; with
 * any other value the caller should know.
 */
static bool skip_constant_input(struct nuc_importer *im, const struct nuc_json *spec)
{
    if (strcmp(spec->key, "constant_input") != 0)
        return false;
    struct nuc_json name = nuc_json_field(spec, "name");
    struct nuc_json value = nuc_json_field(spec, "value");
    struct nuc_json held = nuc_json_union(&value);
    im->has_constant_leaf = true;
    if (strcmp(held.key, "as_none") != 0)
        nuc_warn(im->cx,
                 "%s: input '%s' is not a tensor: it has the value of the export, and is not an input of the program",
                 im->zip->path, nuc_json_string(&name));
    return true;
}

/* Constants of float64 beside float32 are torch's own precision where it makes tables, and stay so. */
static bool has_double_input(const struct nuc_importer *im, const struct nuc_json *specs)
{
    for (size_t i = 0, count = nuc_json_count(specs); i < count; i++) {
        struct nuc_json item = nuc_json_item(specs, i);
        struct nuc_json user = nuc_json_maybe_member(&item, "user_input");
        struct nuc_json arg = nuc_json_maybe_member(&user, "arg");
        struct nuc_json tensor = nuc_json_maybe_member(&arg, "as_tensor");
        struct nuc_json name = nuc_json_maybe_member(&tensor, "name");
        const char *text = nuc_json_maybe_text(&name);
        struct nuc_json meta = nuc_json_maybe_member(&im->scope->tensor_values, text != NULL ? text : "");
        struct nuc_json dtype = nuc_json_maybe_member(&meta, "dtype");
        if (dtype.type == NUC_JSON_INTEGER && nuc_json_int(&dtype) == nuc_torch_dtype(NUC_F64))
            return true;
    }
    return false;
}

static void add_placeholder(struct nuc_importer *im, size_t index, const struct nuc_json *spec)
{
    if (skip_constant_input(im, spec))
        return;
    enum nuc_input_kind kind = input_kind(spec);
    struct nuc_json arg = nuc_json_field(spec, "arg"), held;
    /* {"name": ...}, for a user's value {"as_tensor": {"name": ...}}. */
    if (kind == NUC_USER_INPUT) {
        held = nuc_json_union(&arg);
        if (strcmp(held.key, "as_tensor") != 0)
            nuc_json_fail(&held, NUC_UNSUPPORTED, "the input is not a tensor: make it a constant of the model");
    }
    struct nuc_json name = nuc_json_field(kind == NUC_USER_INPUT ? &held : &arg, "name");
    const char *text = nuc_unused_name(im, &name);

    /* The graph lists the same inputs in the same order as the signature. */
    struct nuc_json inputs = nuc_json_field(&im->scope->graph, "inputs");
    struct nuc_json input = nuc_json_item(&inputs, index);
    struct nuc_json value = nuc_json_union(&input);
    struct nuc_json listed = nuc_json_optional(&value, "name");
    if (!nuc_json_is_there(&listed) || strcmp(nuc_json_string(&listed), text) != 0)
        nuc_json_fail(&input, NUC_BAD_INPUT, "is not the input '%s' of the signature", text);
    struct nuc_tensor_meta t = nuc_value_meta(im, text, &name);
    struct nuc_node *node = nuc_add_node(im->g, NULL, NUC_OP_PLACEHOLDER, text);
    nuc_name_value(im, text, node);
    node->input_kind = kind;
    nuc_set_val(im->g, node, &t.meta);
    if (kind != NUC_USER_INPUT) {
        struct nuc_json target = nuc_json_field(spec, nuc_torch_inputs[kind].target);
        node->target = nuc_strdup(im->cx, nuc_json_string(&target));
        node->data = nuc_read_data(im, node->target, &t.meta, &target);
        if (t.is_complex) {
            /* A complex parameter is two. */
            struct nuc_node *imaginary =
                nuc_add_node(im->g, NULL, NUC_OP_PLACEHOLDER, nuc_format(im->cx, "%s_imag", node->name));
            imaginary->input_kind = node->input_kind;
            nuc_set_val(im->g, imaginary, &t.meta);
            imaginary->target = nuc_format(im->cx, "%s.imag", node->target);
            im->part = NUC_PART_IMAGINARY;
            imaginary->data = nuc_read_data(im, node->target, &t.meta, &target);
            im->part = NUC_PART_NONE;
            nuc_set_parts(im, node, node, imaginary);
        }
    } else if (t.is_complex) {
        nuc_set_parts(im, node, node, node);
    }
}

/* ---- outputs ---- */

static struct nuc_node *find_buffer(const struct nuc_importer *im, const char *target)
{
    for (struct nuc_node *n = im->g->first; n != NULL && nuc_is_placeholder(n); n = n->next) {
        if (n->target != NULL && strcmp(n->target, target) == 0)
            return n;
    }
    return NULL;
}

/* Whether nothing reads the buffer but what writes it as a whole, nor is it returned or what a state becomes. */
static bool is_scratch(const struct nuc_importer *im, const struct nuc_node *buffer, struct nuc_node *const *values,
                       size_t count, struct nuc_node *const *next)
{
    for (uint32_t i = 0; i < buffer->n_users; i++) {
        const struct nuc_node *user = buffer->users[i];
        if (user->op != NUC_OP_COPY || nuc_arg_node(user, NUC_ARG(COPY, src)) == buffer)
            return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (values[i] == buffer)
            return false;
    }
    for (const struct nuc_node *n = im->g->first; n != NULL && nuc_is_placeholder(n); n = n->next) {
        if (nuc_is_state(n) && n != buffer && next[n->id] == buffer)
            return false;
    }
    return true;
}

/*
 * A buffer that the call leaves another value in is a state. What it leaves in an argument is
 * no output of a program.
 */
static void read_mutation(struct nuc_importer *im, const struct nuc_json *spec, struct nuc_node **next)
{
    if (strcmp(spec->key, "user_input_mutation") == 0) {
        struct nuc_json name = nuc_json_field(spec, "user_input_name");
        nuc_warn(im->cx, "%s: the model changes its input '%s': the program leaves it as it is", im->zip->path,
                 nuc_json_string(&name));
        return;
    }
    if (strcmp(spec->key, "buffer_mutation") != 0)
        nuc_json_fail(spec, NUC_UNSUPPORTED, "an output of this kind is not handled: return tensors only");
    struct nuc_json name = nuc_json_field(spec, "buffer_name"), arg = nuc_json_field(spec, "arg");
    struct nuc_json value = nuc_json_field(&arg, "name");
    struct nuc_node *buffer = find_buffer(im, nuc_json_string(&name));
    if (buffer == NULL)
        nuc_json_fail(&name, NUC_BAD_INPUT, "'%s' is not a buffer of the signature", nuc_json_string(&name));
    if (im->is_cut)
        return;
    struct nuc_node *node = nuc_named_value(im, &value);
    if (nuc_is_user_input(buffer) || nuc_is_state(buffer) || node->is_tuple ||
        node->vals[0].dtype != buffer->vals[0].dtype || !nuc_same_sizes(&node->vals[0], &buffer->vals[0]))
        nuc_json_fail(&value, NUC_BAD_INPUT, "'%s' cannot become the value of the buffer '%s'", node->name,
                      buffer->target);
    buffer->input_kind = NUC_STATE;
    next[buffer->id] = node;
}

static void add_output(struct nuc_importer *im, const struct nuc_json *signature)
{
    struct nuc_json specs = nuc_json_field(signature, "output_specs");
    size_t n_specs = nuc_json_count(&specs), count = 0;
    struct nuc_node **values = nuc_alloc_array(im->cx, 2 * n_specs + im->n_cut_reads + 1, sizeof *values);
    struct nuc_node **next = nuc_alloc_array(im->cx, im->g->next_id, sizeof *next); /* of states, by node id */

    for (size_t i = 0; i < n_specs; i++) {
        struct nuc_json item = nuc_json_item(&specs, i);
        struct nuc_json spec = nuc_json_union(&item);
        if (strcmp(spec.key, "user_output") != 0) {
            read_mutation(im, &spec, next);
            continue;
        }
        struct nuc_json arg = nuc_json_field(&spec, "arg");
        struct nuc_json value = nuc_json_union(&arg);
        /* Who runs the program knows what is not there; torch.export.load() does not. */
        if (strcmp(value.key, "as_none") == 0) {
            im->has_constant_leaf = true;
            continue;
        }
        if (strcmp(value.key, "as_tensor") != 0)
            nuc_json_fail(&value, NUC_UNSUPPORTED, "the output is not a tensor: return tensors only");
        struct nuc_json name = nuc_json_field(&value, "name");
        if (im->is_cut && nuc_find_value(im, nuc_json_string(&name)) == NULL)
            continue;
        values[count] = nuc_output_value(im, &name);
        if (values[count]->is_tuple)
            nuc_json_fail(&name, NUC_BAD_INPUT, "'%s' is not a single tensor", values[count]->name);
        count++;
    }
    if (im->is_cut)
        count = nuc_outputs_in_part(im, values, count);
    if (count == 0)
        nuc_json_fail(&specs, NUC_UNSUPPORTED, "the model returns nothing");
    const size_t n_results = count;
    for (struct nuc_node *n = im->g->first; n != NULL && nuc_is_placeholder(n); n = n->next) {
        if (nuc_is_state(n) && is_scratch(im, n, values, n_results, next))
            n->input_kind = NUC_BUFFER;
        else if (nuc_is_state(n))
            values[count++] = next[n->id];
    }
    struct nuc_node *output = nuc_add_node(im->g, NULL, NUC_OP_OUTPUT, "output");
    nuc_set_arg_nodes(output, im->g, NUC_ARG(OUTPUT, values), values, (uint32_t)count);
}

/* What an operator in place writes is read under other names: then only parameters that nothing reads go. */
static void remove_unread(struct nuc_graph *g)
{
    if (!nuc_has_in_place(g)) {
        nuc_remove_dead(g);
        return;
    }
    for (struct nuc_node *n = g->first, *next; n != NULL; n = next) {
        next = n->next;
        if (nuc_is_static(n) && n->n_users == 0)
            nuc_remove_node(g, n);
    }
}

static size_t count_user_inputs(const struct nuc_graph *g)
{
    size_t count = 0;

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        count += nuc_is_user_input(n);
    return count;
}

struct nuc_graph *nuc_import_pt2(struct nuc_context *cx, struct nuc_stored input, const struct nuc_sizes *sizes)
{
    struct nuc_importer *im = nuc_alloc(cx, sizeof *im);

    im->cx = cx;
    im->zip = nuc_zip_open(cx, input);
    im->top = find_top(cx, im->zip);
    im->g = nuc_graph_new(cx, input.path);
    check_text(im, "archive_format", "pt2");
    check_text(im, "archive_version", "0");
    check_text(im, "byteorder", "little");
    im->model = read_json(im, "models/model.json");
    struct nuc_json version = nuc_json_field(&im->model, "schema_version");
    struct nuc_json major = nuc_json_field(&version, "major");
    if (nuc_json_int(&major) != NUC_TORCH_SCHEMA)
        nuc_json_fail(&major, NUC_UNSUPPORTED,
                      "schema %lld: only %d is read: save with torch 2.8 or a later one "
                      "of the same schema",
                      (long long)nuc_json_int(&major), NUC_TORCH_SCHEMA);
    im->graph_module = nuc_json_field(&im->model, "graph_module");
    im->scope = nuc_open_scope(cx, nuc_json_field(&im->graph_module, "graph"));
    im->weight_config = read_config(im, "data/weights/model_weights_config.json", &im->weights);
    im->constant_config = read_config(im, "data/constants/model_constants_config.json", &im->constants);
    struct nuc_json signature = nuc_json_field(&im->graph_module, "signature");
    struct nuc_json specs = nuc_json_field(&signature, "input_specs");
    struct nuc_json inputs = nuc_json_field(&im->scope->graph, "inputs");
    im->is_double = has_double_input(im, &specs);
    nuc_bind_sizes(im, sizes);
    size_t count = nuc_json_count(&specs);
    if (nuc_json_count(&inputs) != count)
        nuc_json_fail(&inputs, NUC_BAD_INPUT, "%zu inputs, the signature has %zu", nuc_json_count(&inputs), count);
    for (size_t i = 0; i < count; i++) {
        struct nuc_json item = nuc_json_item(&specs, i);
        struct nuc_json spec = nuc_json_union(&item);
        add_placeholder(im, i, &spec);
    }
    nuc_json_close(&im->weights);
    nuc_json_close(&im->constants);
    const size_t n_inputs = count_user_inputs(im->g);
    nuc_split_inputs(im);
    if (cx->obstacles == NULL)
        nuc_check_operators(im);
    nuc_import_nodes(im);
    add_output(im, &signature);
    nuc_remove_identities(im);
    /* The leaves of a call specification are the inputs and outputs of the graph. */
    if (!im->has_constant_leaf && !im->is_cut)
        im->g->call_spec = nuc_read_call_spec(cx, &im->graph_module);
    im->g->output_names = im->is_cut ? NULL : nuc_read_output_names(cx, &im->graph_module, nuc_n_results(im->g));
    /* What an archive of nucleon's says about its data, unchecked: empty when there is none, or too much. */
    const struct nuc_zip_entry *entry = nuc_zip_find(im->zip, nuc_format(im->cx, "%s" NUC_PT2_FACTS, im->top));
    im->g->facts =
        entry == NULL || entry->size > NUC_PT2_FACTS_MAX ? (struct nuc_span){NULL, 0} : nuc_zip_read(im->zip, entry);
    nuc_json_close(&im->model);
    nuc_zip_close(im->zip);
    remove_unread(im->g);
    if (im->is_cut)
        nuc_remove_unread_inputs(im, n_inputs);
    nuc_label_sources(im->g);
    return im->g;
}
