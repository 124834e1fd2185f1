/* Partitions become delegate calls; the graph becomes a program file. */
#include <string.h>

#include "compiler/cortexm/cortexm.h"
#include "compiler/driver/converter.h"
#include "compiler/driver/driver.h"
#include "compiler/layout/orders.h"
#include "compiler/litert/litert.h"
#include "compiler/neutron/arrange/arrange.h"
#include "compiler/neutron/container/payload.h"
#include "compiler/neutron/convert/convert.h"
#include "compiler/neutron/lower/lower.h"
#include "compiler/passes/passes.h"
#include "compiler/program/program.h"
#include "host/file.h"
#include "host/text.h"

/* ---- compile specs: what the program says about how a delegate was made ---- */

/* Names as the reference encodes them: "::" becomes "_", joined by commas. */
static const char *not_delegated_text(struct nuc_compiler *c)
{
    const struct nuc_options *o = &c->options;
    struct nuc_text text;

    nuc_text_init(&text, c->cx);
    for (size_t i = 0; i < o->n_operators_not_to_delegate; i++) {
        nuc_text_addf(&text, "%s", i == 0 ? "" : ",");
        for (const char *p = o->operators_not_to_delegate[i]; *p != '\0'; p++) {
            bool scope = p[0] == ':' && p[1] == ':';
            nuc_text_addf(&text, "%c", scope ? '_' : *p);
            p += scope ? 1 : 0;
        }
    }
    return nuc_text_string(&text);
}

enum { MAX_COMPILE_SPECS = 9 };

/* Keys and order of the reference backend, which differ between the generations for the two flavors. */
static uint32_t fill_compile_specs(const struct nuc_model *m, struct nuc_compile_spec specs[MAX_COMPILE_SPECS])
{
    struct nuc_compiler *c = m->c;
    const struct nuc_options *o = &c->options;
    bool sdk31 = nuc_flavor_find(c->cx, o->converter_flavor)->rules == NUC_RULES_SDK_3_1;
    uint32_t n = 0;

    specs[n++] = (struct nuc_compile_spec){"output_format", "tflite"};
    specs[n++] = (struct nuc_compile_spec){"compile_flags", o->extra_flags != NULL ? o->extra_flags : ""};
    specs[n++] = (struct nuc_compile_spec){"target", nuc_target_find(c->cx, o->target)->npu_name};
    if (!sdk31)
        specs[n++] = (struct nuc_compile_spec){"intermediates_dir",
                                               o->intermediates_dir != NULL ? o->intermediates_dir : "None"};
    specs[n++] = (struct nuc_compile_spec){"operators_not_to_delegate", not_delegated_text(c)};
    specs[n++] = (struct nuc_compile_spec){"use_neutron_for_format_conversion",
                                           m->variant.use_neutron_for_format_conversion ? "True" : "False"};
    specs[n++] = (struct nuc_compile_spec){"fetch_constants_to_sram", o->fetch_constants_to_sram ? "True" : "False"};
    specs[n++] =
        (struct nuc_compile_spec){"dump_kernel_selection_code", o->dump_kernel_selection != NULL ? "True" : "False"};
    specs[n++] = sdk31 ? (struct nuc_compile_spec){"use_new_flow_neutron_c", "False"}
                       : (struct nuc_compile_spec){"use_profiling", o->profile ? "True" : "False"};
    return n;
}

/* ---- one partition ---- */

static const struct nuc_tensor_info *border_infos(struct nuc_context *cx, const struct nuc_lower_border *borders,
                                                  uint32_t count)
{
    struct nuc_tensor_info *infos = nuc_alloc_array(cx, count, sizeof *infos);

    for (uint32_t i = 0; i < count; i++) {
        struct nuc_meta meta = nuc_named_contiguous(&borders[i].node->vals[0]);
        nuc_fill_tensor_info(borders[i].node->name, &meta, &infos[i]);
    }
    return infos;
}

/* Channels-last on the NPU's side, contiguous outside, and more than one channel. */
static bool is_cpu_transposed(const struct nuc_lower_border *b)
{
    struct nuc_meta meta = nuc_named_contiguous(&b->node->vals[0]);

    return b->channels_last && meta.rank >= 3 && meta.sizes[meta.rank - 3] != 1 && nuc_is_contiguous(&meta);
}

static void note_cpu_transposes(struct nuc_context *cx, const struct nuc_lower_io *io,
                                struct nuc_lowered_partition *out)
{
    struct nuc_tensor_info *infos = nuc_alloc_array(cx, (size_t)io->n_inputs + io->n_outputs, sizeof *infos);

    for (uint32_t i = 0; i < io->n_inputs + io->n_outputs; i++) {
        const struct nuc_lower_border *b = i < io->n_inputs ? &io->inputs[i] : &io->outputs[i - io->n_inputs];
        if (is_cpu_transposed(b))
            nuc_fill_tensor_info(b->name, &b->node->vals[0], &infos[out->n_cpu_transposed++]);
    }
    out->cpu_transposed = infos;
}

static void write_intermediate(struct nuc_compiler *c, const char *tag, const char *suffix, struct nuc_span bytes)
{
    if (c->options.intermediates_dir != NULL)
        nuc_write_file(c->cx, nuc_format(c->cx, "%s/%s_%s", c->options.intermediates_dir, tag, suffix), bytes);
}

static struct nuc_payload_io *payload_io(struct nuc_context *cx, const struct nuc_lower_border *borders,
                                         const uint8_t *map, uint32_t count)
{
    struct nuc_payload_io *io = nuc_alloc_array(cx, count, sizeof *io);

    for (uint32_t i = 0; i < count; i++)
        io[i] = (struct nuc_payload_io){.format = borders[map[i]].channels_last ? 1 : 0, .map = map[i]};
    return io;
}

static struct nuc_span compose(struct nuc_compiler *c, const struct nuc_partition *p, const struct nuc_lower_io *io,
                               const struct nuc_converted *converted)
{
    const struct nuc_neutron_image *image = converted->image;

    if (io->n_inputs > UINT8_MAX || io->n_outputs > UINT8_MAX)
        nuc_fail(c->cx, NUC_UNSUPPORTED,
                 "partition %s has %u inputs and %u outputs, a delegate may have 255: keep some of its operators on "
                 "the CPU with --operators-not-to-delegate",
                 p->tag, io->n_inputs, io->n_outputs);
    struct nuc_payload payload = {
        .n_args = (uint8_t)io->n_inputs,
        .n_inputs = (uint8_t)image->n_inputs,
        .n_outputs = (uint8_t)image->n_outputs,
        .inputs = payload_io(c->cx, io->inputs, converted->input_map, image->n_inputs),
        .outputs = payload_io(c->cx, io->outputs, converted->output_map, image->n_outputs),
        .version = converted->version,
        .microcode = image->microcode,
        .weights = image->weights,
        .kernels = image->kernels,
    };
    return nuc_payload_compose(c->cx, &payload);
}

/* Nodes and the user's lines by debug handle, which is 1 + id. */
static struct nuc_kernel_name *handle_names(const struct nuc_graph *g)
{
    struct nuc_kernel_name *names = nuc_alloc_array(g->cx, (size_t)g->next_id + 1, sizeof *names);

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        names[n->id + 1].node = n->name;
        if (n->source.file != NULL)
            names[n->id + 1].source = nuc_format(g->cx, "%s:%d", n->source.file, n->source.line);
    }
    return names;
}

/* The node of each kernel call: debug handles are 1 + id. Calls of a border's transposes have none. */
static const struct nuc_node *const *call_sources(struct nuc_graph *g, const struct nuc_neutron_image *image)
{
    const struct nuc_node **by_id = nuc_alloc_array(g->cx, g->next_id, sizeof(struct nuc_node *));
    const struct nuc_node **sources = nuc_alloc_array(g->cx, image->n_calls, sizeof(struct nuc_node *));

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        by_id[n->id] = n;
    for (uint32_t i = 0; i < image->n_calls; i++) {
        uint32_t handle = image->calls[i].handle;
        sources[i] = handle > 0 && handle <= g->next_id ? by_id[handle - 1] : NULL;
    }
    return sources;
}

static void lower_one(struct nuc_model *m, struct nuc_partition *p, struct nuc_lowered_partition *out)
{
    struct nuc_compiler *c = m->c;
    struct nuc_lower_options options = {
        .target = nuc_target_find(c->cx, c->options.target),
        .flavor = nuc_flavor_find(c->cx, c->options.converter_flavor),
        .use_neutron_for_format_conversion = m->variant.use_neutron_for_format_conversion,
        .arrange = !c->options.reference_compat,
        .reference_compat = c->options.reference_compat,
    };
    const struct nuc_convert_options convert = {
        .costs = options.target->npu,
        .fetch_constants = c->options.fetch_constants_to_sram,
        .payload_version_0 = c->options.payload_version_0,
        .pool_borders = c->options.plan_delegate_scratch,
        .profile = c->options.profile,
        .names = c->options.profile ? handle_names(m->graph) : NULL,
        .n_names = c->options.profile ? m->graph->next_id + 1 : 0,
    };
    struct nuc_lower_io io;
    struct nuc_lt_model *model = nuc_lower_partition(m->graph, p, &options, &io);
    struct nuc_span litert = nuc_lt_write(model);

    write_intermediate(c, p->tag, "pure.et.tflite", litert);
    struct nuc_converted converted = nuc_convert_partition(c, p->tag, model, litert, &convert);
    struct nuc_neutron_image *image = converted.image;
    struct nuc_span payload = compose(c, p, &io, &converted);
    struct nuc_compile_spec specs[MAX_COMPILE_SPECS];
    uint32_t n_specs = fill_compile_specs(m, specs);
    struct nuc_delegate *delegate = nuc_alloc(c->cx, sizeof *delegate);
    *delegate = (struct nuc_delegate){
        .backend_id = "NeutronBackend",
        .tag = p->tag,
        .n_compile_specs = n_specs,
        .compile_specs = nuc_copy(c->cx, specs, n_specs * sizeof specs[0]),
        .payload = payload,
        .input_places = image->input_places,
        .output_places = image->output_places,
        .scratch_size = image->scratch_size,
        .model = model,
    };
    struct nuc_moved moved = nuc_moved_by_transposes(model);
    note_cpu_transposes(c->cx, &io, out);
    out->delegate = delegate;
    out->image = image;
    c->report.runs_on_simulator = c->report.runs_on_simulator && converted.is_ours;
    out->sources = call_sources(m->graph, image);
    out->info = (struct nuc_partition_info){
        .tag = p->tag,
        .litert = litert.data,
        .litert_size = litert.size,
        .payload = payload.data,
        .payload_size = payload.size,
        .scratch_size = image->scratch_size,
        .n_transposes = moved.transposes,
        .moved_bytes = (size_t)moved.bytes,
        .n_inputs = io.n_inputs,
        .n_outputs = io.n_outputs,
        .inputs = border_infos(c->cx, io.inputs, io.n_inputs),
        .outputs = border_infos(c->cx, io.outputs, io.n_outputs),
    };
}

/* ---- the whole graph ---- */

static void count_nodes(struct nuc_model *m)
{
    struct nuc_program_report *r = &m->c->report;

    *r = (struct nuc_program_report){.n_partitions = m->partitions->count,
                                     .converter = nuc_converter_name(&m->c->options),
                                     .runs_on_simulator = true,
                                     .has_npu = nuc_target_find(m->c->cx, m->c->options.target)->npu_name != NULL};
    for (const struct nuc_node *n = m->graph->first; n != NULL; n = n->next) {
        r->n_nodes += nuc_is_call(n);
        r->n_delegated += nuc_is_call(n) && n->partition >= 0;
    }
}

/* The nodes of the same names in a copy of their graph. */
static struct nuc_node **same_nodes(struct nuc_graph *copy, struct nuc_node *const *nodes, uint32_t count)
{
    struct nuc_node **same = nuc_alloc_array(copy->cx, count, sizeof(struct nuc_node *));

    for (uint32_t i = 0; i < count; i++)
        same[i] = nuc_find_node(copy, nodes[i]->name);
    return same;
}

/*
 * A partitioned model of its own: lowering takes the partitions' nodes out of the graph, and the model it was given
 * stays what it was. Decisions are about the nodes before, so the copy has none.
 */
static struct nuc_model *copy_partitioned(const struct nuc_model *from)
{
    struct nuc_context *cx = from->c->cx;
    struct nuc_model *m = nuc_model_make(from->c, nuc_graph_copy(from->graph));
    struct nuc_partitions *p = nuc_alloc(cx, sizeof *p);

    p->count = from->partitions->count;
    p->items = nuc_copy(cx, from->partitions->items, p->count * sizeof *p->items);
    for (uint32_t i = 0; i < p->count; i++) {
        struct nuc_partition *item = &p->items[i];
        item->nodes = same_nodes(m->graph, item->nodes, item->n_nodes);
        item->inputs = same_nodes(m->graph, item->inputs, item->n_inputs);
        item->outputs = same_nodes(m->graph, item->outputs, item->n_outputs);
        item->constants = same_nodes(m->graph, item->constants, item->n_constants);
    }
    m->partitions = p;
    m->variant = from->variant;
    return m;
}

static void count_cpu_operators(struct nuc_model *m)
{
    struct nuc_program_report *r = &m->c->report;

    for (const struct nuc_node *n = m->graph->first; n != NULL; n = n->next) {
        bool border = nuc_is_quantize(n) || nuc_is_dequantize(n);
        if (!nuc_is_call(n) || nuc_op_kind(n->op) == NUC_KIND_GRAPH || n->op == NUC_OP_ALLOC || border)
            continue;
        if (nuc_is_float_operator(n))
            r->n_cpu_float++;
        else
            r->n_cpu_int8 += n->op != NUC_OP_NUCLEON_PERMUTE_VIEW;
    }
}

/* What is left: int8 kernels where the target has them. */
static void lower_for_cpu(struct nuc_model *m)
{
    const struct nuc_options *o = &m->c->options;
    const struct nuc_target *target = nuc_target_find(m->c->cx, o->target);
    struct nuc_cortexm_options options = {
        .cpu = target->cpu,
        .reference_compat = o->reference_compat,
        .executorch_ops_only = o->executorch_ops_only,
    };

    if (target->cpu == NULL)
        nuc_run_passes(m->graph, &nuc_lowered_passes, NUC_PASSES_DEFAULT, &(struct nuc_pass_hook){nuc_pass_done, m->c});
    if (o->io == NUC_IO_INT8)
        nuc_quantize_borders(m);
    if (target->cpu == NULL)
        return;
    nuc_cortexm_lower(m->graph, &options);
    count_cpu_operators(m);
}

struct nuc_model *nuc_stage_lower(struct nuc_model *partitioned)
{
    struct nuc_compiler *c = partitioned->c;
    double started = nuc_seconds();

    if (partitioned->partitions == NULL)
        nuc_fail(c->cx, NUC_BAD_USAGE, "%s: is not partitioned", partitioned->graph->file);
    struct nuc_model *m = copy_partitioned(partitioned);
    count_nodes(m);
    if (partitioned->from_litert)
        nuc_note_borders(m);
    m->lowered = nuc_alloc_array(c->cx, m->partitions->count, sizeof *m->lowered);
    for (uint32_t i = 0; i < m->partitions->count; i++) {
        lower_one(m, &m->partitions->items[i], &m->lowered[i]);
        c->report.n_transposes += m->lowered[i].info.n_transposes;
        c->report.moved_bytes += m->lowered[i].info.moved_bytes;
        c->report.delegate_data += m->lowered[i].info.payload_size;
    }
    struct nuc_node **calls = nuc_fuse_partitions(m->graph, m->partitions);
    for (uint32_t i = 0; i < m->partitions->count; i++) {
        calls[i]->delegate = m->lowered[i].delegate;
        nuc_name_boundary_orders(calls[i]);
    }
    nuc_refresh_after_delegates(m->graph);
    lower_for_cpu(m);
    nuc_stage_done(c, "lower", m->graph, started);
    return m;
}

size_t nuc_model_n_partitions(const struct nuc_model *lowered)
{
    return lowered->lowered == NULL ? 0 : lowered->partitions->count;
}

enum nuc_status nuc_model_partition(struct nuc_model *lowered, size_t index, struct nuc_partition_info *out)
{
    if (index >= nuc_model_n_partitions(lowered))
        return NUC_BAD_USAGE;
    *out = lowered->lowered[index].info;
    return NUC_OK;
}

struct nuc_span nuc_stage_program(struct nuc_model *lowered)
{
    struct nuc_compiler *c = lowered->c;
    struct nuc_program_memory_report memory = {.planned = 0};
    struct nuc_program_options options = {.delegate_data = c->options.delegate_data,
                                          .stack_traces = c->options.profile,
                                          .keep_order = c->options.reference_compat,
                                          .plan_delegate_scratch = c->options.plan_delegate_scratch,
                                          .report = &memory};
    double started = nuc_seconds();

    if (lowered->lowered == NULL)
        nuc_fail(c->cx, NUC_BAD_USAGE, "%s: is not lowered", lowered->graph->file);
    nuc_tell_borders(lowered, &options);
    nuc_check_dim_orders(lowered->graph, false);
    struct nuc_span bytes = nuc_write_program(lowered->graph, &options);
    nuc_report_memory(lowered, &memory);
    c->report.program = bytes.size;
    nuc_stage_done(c, "program", NULL, started);
    return bytes;
}
