#include "compiler/driver/converter.h"

#include <string.h>
#include <unistd.h>

#include "compiler/neutron/container/container.h"
#include "host/file.h"
#include "host/process.h"

#define DEFAULT_SECONDS 300
#define MAX_ARGUMENTS 64

bool nuc_is_builtin_converter(const struct nuc_options *o)
{
    return o->converter == NULL || strcmp(o->converter, "builtin") == 0;
}

const char *nuc_converter_name(const struct nuc_options *o)
{
    return nuc_is_builtin_converter(o) ? "nucleon" : o->converter;
}

static const uint8_t *same_order(struct nuc_context *cx, uint32_t count)
{
    uint8_t *map = nuc_alloc(cx, count);

    for (uint32_t i = 0; i < count; i++)
        map[i] = (uint8_t)i;
    return map;
}

/* ---- the command ---- */

/* The command's words, between spaces; a file of that very name is one word. Then what a converter is told. */
static const char *const *arguments(struct nuc_compiler *c, const char *input, const char *output)
{
    const char *const own[] = {"--input", input, "--output", output, "--target", c->options.target};
    enum { N_OWN = sizeof own / sizeof own[0] };
    const char **argv = nuc_alloc_array(c->cx, MAX_ARGUMENTS + N_OWN + 1, sizeof *argv);
    char *text = nuc_strdup(c->cx, c->options.converter);
    size_t n = 0;

    if (access(text, X_OK) == 0) {
        argv[n++] = text;
        text += strlen(text);
    }
    for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
        if (n == MAX_ARGUMENTS)
            nuc_fail(c->cx, NUC_BAD_USAGE, "--converter: more than %d words", MAX_ARGUMENTS);
        argv[n++] = text;
        text += strcspn(text, " ");
        if (*text != '\0')
            *text++ = '\0';
    }
    if (n == 0)
        nuc_fail(c->cx, NUC_BAD_USAGE, "--converter: the command is empty: give builtin or a program");
    memcpy(argv + n, own, sizeof own);
    return argv;
}

static void run(struct nuc_compiler *c, const char *tag, const char *const *argv)
{
    unsigned seconds = c->options.converter_timeout != 0 ? c->options.converter_timeout : DEFAULT_SECONDS;
    struct nuc_process_result r = nuc_run_process(c->cx, argv, seconds);
    const char *colon = *r.said != '\0' ? ": " : "";

    if (r.end == NUC_PROCESS_TIMEOUT)
        nuc_fail(c->cx, NUC_BAD_INPUT,
                 "%s: converter '%s' is not done after %u s and was ended: raise the time limit%s%s", tag,
                 c->options.converter, seconds, colon, r.said);
    if (r.end == NUC_PROCESS_SIGNAL)
        nuc_fail(c->cx, NUC_BAD_INPUT, "%s: converter '%s' was ended by signal %d%s%s", tag, c->options.converter,
                 r.code, colon, r.said);
    if (r.code != 0)
        nuc_fail(c->cx, NUC_BAD_INPUT, "%s: converter '%s' ended with code %d%s%s", tag, c->options.converter, r.code,
                 colon, r.said);
}

static struct nuc_span read_output(struct nuc_compiler *c, const char *tag, const char *path)
{
    if (access(path, R_OK) != 0)
        nuc_fail(c->cx, NUC_BAD_INPUT, "%s: converter '%s' wrote no output file", tag, c->options.converter);
    return nuc_map_file(c->cx, path);
}

/* Temporary files live in an arena of their own: they go when the command is done, and when anything fails. */
static struct nuc_span convert_by_command(struct nuc_compiler *c, const char *tag, struct nuc_span litert)
{
    struct nuc_context *cx = c->cx;
    struct nuc_arena *outer = nuc_push_arena(cx), *inner = cx->arena;
    const char *folder = nuc_temporary_folder(cx);
    const char *input = nuc_format(cx, "%s/%s.tflite", folder, tag);
    const char *output = nuc_format(cx, "%s/%s_neutron.tflite", folder, tag);

    nuc_write_file(cx, input, litert);
    run(c, tag, arguments(c, input, output));
    struct nuc_span bytes = read_output(c, tag, output);
    cx->arena = outer;
    bytes.data = nuc_copy(cx, bytes.data, bytes.size);
    cx->arena = inner;
    nuc_pop_arena(cx, outer);
    return bytes;
}

/* ---- what comes back ---- */

static size_t tensor_bytes(const struct nuc_lt_tensor *t)
{
    return (size_t)nuc_lt_elements(t) * nuc_dtype_size(t->dtype);
}

/* Borders are known by their names; the converted model may list them in another order. */
static uint8_t find_border(struct nuc_context *cx, const struct nuc_lt_model *converted, int32_t tensor,
                           const struct nuc_lt_model *m, const int32_t *list, uint32_t count, const char *what)
{
    const struct nuc_lt_tensor *t = &converted->subgraphs[0].tensors[tensor];

    for (uint32_t i = 0; i < count && i <= UINT8_MAX; i++) {
        const struct nuc_lt_tensor *own = &m->subgraphs[0].tensors[list[i]];
        if (strcmp(own->name, t->name) != 0)
            continue;
        if (tensor_bytes(own) != tensor_bytes(t))
            nuc_fail(cx, NUC_BAD_INPUT, "%s: %s '%s' has %zu bytes, the partition's %zu", converted->file, what,
                     t->name, tensor_bytes(t), tensor_bytes(own));
        return (uint8_t)i;
    }
    nuc_fail(cx, NUC_BAD_INPUT, "%s: %s '%s' is none of the partition's", converted->file, what, t->name);
}

static const uint8_t *border_map(struct nuc_context *cx, const struct nuc_lt_model *converted, const int32_t *used,
                                 uint32_t n_used, const struct nuc_lt_model *m, const int32_t *list, uint32_t count,
                                 const char *what)
{
    uint8_t *map = nuc_alloc(cx, n_used);

    for (uint32_t i = 0; i < n_used; i++)
        map[i] = find_border(cx, converted, used[i], m, list, count, what);
    return map;
}

static struct nuc_converted take_apart(struct nuc_compiler *c, const struct nuc_lt_model *m,
                                       const struct nuc_lt_model *converted)
{
    struct nuc_context *cx = c->cx;
    const struct nuc_lt_subgraph *s = &m->subgraphs[0];
    struct nuc_neutron_graph n = nuc_neutron_graph_single(cx, converted);
    struct nuc_neutron_image *image = nuc_alloc(cx, sizeof *image);
    uint8_t *inputs = nuc_alloc(cx, n.n_inputs), *outputs = nuc_alloc(cx, n.n_outputs);

    /* Fails when a border of the node is none of the model, or twice. */
    nuc_neutron_graph_map(cx, converted, &n, inputs, outputs);
    if (n.n_outputs != s->n_outputs)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: %u outputs, the partition has %u", converted->file, n.n_outputs, s->n_outputs);
    *image = (struct nuc_neutron_image){
        .microcode = nuc_neutron_graph_restore_handles(cx, &n, m),
        .weights = n.weights,
        .kernels = n.kernels,
        .scratch_size = n.header.scratch,
        .scratch_bound = n.header.scratch,
        .profile_size = n.header.profile,
        .n_inputs = n.n_inputs,
        .n_outputs = n.n_outputs,
    };
    return (struct nuc_converted){
        .image = image,
        .version = n.form,
        .input_map = border_map(cx, converted, n.inputs, n.n_inputs, m, s->inputs, s->n_inputs, "input"),
        .output_map = border_map(cx, converted, n.outputs, n.n_outputs, m, s->outputs, s->n_outputs, "output"),
        .is_ours = n.is_ours,
    };
}

static void write_container(struct nuc_compiler *c, const char *tag, struct nuc_span bytes)
{
    if (c->options.intermediates_dir != NULL)
        nuc_write_file(c->cx, nuc_format(c->cx, "%s/%s_neutron.et.tflite", c->options.intermediates_dir, tag), bytes);
}

static struct nuc_converted convert_here(struct nuc_compiler *c, const char *tag, const struct nuc_lt_model *m,
                                         const struct nuc_convert_options *options)
{
    struct nuc_neutron_image *image = nuc_convert_litert(c->cx, m, options);

    /* Containers are written in the form of version 1. */
    if (c->options.intermediates_dir != NULL && !c->options.payload_version_0) {
        const struct nuc_target *target = nuc_target_find(c->cx, c->options.target);
        write_container(c, tag, nuc_lt_write(nuc_container_wrap(c->cx, m, image, target)));
    }
    return (struct nuc_converted){
        .image = image,
        .version = c->options.payload_version_0 ? 0 : 1,
        .input_map = same_order(c->cx, image->n_inputs),
        .output_map = same_order(c->cx, image->n_outputs),
        .is_ours = true,
    };
}

struct nuc_converted nuc_convert_partition(struct nuc_compiler *c, const char *tag, const struct nuc_lt_model *m,
                                           struct nuc_span litert, const struct nuc_convert_options *options)
{
    if (nuc_is_builtin_converter(&c->options))
        return convert_here(c, tag, m, options);
    if (options->profile || options->fetch_constants)
        nuc_fail(c->cx, NUC_BAD_USAGE, "%s: converter '%s' is not told to: use the builtin one",
                 options->profile ? "--profile" : "--fetch-constants-to-sram", c->options.converter);
    struct nuc_span bytes = convert_by_command(c, tag, litert);
    const char *label = nuc_format(c->cx, "%s: output of converter '%s'", tag, c->options.converter);

    write_container(c, tag, bytes);
    return take_apart(c, m, nuc_lt_read(c->cx, label, bytes));
}
