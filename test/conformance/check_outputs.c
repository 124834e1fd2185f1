/* Checks on values: partitions on the simulator, and the evaluator on the float and the quantized graph. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf_run.h"
#include "nucleon/NeutronDriver.h"

#define MAX_IO 16

/* ---- a partition through the runtime's delegate ---- */

struct delegate_io {
    struct nuc_value value;
    int32_t sizes[NUC_MAX_RANK];
    struct nuc_tensor_info info;
    struct nuc_array_info array; /* samples of the input, or expected samples of the output */
    bool exact;                  /* output: LiteRT's kernels are the expectation; else one step from the QDQ graph */
};

struct delegate_run {
    struct delegate_io io[MAX_IO];
    size_t n_inputs, n_outputs, n_samples;
    void *payload, *state, *temporary;
    struct nuc_backend_sizes sizes;
};

static void describe(struct delegate_io *io, const struct nuc_tensor_info *info)
{
    io->info = *info;
    for (size_t i = 0; i < info->rank; i++)
        io->sizes[i] = (int32_t)info->sizes[i];
    io->value.kind = NUC_VALUE_TENSOR;
    io->value.u.tensor = (struct nuc_tensor){.data = conf_block(info->bytes),
                                             .sizes = io->sizes,
                                             .dim_order = io->info.dim_order,
                                             .bytes = info->bytes,
                                             .dtype = (uint8_t)info->dtype,
                                             .rank = (uint8_t)info->rank,
                                             .planned = true};
}

static void release_run(struct delegate_run *d)
{
    for (size_t i = 0; i < d->n_inputs + d->n_outputs; i++)
        free(d->io[i].value.u.tensor.data);
    free(d->payload);
    free(d->state);
    free(d->temporary);
}

static bool fits(const struct nuc_array_info *a, const struct nuc_tensor_info *t, size_t *n_samples)
{
    if (a->dtype != t->dtype || t->bytes == 0 || a->bytes % t->bytes != 0)
        return false;
    size_t n = a->bytes / t->bytes;
    if (n == 0)
        return false;
    if (*n_samples != 0 && *n_samples != n)
        return false;
    *n_samples = n;
    return true;
}

/* SUM, LOG and very wide SOFTMAX have no usable LiteRT kernel: there the QDQ graph within one step is expected. */
static bool litert_is_no_oracle(json_t *summary, const char *tag, const struct nuc_partition_info *p)
{
    json_t *ops = json_object_get(json_object_get(json_object_get(summary, "litert"), tag), "ops");

    if (json_object_get(ops, "SUM") != NULL || json_object_get(ops, "LOG") != NULL)
        return true;
    for (size_t i = 0; json_object_get(ops, "SOFTMAX") != NULL && i < p->n_outputs; i++) {
        for (size_t d = 0; d < p->outputs[i].rank; d++) {
            if (p->outputs[i].sizes[d] > 2040)
                return true;
        }
    }
    return false;
}

static bool bind_io(struct delegate_run *d, const struct nuc_partition_info *p, const struct nuc_dataset *data,
                    bool exact, struct conf_report *r)
{
    char name[96];

    for (size_t i = 0; i < p->n_inputs; i++) {
        describe(&d->io[i], &p->inputs[i]);
        d->n_inputs++;
        snprintf(name, sizeof name, "%s_in%zu", p->tag, i);
        if (!conf_array(data, name, &d->io[i].array) || !fits(&d->io[i].array, &p->inputs[i], &d->n_samples)) {
            conf_differ(r, "%s: input %zu does not fit the reference's array %s", p->tag, i, name);
            return false;
        }
    }
    for (size_t i = 0; i < p->n_outputs; i++) {
        struct delegate_io *io = &d->io[d->n_inputs + i];
        describe(io, &p->outputs[i]);
        d->n_outputs++;
        io->exact = exact;
        snprintf(name, sizeof name, exact ? "%s_litert_ref_out%zu" : "%s_out%zu", p->tag, i);
        if (!conf_array(data, name, &io->array) || !fits(&io->array, &p->outputs[i], &d->n_samples)) {
            conf_differ(r, "%s: output %zu does not fit the reference's array %s", p->tag, i, name);
            return false;
        }
    }
    return true;
}

static bool load(struct delegate_run *d, const struct nuc_partition_info *p, struct conf_report *r)
{
    struct nuc_detail detail = {.message = NULL};

    d->payload = conf_block(p->payload_size);
    memcpy(d->payload, p->payload, p->payload_size);
    enum nuc_status s = nuc_neutron_backend.sizes(d->payload, p->payload_size, &d->sizes, &detail);
    if (s == NUC_OK) {
        d->state = conf_block(d->sizes.state);
        d->temporary = conf_block(d->sizes.temporary);
        s = nuc_neutron_backend.load(d->state, d->payload, p->payload_size, &detail);
    }
    if (s != NUC_OK)
        conf_differ(r, "%s: %s", p->tag, detail.message != NULL ? detail.message : nuc_status_name(s));
    return s == NUC_OK;
}

static bool same_sample(const struct delegate_run *d, size_t sample, const char *tag, struct conf_report *r)
{
    for (size_t i = d->n_inputs; i < d->n_inputs + d->n_outputs; i++) {
        const struct delegate_io *io = &d->io[i];
        const signed char *expected = (const signed char *)io->array.data + sample * io->info.bytes;
        signed char *logical = conf_block(io->info.bytes);
        size_t wrong = 0;
        conf_rearrange(&io->value.u.tensor, io->value.u.tensor.data, (char *)logical, false);
        for (size_t e = 0; e < io->info.bytes; e++) {
            int difference = abs(logical[e] - expected[e]);
            wrong += difference > (io->exact ? 0 : 1);
            r->near_misses += difference == 1 && !io->exact;
        }
        free(logical);
        if (wrong != 0) {
            conf_differ(r, "%s: sample %zu: %zu of %zu bytes of output %zu differ", tag, sample, wrong, io->info.bytes,
                        i - d->n_inputs);
            return false;
        }
    }
    return true;
}

static bool run_partition(struct delegate_run *d, const char *tag, struct conf_report *r)
{
    struct nuc_value *args[MAX_IO];
    struct nuc_detail detail = {.message = NULL};

    for (size_t i = 0; i < d->n_inputs + d->n_outputs; i++)
        args[i] = &d->io[i].value;
    for (size_t k = 0; k < d->n_samples; k++) {
        struct nuc_kernel_context cx = {
            .temporary = d->temporary, .temporary_size = d->sizes.temporary, .detail = &detail};
        for (size_t i = 0; i < d->n_inputs; i++) {
            const struct delegate_io *io = &d->io[i];
            conf_rearrange(&io->value.u.tensor, (const char *)io->array.data + k * io->info.bytes,
                           io->value.u.tensor.data, true);
        }
        enum nuc_status s = nuc_neutron_backend.run(d->state, &cx, args, d->n_inputs + d->n_outputs);
        if (s != NUC_OK) {
            conf_differ(r, "%s: %s", tag, detail.message != NULL ? detail.message : nuc_status_name(s));
            return false;
        }
        if (!same_sample(d, k, tag, r))
            return false;
    }
    return true;
}

static enum conf_result check_partition(struct nuc_dataset *data, const struct nuc_partition_info *p, bool exact,
                                        struct conf_report *r)
{
    struct delegate_run d = {.n_inputs = 0};
    bool same = false;

    if (p->n_inputs + p->n_outputs > MAX_IO)
        return conf_differ(r, "%s: too many inputs and outputs for this check", p->tag);
    if (bind_io(&d, p, data, exact, r) && load(&d, p, r)) {
        same = run_partition(&d, p->tag, r);
        if (nuc_neutron_backend.unload != NULL)
            nuc_neutron_backend.unload(d.state);
    }
    release_run(&d);
    return same ? CONF_EQUAL : CONF_DIFFERENT;
}

/* Partitions the reference recorded: arrays named <tag>_in0. */
static size_t n_recorded(const struct nuc_dataset *d)
{
    size_t count = 0;

    for (size_t i = 0; i < nuc_dataset_n_arrays(d); i++) {
        struct nuc_array_info a;
        size_t length = nuc_dataset_array(d, i, &a) == NUC_OK ? strlen(a.name) : 0;
        count += length > 4 && strcmp(a.name + length - 4, "_in0") == 0;
    }
    return count;
}

enum conf_result conf_check_partitions(struct nuc_compiler *c, const struct conf_case *k, const char *data_path,
                                       struct conf_report *r)
{
    struct nuc_model *lowered = conf_lowered(c, k, "qdq.pt2", r);
    struct nuc_dataset *data;
    enum conf_result result = CONF_EQUAL;

    if (lowered == NULL)
        return CONF_DIFFERENT;
    if (nuc_dataset_open(c, data_path, &data) != NUC_OK)
        return conf_failed(r, c, "arrays");
    json_t *summary = conf_json(k, "summary.json");
    if (nuc_model_n_partitions(lowered) != n_recorded(data))
        result =
            conf_differ(r, "%zu partitions, the reference has %zu", nuc_model_n_partitions(lowered), n_recorded(data));
    for (size_t i = 0; i < nuc_model_n_partitions(lowered) && result == CONF_EQUAL; i++) {
        struct nuc_partition_info p;
        if (nuc_model_partition(lowered, i, &p) != NUC_OK)
            result = conf_failed(r, c, "partition");
        else
            result = check_partition(data, &p, !litert_is_no_oracle(summary, p.tag, &p), r);
    }
    json_decref(summary);
    return result;
}

bool conf_same_partitions(struct nuc_compiler *c, const struct conf_case *k, const char *data_path)
{
    struct conf_report ignored = {.filled = false};
    struct nuc_model *lowered = conf_lowered(c, k, "qdq.pt2", &ignored);
    struct nuc_dataset *data;

    return lowered != NULL && nuc_dataset_open(c, data_path, &data) == NUC_OK &&
           nuc_model_n_partitions(lowered) == n_recorded(data);
}

enum conf_result check_outputs(struct nuc_compiler *compiler, const struct conf_case *c, struct conf_report *r)
{
    char data[4096];

    conf_path(c, "delegate_io.npz", data, sizeof data);
    neutronInit();
    enum conf_result result = conf_check_partitions(compiler, c, data, r);
    neutronDeinit();
    return result;
}

/* ---- the evaluator ---- */

struct expectation {
    const char *model, *prefix; /* "fp32.pt2", "fp32_out" */
    bool steps;                 /* tolerance is one quantization step of the output, not 1e-4 relative */
};

/* The step of output `index`: the scale of the dequantize node that makes it, 0 when none does. */
static double output_step(struct nuc_model *m, size_t index)
{
    struct nuc_tensor_info output;
    double step = 0;

    if (nuc_model_output(m, index, &output) != NUC_OK)
        return 0;
    for (size_t i = 0; i < nuc_model_n_nodes(m); i++) {
        struct nuc_node_info n;
        if (nuc_model_node(m, i, &n) == NUC_OK && strcmp(n.name, output.name) == 0 && n.is_dequantize)
            step = (double)n.scales[0];
    }
    return step;
}

static double value_at(const struct nuc_tensor_info *t, const char *data, size_t i)
{
    float f;
    int32_t w;
    int64_t l;

    if (t->dtype == NUC_I32) {
        memcpy(&w, data + i * sizeof w, sizeof w);
        return (double)w;
    }
    if (t->dtype == NUC_F32) {
        memcpy(&f, data + i * sizeof f, sizeof f);
        return (double)f;
    }
    if (t->dtype == NUC_I64) {
        memcpy(&l, data + i * sizeof l, sizeof l);
        return (double)l;
    }
    return (double)((const signed char *)data)[i];
}

static double largest_magnitude(const struct nuc_tensor_info *t, const char *data)
{
    double largest = 0;

    for (size_t i = 0; i < t->bytes / nuc_dtype_size(t->dtype); i++)
        largest = fmax(largest, fabs(value_at(t, data, i)));
    return largest;
}

/* Relative errors are measured against the output's largest magnitude: single elements may cancel to nothing. */
static bool same_output(const struct nuc_tensor_info *t, const char *own, const char *expected, double step,
                        const char *what, struct conf_report *r)
{
    double tolerance = step != 0 ? 1.001 * step : 1e-4 * largest_magnitude(t, expected);

    for (size_t i = 0; i < t->bytes / nuc_dtype_size(t->dtype); i++) {
        double difference = fabs(value_at(t, own, i) - value_at(t, expected, i));
        if (!(difference <= tolerance)) {
            conf_differ(r, "%s: element %zu is %.9g, the reference has %.9g", what, i, value_at(t, own, i),
                        value_at(t, expected, i));
            return false;
        }
        r->near_misses += step != 0 && difference > 0.5 * step;
    }
    return true;
}

struct model_run {
    struct nuc_tensor_info outputs[MAX_IO];
    struct nuc_array_info expected[MAX_IO];
    void *blocks[MAX_IO];
    double steps[MAX_IO];
    size_t n_outputs, n_samples;
};

static bool run_samples(struct nuc_compiler *c, struct nuc_model *m, struct nuc_dataset *data, struct model_run *run,
                        const char *what, struct conf_report *r)
{
    const void *inputs[MAX_IO];

    for (size_t k = 0; k < run->n_samples; k++) {
        if (nuc_dataset_sample(data, k, inputs) != NUC_OK || nuc_model_run(m, inputs, run->blocks) != NUC_OK) {
            conf_failed(r, c, "run");
            return false;
        }
        for (size_t i = 0; i < run->n_outputs; i++) {
            const char *expected = (const char *)run->expected[i].data + k * run->outputs[i].bytes;
            if (!same_output(&run->outputs[i], run->blocks[i], expected, run->steps[i], what, r))
                return false;
        }
    }
    return true;
}

/* Binds golden inputs and outputs; false with the report filled when they do not fit. */
static bool bind_model(struct nuc_compiler *c, struct nuc_model *m, struct nuc_dataset *data,
                       const struct expectation *e, struct model_run *run, struct conf_report *r)
{
    struct nuc_tensor_info inputs[MAX_IO];
    size_t n_inputs = nuc_model_n_inputs(m), n_outputs = nuc_model_n_outputs(m), golden_samples = 0;

    if (n_inputs > MAX_IO || n_outputs > MAX_IO) {
        conf_differ(r, "too many inputs or outputs for this check");
        return false;
    }
    for (size_t i = 0; i < n_inputs; i++)
        nuc_model_input(m, i, &inputs[i]);
    if (nuc_dataset_bind(data, inputs, n_inputs, &run->n_samples) != NUC_OK) {
        conf_failed(r, c, "golden inputs");
        return false;
    }
    for (size_t i = 0; i < n_outputs; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s%zu", e->prefix, i);
        nuc_model_output(m, i, &run->outputs[i]);
        if (!conf_array(data, name, &run->expected[i]) || !fits(&run->expected[i], &run->outputs[i], &golden_samples) ||
            golden_samples != run->n_samples) {
            conf_differ(r, "output %zu does not fit the golden array %s", i, name);
            return false;
        }
        run->blocks[i] = conf_block(run->outputs[i].bytes);
        run->steps[i] = e->steps ? output_step(m, i) : 0;
        run->n_outputs++;
    }
    return true;
}

static enum conf_result check_model(struct nuc_compiler *c, const struct conf_case *k, const struct expectation *e,
                                    struct conf_report *r)
{
    char path[4096], golden[4096];
    struct nuc_model *m;
    struct nuc_dataset *data;
    struct model_run run = {.n_outputs = 0};
    bool same = false;

    conf_path(k, e->model, path, sizeof path);
    conf_path(k, "golden.npz", golden, sizeof golden);
    if (nuc_model_open(c, path, &m) != NUC_OK || nuc_dataset_open(c, golden, &data) != NUC_OK)
        conf_failed(r, c, "import");
    else
        same = bind_model(c, m, data, e, &run, r) && run_samples(c, m, data, &run, e->prefix, r);
    for (size_t i = 0; i < run.n_outputs; i++)
        free(run.blocks[i]);
    return same ? CONF_EQUAL : CONF_DIFFERENT;
}

enum conf_result check_float(struct nuc_compiler *c, const struct conf_case *k, struct conf_report *r)
{
    static const struct expectation e = {"fp32.pt2", "fp32_out", false};

    return check_model(c, k, &e, r);
}

enum conf_result check_qdq(struct nuc_compiler *c, const struct conf_case *k, struct conf_report *r)
{
    static const struct expectation e = {"qdq.pt2", "qdq_out", true};

    return check_model(c, k, &e, r);
}
