/*
 * Profiles as an ETDump, in the tables of ExecuTorch's devtools/etdump/etdump_schema_flatcc.fbs, and what the events of
 * one are as an ETRecord, in the entries that its devtools/etrecord reads.
 */
#include <string.h>

#include "archive/json_build.h"
#include "archive/zip_write.h"
#include "back/profile/profile.h"
#include "host/file.h"
#include "host/flatbuilder.h"

enum { DUMP_VERSION, DUMP_RUNS };
enum { RUN_NAME, RUN_BUNDLED_INPUT, RUN_ALLOCATORS, RUN_EVENTS };
enum { EVENT_PROFILE };
enum {
    PROFILE_NAME,
    PROFILE_CHAIN,
    PROFILE_INSTRUCTION,
    PROFILE_DELEGATE_INT,
    PROFILE_DELEGATE_STRING,
    PROFILE_METADATA,
    PROFILE_START,
    PROFILE_END
};

struct event {
    const char *name, *delegate_name;        /* NULL: none; an event has the number of a kernel or its name */
    int32_t chain, instruction, delegate_id; /* -1: none */
    const uint8_t *metadata;                 /* one byte, NULL: none */
    uint64_t start, end;
};

static nuc_fb_ref add_event(struct nuc_fb_builder *b, const struct event *e)
{
    nuc_fb_ref name = e->name != NULL ? nuc_fb_add_string(b, e->name) : 0;
    nuc_fb_ref delegate_name = e->delegate_name != NULL ? nuc_fb_add_string(b, e->delegate_name) : 0;
    nuc_fb_ref metadata = e->metadata != NULL ? nuc_fb_add_vector(b, e->metadata, 1, 1, 1) : 0;

    nuc_fb_table_begin(b);
    nuc_fb_put_ref(b, PROFILE_NAME, name);
    nuc_fb_put_i32(b, PROFILE_CHAIN, e->chain, 0);
    nuc_fb_put_i32(b, PROFILE_INSTRUCTION, e->instruction, -1);
    nuc_fb_put_i32(b, PROFILE_DELEGATE_INT, e->delegate_id, -1);
    nuc_fb_put_ref(b, PROFILE_DELEGATE_STRING, delegate_name);
    nuc_fb_put_ref(b, PROFILE_METADATA, metadata);
    nuc_fb_put_u64(b, PROFILE_START, e->start, 0);
    nuc_fb_put_u64(b, PROFILE_END, e->end, 0);
    nuc_fb_ref profile = nuc_fb_table_end(b);
    nuc_fb_table_begin(b);
    nuc_fb_put_ref(b, EVENT_PROFILE, profile);
    return nuc_fb_table_end(b);
}

/* "conv1 + relu (train.py:23)"; NULL: the program does not say. */
static const char *place_text(struct nuc_context *cx, const struct nuc_profile_row *row)
{
    if (row->label == NULL || row->source == NULL)
        return row->label;
    return nuc_format(cx, "%s (%s)", row->label, nuc_base_name(row->source));
}

/* Of a kernel whose place the program says; else NULL. */
static const char *kernel_name(struct nuc_context *cx, const struct nuc_profile_row *row)
{
    const char *place = place_text(cx, row);

    return place != NULL ? nuc_format(cx, "%u %s: %s", row->kernel, row->what, place) : NULL;
}

/*
 * What ExecuTorch's runtime and its NeutronBackend log: OPERATOR_CALL and DELEGATE_CALL around instructions, within a
 * delegate call an event for each kernel, numbered from 0 with the function code as metadata, and one for the end.
 * Where the program has labels, they are part of the names of operators, and kernels have names instead of numbers:
 * without an ETRecord the Inspector has nothing else to say what an event is of, and of number and name it shows the
 * number. Names begin with the number, since one call may have kernels of the same label.
 */
static void add_row_events(struct nuc_context *cx, struct nuc_fb_builder *b, const struct nuc_profile *p, size_t at,
                           nuc_fb_ref *refs, size_t *count)
{
    static const uint8_t dump = 0;
    const struct nuc_profile_row *row = &p->rows[at];
    const char *place = place_text(cx, row);
    struct event e = {.instruction = (int32_t)row->instruction,
                      .delegate_id = -1,
                      .start = row->start,
                      .end = row->start + row->cycles};

    if (row->kind == NUC_PROFILE_KERNEL) {
        e.delegate_name = kernel_name(cx, row);
        e.delegate_id = e.delegate_name == NULL ? (int32_t)row->kernel : -1;
        e.metadata = &row->metadata;
        refs[(*count)++] = add_event(b, &e);
        bool last = at + 1 == p->n_rows || p->rows[at + 1].kind != NUC_PROFILE_KERNEL;
        if (last) {
            e.delegate_id = (int32_t)row->kernel + 1;
            e.delegate_name = NULL;
            e.metadata = &dump;
            e.start = e.end;
            refs[(*count)++] = add_event(b, &e);
        }
        return;
    }
    if (row->kind == NUC_PROFILE_CPU) {
        const char *scope = strstr(row->what, "::");
        e.name = nuc_format(cx, "native_call_%s%s%s", scope != NULL ? scope + 2 : row->what, place != NULL ? ": " : "",
                            place != NULL ? place : "");
        refs[(*count)++] = add_event(b, &e);
    }
    e.name = row->kind == NUC_PROFILE_CPU ? "OPERATOR_CALL" : "DELEGATE_CALL";
    e.end += row->call_cycles;
    refs[(*count)++] = add_event(b, &e);
}

/* A FlatBuffer is built from the inside out: all events first, then what holds them. */
static nuc_fb_ref add_run(struct nuc_context *cx, struct nuc_fb_builder *b, const struct nuc_profile *p)
{
    nuc_fb_ref *refs = nuc_alloc_array(cx, 2 * p->n_rows + 1, sizeof *refs);
    size_t count = 0;

    for (size_t i = 0; i < p->n_rows; i++)
        add_row_events(cx, b, p, i, refs, &count);
    refs[count++] = add_event(
        b, &(struct event){
               .name = "Method::execute", .chain = -1, .instruction = -1, .delegate_id = -1, .end = p->cycles});
    nuc_fb_ref events = nuc_fb_add_refs(b, refs, count);
    nuc_fb_ref name = nuc_fb_add_string(b, "Execute");
    nuc_fb_ref allocators = nuc_fb_add_refs(b, NULL, 0);
    nuc_fb_table_begin(b);
    nuc_fb_put_ref(b, RUN_NAME, name);
    nuc_fb_put_i32(b, RUN_BUNDLED_INPUT, -1, -1);
    nuc_fb_put_ref(b, RUN_ALLOCATORS, allocators);
    nuc_fb_put_ref(b, RUN_EVENTS, events);
    return nuc_fb_table_end(b);
}

struct nuc_span nuc_profile_dump(struct nuc_context *cx, const struct nuc_profile *const *runs, size_t n_runs)
{
    struct nuc_fb_builder *b = nuc_fb_builder_new(cx);
    nuc_fb_ref *refs = nuc_alloc_array(cx, n_runs, sizeof *refs);

    for (size_t i = 0; i < n_runs; i++)
        refs[i] = add_run(cx, b, runs[i]);
    nuc_fb_ref list = nuc_fb_add_refs(b, refs, n_runs);
    nuc_fb_table_begin(b);
    nuc_fb_put_u32(b, DUMP_VERSION, 0, 0);
    nuc_fb_put_ref(b, DUMP_RUNS, list);
    return nuc_fb_finish_prefixed(b, nuc_fb_table_end(b), "ED00");
}

/* ---- ETRecord ---- */

/*
 * The graph of the record: a chain of nodes, one for each operator and kernel, that say what ran by name, module and
 * line. What the Inspector does not read of an Edge program is left out; a node is an alias of the one before it.
 */
struct record {
    struct nuc_context *cx;
    json_t *nodes, *values;
    json_t *handles, *results, *delegates; /* by instruction: debug handles, how many results, kernels of a call */
    const char *last;                      /* the value of the last node */
    int64_t handle;
};

static json_t *put_forward(struct nuc_context *cx, json_t **tree)
{
    *tree = nuc_json_tree(cx);
    return nuc_put_object(cx, *tree, "forward");
}

static void put_tensor(struct nuc_context *cx, json_t *parent, const char *key, const char *name)
{
    json_t *argument = nuc_put_object(cx, parent, key);

    nuc_put_string(cx, nuc_put_object(cx, argument, "as_tensor"), "name", name);
}

static void put_whole(struct nuc_context *cx, json_t *parent, const char *key, int64_t value)
{
    nuc_put_int(cx, nuc_put_object(cx, parent, key), "as_int", value);
}

/* A value of one float32, since the record does not tell shapes. */
static void add_value(struct record *r, const char *name)
{
    json_t *value = nuc_put_object(r->cx, r->values, name);

    nuc_put_int(r->cx, value, "dtype", 7);
    put_whole(r->cx, nuc_put_array(r->cx, value, "sizes"), NULL, 1);
    nuc_put_bool(r->cx, value, "requires_grad", false);
    json_t *device = nuc_put_object(r->cx, value, "device");
    nuc_put_string(r->cx, device, "type", "cpu");
    nuc_put_null(r->cx, device, "index");
    put_whole(r->cx, nuc_put_array(r->cx, value, "strides"), NULL, 1);
    put_whole(r->cx, value, "storage_offset", 0);
    nuc_put_int(r->cx, value, "layout", 7);
    r->last = name;
}

static void put_handle(struct nuc_context *cx, json_t *parent, const char *key, int64_t handle)
{
    json_t *list = json_object_get(parent, key);

    nuc_put_int(cx, list != NULL ? list : nuc_put_array(cx, parent, key), NULL, handle);
}

static void add_node(struct record *r, const struct nuc_profile_row *row)
{
    /* "stem + relu6" of kernel 0 of instruction 1 as Python's "stem___relu6_1_0". */
    char *letters =
        nuc_format(r->cx, "%s_%u_%u", row->label != NULL ? row->label : row->what, row->instruction, row->kernel);
    for (char *p = letters; *p != 0; p++) {
        bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9');
        *p = letter ? *p : '_';
    }
    const char *name = letters[0] >= '0' && letters[0] <= '9' ? nuc_format(r->cx, "_%s", letters) : letters;
    const char *instruction = nuc_format(r->cx, "%u", row->instruction);
    json_t *node = nuc_put_object(r->cx, r->nodes, NULL);
    json_t *input;

    nuc_put_string(r->cx, node, "name", name);
    nuc_put_string(r->cx, node, "target", "torch.ops.aten.alias.default");
    input = nuc_put_object(r->cx, nuc_put_array(r->cx, node, "inputs"), NULL);
    nuc_put_string(r->cx, input, "name", "self");
    put_tensor(r->cx, input, "arg", r->last);
    put_tensor(r->cx, nuc_put_array(r->cx, node, "outputs"), NULL, name);
    json_t *metadata = nuc_put_object(r->cx, node, "metadata");
    const char *line = row->source != NULL ? strrchr(row->source, ':') : NULL;
    if (line != NULL)
        nuc_put_text(r->cx, metadata, "stack_trace",
                     nuc_format(r->cx, "File \"%.*s\", line %s", (int)(line - row->source), row->source, line + 1));
    if (row->label != NULL) {
        /* Of the first part: "blocks.0.c1" of "blocks.0.c1 + blocks.0/relu6", "blocks.0" of "blocks.0/add". */
        const char *module = nuc_format(r->cx, "%.*s", (int)strcspn(row->label, "/ ,;"), row->label);
        nuc_put_text(r->cx, metadata, "nn_module_stack",
                     nuc_format(r->cx, "L__self__,,torch.nn.Module;L__self___%s,%s,torch.nn.Module", module, module));
    }
    nuc_put_string(r->cx, metadata, "debug_handle", nuc_format(r->cx, "%lld", (long long)(++r->handle)));
    add_value(r, name);
    put_handle(r->cx, r->handles, instruction, r->handle);
    if (json_object_get(r->results, instruction) == NULL)
        nuc_put_int(r->cx, r->results, instruction, 1);
}

/*
 * The kernels of a call by their numbers, as NeutronBackend logs them, with the event at the end, and behind these by
 * their names: of keys that are part of an identifier the Inspector takes the last one.
 */
static size_t add_kernels(struct record *r, const struct nuc_profile *p, size_t call)
{
    json_t *delegate = nuc_put_object(r->cx, r->delegates, nuc_format(r->cx, "%u", p->rows[call].instruction));
    int64_t first = r->handle + 1;
    size_t at = call + 1;

    nuc_put_string(r->cx, delegate, "name", p->rows[call].what);
    json_t *map = nuc_put_object(r->cx, delegate, "delegate_map");
    for (; at < p->n_rows && p->rows[at].kind == NUC_PROFILE_KERNEL; at++) {
        add_node(r, &p->rows[at]);
        put_handle(r->cx, map, nuc_format(r->cx, "%u", p->rows[at].kernel), r->handle);
    }
    nuc_put_array(r->cx, map, nuc_format(r->cx, "%zu", at - call - 1));
    for (size_t k = call + 1; k < at; k++) {
        const char *name = kernel_name(r->cx, &p->rows[k]);
        if (name != NULL)
            put_handle(r->cx, map, name, first + (int64_t)(k - call - 1));
    }
    return at;
}

/* An Edge program of the graph, in version 5.4 of executorch/exir/serde/schema.py. */
static json_t *program_of(struct record *r)
{
    static const char *const empty[] = {"sym_int_values", "sym_bool_values", "custom_obj_values"};
    struct nuc_context *cx = r->cx;
    json_t *program = nuc_json_tree(cx), *module = nuc_put_object(cx, program, "graph_module");
    json_t *graph = nuc_put_object(cx, module, "graph"), *signature = nuc_put_object(cx, module, "signature");
    json_t *version = nuc_put_object(cx, program, "schema_version");

    r->nodes = nuc_put_array(cx, graph, "nodes");
    r->values = nuc_put_object(cx, graph, "tensor_values");
    add_value(r, "program");
    put_tensor(cx, nuc_put_array(cx, graph, "inputs"), NULL, "program");
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++)
        nuc_put_object(cx, graph, empty[i]);
    nuc_put_bool(cx, graph, "is_single_tensor_return", false);
    json_t *specs = nuc_put_array(cx, signature, "input_specs");
    put_tensor(cx, nuc_put_object(cx, nuc_put_object(cx, specs, NULL), "user_input"), "arg", "program");
    nuc_put_array(cx, signature, "output_specs");
    nuc_put_string(cx, nuc_put_object(cx, nuc_put_array(cx, module, "module_call_graph"), NULL), "fqn", "");
    nuc_put_object(cx, program, "opset_version");
    nuc_put_object(cx, program, "range_constraints");
    nuc_put_int(cx, version, "major", 5);
    nuc_put_int(cx, version, "minor", 4);
    nuc_put_string(cx, program, "dialect", "TRAINING");
    nuc_put_string(cx, nuc_put_array(cx, program, "verifiers"), NULL, "TRAINING");
    return program;
}

struct nuc_pieces nuc_profile_record(struct nuc_context *cx, const struct nuc_profile *p, const char *path)
{
    static const char *const nothing[] = {"ETRECORD_V0", "edge_dialect_exported_program/forward_state_dict",
                                          "edge_dialect_exported_program/forward_constants",
                                          "edge_dialect_exported_program/forward_example_inputs"};
    struct nuc_zip_writer *w = nuc_zip_writer_new(cx);
    struct record r = {.cx = cx};
    json_t *handles, *delegates, *results, *program = program_of(&r);

    r.handles = put_forward(cx, &handles);
    r.delegates = put_forward(cx, &delegates);
    r.results = put_forward(cx, &results);
    for (size_t i = 0; i < p->n_rows;) {
        if (p->rows[i].kind == NUC_PROFILE_CPU)
            add_node(&r, &p->rows[i++]);
        else
            i = add_kernels(&r, p, i);
    }
    json_t *module = json_object_get(program, "graph_module"), *graph = json_object_get(module, "graph");
    json_t *specs = json_object_get(json_object_get(module, "signature"), "output_specs");
    put_tensor(cx, nuc_put_array(cx, graph, "outputs"), NULL, r.last);
    put_tensor(cx, nuc_put_object(cx, nuc_put_object(cx, specs, NULL), "user_output"), "arg", r.last);
    for (size_t i = 0; i < sizeof nothing / sizeof nothing[0]; i++)
        nuc_zip_add(w, nothing[i], (struct nuc_span){NULL, 0});
    nuc_zip_add(w, "edge_dialect_exported_program/forward", nuc_json_dump(cx, program, JSON_COMPACT));
    nuc_zip_add(w, "debug_handle_map", nuc_json_dump(cx, handles, JSON_COMPACT));
    nuc_zip_add(w, "delegate_map", nuc_json_dump(cx, delegates, JSON_COMPACT));
    nuc_zip_add(w, "instruction_id_to_num_outs_map", nuc_json_dump(cx, results, JSON_COMPACT));
    return nuc_zip_finish(w, path);
}
