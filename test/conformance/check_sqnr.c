/*
 * How much quantization costs: signal-to-noise ratio of the quantized graph's outputs against the float outputs of the
 * golden data, in the default mode, next to two figures of the reference: of its quantized module, which counts, and of
 * its Edge graph, where passes have moved quantization between operators. A network that falls below counts as
 * different.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "conf_run.h"

#define TOLERANCE_DB 0.05
#define MAX_IO 16

/* What a lossless output counts as in means. */
#define LOSSLESS_DB 120.0

struct noise {
    double signal, error;
};

static double decibels(struct noise n)
{
    double db = n.error > 0 ? 10 * log10(n.signal / n.error) : LOSSLESS_DB;

    return db < LOSSLESS_DB ? db : LOSSLESS_DB;
}

static void add(struct noise *n, const float *expected, const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double difference = (double)expected[i] - (double)x[i];
        n->signal += (double)expected[i] * (double)expected[i];
        n->error += difference * difference;
    }
}

/* Output 0 of every sample, which is what the reference's figure is about. */
static bool measure(struct nuc_model *m, const struct nuc_dataset *golden, size_t n_samples, struct noise *noise)
{
    struct nuc_array_info expected;
    struct nuc_tensor_info out;
    const void *inputs[MAX_IO];
    void *outputs[MAX_IO] = {NULL};

    if (nuc_model_output(m, 0, &out) != NUC_OK || out.dtype != NUC_F32 || !conf_array(golden, "fp32_out0", &expected) ||
        expected.bytes != out.bytes * n_samples)
        return false;
    outputs[0] = malloc(out.bytes);
    bool ok = outputs[0] != NULL;
    for (size_t i = 0; i < n_samples && ok; i++) {
        ok = nuc_dataset_sample(golden, i, inputs) == NUC_OK && nuc_model_run(m, inputs, outputs) == NUC_OK;
        if (ok)
            add(noise, (const float *)expected.data + i * (out.bytes / sizeof(float)), outputs[0],
                out.bytes / sizeof(float));
    }
    free(outputs[0]);
    return ok;
}

/* What the reference's Edge graph computes. */
static double edge_sqnr(const struct nuc_dataset *golden)
{
    struct nuc_array_info expected, edge;
    struct noise noise = {0, 0};

    if (!conf_array(golden, "fp32_out0", &expected) || !conf_array(golden, "edge_out0", &edge) ||
        expected.bytes != edge.bytes || edge.dtype != NUC_F32)
        return (double)NAN;
    add(&noise, expected.data, edge.data, edge.bytes / sizeof(float));
    return decibels(noise);
}

static enum conf_result sqnr_of(struct nuc_compiler *c, const struct conf_case *k, double reference,
                                struct conf_report *r)
{
    char path[4096];
    struct nuc_model *model, *quantized;
    struct nuc_dataset *calibration, *golden;
    struct nuc_tensor_info inputs[MAX_IO];
    struct noise noise = {0, 0};
    size_t n_samples;

    conf_path(k, "fp32.pt2", path, sizeof path);
    if (nuc_model_open(c, path, &model) != NUC_OK)
        return conf_failed(r, c, "import");
    size_t n_inputs = nuc_model_n_inputs(model);
    if (n_inputs > MAX_IO || nuc_model_n_outputs(model) > MAX_IO)
        return conf_differ(r, "too many inputs or outputs for this check");
    for (size_t i = 0; i < n_inputs; i++)
        nuc_model_input(model, i, &inputs[i]);
    conf_path(k, "calib.npz", path, sizeof path);
    if (nuc_dataset_open(c, path, &calibration) != NUC_OK || nuc_quantize(model, calibration, &quantized) != NUC_OK)
        return conf_failed(r, c, "quantize");
    conf_path(k, "golden.npz", path, sizeof path);
    if (nuc_dataset_open(c, path, &golden) != NUC_OK ||
        nuc_dataset_bind(golden, inputs, n_inputs, &n_samples) != NUC_OK)
        return conf_failed(r, c, "golden inputs");
    if (!measure(quantized, golden, n_samples, &noise))
        return conf_differ(r, "the outputs cannot be computed");
    r->has_sqnr = true;
    r->sqnr = decibels(noise);
    r->reference_sqnr = reference;
    r->edge_sqnr = edge_sqnr(golden);
    bool is_network = strncmp(k->label, "models/", 7) == 0;
    if (is_network && r->sqnr < reference - TOLERANCE_DB)
        return conf_differ(r, "%.2f dB, the reference has %.2f dB", r->sqnr, reference);
    return CONF_EQUAL;
}

enum conf_result check_sqnr(struct nuc_compiler *c, const struct conf_case *k, struct conf_report *r)
{
    json_t *summary = conf_json(k, "summary.json");
    json_t *all = json_object_get(json_object_get(summary, "fp32_vs_qdq"), "sqnr_db");
    json_t *first = json_object_get(all, "out0");
    double reference = json_is_number(first) ? json_number_value(first) : LOSSLESS_DB;
    enum conf_result result =
        first == NULL ? CONF_ABSENT : sqnr_of(c, k, reference < LOSSLESS_DB ? reference : LOSSLESS_DB, r);

    json_decref(summary);
    return result;
}
