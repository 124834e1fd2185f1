/* Programs of the reference that run on the CPU alone, on our runtime: its own bytes, kernels of ours. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"
#include "host/file.h"
#include "nucleon/runtime.h"

#define TOLERANCE 1e-5 /* relative, for float outputs */

struct run {
    struct nuc_span file;
    struct nuc_program program;
    struct nuc_program_memory memory;
    struct nuc_detail detail;
    void *blocks[64];
    size_t n_blocks;
};

static void *take_block(struct run *r, size_t size)
{
    void *block = aligned_alloc(16, (size + 16) & ~(size_t)15);

    if (block == NULL || r->n_blocks == sizeof r->blocks / sizeof r->blocks[0])
        abort();
    memset(block, 0, (size + 16) & ~(size_t)15);
    r->blocks[r->n_blocks++] = block;
    return block;
}

static void release(struct run *r)
{
    while (r->n_blocks > 0)
        free(r->blocks[--r->n_blocks]);
}

static enum conf_result refused(const struct run *r, struct conf_report *report, const char *what)
{
    return conf_differ(report, "%s: %s%s%s", what, r->detail.message != NULL ? r->detail.message : "fails",
                       r->detail.where != NULL ? ", at " : "", r->detail.where != NULL ? r->detail.where : "");
}

static bool load(struct run *r)
{
    struct nuc_program_sizes sizes;
    uint8_t *image = take_block(r, r->file.size);

    memcpy(image, r->file.data, r->file.size);
    if (nuc_program_sizes(image, r->file.size, &nuc_default_backends, &sizes, &r->detail) != NUC_OK)
        return false;
    r->memory.state = take_block(r, r->memory.state_size = sizes.state);
    r->memory.temporary = take_block(r, r->memory.temporary_size = sizes.temporary);
    for (size_t i = 0; i < sizes.n_planned; i++)
        r->memory.planned[i] = take_block(r, r->memory.planned_size[i] = sizes.planned[i]);
    return nuc_program_load(&r->program, image, r->file.size, &r->memory, &nuc_default_kernels, &nuc_default_backends,
                            &r->detail) == NUC_OK;
}

static const struct nuc_dataset *golden(struct nuc_compiler *compiler, const struct conf_case *c)
{
    char path[4096];
    struct nuc_dataset *d;

    return conf_path(c, "golden.npz", path, sizeof path) && nuc_dataset_open(compiler, path, &d) == NUC_OK ? d : NULL;
}

static bool find_array(const struct nuc_dataset *d, const char *prefix, size_t index, struct nuc_array_info *out)
{
    char name[32];

    snprintf(name, sizeof name, "%s%zu", prefix, index);
    for (size_t i = 0; i < nuc_dataset_n_arrays(d); i++) {
        if (nuc_dataset_array(d, i, out) == NUC_OK && strcmp(out->name, name) == 0)
            return true;
    }
    return false;
}

/* Between logical order and the dim order of the tensor. */
static void rearrange(const struct nuc_tensor *t, const char *from, char *to, bool to_physical)
{
    size_t size = nuc_dtype_size((enum nuc_dtype)t->dtype), at = 0;
    size_t strides[NUC_MAX_RANK] = {0}, index[NUC_MAX_RANK] = {0}, stride = 1;

    for (size_t i = t->rank; i-- > 0;) {
        strides[t->dim_order[i]] = stride;
        stride *= (size_t)t->sizes[t->dim_order[i]];
    }
    for (size_t logical = 0; logical * size < t->bytes; logical++) {
        memcpy(to + (to_physical ? at : logical) * size, from + (to_physical ? logical : at) * size, size);
        for (size_t d = t->rank; d-- > 0;) {
            at += strides[d];
            if (++index[d] < (size_t)t->sizes[d])
                break;
            at -= strides[d] * (size_t)t->sizes[d];
            index[d] = 0;
        }
    }
}

static bool set_inputs(struct run *r, const struct nuc_dataset *data, size_t sample)
{
    for (size_t i = 0; i < nuc_program_n_inputs(&r->program); i++) {
        struct nuc_array_info a;
        struct nuc_tensor t;
        if (nuc_program_input_info(&r->program, i, &t) != NUC_OK || !find_array(data, "in", i, &a) ||
            (sample + 1) * t.bytes > a.bytes) {
            r->detail.message = "the samples do not fit the inputs";
            return false;
        }
        void *block = take_block(r, t.bytes);
        rearrange(&t, (const char *)a.data + sample * t.bytes, block, true);
        if (nuc_program_set_input(&r->program, i, block, t.bytes, &r->detail) != NUC_OK)
            return false;
    }
    return true;
}

/* Largest difference relative to the larger value, or to 1e-3 of the output's largest; 1 for unequal integers. */
static double difference(const struct nuc_tensor *t, const char *ours, const char *theirs)
{
    double worst = 0, largest = 0;

    if (t->dtype != NUC_F32)
        return memcmp(ours, theirs, t->bytes) == 0 ? 0 : 1;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t at = 0; at < t->bytes; at += sizeof(float)) {
            float a, b;
            memcpy(&a, ours + at, sizeof a);
            memcpy(&b, theirs + at, sizeof b);
            double whole = fmax(fabs((double)b), 1e-3 * largest);
            if (pass == 0)
                largest = fmax(largest, isfinite(b) ? fabs((double)b) : 0);
            else if (memcmp(&a, &b, sizeof a) != 0 && !(isnan(a) && isnan(b)) && a != b)
                worst = fmax(worst, isfinite(a) && isfinite(b) && whole > 0 ? fabs((double)a - (double)b) / whole : 1);
        }
    }
    return worst;
}

/* The program is the Edge graph, whose decompositions round elsewhere than the quantized module does. */
static enum conf_result compare_outputs(struct run *r, const struct nuc_dataset *data, size_t sample,
                                        struct conf_report *report)
{
    for (size_t i = 0; i < nuc_program_n_outputs(&r->program); i++) {
        struct nuc_array_info a;
        struct nuc_tensor t;
        if (nuc_program_output(&r->program, i, &t) != NUC_OK || !find_array(data, "edge_out", i, &a) ||
            (sample + 1) * t.bytes > a.bytes)
            return conf_differ(report, "output %zu has another size than the reference's", i);
        char *ours = take_block(r, t.bytes);
        rearrange(&t, t.data, ours, false);
        double worst = difference(&t, ours, (const char *)a.data + sample * t.bytes);
        if (worst > TOLERANCE)
            return conf_differ(report, "sample %zu, output %zu: differs by %.3g relative", sample, i, worst);
    }
    return CONF_EQUAL;
}

/* Outputs that the program leaves to its caller. */
static bool place_outputs(struct run *r)
{
    for (size_t i = 0; i < nuc_program_n_outputs(&r->program); i++) {
        struct nuc_tensor t;
        if (nuc_program_output_info(&r->program, i, &t) != NUC_OK)
            return false;
        if (t.planned || t.constant)
            continue;
        if (nuc_program_set_output(&r->program, i, take_block(r, t.bytes), t.bytes, &r->detail) != NUC_OK)
            return false;
    }
    return true;
}

static size_t count_samples(const struct run *r, const struct nuc_dataset *data)
{
    struct nuc_array_info a;
    struct nuc_tensor t;

    if (nuc_program_input_info(&r->program, 0, &t) != NUC_OK || t.bytes == 0 || !find_array(data, "in", 0, &a))
        return 0;
    return a.bytes / t.bytes;
}

static enum conf_result run_samples(struct run *r, const struct nuc_dataset *data, struct conf_report *report)
{
    size_t n_samples = count_samples(r, data), kept = r->n_blocks;
    enum conf_result result = CONF_EQUAL;

    if (n_samples == 0)
        return conf_differ(report, "no sample fits the first input");
    for (size_t k = 0; k < n_samples && result == CONF_EQUAL; k++) {
        if (!place_outputs(r) || !set_inputs(r, data, k) || nuc_program_execute(&r->program, &r->detail) != NUC_OK)
            return refused(r, report, "run");
        result = compare_outputs(r, data, k, report);
        while (r->n_blocks > kept)
            free(r->blocks[--r->n_blocks]);
    }
    return result;
}

struct nodelegate_call {
    const struct conf_case *c;
    struct conf_report *report;
    const char *path;
    enum conf_result result;
};

static void check(struct nuc_context *cx, void *arg)
{
    struct nodelegate_call *call = arg;
    struct nuc_compiler *compiler = conf_compiler(call->c);
    const struct nuc_dataset *data = golden(compiler, call->c);
    struct run r = {.file = nuc_map_file(cx, call->path)};

    if (data != NULL) {
        call->result = load(&r) ? run_samples(&r, data, call->report) : refused(&r, call->report, "load");
        nuc_program_unload(&r.program);
    }
    release(&r);
    nuc_compiler_free(compiler);
}

enum conf_result check_nodelegate(const struct conf_case *c, struct conf_report *report)
{
    char path[4096];
    struct nodelegate_call call = {c, report, path, CONF_ABSENT};

    if (c->refused || !conf_path(c, "nodelegate.pte", path, sizeof path))
        return CONF_ABSENT;
    struct nuc_context *cx = nuc_context_new(NULL);
    if (nuc_try(cx, check, &call) != NUC_OK)
        conf_differ(report, "%s", cx->message);
    nuc_context_free(cx);
    return call.result;
}
