/* Models as the library shows them: inputs, outputs, nodes, text, evaluation. */
#include <string.h>

#include "driver/driver.h"
#include "eval/sequence.h"
#include "front/tflite/tflite.h"
#include "ir/op_list.h"
#include "ir/quant.h"
#include "npu/layout/layout.h"
#include "npu/partition/partition.h"
#include "npu/support/support.h"

struct nuc_model *nuc_model_make(struct nuc_compiler *c, struct nuc_graph *g)
{
    struct nuc_model *m = nuc_alloc(c->cx, sizeof *m);

    m->c = c;
    m->settings = nuc_settings(c);
    m->graph = g;
    return m;
}

struct nuc_model *nuc_model_after(const struct nuc_model *from, struct nuc_graph *g)
{
    struct nuc_model *m = nuc_alloc(from->c->cx, sizeof *m);

    memcpy(m, from, offsetof(struct nuc_model, refused));
    m->graph = g;
    return m;
}

struct nuc_model *nuc_model_centred(const struct nuc_model *from)
{
    static const struct nuc_norms norms = {.centred = true};
    struct nuc_settings *settings = nuc_copy(from->c->cx, from->settings, sizeof *settings);
    struct nuc_model *m = nuc_model_after(from, from->graph);

    settings->norms = &norms;
    m->settings = settings;
    return m;
}

void nuc_fill_tensor_info(const char *name, const struct nuc_meta *meta, struct nuc_tensor_info *out)
{
    *out = (struct nuc_tensor_info){.name = name, .dtype = meta->dtype, .rank = meta->rank};
    memcpy(out->sizes, meta->sizes, meta->rank * sizeof out->sizes[0]);
    memcpy(out->dim_order, meta->dim_order, meta->rank);
    out->bytes = nuc_bytes(meta);
}

struct nuc_context *nuc_model_context(const struct nuc_model *m)
{
    return m != NULL ? m->c->cx : NULL;
}

struct nuc_compiler *nuc_model_compiler(const struct nuc_model *m)
{
    return m->c;
}

const char *nuc_model_file(const struct nuc_model *m)
{
    return m->graph->file;
}

bool nuc_waits_for_stream(const struct nuc_model *m)
{
    return m->settings->o.stream != NULL && m->stream == NULL;
}

bool nuc_is_image_input(const struct nuc_model *m, size_t index)
{
    return m->io != NULL && index < m->io->n_inputs && m->io->image_inputs[index];
}

/* Outputs that nuc_model_expose() adds are those of the graph. */
bool nuc_is_image_output(const struct nuc_model *m, size_t index)
{
    return m->io != NULL && index < m->io->n_outputs && m->io->image_outputs[index];
}

bool nuc_takes_images(const struct nuc_graph *g)
{
    for (const struct nuc_node *n = g->first; n != NULL && nuc_is_placeholder(n); n = n->next) {
        if (nuc_is_user_input(n) && n->n_vals == 1 && n->vals[0].rank == 4)
            return true;
    }
    return false;
}

void nuc_channels_go_last(struct nuc_tensor_info *info)
{
    static const int dims[4] = {0, 2, 3, 1};
    const struct nuc_tensor_info graph = *info;

    for (size_t d = 0; d < 4; d++) {
        info->sizes[d] = graph.sizes[dims[d]];
        info->dim_order[d] = (uint8_t)d;
    }
}

bool nuc_model_is_quantized(const struct nuc_model *m)
{
    for (const struct nuc_node *n = m->graph->first; n != NULL; n = n->next) {
        /* Weights of a LiteRT model among float values are floats, so that one that reads int8 values has int8 ones. */
        const bool computes =
            nuc_op_family(n->op) == NUC_FAMILY_CORTEXM &&
            !nuc_op_is_in(n->op, NUC_OPS(NUC_OP_PREPARE_FRAME, NUC_OP_SIGNAL_FEATURES, NUC_OP_SIGNAL_MICRO));
        const bool says_so = nuc_is_dequantize(n) || computes || (nuc_is_input(n) && n->vals[0].dtype == NUC_I8);
        const bool in_training =
            nuc_op_is_in(n->op, NUC_OPS(NUC_OP_FAKE_QUANTIZE, NUC_OP_FAKE_QUANTIZE_CHANNELS, NUC_OP_FAKE_QUANTIZE_MASK,
                                        NUC_OP_FAKE_QUANTIZE_MASK_TENSOR, NUC_OP_FAKE_QUANTIZE_CHANNELS_MASK,
                                        NUC_OP_OBSERVED_FAKE_QUANTIZE));
        if (nuc_is_quantize(n) || in_training || (m->from_litert && says_so))
            return true;
    }
    return m->calibrated;
}

static const struct nuc_arg *results(const struct nuc_model *m)
{
    return &nuc_output_node(m->graph)->args[NUC_ARG(OUTPUT, values)];
}

size_t nuc_model_n_inputs(const struct nuc_model *m)
{
    size_t count = 0;

    for (const struct nuc_node *n = m->graph->first; n != NULL; n = n->next)
        count += nuc_is_user_input(n);
    return count;
}

size_t nuc_model_n_outputs(const struct nuc_model *m)
{
    return nuc_n_results(m->graph);
}

enum nuc_status nuc_model_input(const struct nuc_model *m, size_t index, struct nuc_tensor_info *out)
{
    const struct nuc_node *n = m->graph->first;

    for (size_t left = index; n != NULL && !(nuc_is_user_input(n) && left-- == 0);)
        n = n->next;
    if (n == NULL)
        return NUC_BAD_USAGE;
    nuc_fill_tensor_info(n->name, &n->vals[0], out);
    if (nuc_is_image_input(m, index))
        nuc_channels_go_last(out);
    return NUC_OK;
}

enum nuc_status nuc_model_output(const struct nuc_model *m, size_t index, struct nuc_tensor_info *out)
{
    if (index >= nuc_model_n_outputs(m) || results(m)->u.nodes[index] == NULL)
        return NUC_BAD_USAGE;
    const struct nuc_node *n = results(m)->u.nodes[index];
    nuc_fill_tensor_info(n->name, &n->vals[0], out);
    if (nuc_is_image_output(m, index))
        nuc_channels_go_last(out);
    return NUC_OK;
}

enum nuc_status nuc_model_text(struct nuc_model *m, bool with_data, const char **out)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_model_context(m), __func__, out != NULL);
        *out = nuc_graph_print(m->graph, with_data);
    }
    return nuc_leave(&call);
}

/* ---- nodes ---- */

size_t nuc_model_n_nodes(const struct nuc_model *m)
{
    return m->graph->n_nodes;
}

static void index_nodes(struct nuc_model *m)
{
    size_t i = 0;

    if (m->nodes != NULL)
        return;
    m->nodes = nuc_alloc_array(m->c->cx, m->graph->n_nodes, sizeof(struct nuc_node *));
    for (struct nuc_node *n = m->graph->first; n != NULL; n = n->next)
        m->nodes[i++] = n;
    m->labels = nuc_label_graph(m->graph);
}

static void fill_quantization(struct nuc_model *m, const struct nuc_node *n, struct nuc_node_info *out)
{
    struct nuc_context *cx = m->c->cx;
    struct nuc_quant q;

    if (!nuc_quant_of(n, &q))
        return;
    out->quant_min = q.quant_min;
    out->quant_max = q.quant_max;
    if (!q.per_channel) {
        float scale = (float)q.scale;
        out->n_scales = 1;
        out->scales = nuc_copy(cx, &scale, sizeof scale);
        out->zero_points = nuc_copy(cx, &q.zero_point, sizeof q.zero_point);
    } else if (nuc_is_static(q.scales)) {
        out->n_scales = (size_t)nuc_elements(&q.scales->vals[0]);
        bool known = q.zero_points != NULL && nuc_is_static(q.zero_points) && q.zero_points->vals[0].dtype == NUC_I64;
        out->scales = nuc_const_contiguous(m->graph, q.scales);
        out->zero_points =
            known ? nuc_const_contiguous(m->graph, q.zero_points) : nuc_alloc_array(cx, out->n_scales, sizeof(int64_t));
    }
}

static const char *reason_text(struct nuc_context *cx, const struct nuc_decision *d)
{
    if (d == NULL || d->delegated || d->rule == NULL)
        return NULL;
    bool actual = d->actual != NULL && *d->actual != '\0', limit = d->limit != NULL && *d->limit != '\0';
    return nuc_format(cx, "%s%s%s%s%s%s%s", d->rule, actual ? ": " : "", actual ? d->actual : "",
                      limit ? ", allowed " : "", limit ? d->limit : "", d->because != NULL ? "; decided by " : "",
                      d->because != NULL ? nuc_own_label(d->because) : "");
}

void nuc_fill_node_info(struct nuc_model *m, const struct nuc_node *n, struct nuc_node_info *out)
{
    *out = (struct nuc_node_info){
        .name = n->name,
        .label = m->nodes != NULL ? m->labels.of[n->id] : nuc_own_label(n),
        .target = nuc_node_op_name(n),
        .is_quantize = nuc_is_quantize(n),
        .is_dequantize = nuc_is_dequantize(n),
        .format = nuc_format_name(n->format),
        .source_file = n->source->file,
        .source_line = n->source->line,
    };
    if (n->n_vals != 0)
        nuc_fill_tensor_info(n->name, &n->vals[0], &out->value);
    uint32_t count = nuc_inputs(n, NULL, 0);
    struct nuc_node **inputs = nuc_alloc_array(m->c->cx, count, sizeof(struct nuc_node *));
    const char **names = nuc_alloc_array(m->c->cx, count, sizeof(char *));
    nuc_inputs(n, inputs, count);
    for (uint32_t i = 0; i < count; i++)
        names[i] = inputs[i]->name;
    out->inputs = names;
    out->n_inputs = count;
    fill_quantization(m, n, out);
    if (m->partitions != NULL && n->partition >= 0)
        out->partition = m->partitions->items[n->partition].tag;
    if (m->partitions != NULL && n->id < m->partitions->n_by_id)
        out->reason = reason_text(m->c->cx, m->partitions->by_id[n->id]);
}

enum nuc_status nuc_model_node(struct nuc_model *m, size_t index, struct nuc_node_info *out)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_model_context(m), __func__, m != NULL && index < m->graph->n_nodes && out != NULL);
        index_nodes(m);
        nuc_fill_node_info(m, m->nodes[index], out);
    }
    return nuc_leave(&call);
}

/* ---- evaluation ---- */

/* What a run of a LiteRT model needs: inputs of the graph, and room for each image in its other order. */
struct nuc_boundary {
    const void **inputs;
    void **image_inputs, **image_outputs; /* NULL where they lie outside as they do inside */
};

static struct nuc_boundary *make_boundary(const struct nuc_model *m)
{
    size_t n_inputs = nuc_model_n_inputs(m), n_outputs = nuc_model_n_outputs(m);
    struct nuc_boundary *b = nuc_alloc(m->c->cx, sizeof *b);
    struct nuc_tensor_info t;

    b->inputs = nuc_alloc_array(m->c->cx, n_inputs, sizeof(void *));
    b->image_inputs = nuc_alloc_array(m->c->cx, n_inputs, sizeof(void *));
    b->image_outputs = nuc_alloc_array(m->c->cx, n_outputs, sizeof(void *));
    for (size_t i = 0; i < n_inputs; i++) {
        if (nuc_is_image_input(m, i) && nuc_model_input(m, i, &t) == NUC_OK)
            b->image_inputs[i] = nuc_alloc(m->c->cx, t.bytes);
    }
    for (size_t i = 0; i < n_outputs; i++) {
        if (nuc_is_image_output(m, i) && nuc_model_output(m, i, &t) == NUC_OK)
            b->image_outputs[i] = nuc_alloc(m->c->cx, t.bytes);
    }
    return b;
}

/* `outputs` has no places for what states become. */
static void run_sequence(struct nuc_model *m, const void *const *inputs, void *const *outputs)
{
    nuc_eval_run(m->evaluator, nuc_sequence_inputs(m->sequence, inputs), NULL);
    for (size_t i = 0; i < nuc_model_n_outputs(m); i++) {
        if (outputs[i] != NULL)
            memcpy(outputs[i], nuc_eval_result_data(m->evaluator, i),
                   nuc_bytes(&nuc_eval_output(m->evaluator, i)->vals[0]));
    }
}

static void run_with_boundary(struct nuc_model *m, const void *const *given, void *const *results)
{
    struct nuc_boundary *b = m->boundary = m->boundary != NULL ? m->boundary : make_boundary(m);
    struct nuc_tensor_info t;

    for (size_t i = 0; i < nuc_model_n_inputs(m); i++) {
        b->inputs[i] = b->image_inputs[i] != NULL ? b->image_inputs[i] : given[i];
        if (b->image_inputs[i] != NULL && nuc_model_input(m, i, &t) == NUC_OK)
            nuc_put_channels_first(&t, given[i], b->image_inputs[i]);
    }
    run_sequence(m, b->inputs, results);
    for (size_t i = 0; i < nuc_model_n_outputs(m); i++) {
        void *image = b->image_outputs[i];
        if (image == NULL || results[i] == NULL || nuc_model_output(m, i, &t) != NUC_OK)
            continue;
        memcpy(image, results[i], t.bytes);
        nuc_put_channels_last(&t, image, results[i]);
    }
}

enum nuc_status nuc_model_run(struct nuc_model *m, const void *const *inputs, void *const *outputs)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_model_context(m), __func__, inputs != NULL && outputs != NULL);
        if (m->evaluator == NULL) {
            m->evaluator = nuc_eval_new_observed(m->graph, m->c->options.threads, NULL);
            m->sequence = nuc_sequence_new(m->graph);
        }
        if (m->io != NULL)
            run_with_boundary(m, inputs, outputs);
        else
            run_sequence(m, inputs, outputs);
        nuc_sequence_advance(m->sequence, m->evaluator);
    }
    return nuc_leave(&call);
}

size_t nuc_model_n_states(const struct nuc_model *m)
{
    return nuc_n_states(m->graph);
}

void nuc_model_reset(struct nuc_model *m)
{
    if (m != NULL && m->sequence != NULL)
        nuc_sequence_reset(m->sequence);
}

/* ---- inner values as outputs, so that float, quantized and compiled model can be compared node by node ---- */

/* The quantize node that reads the value, or NULL. */
static struct nuc_node *quantize_of(const struct nuc_node *node)
{
    for (uint32_t i = 0; i < node->n_users; i++) {
        if (node->users[i]->op == NUC_OP_QUANTIZE_PER_TENSOR)
            return node->users[i];
    }
    return NULL;
}

enum nuc_status nuc_model_probes(struct nuc_model *quantized, const char *const **names, size_t *count)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_model_context(quantized), __func__, names != NULL && count != NULL);
        const struct nuc_graph *g = quantized->graph;
        const char **found = nuc_alloc_array(g->cx, g->n_nodes, sizeof(char *));
        size_t n_found = 0;
        for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
            enum nuc_op_kind kind = nuc_op_kind(n->op);
            bool computes = kind == NUC_KIND_COMPUTE || kind == NUC_KIND_SHAPE;
            if (computes && !n->is_tuple && n->n_vals == 1 && quantize_of(n) != NULL)
                found[n_found++] = n->name;
        }
        *names = found;
        *count = n_found;
    }
    return nuc_leave(&call);
}

struct nuc_node *nuc_probe_quantized(struct nuc_graph *g, struct nuc_node *quantize)
{
    struct nuc_node *node = nuc_add_node(g, nuc_output_node(g), NUC_OP_DEQUANTIZE_PER_TENSOR, "probe");

    nuc_set_arg_node(node, g, NUC_SELF, quantize);
    for (uint32_t i = 1; i < quantize->n_args; i++)
        node->args[i] = quantize->args[i];
    nuc_infer_shape(g, node);
    return node;
}

static struct nuc_graph *expose(const struct nuc_graph *from, const char *const *names, size_t count)
{
    struct nuc_context *cx = from->cx;
    struct nuc_graph *g = nuc_graph_copy(from);
    struct nuc_node *output = nuc_output_node(g);
    const struct nuc_arg *given = &output->args[NUC_ARG(OUTPUT, values)];
    uint32_t n = nuc_n_results(g), n_states = given->count - n;
    struct nuc_node **values = nuc_alloc_array(cx, given->count + count, sizeof(struct nuc_node *));

    for (uint32_t i = 0; i < n; i++)
        values[i] = given->u.nodes[i];
    for (size_t i = 0; i < count; i++) {
        struct nuc_node *node = nuc_find_node(g, names[i]);
        if (node == NULL || node->n_vals != 1)
            nuc_fail(cx, NUC_BAD_USAGE, "%s: has no node '%s' with one value", g->file, names[i]);
        struct nuc_node *quantize = quantize_of(node);
        values[n + i] = quantize != NULL ? nuc_probe_quantized(g, quantize) : node;
    }
    for (uint32_t i = 0; i < n_states; i++)
        values[n + count + i] = given->u.nodes[n + i];
    nuc_set_arg_nodes(output, g, NUC_ARG(OUTPUT, values), values, n + (uint32_t)count + n_states);
    nuc_graph_verify(g, "expose");
    return g;
}

enum nuc_status nuc_model_expose(struct nuc_model *m, const char *const *names, size_t count, struct nuc_model **out)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_model_context(m), __func__, (names != NULL || count == 0) && out != NULL);
        *out = nuc_model_after(m, expose(m->graph, names, count));
    }
    return nuc_leave(&call);
}
