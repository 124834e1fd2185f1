/* Models as the library shows them: inputs, outputs, nodes, text, evaluation. */
#include <string.h>

#include "compiler/driver/driver.h"
#include "compiler/export/pt2_write.h"
#include "compiler/layout/layout.h"
#include "host/file.h"

struct nuc_model *nuc_model_make(struct nuc_compiler *c, struct nuc_graph *g)
{
    struct nuc_model *m = nuc_alloc(c->cx, sizeof *m);

    m->c = c;
    m->graph = g;
    return m;
}

void nuc_fill_tensor_info(const char *name, const struct nuc_meta *meta, struct nuc_tensor_info *out)
{
    *out = (struct nuc_tensor_info){.name = name, .dtype = meta->dtype, .rank = meta->rank};
    memcpy(out->sizes, meta->sizes, meta->rank * sizeof out->sizes[0]);
    memcpy(out->dim_order, meta->dim_order, meta->rank);
    out->bytes = nuc_bytes(meta);
}

struct open_call {
    struct nuc_compiler *c;
    const char *path;
    struct nuc_model *out;
};

static void open_model(struct nuc_context *cx, void *arg)
{
    struct open_call *call = arg;

    (void)cx;
    call->out = nuc_stage_import(call->c, call->path);
}

enum nuc_status nuc_model_open(struct nuc_compiler *c, const char *path, struct nuc_model **out)
{
    struct open_call call = {c, path, NULL};
    enum nuc_status s = nuc_enter(c, open_model, &call);

    if (s == NUC_OK)
        *out = call.out;
    return s;
}

bool nuc_model_is_quantized(const struct nuc_model *m)
{
    for (const struct nuc_node *n = m->graph->first; n != NULL; n = n->next) {
        if (nuc_is_quantize(n))
            return true;
    }
    return false;
}

static const struct nuc_node *user_input(const struct nuc_model *m, size_t index)
{
    for (const struct nuc_node *n = m->graph->first; n != NULL; n = n->next) {
        if (nuc_is_placeholder(n) && n->input_kind == NUC_USER_INPUT && index-- == 0)
            return n;
    }
    return NULL;
}

static const struct nuc_arg *results(const struct nuc_model *m)
{
    return &nuc_output_node(m->graph)->args[0];
}

size_t nuc_model_n_inputs(const struct nuc_model *m)
{
    size_t count = 0;

    for (const struct nuc_node *n = m->graph->first; n != NULL; n = n->next)
        count += nuc_is_placeholder(n) && n->input_kind == NUC_USER_INPUT;
    return count;
}

size_t nuc_model_n_outputs(const struct nuc_model *m)
{
    return results(m)->count;
}

enum nuc_status nuc_model_input(const struct nuc_model *m, size_t index, struct nuc_tensor_info *out)
{
    const struct nuc_node *n = user_input(m, index);

    if (n == NULL)
        return NUC_BAD_USAGE;
    nuc_fill_tensor_info(n->name, &n->vals[0], out);
    return NUC_OK;
}

enum nuc_status nuc_model_output(const struct nuc_model *m, size_t index, struct nuc_tensor_info *out)
{
    if (index >= results(m)->count || results(m)->u.nodes[index] == NULL)
        return NUC_BAD_USAGE;
    const struct nuc_node *n = results(m)->u.nodes[index];
    nuc_fill_tensor_info(n->name, &n->vals[0], out);
    return NUC_OK;
}

struct text_call {
    struct nuc_model *m;
    bool with_data;
    const char *out;
};

static void print_model(struct nuc_context *cx, void *arg)
{
    struct text_call *call = arg;

    (void)cx;
    call->out = nuc_graph_print(call->m->graph, call->with_data);
}

enum nuc_status nuc_model_text(struct nuc_model *m, bool with_data, const char **out)
{
    struct text_call call = {m, with_data, NULL};
    enum nuc_status s = nuc_enter(m->c, print_model, &call);

    if (s == NUC_OK)
        *out = call.out;
    return s;
}

struct write_call {
    struct nuc_model *m;
    const char *path;
};

static void write_model(struct nuc_context *cx, void *arg)
{
    struct write_call *call = arg;

    nuc_write_file(cx, call->path, nuc_write_pt2(call->m->graph));
}

enum nuc_status nuc_model_write(struct nuc_model *m, const char *path)
{
    struct write_call call = {m, path};

    return nuc_enter(m->c, write_model, &call);
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
}

static void fill_inputs(struct nuc_model *m, const struct nuc_node *n, struct nuc_node_info *out)
{
    uint32_t count = nuc_inputs(n, NULL, 0);
    struct nuc_node **inputs = nuc_alloc_array(m->c->cx, count, sizeof(struct nuc_node *));
    const char **names = nuc_alloc_array(m->c->cx, count, sizeof(char *));

    nuc_inputs(n, inputs, count);
    for (uint32_t i = 0; i < count; i++)
        names[i] = inputs[i]->name;
    out->inputs = names;
    out->n_inputs = count;
}

/* Arguments 1 to 4 or 5 of quantize and dequantize operators: scale, zero point, [axis,] quant_min, quant_max. */
static void fill_quantization(struct nuc_model *m, const struct nuc_node *n, struct nuc_node_info *out)
{
    struct nuc_context *cx = m->c->cx;
    const struct nuc_node *scales = nuc_arg_node(n, 1), *zero_points = nuc_arg_node(n, 2);
    uint32_t limits = scales == NULL ? 3 : 4;

    if (scales == NULL) {
        float scale = (float)n->args[1].u.f;
        out->n_scales = 1;
        out->scales = nuc_copy(cx, &scale, sizeof scale);
        out->zero_points = nuc_copy(cx, &n->args[2].u.i, sizeof(int64_t));
    } else if (nuc_is_static(scales)) {
        out->n_scales = (size_t)nuc_elements(&scales->vals[0]);
        int64_t *zeros = nuc_alloc_array(cx, out->n_scales, sizeof *zeros);
        out->scales = nuc_const_contiguous(m->graph, scales);
        bool known = zero_points != NULL && nuc_is_static(zero_points) && zero_points->vals[0].dtype == NUC_I64;
        out->zero_points = known ? nuc_const_contiguous(m->graph, zero_points) : zeros;
    }
    out->quant_min = n->args[limits].u.i;
    out->quant_max = n->args[limits + 1].u.i;
}

static const char *reason_text(struct nuc_context *cx, const struct nuc_decision *d)
{
    if (d == NULL || d->delegated || d->rule == NULL)
        return NULL;
    bool actual = d->actual != NULL && *d->actual != '\0', limit = d->limit != NULL && *d->limit != '\0';
    return nuc_format(cx, "%s%s%s%s%s%s%s", d->rule, actual ? ": " : "", actual ? d->actual : "",
                      limit ? ", allowed " : "", limit ? d->limit : "", d->because != NULL ? "; decided by " : "",
                      d->because != NULL ? d->because->name : "");
}

struct node_call {
    struct nuc_model *m;
    size_t index;
    struct nuc_node_info *out;
};

void nuc_fill_node_info(struct nuc_model *m, const struct nuc_node *n, struct nuc_node_info *out)
{
    *out = (struct nuc_node_info){
        .name = n->name,
        .target = nuc_node_op_name(n),
        .is_quantize = nuc_is_quantize(n),
        .is_dequantize = nuc_is_dequantize(n),
        .format = nuc_format_name(n->format),
        .source_file = n->source.file,
        .source_line = n->source.line,
    };
    if (n->n_vals != 0)
        nuc_fill_tensor_info(n->name, &n->vals[0], &out->value);
    fill_inputs(m, n, out);
    if (out->is_quantize || out->is_dequantize)
        fill_quantization(m, n, out);
    if (m->partitions != NULL && n->partition >= 0)
        out->partition = m->partitions->items[n->partition].tag;
    if (m->partitions != NULL && n->id < m->partitions->n_by_id)
        out->reason = reason_text(m->c->cx, m->partitions->by_id[n->id]);
}

static void fill_node(struct nuc_context *cx, void *arg)
{
    struct node_call *call = arg;
    struct nuc_model *m = call->m;

    index_nodes(m);
    if (call->index >= m->graph->n_nodes)
        nuc_fail(cx, NUC_BAD_USAGE, "%s: the graph has no node %zu", m->graph->file, call->index);
    nuc_fill_node_info(m, m->nodes[call->index], call->out);
}

enum nuc_status nuc_model_node(struct nuc_model *m, size_t index, struct nuc_node_info *out)
{
    struct node_call call = {m, index, out};

    return nuc_enter(m->c, fill_node, &call);
}

bool nuc_model_has_float_node(const struct nuc_model *m, const char *name)
{
    const struct nuc_node *n = nuc_find_node(m->graph, name);

    return n != NULL && n->n_vals == 1 && n->vals[0].dtype == NUC_F32;
}

/* ---- evaluation ---- */

struct run_call {
    struct nuc_model *m;
    const void *const *inputs;
    void *const *outputs;
};

static void run_model(struct nuc_context *cx, void *arg)
{
    struct run_call *call = arg;
    struct nuc_model *m = call->m;

    (void)cx;
    if (m->evaluator == NULL)
        m->evaluator = nuc_eval_new(m->graph, m->c->options.threads);
    nuc_eval_run(m->evaluator, call->inputs, call->outputs);
}

enum nuc_status nuc_model_run(struct nuc_model *m, const void *const *inputs, void *const *outputs)
{
    struct run_call call = {m, inputs, outputs};

    return nuc_enter(m->c, run_model, &call);
}
