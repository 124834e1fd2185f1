/* Evaluation node by node: where along the network the error comes from. */
#include <string.h>

#include "data/dataset.h"
#include "tools/evaluate/scored_output.h"

/* Probes of one compiled program: a delegate has at most 255 outputs. */
#define PROBES_AT_ONCE 200

struct comparison {
    struct nuc_context *cx;
    struct nuc_runner *runner;
    struct nuc_dataset *data;
    struct nuc_model *floating; /* the reference after the passes of quantization */
    struct nuc_model *quantized;
    struct nuc_node_evaluation *result;
    struct nuc_node_score *scores;
    struct nuc_channel_sums *channels; /* of each score */
};

/* The three computations of one group of probes, and the buffers of their outputs. */
struct group {
    struct nuc_model *floating, *quantized;
    struct nuc_runner *program;
    size_t first, n_own, n; /* first probe, outputs of the model itself, probes */
    const void **inputs;
    void **float_out, **quantized_out, **program_out, **whole_out;
};

static void match(struct comparison *k)
{
    const char *const *names;
    size_t count;

    nuc_check(k->cx, nuc_model_probes(k->quantized, &names, &count));
    const struct nuc_counterpart *found = nuc_find_counterparts(k->quantized, k->floating, names, count);
    k->scores = nuc_alloc_array(k->cx, count, sizeof *k->scores);
    const char **unmatched = nuc_alloc_array(k->cx, count, sizeof(char *));
    for (size_t i = 0; i < count; i++) {
        if (found[i].float_name == NULL) {
            unmatched[k->result->n_unmatched++] = found[i].name;
            continue;
        }
        k->scores[k->result->n_nodes++] = (struct nuc_node_score){
            .name = found[i].name,
            .float_name = found[i].float_name,
            .label = found[i].label,
            .op = found[i].op,
            .module = found[i].module,
        };
    }
    k->result->nodes = k->scores;
    k->channels = nuc_alloc_array(k->cx, k->result->n_nodes, sizeof *k->channels);
    k->result->unmatched = unmatched;
}

/* ---- one group ---- */

static void **blocks(const struct comparison *k, const struct nuc_model *m, size_t count)
{
    void **made = nuc_alloc_array(k->cx, count, sizeof(void *));
    struct nuc_tensor_info t;

    for (size_t i = 0; i < count; i++) {
        nuc_check(k->cx, nuc_model_output(m, i, &t));
        made[i] = nuc_alloc(k->cx, t.bytes);
    }
    return made;
}

static void run_sample(const struct comparison *k, const struct group *g, size_t sample)
{
    nuc_check(k->cx, nuc_dataset_sample(k->data, sample, g->inputs));
    if (nuc_dataset_begins(k->data, sample)) {
        nuc_model_reset(g->floating);
        nuc_model_reset(g->quantized);
        nuc_check(k->cx, nuc_runner_reset(g->program));
        nuc_check(k->cx, nuc_runner_reset(k->runner));
    }
    nuc_check(k->cx, nuc_model_run(g->floating, g->inputs, g->float_out));
    nuc_check(k->cx, nuc_model_run(g->quantized, g->inputs, g->quantized_out));
    nuc_check(k->cx, nuc_runner_run(g->program, g->inputs, g->program_out));
    nuc_check(k->cx, nuc_runner_run(k->runner, g->inputs, g->whole_out));
    /* The program as it is against what comes of compiling the quantized model with its inner values as outputs. */
    for (size_t i = 0; g->first == 0 && i < g->n_own; i++) {
        const char *a = g->program_out[i], *b = g->whole_out[i];
        struct nuc_tensor_info t;
        nuc_check(k->cx, nuc_model_output(g->quantized, i, &t));
        size_t size = nuc_dtype_size(t.dtype);
        for (size_t e = 0; e < t.bytes / size; e++) {
            k->result->n_elements++;
            k->result->n_unequal += memcmp(a + e * size, b + e * size, size) != 0;
        }
    }
    for (size_t i = 0; i < g->n; i++) {
        struct nuc_node_score *score = &k->scores[g->first + i];
        struct nuc_tensor_info t;
        size_t at = g->n_own + i;
        nuc_check(k->cx, nuc_model_output(g->quantized, at, &t));
        size_t count = t.bytes / sizeof(float);
        const void *f = g->float_out[at], *q = g->quantized_out[at], *p = g->program_out[at];
        nuc_deviation_add(k->cx, &score->float_quantized, NUC_F32, f, NUC_F32, q, count);
        nuc_deviation_add(k->cx, &score->quantized_program, NUC_F32, q, NUC_F32, p, count);
        nuc_deviation_add(k->cx, &score->float_program, NUC_F32, f, NUC_F32, p, count);
        nuc_channel_sums_add(k->cx, &k->channels[g->first + i], f, q, p, count);
    }
}

static void run_group(struct comparison *k, size_t first)
{
    struct nuc_context *cx = k->cx;
    struct group g = {.first = first};
    const char *float_names[PROBES_AT_ONCE], *names[PROBES_AT_ONCE];
    struct nuc_model *partitioned, *lowered;
    const uint8_t *bytes;
    size_t size;

    for (; g.n < PROBES_AT_ONCE && g.first + g.n < k->result->n_nodes; g.n++) {
        float_names[g.n] = k->scores[g.first + g.n].float_name;
        names[g.n] = k->scores[g.first + g.n].name;
    }
    g.n_own = nuc_model_n_outputs(k->quantized);
    nuc_check(cx, nuc_model_expose(k->floating, float_names, g.n, &g.floating));
    nuc_check(cx, nuc_model_expose(k->quantized, names, g.n, &g.quantized));
    nuc_check(cx, nuc_partition(g.quantized, &partitioned));
    nuc_check(cx, nuc_lower(partitioned, &lowered));
    nuc_check(cx, nuc_program(lowered, &bytes, &size));
    nuc_check(cx, nuc_runner_open_bytes(nuc_runner_compiler(k->runner), nuc_model_file(k->quantized), bytes, size, NULL,
                                        &g.program));
    g.inputs = nuc_alloc_array(cx, nuc_model_n_inputs(k->quantized), sizeof *g.inputs);
    g.float_out = blocks(k, g.floating, g.n_own + g.n);
    g.quantized_out = blocks(k, g.quantized, g.n_own + g.n);
    g.program_out = blocks(k, g.quantized, g.n_own + g.n);
    g.whole_out = blocks(k, g.quantized, g.n_own);
    for (size_t i = 0; i < g.n; i++) {
        struct nuc_tensor_info t;
        nuc_check(cx, nuc_model_output(g.quantized, g.n_own + i, &t));
        nuc_channel_sums_init(cx, &k->channels[g.first + i], &t);
    }
    nuc_progress(cx, "evaluate nodes", 0, k->data->n_samples);
    for (size_t i = 0; i < k->data->n_samples; i++) {
        run_sample(k, &g, i);
        nuc_progress(cx, "evaluate nodes", i + 1, k->data->n_samples);
    }
    nuc_runner_close(g.program);
}

/* ---- the whole ---- */

void nuc_finish_node(struct nuc_node_score *score)
{
    for (size_t k = 0; k < NUC_NODE_DEVIATIONS; k++)
        nuc_deviation_finish(nuc_node_deviation(score, k));
    nuc_channel_sums_finish(score->channels, score);
}

static void check_types(const struct comparison *k)
{
    const size_t n_inputs = nuc_model_n_inputs(k->quantized), n_outputs = nuc_model_n_outputs(k->quantized);
    struct nuc_tensor_info t, p;

    for (size_t i = 0; i < n_inputs + n_outputs; i++) {
        const bool input = i < n_inputs;
        const size_t at = input ? i : i - n_inputs;
        /* The program may have fewer. */
        if ((input ? nuc_model_input : nuc_model_output)(k->quantized, at, &t) != NUC_OK ||
            (input ? nuc_runner_input : nuc_runner_output)(k->runner, at, &p) != NUC_OK || t.dtype != p.dtype ||
            t.bytes != p.bytes)
            nuc_fail(k->cx, NUC_BAD_USAGE, "%s: %s %zu has another shape or type than the program's",
                     nuc_model_file(k->quantized), input ? "input" : "output", at);
    }
}

enum nuc_status nuc_evaluate_nodes(struct nuc_runner *program, struct nuc_dataset *data, struct nuc_model *reference,
                                   struct nuc_model *quantized, const struct nuc_node_evaluation **out)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(nuc_runner_compiler(program)), __func__,
                  data != NULL && reference != NULL && quantized != NULL && out != NULL);
        struct nuc_node_evaluation *result = nuc_alloc(data->cx, sizeof *result);
        struct comparison k = {
            .cx = data->cx,
            .runner = program,
            .data = data,
            .quantized = quantized,
            .result = result,
        };
        if (!nuc_model_is_quantized(quantized))
            nuc_fail(k.cx, NUC_BAD_USAGE, "%s: is a float model; --quantized takes what 'nucleon quantize' writes",
                     nuc_model_file(quantized));
        nuc_model_present_as(quantized, reference);
        check_types(&k);
        nuc_check(k.cx, nuc_prepare(nuc_model_like(quantized, reference), &k.floating));
        result->origin = nuc_model_print(quantized);
        match(&k);
        for (size_t first = 0; first < result->n_nodes; first += PROBES_AT_ONCE)
            run_group(&k, first);
        for (size_t i = 0; i < result->n_nodes; i++) {
            k.scores[i].channels = &k.channels[i];
            nuc_finish_node(&k.scores[i]);
        }
        *out = result;
    }
    return nuc_leave(&call);
}
