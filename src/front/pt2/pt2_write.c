/* A .pt2 archive as a whole: entries, state dict, constants, signature. */
#include "front/pt2/pt2_write.h"

#include <string.h>

#include "archive/zip_write.h"
#include "front/pt2/pt2_writer.h"
#include "front/pt2/torch_schema.h"
#include "host/index.h"
#include "host/text.h"
#include "ir/shapes/shapes.h"

/* What is written is that of this release of torch. */
#define TORCH_VERSION "2.14.1"
#define SCHEMA_MINOR 20
#define ATEN_OPSET 10

/* Only floating tensors can. */
static bool requires_grad(const struct nuc_node *node)
{
    return node->input_kind == NUC_PARAMETER && nuc_is_floating(node->vals[0].dtype);
}

/* ---- state dict and constants ---- */

struct payload {
    const struct nuc_node *node;
    const char *target; /* unique among weights and constants */
    size_t file;        /* index in files */
};

struct payload_file {
    struct nuc_span bytes;
    enum nuc_dtype dtype;
    bool constant;
    size_t number; /* among the files of weights, or of constants */
};

struct payloads {
    struct payload *items;
    size_t count;
    struct payload_file *files;
    size_t n_files, n_constant_files;
    struct nuc_index by_target, by_bytes; /* by the first of these */
};

/* Tied tensors begin at the same byte; readers give a file the type of the first tensor in it. */
static size_t find_file(struct nuc_pt2_writer *w, struct payloads *p, const struct nuc_node *node)
{
    const struct nuc_meta *m = &node->vals[0];
    /* From the first element to the end of the last one. */
    const int64_t elements = nuc_last_element(m->sizes, node->data->strides, m->rank, 0) + 1;
    struct nuc_span bytes = {node->data->bytes.data, (size_t)elements * nuc_dtype_size(m->dtype)};
    bool constant = node->input_kind == NUC_CONSTANT;
    const uint32_t hash = nuc_index_folded((uintptr_t)bytes.data * UINT64_C(0x9e3779b97f4a7c15));

    for (struct nuc_index_search s = nuc_index_search(&p->by_bytes, hash); nuc_index_next(&s);) {
        struct payload_file *f = &p->files[s.place];
        if (bytes.size == 0 || f->bytes.data != bytes.data || f->dtype != m->dtype || f->constant != constant)
            continue;
        if (f->bytes.size < bytes.size)
            f->bytes.size = bytes.size;
        return s.place;
    }
    size_t number = constant ? p->n_constant_files++ : p->n_files - p->n_constant_files;
    p->files[p->n_files] = (struct payload_file){bytes, m->dtype, constant, number};
    nuc_index_add(w->cx, &p->by_bytes, hash, (uint32_t)p->n_files);
    return p->n_files++;
}

static bool is_taken(const struct payloads *p, const char *target, uint32_t hash)
{
    for (struct nuc_index_search s = nuc_index_search(&p->by_target, hash); nuc_index_next(&s);) {
        if (strcmp(p->items[s.place].target, target) == 0)
            return true;
    }
    return false;
}

static void add_payload(struct nuc_pt2_writer *w, struct payloads *p, const struct nuc_node *node)
{
    const char *wanted = node->target != NULL ? node->target : node->name;
    const char *target = wanted;
    uint32_t hash = nuc_index_text(target);

    for (unsigned suffix = 1; is_taken(p, target, hash); suffix++) {
        target = nuc_format(w->cx, "%s_%u", wanted, suffix);
        hash = nuc_index_text(target);
    }
    nuc_index_add(w->cx, &p->by_target, hash, (uint32_t)p->count);
    p->items[p->count++] = (struct payload){node, target, find_file(w, p, node)};
}

/* torch tells constants by the beginning of their file's name. */
static const char *file_name(struct nuc_context *cx, const struct payloads *p, size_t file)
{
    return nuc_format(cx, "%s_%zu", p->files[file].constant ? "tensor" : "weight", p->files[file].number);
}

static struct nuc_pieces make_config(struct nuc_context *cx, const struct payloads *p, bool constants)
{
    json_t *tree = nuc_json_tree(cx);
    struct nuc_json_long config = {.container = nuc_put_object(cx, tree, "config")};

    for (size_t i = 0; i < p->count; i++) {
        const struct nuc_node *n = p->items[i].node;
        if ((n->input_kind == NUC_CONSTANT) != constants)
            continue;
        json_t *entry = nuc_put_object(cx, config.container, p->items[i].target);
        nuc_put_string(cx, entry, "path_name", file_name(cx, p, p->items[i].file));
        nuc_put_bool(cx, entry, "is_param", n->input_kind == NUC_PARAMETER);
        nuc_put_bool(cx, entry, "use_pickle", false);
        nuc_put_tensor_meta(cx, entry, "tensor_meta", &n->vals[0], n->data->strides, requires_grad(n));
        nuc_json_member_done(cx, &config);
    }
    return nuc_json_dump_long(cx, tree, (struct nuc_json_long *const[]){&config}, 1);
}

/* ---- signature ---- */

/* Inputs of graph and signature, both in the order of the placeholders, which is that of the payloads, too. */
static void put_inputs(struct nuc_pt2_writer *w, json_t *signature, const struct payload *payload)
{
    w->inputs.container = nuc_put_array(w->cx, w->graph, "inputs");
    w->input_specs.container = nuc_put_array(w->cx, signature, "input_specs");

    for (const struct nuc_node *n = w->g->first; nuc_is_placeholder(n); n = n->next) {
        if (w->is_scalar[n->id])
            continue;
        w->names[n->id] = n->name;
        nuc_put_tensor(w->cx, w->inputs.container, NULL, n->name);
        nuc_json_member_done(w->cx, &w->inputs);
        nuc_put_value(w, n->name, &n->vals[0], requires_grad(n));
        json_t *spec = nuc_put_object(w->cx, nuc_put_object(w->cx, w->input_specs.container, NULL),
                                      nuc_torch_inputs[n->input_kind].kind);
        if (n->input_kind == NUC_USER_INPUT) {
            nuc_put_tensor(w->cx, spec, "arg", n->name);
        } else {
            nuc_put_name(w->cx, spec, "arg", n->name);
            nuc_put_string(w->cx, spec, nuc_torch_inputs[n->input_kind].target, payload++->target);
            if (n->input_kind == NUC_BUFFER || n->input_kind == NUC_STATE)
                nuc_put_bool(w->cx, spec, "persistent", true);
        }
        nuc_json_member_done(w->cx, &w->input_specs);
    }
}

/* ---- how Python calls the model ---- */

#define LEAF "{\"type\": null, \"context\": null, \"children_spec\": []}"

static void add_tuple(struct nuc_text *text, uint32_t count)
{
    nuc_text_addf(text, "{\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [");
    for (uint32_t i = 0; i < count; i++)
        nuc_text_addf(text, "%s" LEAF, i == 0 ? "" : ", ");
    nuc_text_addf(text, "]}");
}

static const char *flat_out_spec(struct nuc_context *cx, uint32_t count)
{
    struct nuc_text text = {.cx = cx};

    nuc_text_addf(&text, "[1, ");
    if (count == 1)
        nuc_text_addf(&text, LEAF);
    else
        add_tuple(&text, count);
    nuc_text_addf(&text, "]");
    return nuc_text_string(&text);
}

static struct nuc_call_spec flat_call(struct nuc_graph *g)
{
    const char **names = nuc_alloc_array(g->cx, g->n_nodes, sizeof *names);
    struct nuc_call_spec spec = {.names = names};

    for (const struct nuc_node *n = g->first; nuc_is_placeholder(n); n = n->next) {
        if (n->input_kind == NUC_USER_INPUT)
            names[spec.n_names++] = n->name;
    }
    /* (args, kwargs): a tuple of tensors and an empty dictionary. The 1 is the version of torch's format. */
    uint32_t count = spec.n_names;
    struct nuc_text text = {.cx = g->cx};
    nuc_text_addf(&text, "[1, {\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [");
    add_tuple(&text, count);
    nuc_text_addf(&text, ", {\"type\": \"builtins.dict\", \"context\": \"[]\", \"children_spec\": []}]}]");
    spec.in_spec = nuc_text_string(&text);
    spec.out_spec = flat_out_spec(g->cx, nuc_n_results(g));
    return spec;
}

static void put_call(struct nuc_pt2_writer *w, json_t *graph_module)
{
    struct nuc_call_spec spec = w->g->call_spec != NULL ? *w->g->call_spec : flat_call(w->g);
    json_t *entry = nuc_put_object(w->cx, nuc_put_array(w->cx, graph_module, "module_call_graph"), NULL);

    nuc_put_string(w->cx, entry, "fqn", "");
    json_t *signature = nuc_put_object(w->cx, entry, "signature");
    nuc_put_array(w->cx, signature, "inputs");
    nuc_put_array(w->cx, signature, "outputs");
    nuc_put_string(w->cx, signature, "in_spec", spec.in_spec);
    nuc_put_string(w->cx, signature, "out_spec", spec.out_spec);
    json_t *names = nuc_put_array(w->cx, signature, "forward_arg_names");
    for (uint32_t i = 0; i < spec.n_names; i++)
        nuc_put_string(w->cx, names, NULL, spec.names[i]);
}

/* ---- the model ---- */

/* Inputs come first and outputs last, because names of values are given on the way. */
static void put_graph_module(struct nuc_pt2_writer *w, json_t *model, const struct payloads *p)
{
    json_t *graph_module = nuc_put_object(w->cx, model, "graph_module");

    w->graph = nuc_put_object(w->cx, graph_module, "graph");
    w->tensor_values.container = nuc_put_object(w->cx, w->graph, "tensor_values");
    json_t *signature = nuc_put_object(w->cx, graph_module, "signature");
    put_inputs(w, signature, p->items);
    nuc_put_nodes(w);
    const struct nuc_arg *results = &nuc_output_node(w->g)->args[NUC_ARG(OUTPUT, values)];
    json_t *outputs = nuc_put_array(w->cx, w->graph, "outputs");
    json_t *specs = nuc_put_array(w->cx, signature, "output_specs");
    /* What states become comes first, as torch has it. */
    uint32_t n_results = nuc_n_results(w->g), n_states = 0;
    for (const struct payload *state = p->items; state < p->items + p->count; state++) {
        if (!nuc_is_state(state->node))
            continue;
        const char *name = w->names[results->u.nodes[n_results + n_states++]->id];
        nuc_put_tensor(w->cx, outputs, NULL, name);
        json_t *spec = nuc_put_object(w->cx, nuc_put_object(w->cx, specs, NULL), "buffer_mutation");
        nuc_put_name(w->cx, spec, "arg", name);
        nuc_put_string(w->cx, spec, "buffer_name", state->target);
    }
    for (uint32_t i = 0; i < n_results; i++) {
        const char *name = w->names[results->u.nodes[i]->id];
        nuc_put_tensor(w->cx, outputs, NULL, name);
        nuc_put_tensor(w->cx, nuc_put_object(w->cx, nuc_put_object(w->cx, specs, NULL), "user_output"), "arg", name);
    }
    nuc_put_object(w->cx, w->graph, "sym_int_values");
    nuc_put_object(w->cx, w->graph, "sym_bool_values");
    nuc_put_object(w->cx, w->graph, "sym_float_values");
    nuc_put_object(w->cx, w->graph, "custom_obj_values");
    nuc_put_bool(w->cx, w->graph, "is_single_tensor_return", false);
    put_call(w, graph_module);
    nuc_put_object(w->cx, graph_module, "metadata");
    nuc_put_object(w->cx, graph_module, "treespec_namedtuple_fields");
}

static struct nuc_pieces make_model(struct nuc_pt2_writer *w, const struct payloads *p)
{
    json_t *model = nuc_json_tree(w->cx);

    put_graph_module(w, model, p);
    nuc_put_int(w->cx, nuc_put_object(w->cx, model, "opset_version"), "aten", ATEN_OPSET);
    nuc_put_object(w->cx, model, "range_constraints");
    json_t *version = nuc_put_object(w->cx, model, "schema_version");
    nuc_put_int(w->cx, version, "major", NUC_TORCH_SCHEMA);
    nuc_put_int(w->cx, version, "minor", SCHEMA_MINOR);
    nuc_put_string(w->cx, nuc_put_array(w->cx, model, "verifiers"), NULL, "TRAINING");
    nuc_put_string(w->cx, model, "torch_version", TORCH_VERSION);
    nuc_put_array(w->cx, model, "guards_code");
    return nuc_json_dump_long(
        w->cx, model, (struct nuc_json_long *const[]){&w->tensor_values, &w->inputs, &w->input_specs, &w->nodes}, 4);
}

/* ---- entries ---- */

/*
 * The folder's name is the same for every file, so that equal graphs give equal bytes. .data/ is what torch's own zip
 * reader looks at: the version of its format; it does without the other entry there, an identifier for caches.
 */
#define TOP "archive/"

static void add_text(struct nuc_zip_writer *zip, const char *name, const char *text)
{
    nuc_zip_add(zip, name, (struct nuc_span){(const uint8_t *)text, strlen(text)});
}

static void add_files(struct nuc_context *cx, struct nuc_zip_writer *zip, const struct payloads *p, bool constants)
{
    const char *folder = constants ? TOP "data/constants/" : TOP "data/weights/";

    for (size_t i = 0; i < p->n_files; i++) {
        if (p->files[i].constant == constants)
            nuc_zip_add(zip, nuc_format(cx, "%s%s", folder, file_name(cx, p, i)), p->files[i].bytes);
    }
    struct nuc_pieces config = make_config(cx, p, constants);
    nuc_zip_add_pieces(zip, nuc_format(cx, "%smodel_%s_config.json", folder, constants ? "constants" : "weights"),
                       &config);
}

struct nuc_pieces nuc_write_pt2(struct nuc_graph *g)
{
    struct nuc_context *cx = g->cx;
    struct nuc_zip_writer *zip = nuc_zip_writer_new(cx);
    struct nuc_pt2_writer w = {.cx = cx, .g = g};

    w.names = nuc_alloc_array(cx, g->next_id, sizeof *w.names);
    w.is_scalar = nuc_alloc_array(cx, g->next_id, sizeof *w.is_scalar);
    nuc_find_scalars(&w);
    struct payloads p = {.count = 0};
    p.items = nuc_alloc_array(w.cx, w.g->n_nodes, sizeof *p.items);
    p.files = nuc_alloc_array(w.cx, w.g->n_nodes, sizeof *p.files);
    for (const struct nuc_node *n = w.g->first; n != NULL; n = n->next) {
        if ((nuc_is_static(n) || nuc_is_state(n)) && !w.is_scalar[n->id])
            add_payload(&w, &p, n);
    }
    add_files(cx, zip, &p, false);
    add_files(cx, zip, &p, true);
    struct nuc_pieces model = make_model(&w, &p);
    nuc_zip_add_pieces(zip, TOP "models/model.json", &model);
    add_text(zip, TOP "data/sample_inputs/model.pt", ""); /* torch expects the entry; empty stands for none */
    if (g->facts.size > 0)
        nuc_zip_add(zip, TOP NUC_PT2_FACTS, g->facts);
    add_text(zip, TOP "archive_format", "pt2");
    add_text(zip, TOP "archive_version", "0");
    add_text(zip, TOP ".data/version", "6\n");
    add_text(zip, TOP "byteorder", "little");
    return nuc_zip_finish(zip, g->file);
}
