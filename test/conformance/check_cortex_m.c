/* Check on the reference's Cortex-M programs: they run on our runtime and give the recorded outputs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf_run.h"

/* A program in memory, and what a run of it showed. */
struct traced {
    struct conf_loaded loaded;
    double step;   /* scale of the last dequantize */
    bool averages; /* the recorded outputs come from a float average, the kernels' average is an integer one */
};

static void note(void *user, uint32_t instruction, const char *name, struct nuc_value *const *args, size_t n_args)
{
    struct traced *l = user;

    (void)instruction;
    (void)n_args;
    if (strcmp(name, "cortex_m::dequantize_per_tensor.out") == 0)
        l->step = nuc_value_scalar(args[1]);
    if (strcmp(name, "cortex_m::quantized_avg_pool2d.out") == 0)
        l->averages = true;
}

static bool run_sample(struct traced *l, const struct nuc_tensor *in, const float *sample, struct nuc_tensor *out,
                       struct conf_report *r)
{
    struct nuc_detail detail = {.message = NULL};
    char *input = conf_block(in->bytes);

    conf_rearrange(in, (const char *)sample, input, true);
    enum nuc_status status = nuc_program_set_input(&l->loaded.program, 0, input, in->bytes, &detail);
    if (status == NUC_OK)
        status = nuc_program_execute(&l->loaded.program, &detail);
    if (status == NUC_OK)
        status = nuc_program_output(&l->loaded.program, 0, out);
    if (status != NUC_OK)
        conf_refused(r, "run", status, &detail);
    free(input);
    return status == NUC_OK;
}

static enum conf_result same_values(const struct traced *l, const float *own, const float *expected, size_t count,
                                    struct conf_report *r)
{
    for (size_t i = 0; i < count; i++) {
        double distance = fabs((double)own[i] - (double)expected[i]);
        bool near = l->averages && distance <= l->step * 1.001;
        if (distance != 0 && !near)
            return conf_differ(r, "value %zu: %g, recorded %g", i, (double)own[i], (double)expected[i]);
        r->near_misses += distance != 0;
    }
    return CONF_EQUAL;
}

static enum conf_result run_samples(struct traced *l, const struct nuc_array_info *inputs,
                                    const struct nuc_array_info *expected, struct conf_report *r)
{
    struct nuc_tensor in, out;
    enum conf_result result = CONF_EQUAL;

    if (nuc_program_input_info(&l->loaded.program, 0, &in) != NUC_OK || in.dtype != NUC_F32 || in.bytes == 0 ||
        inputs->bytes % in.bytes != 0)
        return conf_differ(r, "the samples do not fit the input");
    size_t n = inputs->bytes / in.bytes;
    for (size_t i = 0; i < n && result == CONF_EQUAL; i++) {
        if (!run_sample(l, &in, (const float *)inputs->data + i * (in.bytes / sizeof(float)), &out, r))
            return CONF_DIFFERENT;
        if (out.dtype != NUC_F32 || out.bytes * n != expected->bytes)
            return conf_differ(r, "the output has another size than recorded");
        size_t count = out.bytes / sizeof(float);
        result = same_values(l, out.data, (const float *)expected->data + i * count, count, r);
    }
    return result;
}

static bool array_of(struct nuc_compiler *compiler, const char *path, const char *name, struct nuc_array_info *out)
{
    struct nuc_dataset *data;

    if (nuc_dataset_open(compiler, path, &data) != NUC_OK)
        return false;
    return conf_array(data, name, out) && out->dtype == NUC_F32;
}

/* The inputs are those of the same model in models/. */
enum conf_result check_cortex_m_program(struct nuc_compiler *compiler, const struct conf_case *c, struct conf_report *r)
{
    char program[4096], golden[4096], samples[4096];
    struct nuc_array_info inputs, expected;
    enum conf_result result = CONF_DIFFERENT;
    struct traced l = {.averages = false};
    void *image;
    size_t size;

    conf_path(c, "pte", program, sizeof program);
    conf_path(c, "golden.npz", golden, sizeof golden);
    snprintf(samples, sizeof samples, "%s/../../../models/%s/channels_last/%s.golden.npz", c->folder, c->name, c->name);
    if (!array_of(compiler, samples, "in0", &inputs) || !array_of(compiler, golden, "cortexm_out0", &expected)) {
        conf_differ(r, "no recorded inputs or outputs");
    } else if ((image = conf_read_file(program, &size)) == NULL) {
        conf_differ(r, "the program cannot be read");
    } else {
        if (conf_load(&l.loaded, image, size, r)) {
            nuc_program_trace(&l.loaded.program, note, &l);
            result = run_samples(&l, &inputs, &expected, r);
        }
        conf_unload(&l.loaded);
        free(image);
    }
    return result;
}
