/* Partitions become delegate calls; the rest of the graph operators of the runtime. */
#include "driver/lowered.h"

#include "back/program/out_variant.h"
#include "back/program/program.h"
#include "cpu/cortexm.h"
#include "driver/converter.h"
#include "front/tflite/tflite.h"
#include "host/text.h"
#include "ir/labels.h"
#include "ir/op_list.h"
#include "litert/litert.h"
#include "npu/arrange/arrange.h"
#include "npu/container/payload.h"
#include "npu/layout/orders.h"
#include "npu/partition/partition.h"
#include "npu/target/target.h"

/* ---- compile specs: what the program says about how a delegate was made ---- */

/* Names as the reference encodes them: "::" becomes "_", joined by commas. */
static const char *not_delegated_text(struct nuc_context *cx, const struct nuc_options *o)
{
    struct nuc_text text = {.cx = cx};

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
    const struct nuc_options *o = &m->settings->o;
    bool sdk31 = m->settings->flavor->rules == NUC_RULES_SDK_3_1;
    const struct nuc_compile_spec rows[MAX_COMPILE_SPECS] = {
        {"output_format", "tflite"},
        {"compile_flags", o->extra_flags != NULL ? o->extra_flags : ""},
        {"target", m->settings->target->npu_name},
        {sdk31 ? NULL : "intermediates_dir", o->intermediates_dir != NULL ? o->intermediates_dir : "None"},
        {"operators_not_to_delegate", not_delegated_text(m->c->cx, o)},
        {"use_neutron_for_format_conversion", o->use_neutron_for_format_conversion ? "True" : "False"},
        {"fetch_constants_to_sram", o->fetch_constants_to_sram ? "True" : "False"},
        {"dump_kernel_selection_code", o->dump_kernel_selection != NULL ? "True" : "False"},
        {sdk31 ? "use_new_flow_neutron_c" : "use_profiling", !sdk31 && o->profile ? "True" : "False"},
    };
    uint32_t n = 0;

    for (uint32_t i = 0; i < MAX_COMPILE_SPECS; i++) {
        if (rows[i].key != NULL)
            specs[n++] = rows[i];
    }
    return n;
}

/* ---- one partition ---- */

/* Under the name of their order that the delegate call has: see nuc_name_boundary_orders(). */
static const struct nuc_tensor_info *boundary_infos(struct nuc_context *cx, const struct nuc_lower_boundary *boundaries,
                                                    uint32_t count)
{
    struct nuc_tensor_info *infos = nuc_alloc_array(cx, count, sizeof *infos);

    for (uint32_t i = 0; i < count; i++) {
        struct nuc_meta meta = nuc_named_contiguous(&boundaries[i].node->vals[0]);
        nuc_fill_tensor_info(boundaries[i].node->name, &meta, &infos[i]);
    }
    return infos;
}

/* A converter may leave out or reorder what the delegate call passes; `map` says which is which. */
static struct nuc_payload_io *payload_io(struct nuc_context *cx, const struct nuc_lower_boundary *boundaries,
                                         const uint8_t *map, uint32_t count)
{
    struct nuc_payload_io *io = nuc_alloc_array(cx, count, sizeof *io);

    for (uint32_t i = 0; i < count; i++)
        io[i] = (struct nuc_payload_io){.format = boundaries[map[i]].channels_last ? 1 : 0, .map = map[i]};
    return io;
}

static struct nuc_span span_out(struct nuc_context *cx, struct nuc_arena *outer, struct nuc_span bytes)
{
    return bytes.data == NULL ? bytes : (struct nuc_span){nuc_copy_out(cx, outer, bytes.data, bytes.size), bytes.size};
}

/* In the outer arena; so are the bytes of the image afterwards, which are the payload's. */
static struct nuc_span compose(struct nuc_context *cx, struct nuc_arena *outer, const struct nuc_partition *p,
                               const struct nuc_lower_io *io, const struct nuc_converted_partition *converted,
                               struct nuc_neutron_image *image)
{
    /* The payload counts them in a byte. */
    if (io->n_inputs > UINT8_MAX || io->n_outputs > UINT8_MAX)
        nuc_fail(cx, NUC_UNSUPPORTED,
                 "partition %s has %u inputs and %u outputs, a delegate may have 255: keep some of its operators on "
                 "the CPU with --operators-not-to-delegate",
                 p->tag, io->n_inputs, io->n_outputs);
    struct nuc_payload payload = {
        .n_args = (uint8_t)io->n_inputs,
        .n_inputs = (uint8_t)image->n_inputs,
        .n_outputs = (uint8_t)image->n_outputs,
        .inputs = payload_io(cx, io->inputs, converted->input_map, image->n_inputs),
        .outputs = payload_io(cx, io->outputs, converted->output_map, image->n_outputs),
        .version = converted->version,
        .microcode = image->microcode,
        .weights = image->weights,
        .kernels = image->kernels,
    };
    struct nuc_span bytes = span_out(cx, outer, nuc_payload_compose(cx, &payload));
    nuc_payload_refer(&payload, bytes);
    image->microcode = payload.microcode;
    image->weights = payload.weights;
    image->kernels = payload.kernels;
    return bytes;
}

/* What debug handles stand for, which are 1 + id of a node. */
struct handles {
    uint32_t count;                /* of ids */
    const struct nuc_node **nodes; /* by id */
    struct nuc_labels labels;
    bool as_reference;             /* LiteRT tensors and kernels are named after nodes: there are no labels */
    struct nuc_kernel_name *names; /* by handle: labels and the user's lines; NULL: not asked for */
};

static struct handles list_handles(const struct nuc_graph *g, bool with_names, bool as_reference)
{
    struct handles h = {.count = g->next_id, .as_reference = as_reference};

    if (!as_reference)
        h.labels = nuc_label_graph(g);
    h.nodes = nuc_alloc_array(g->cx, h.count, sizeof(struct nuc_node *));
    if (with_names)
        h.names = nuc_alloc_array(g->cx, (size_t)h.count + 1, sizeof *h.names);
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        h.nodes[n->id] = n;
        if (!with_names)
            continue;
        h.names[n->id + 1].node = as_reference ? n->name : h.labels.of[n->id];
        h.names[n->id + 1].value = as_reference ? NULL : h.labels.value[n->id];
        if (n->source->file != NULL)
            h.names[n->id + 1].source = nuc_format(g->cx, "%s:%d", n->source->file, n->source->line);
    }
    return h;
}

/* What the payload of a partition becomes in the program. */
static struct nuc_delegate *make_delegate(struct nuc_model *m, const struct nuc_partition *p,
                                          const struct nuc_neutron_image *image, struct nuc_span payload)
{
    struct nuc_context *cx = m->c->cx;
    struct nuc_compile_spec specs[MAX_COMPILE_SPECS];
    uint32_t n_specs = fill_compile_specs(m, specs);
    struct nuc_delegate *delegate = nuc_alloc(cx, sizeof *delegate);

    *delegate = (struct nuc_delegate){
        .backend_id = "NeutronBackend",
        .tag = p->tag,
        .n_compile_specs = n_specs,
        .compile_specs = nuc_copy(cx, specs, n_specs * sizeof specs[0]),
        .payload = payload,
        .input_places = image->input_places,
        .output_places = image->output_places,
        .scratch_size = image->scratch_size,
    };
    return delegate;
}

/* ---- what stays of a partition's conversion ---- */

/* A program on its way into the payload. */
struct converted {
    struct nuc_lower_io io;
    struct nuc_neutron_image *image;
    struct nuc_span payload, litert;
    struct nuc_moved moved;
    bool is_ours;
};

static struct nuc_lower_boundary *boundaries_out(struct nuc_context *cx, struct nuc_arena *outer,
                                                 const struct nuc_lower_boundary *list, uint32_t count)
{
    struct nuc_lower_boundary *kept = nuc_copy_out(cx, outer, list, count * sizeof *list);

    for (uint32_t i = 0; i < count; i++)
        kept[i].name = nuc_strdup_out(cx, outer, list[i].name);
    return kept;
}

static const uint32_t *places_out(struct nuc_context *cx, struct nuc_arena *outer, const uint32_t *places, uint32_t n)
{
    return places == NULL ? NULL : nuc_copy_out(cx, outer, places, n * sizeof *places);
}

struct nuc_lower_options nuc_lowering_options(const struct nuc_model *m, const struct nuc_labels *labels)
{
    const struct nuc_settings *s = m->settings;

    return (struct nuc_lower_options){
        .target = s->target,
        .flavor = s->flavor,
        .use_neutron_for_format_conversion = s->o.use_neutron_for_format_conversion,
        .arrange = !s->o.reference_compat,
        .reference_compat = s->o.reference_compat,
        .labels = labels,
        .unnamed = s->trial && nuc_is_builtin_converter(&s->o),
    };
}

/*
 * LiteRT model, microcode, payload. The model and what made it are many times what stays, and go before the next
 * partition.
 */
static struct converted convert(struct nuc_model *m, const struct handles *h, const struct nuc_partition *p,
                                bool for_caller)
{
    struct nuc_context *cx = m->c->cx;
    const struct nuc_settings *s = m->settings;
    const struct nuc_lower_options options = nuc_lowering_options(m, h->as_reference ? NULL : &h->labels);
    const struct nuc_convert_options convert = {
        .costs = s->target->npu,
        .fetch_constants = s->o.fetch_constants_to_sram,
        .payload_version_0 = s->o.payload_version_0,
        .revision_3 = s->o.reference_compat || s->flavor->rules == NUC_RULES_SDK_3_1,
        .pool_boundaries = s->o.plan_delegate_scratch,
        .profile = s->o.profile,
        .names = h->names,
        .tensors_have_labels = !h->as_reference,
        .n_names = h->names != NULL ? h->count + 1 : 0,
    };
    struct converted out = {.litert = {NULL, 0}};
    struct nuc_arena *outer = nuc_push_arena(cx);
    struct nuc_lt_model *model = nuc_lower_partition(m->graph, p, &options, &out.io);

    if (for_caller || s->o.intermediates_dir != NULL || !nuc_is_builtin_converter(&s->o))
        out.litert = nuc_lt_write(model);
    nuc_write_intermediate(m, p->tag, "pure", out.litert);
    struct nuc_converted_partition converted = nuc_convert_partition(m, p->tag, model, out.litert, &convert);
    out.litert = for_caller ? span_out(cx, outer, out.litert) : (struct nuc_span){NULL, 0};
    /* The image but for its bytes. */
    const struct nuc_neutron_image *image = converted.image;
    struct nuc_neutron_image *kept = nuc_copy_out(cx, outer, image, sizeof *image);
    struct nuc_neutron_call *calls = nuc_copy_out(cx, outer, image->calls, image->n_calls * sizeof *calls);
    struct nuc_planned *buffers = nuc_copy_out(cx, outer, image->buffers, image->n_buffers * sizeof *buffers);
    for (uint32_t i = 0; i < image->n_calls; i++)
        calls[i].handles = nuc_copy_out(cx, outer, calls[i].handles, calls[i].n_handles * sizeof *calls[i].handles);
    for (uint32_t i = 0; i < image->n_buffers; i++)
        buffers[i].name = nuc_strdup_out(cx, outer, buffers[i].name);
    kept->calls = calls;
    kept->buffers = buffers;
    kept->input_places = places_out(cx, outer, image->input_places, image->n_inputs);
    kept->output_places = places_out(cx, outer, image->output_places, image->n_outputs);
    out.image = kept;
    out.payload = compose(cx, outer, p, &out.io, &converted, out.image);
    out.io.inputs = boundaries_out(cx, outer, out.io.inputs, out.io.n_inputs);
    out.io.outputs = boundaries_out(cx, outer, out.io.outputs, out.io.n_outputs);
    out.moved = nuc_moved_by_transposes(model);
    out.is_ours = converted.is_ours;
    nuc_pop_arena(cx, outer);
    return out;
}

/* One partition. Returns whether the simulator runs it. */
static bool lower_partition(struct nuc_model *m, const struct handles *h, struct nuc_partition *p, bool for_caller,
                            struct nuc_lowered_partition *out)
{
    struct nuc_context *cx = m->c->cx;
    const struct converted c = convert(m, h, p, for_caller);

    out->image = c.image;
    out->delegate = make_delegate(m, p, c.image, c.payload);
    const struct nuc_lower_io *io = &c.io;
    struct nuc_tensor_info *infos = nuc_alloc_array(cx, (size_t)io->n_inputs + io->n_outputs, sizeof *infos);
    for (uint32_t i = 0; i < io->n_inputs + io->n_outputs; i++) {
        const struct nuc_lower_boundary *b = i < io->n_inputs ? &io->inputs[i] : &io->outputs[i - io->n_inputs];
        /* Channels-last on the NPU's side, contiguous outside, and more than one channel. */
        struct nuc_meta meta = nuc_named_contiguous(&b->node->vals[0]);
        if (b->channels_last && meta.rank >= 3 && meta.sizes[meta.rank - 3] != 1 && nuc_is_contiguous(&meta))
            nuc_fill_tensor_info(b->name, &b->node->vals[0], &infos[out->n_cpu_transposed++]);
    }
    out->cpu_transposed = infos;
    out->info = (struct nuc_partition_info){
        .tag = p->tag,
        .litert = c.litert.data,
        .litert_size = c.litert.size,
        .payload = c.payload.data,
        .payload_size = c.payload.size,
        .scratch_size = c.image->scratch_size,
        .n_transposes = c.moved.transposes,
        .moved_bytes = (size_t)c.moved.bytes,
        .n_inputs = c.io.n_inputs,
        .n_outputs = c.io.n_outputs,
        .inputs = boundary_infos(cx, c.io.inputs, c.io.n_inputs),
        .outputs = boundary_infos(cx, c.io.outputs, c.io.n_outputs),
    };
    return c.is_ours;
}

/* ---- the whole graph ---- */

/* The nodes that they are in a copy of their graph, `copies` by their ids. */
static struct nuc_node **same_nodes(struct nuc_context *cx, struct nuc_node *const *copies,
                                    struct nuc_node *const *nodes, uint32_t count)
{
    struct nuc_node **same = nuc_alloc_array(cx, count, sizeof(struct nuc_node *));

    for (uint32_t i = 0; i < count; i++)
        same[i] = copies[nodes[i]->id];
    return same;
}

/*
 * A partitioned model of its own: lowering takes the partitions' nodes out of the graph, and the model it was given
 * stays what it was. Decisions are about the nodes before, so the copy has none.
 */
static struct nuc_model *copy_partitioned(const struct nuc_model *from)
{
    struct nuc_context *cx = from->c->cx;
    struct nuc_model *m = nuc_model_after(from, nuc_graph_copy(from->graph));
    struct nuc_partitions *p = nuc_alloc(cx, sizeof *p);
    struct nuc_node **copies = nuc_alloc_array(cx, from->graph->next_id, sizeof(struct nuc_node *));
    struct nuc_node *copy = m->graph->first;

    for (const struct nuc_node *n = from->graph->first; n != NULL; n = n->next, copy = copy->next)
        copies[n->id] = copy;
    p->count = from->partitions->count;
    p->items = nuc_copy(cx, from->partitions->items, p->count * sizeof *p->items);
    for (uint32_t i = 0; i < p->count; i++) {
        struct nuc_partition *item = &p->items[i];
        item->nodes = same_nodes(cx, copies, item->nodes, item->n_nodes);
        item->inputs = same_nodes(cx, copies, item->inputs, item->n_inputs);
        item->outputs = same_nodes(cx, copies, item->outputs, item->n_outputs);
        item->constants = same_nodes(cx, copies, item->constants, item->n_constants);
    }
    m->partitions = p;
    return m;
}

/* The same of the graph itself, which no one needs as it was. */
static struct nuc_model *take_partitioned(const struct nuc_model *from)
{
    struct nuc_model *m = nuc_model_after(from, from->graph);
    struct nuc_partitions *p = nuc_alloc(from->c->cx, sizeof *p);

    *p = (struct nuc_partitions){.count = from->partitions->count, .items = from->partitions->items};
    m->partitions = p;
    return m;
}

/*
 * Each node knows the one of the partitioned graph that it is, by its id there, and hands it on to what it becomes.
 * What is asked of the partitioned graph later is noted.
 */
static void note_partitioned(struct nuc_lowered *l, const struct nuc_model *m, const struct nuc_graph *partitioned)
{
    enum nuc_numbers *numbers = nuc_alloc_array(m->c->cx, (size_t)partitioned->next_id + 1, sizeof *numbers);
    struct nuc_node *same = m->graph->first;

    l->n_ids = partitioned->next_id;
    l->numbers = numbers;
    for (const struct nuc_node *n = partitioned->first; n != NULL; n = n->next, same = same->next) {
        same->origin = n->id + 1;
        numbers[n->id] = nuc_is_counted(n) && n->partition < 0 ? nuc_numbers_of(n) : NUC_NUMBERS_NONE;
    }
}

/* `in_place`: of the partitioned graph itself, not of a copy. */
static void lower_partitions(struct nuc_model *m, bool for_caller, bool in_place)
{
    struct nuc_lowered *l = m->lowered;
    struct nuc_program_report *r = &l->report;
    const struct nuc_settings *s = m->settings;
    /* No one reads names of a trial. */
    const struct handles handles = list_handles(m->graph, s->o.profile && !s->trial, s->o.reference_compat || s->trial);

    uint32_t *origins = nuc_alloc_array(m->c->cx, (size_t)handles.count + 1, sizeof *origins);
    for (uint32_t i = 0; i < handles.count; i++)
        origins[i] = handles.nodes[i] == NULL ? 0 : in_place ? i + 1 : handles.nodes[i]->origin;
    l->n_handles = handles.count;
    l->origins = origins;
    for (uint32_t i = 0; i < l->n_partitions; i++) {
        struct nuc_lowered_partition *p = &l->partitions[i];
        r->runs_on_simulator &= lower_partition(m, &handles, &m->partitions->items[i], for_caller, p);
        r->n_transposes += p->info.n_transposes;
        r->moved_bytes += p->info.moved_bytes;
        r->delegate_data += p->info.payload_size;
        r->staging = r->staging > p->image->staging_size ? r->staging : p->image->staging_size;
        r->fetched += (size_t)p->image->fetches.bytes;
        r->fetch_cycles += p->image->fetches.cycles;
        r->fetch_cycles_by_dma += p->image->fetches.dma_cycles;
    }
}

void nuc_delegate_model(struct nuc_job *j)
{
    struct nuc_context *cx = j->c->cx;
    const struct nuc_model *partitioned = j->m;

    if (partitioned->partitions == NULL)
        nuc_fail(cx, NUC_BAD_USAGE, "%s: is not partitioned", partitioned->graph->file);
    struct nuc_lowered *l = nuc_alloc(cx, sizeof *l);
    l->n_partitions = partitioned->partitions->count;
    l->partitions = nuc_alloc_array(cx, l->n_partitions, sizeof *l->partitions);
    /* What is known of the program before its partitions are gone from the graph. */
    struct nuc_operator_counts counts = nuc_count_operators(partitioned->graph);
    struct nuc_program_report r = {.n_operators = counts.all,
                                   .n_operators_delegated = counts.delegated,
                                   .n_nodes = counts.nodes,
                                   .n_delegated = counts.nodes_on_npu,
                                   .n_partitions = l->n_partitions,
                                   .converter = nuc_converter_name(&partitioned->settings->o),
                                   .runs_on_simulator = true,
                                   .has_npu = partitioned->settings->target->npu_name != NULL};
    l->report = r;
    /* In a trial the copy is made when the memory of lowering is free again. */
    const bool uses_up = j->use_up && !nuc_is_given(j, partitioned->graph);
    const bool in_place = partitioned->settings->trial && !uses_up;
    const bool lowers = l->n_partitions > 0 && !j->graph_only;
    if (lowers && in_place) {
        struct nuc_model as = *partitioned;
        as.lowered = l;
        lower_partitions(&as, j->for_caller, true);
    }
    struct nuc_model *m = uses_up ? take_partitioned(partitioned) : copy_partitioned(partitioned);
    note_partitioned(l, m, partitioned->graph);
    if (uses_up)
        nuc_renumber(m->graph);
    if (m->from_litert)
        l->io = nuc_note_io(m);
    m->lowered = l;
    if (lowers && !in_place)
        lower_partitions(m, j->for_caller, false);
    struct nuc_node **calls = nuc_fuse_partitions(m->graph, m->partitions);
    for (uint32_t i = 0; i < l->n_partitions; i++) {
        calls[i]->delegate = l->partitions[i].delegate;
        nuc_name_boundary_orders(m->graph, calls[i]);
    }
    if (l->n_partitions > 0)
        nuc_refresh_after_delegates(m->graph);
    j->is_same = l->n_partitions == 0;
    j->m = m;
}

/* ---- what is left to the CPU ---- */

bool nuc_has_float_cpu(const struct nuc_job *j)
{
    return j->m->settings->target->cpu == NULL;
}

void nuc_run_cpu_passes(struct nuc_job *j)
{
    j->is_same = !nuc_run_stage_passes(j, &nuc_lowered_passes, NUC_PASSES_DEFAULT);
}

static const bool *find_float_operators(const struct nuc_model *lowered)
{
    uint32_t n_ids = lowered->lowered->n_ids;
    bool *in_float = nuc_alloc_array(lowered->c->cx, (size_t)n_ids + 1, sizeof *in_float);

    for (const struct nuc_node *n = lowered->graph->first; n != NULL; n = n->next) {
        if (nuc_is_float_operator(n) && n->origin > 0 && n->origin <= n_ids)
            in_float[n->origin - 1] = true;
    }
    return in_float;
}

static void check_executorch_ops(const struct nuc_graph *g)
{
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!nuc_out_in_executorch(g->cx, n))
            nuc_fail(g->cx, NUC_UNSUPPORTED,
                     "%s: %s has no kernel in ExecuTorch's runtime: leave --executorch-ops-only out, or %s", g->file,
                     nuc_node_text(g->cx, n),
                     nuc_op_is_in(n->op, NUC_OPS(NUC_OP_PREPARE_FRAME, NUC_OP_SIGNAL_FEATURES, NUC_OP_SIGNAL_MICRO))
                         ? "--front-end"
                         : "replace the operator in the model");
    }
}

struct nuc_program_options nuc_plan_options(const struct nuc_settings *s)
{
    return (struct nuc_program_options){.keep_order = s->o.reference_compat,
                                        .plan_delegate_scratch = s->o.plan_delegate_scratch,
                                        .in_place = nuc_allows_in_place(s)};
}

size_t nuc_plan_one_pool(const struct nuc_model *lowered)
{
    struct nuc_context *cx = lowered->c->cx;
    struct nuc_arena *outer = nuc_push_arena(cx);
    struct nuc_program_options options = nuc_plan_options(lowered->settings);

    options.plan_delegate_scratch = true;
    size_t size = nuc_plan_graph(nuc_graph_copy(lowered->graph), &options);

    nuc_pop_arena(cx, outer);
    return size;
}

/* The planned memory of a copy, and what a rewrite makes of it; SIZE_MAX: there is nothing to rewrite. */
static size_t arena_with(struct nuc_job *j, const struct nuc_cortexm_options *options,
                         bool (*rewrite)(struct nuc_graph *, const struct nuc_cortexm_options *))
{
    struct nuc_program_options plan = nuc_plan_options(j->m->settings);
    struct nuc_arena *outer = nuc_push_arena(j->c->cx);
    struct nuc_graph *copy = nuc_graph_copy(j->m->graph);

    plan.plan_effort = 1 << 16;
    const size_t size = rewrite == NULL || rewrite(copy, options) ? nuc_plan_graph(copy, &plan) : SIZE_MAX;

    nuc_pop_arena(j->c->cx, outer);
    return size;
}

/* Where it takes no more memory, kernels that ExecuTorch has, too, are as good. */
static void prefer(struct nuc_job *j, const struct nuc_cortexm_options *options,
                   bool (*rewrite)(struct nuc_graph *, const struct nuc_cortexm_options *))
{
    const size_t size = arena_with(j, options, rewrite);

    if (size != SIZE_MAX && size <= arena_with(j, options, NULL))
        rewrite(j->m->graph, options);
}

void nuc_lower_for_cpu(struct nuc_job *j)
{
    const struct nuc_settings *s = j->m->settings;
    const struct nuc_cortexm_options options = {
        .cpu = s->target->cpu,
        .reference_compat = s->o.reference_compat,
        .executorch_ops_only = s->o.executorch_ops_only,
        .as_litert = j->m->io != NULL && !j->m->io->eight_bit_weights,
    };

    if (s->target->cpu != NULL)
        nuc_cortexm_lower(j->m->graph, &options);
    /* Memory is planned for programs. */
    if (s->target->cpu != NULL && s->o.memory_budget == 0 && nuc_allows_in_place(s) && !j->graph_only) {
        prefer(j, &options, nuc_cortexm_part_sums);
        prefer(j, &options, nuc_cortexm_part_depthwise);
    }
    nuc_cortexm_lower_frames(j->m->graph);
    struct nuc_lowered *l = j->m->lowered;
    l->in_float = find_float_operators(j->m);
    uint32_t count[NUC_NUMBERS_COUNT] = {0};
    for (uint32_t id = 0; id < l->n_ids; id++)
        count[l->numbers[id] != NUC_NUMBERS_NONE && l->in_float[id] ? NUC_NUMBERS_FLOAT : l->numbers[id]]++;
    nuc_count_int8(count, (uint32_t)(l->report.n_operators - l->report.n_operators_delegated));
    l->report.n_cpu_float = count[NUC_NUMBERS_FLOAT];
    l->report.n_cpu_int8 = count[NUC_NUMBERS_INT8];
    l->report.n_cpu_int16 = count[NUC_NUMBERS_INT16];
    l->report.n_cpu_integers = count[NUC_NUMBERS_INTEGERS];
    if (s->o.executorch_ops_only)
        check_executorch_ops(j->m->graph);
}

/* ---- as compile.h shows it ---- */

size_t nuc_model_n_partitions(const struct nuc_model *lowered)
{
    return lowered->lowered == NULL ? 0 : lowered->lowered->n_partitions;
}

enum nuc_status nuc_model_partition(struct nuc_model *lowered, size_t index, struct nuc_partition_info *out)
{
    if (index >= nuc_model_n_partitions(lowered))
        return NUC_BAD_USAGE;
    *out = lowered->lowered->partitions[index].info;
    return NUC_OK;
}
