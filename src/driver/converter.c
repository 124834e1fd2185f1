#include "driver/converter.h"

#include <string.h>
#include <unistd.h>

#include "host/file.h"
#include "host/process.h"
#include "npu/container/container.h"
#include "npu/target/target.h"

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

/* The command's words, between spaces; a file of that very name is one word. Then the arguments of every converter. */
static const char *const *arguments(const struct nuc_model *m, const char *input, const char *output)
{
    struct nuc_context *cx = m->c->cx;
    const char *const own[] = {"--input", input, "--output", output, "--target", m->settings->target->npu_name};
    enum { N_OWN = sizeof own / sizeof own[0] };
    const char **argv = nuc_alloc_array(cx, MAX_ARGUMENTS + N_OWN + 1, sizeof *argv);
    char *text = nuc_strdup(cx, m->settings->o.converter);
    size_t n = 0;

    if (access(text, X_OK) == 0) {
        argv[n++] = text;
        text += strlen(text);
    }
    for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
        if (n == MAX_ARGUMENTS)
            nuc_fail(cx, NUC_BAD_USAGE, "--converter: more than %d words", MAX_ARGUMENTS);
        argv[n++] = text;
        text += strcspn(text, " ");
        if (*text != '\0')
            *text++ = '\0';
    }
    if (n == 0)
        nuc_fail(cx, NUC_BAD_USAGE, "--converter: the command is empty: give builtin or a program");
    memcpy(argv + n, own, sizeof own);
    return argv;
}

/* Temporary files live in an arena of their own: they go when the command is done, and when anything fails. */
static struct nuc_span convert_by_command(const struct nuc_model *m, const char *tag, struct nuc_span litert)
{
    struct nuc_context *cx = m->c->cx;
    const struct nuc_options *o = &m->settings->o;
    struct nuc_arena *outer = nuc_push_arena(cx);
    const char *folder = nuc_temporary_folder(cx);
    const char *input = nuc_format(cx, "%s/%s.tflite", folder, tag);
    const char *output = nuc_format(cx, "%s/%s_neutron.tflite", folder, tag);

    nuc_write_scratch(cx, input, litert);
    const char *const *argv = arguments(m, input, output);
    unsigned seconds = o->converter_timeout != 0 ? o->converter_timeout : DEFAULT_SECONDS;
    struct nuc_process_result r = nuc_run_process(cx, argv, seconds);
    const char *colon = *r.said != '\0' ? ": " : "";
    if (r.end == NUC_PROCESS_TIMEOUT)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: converter '%s' is not done after %u s and was ended: raise the time limit%s%s",
                 tag, o->converter, seconds, colon, r.said);
    if (r.end == NUC_PROCESS_SIGNAL)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: converter '%s' was ended by signal %d%s%s", tag, o->converter, r.code, colon,
                 r.said);
    if (r.code != 0)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: converter '%s' ended with code %d%s%s", tag, o->converter, r.code, colon,
                 r.said);
    if (access(output, R_OK) != 0)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: converter '%s' wrote no output file", tag, o->converter);
    struct nuc_span bytes = nuc_read_file(cx, output);
    bytes.data = nuc_copy_out(cx, outer, bytes.data, bytes.size);
    nuc_pop_arena(cx, outer);
    return bytes;
}

/* ---- what comes back ---- */

static size_t tensor_bytes(const struct nuc_lt_tensor *t)
{
    return (size_t)nuc_lt_elements(t) * nuc_dtype_size(t->dtype);
}

/* Inputs and outputs are known by their names; the converted model may list them in another order. */
static uint8_t find_tensor(struct nuc_context *cx, const struct nuc_lt_model *converted, int32_t tensor,
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
    nuc_fail(cx, NUC_BAD_INPUT, "%s: %s '%s' is not one of the partition's", converted->file, what, t->name);
}

static const uint8_t *tensor_map(struct nuc_context *cx, const struct nuc_lt_model *converted, const int32_t *used,
                                 uint32_t n_used, const struct nuc_lt_model *m, const int32_t *list, uint32_t count,
                                 const char *what)
{
    uint8_t *map = nuc_alloc(cx, n_used);

    for (uint32_t i = 0; i < n_used; i++)
        map[i] = find_tensor(cx, converted, used[i], m, list, count, what);
    return map;
}

static struct nuc_converted_partition take_apart(struct nuc_context *cx, const struct nuc_lt_model *m,
                                                 const struct nuc_lt_model *converted)
{
    const struct nuc_lt_subgraph *s = &m->subgraphs[0];
    struct nuc_neutron_graph n = nuc_neutron_graph_single(cx, converted);
    struct nuc_neutron_image *image = nuc_alloc(cx, sizeof *image);
    uint8_t *inputs = nuc_alloc(cx, n.n_inputs), *outputs = nuc_alloc(cx, n.n_outputs);

    /* Fails when an input or output of the node is not one of the model's, or is there twice. */
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
    return (struct nuc_converted_partition){
        .image = image,
        .version = n.form,
        .input_map = tensor_map(cx, converted, n.inputs, n.n_inputs, m, s->inputs, s->n_inputs, "input"),
        .output_map = tensor_map(cx, converted, n.outputs, n.n_outputs, m, s->outputs, s->n_outputs, "output"),
        .is_ours = n.is_ours,
    };
}

void nuc_write_intermediate(const struct nuc_model *m, const char *tag, const char *kind, struct nuc_span bytes)
{
    const char *folder = m->settings->o.intermediates_dir;

    if (folder != NULL)
        nuc_write_scratch(m->c->cx, nuc_format(m->c->cx, "%s/%s_%s.et.tflite", folder, tag, kind), bytes);
}

static struct nuc_converted_partition convert_here(const struct nuc_model *m, const char *tag,
                                                   const struct nuc_lt_model *partition,
                                                   const struct nuc_convert_options *options)
{
    struct nuc_context *cx = m->c->cx;
    struct nuc_neutron_image *image = nuc_convert_litert(cx, partition, options);

    /* Containers are written in the form of version 1. */
    if (m->settings->o.intermediates_dir != NULL && !options->payload_version_0)
        nuc_write_intermediate(m, tag, "neutron",
                               nuc_lt_write(nuc_container_wrap(cx, partition, image, m->settings->target)));
    return (struct nuc_converted_partition){
        .image = image,
        .version = options->payload_version_0 ? 0 : 1,
        .input_map = same_order(cx, image->n_inputs),
        .output_map = same_order(cx, image->n_outputs),
        .is_ours = true,
    };
}

struct nuc_converted_partition nuc_convert_partition(const struct nuc_model *m, const char *tag,
                                                     const struct nuc_lt_model *partition, struct nuc_span litert,
                                                     const struct nuc_convert_options *options)
{
    struct nuc_context *cx = m->c->cx;
    const struct nuc_options *o = &m->settings->o;

    if (nuc_is_builtin_converter(o))
        return convert_here(m, tag, partition, options);
    if (options->profile || options->fetch_constants)
        nuc_fail(cx, NUC_BAD_USAGE, "%s: converter '%s' has no option for it: use the builtin one",
                 options->profile ? "--profile" : "--fetch-constants-to-sram", o->converter);
    struct nuc_span bytes = convert_by_command(m, tag, litert);
    const char *label = nuc_format(cx, "%s: output of converter '%s'", tag, o->converter);

    nuc_write_intermediate(m, tag, "neutron", bytes);
    return take_apart(cx, partition, nuc_lt_read(cx, label, bytes));
}
