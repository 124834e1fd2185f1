/* Programs of the reference that run on the CPU alone, on our runtime: its own bytes, kernels of ours. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf_run.h"

#define TOLERANCE 1e-5 /* relative, for float outputs */

struct run {
    struct conf_loaded loaded;
    struct nuc_detail detail;
    void *blocks[64];
    size_t n_blocks;
};

static void *take_block(struct run *r, size_t size)
{
    if (r->n_blocks == sizeof r->blocks / sizeof r->blocks[0])
        abort();
    return r->blocks[r->n_blocks++] = conf_block(size);
}

static void release(struct run *r)
{
    while (r->n_blocks > 0)
        free(r->blocks[--r->n_blocks]);
}

static const struct nuc_dataset *golden(struct nuc_compiler *compiler, const struct conf_case *c)
{
    char path[4096];
    struct nuc_dataset *d;

    return conf_path(c, "golden.npz", path, sizeof path) && nuc_dataset_open(compiler, path, &d) == NUC_OK ? d : NULL;
}

static bool numbered_array(const struct nuc_dataset *d, const char *prefix, size_t index, struct nuc_array_info *out)
{
    char name[32];

    snprintf(name, sizeof name, "%s%zu", prefix, index);
    return conf_array(d, name, out);
}

static bool set_inputs(struct run *r, const struct nuc_dataset *data, size_t sample)
{
    for (size_t i = 0; i < nuc_program_n_inputs(&r->loaded.program); i++) {
        struct nuc_array_info a;
        struct nuc_tensor t;
        if (nuc_program_input_info(&r->loaded.program, i, &t) != NUC_OK || !numbered_array(data, "in", i, &a) ||
            (sample + 1) * t.bytes > a.bytes) {
            r->detail.message = "the samples do not fit the inputs";
            return false;
        }
        void *block = take_block(r, t.bytes);
        conf_rearrange(&t, (const char *)a.data + sample * t.bytes, block, true);
        if (nuc_program_set_input(&r->loaded.program, i, block, t.bytes, &r->detail) != NUC_OK)
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
    for (size_t i = 0; i < nuc_program_n_outputs(&r->loaded.program); i++) {
        struct nuc_array_info a;
        struct nuc_tensor t;
        if (nuc_program_output(&r->loaded.program, i, &t) != NUC_OK || !numbered_array(data, "edge_out", i, &a) ||
            (sample + 1) * t.bytes > a.bytes)
            return conf_differ(report, "output %zu has another size than the reference's", i);
        char *ours = take_block(r, t.bytes);
        conf_rearrange(&t, t.data, ours, false);
        double worst = difference(&t, ours, (const char *)a.data + sample * t.bytes);
        if (worst > TOLERANCE)
            return conf_differ(report, "sample %zu, output %zu: differs by %.3g relative", sample, i, worst);
    }
    return CONF_EQUAL;
}

/* Outputs that the program leaves to its caller. */
static bool place_outputs(struct run *r)
{
    for (size_t i = 0; i < nuc_program_n_outputs(&r->loaded.program); i++) {
        struct nuc_tensor t;
        if (nuc_program_output_info(&r->loaded.program, i, &t) != NUC_OK)
            return false;
        if (t.planned || t.constant)
            continue;
        if (nuc_program_set_output(&r->loaded.program, i, take_block(r, t.bytes), t.bytes, &r->detail) != NUC_OK)
            return false;
    }
    return true;
}

static size_t count_samples(const struct run *r, const struct nuc_dataset *data)
{
    struct nuc_array_info a;
    struct nuc_tensor t;

    if (nuc_program_input_info(&r->loaded.program, 0, &t) != NUC_OK || t.bytes == 0 ||
        !numbered_array(data, "in", 0, &a))
        return 0;
    return a.bytes / t.bytes;
}

static enum conf_result run_samples(struct run *r, const struct nuc_dataset *data, struct conf_report *report)
{
    size_t n_samples = count_samples(r, data);
    enum conf_result result = CONF_EQUAL;

    if (n_samples == 0)
        return conf_differ(report, "no sample fits the first input");
    for (size_t k = 0; k < n_samples && result == CONF_EQUAL; k++) {
        if (!place_outputs(r) || !set_inputs(r, data, k) ||
            nuc_program_execute(&r->loaded.program, &r->detail) != NUC_OK)
            result = conf_refused(report, "run", NUC_BAD_INPUT, &r->detail);
        else
            result = compare_outputs(r, data, k, report);
        release(r);
    }
    return result;
}

enum conf_result check_nodelegate(struct nuc_compiler *compiler, const struct conf_case *c, struct conf_report *report)
{
    struct run r = {.n_blocks = 0};
    enum conf_result result = CONF_ABSENT;
    char path[4096];
    size_t size;

    if (c->refused)
        return CONF_ABSENT;
    conf_path(c, "nodelegate.pte", path, sizeof path);
    const struct nuc_dataset *data = golden(compiler, c);
    void *image = conf_read_file(path, &size);
    if (image == NULL)
        result = conf_differ(report, "the program cannot be read");
    else if (data != NULL)
        result = conf_load(&r.loaded, image, size, report) ? run_samples(&r, data, report) : CONF_DIFFERENT;
    conf_unload(&r.loaded);
    free(image);
    return result;
}
