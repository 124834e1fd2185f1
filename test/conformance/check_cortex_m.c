/* Check on the reference's Cortex-M programs: they run on our runtime and give the recorded outputs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"
#include "nucleon/runtime.h"

/* A program in memory, and what a run of it showed. */
struct loaded {
    struct nuc_program program;
    struct nuc_program_memory memory;
    void *image;
    double step;   /* scale of the last dequantize */
    bool averages; /* the recorded outputs come from a float average, the kernels' average is an integer one */
};

static void *block(size_t size)
{
    void *memory = aligned_alloc(NUC_MEMORY_ALIGNMENT, (size + NUC_MEMORY_ALIGNMENT) & ~(size_t)15);

    if (memory == NULL)
        abort();
    memset(memory, 0, size);
    return memory;
}

static void *read_whole(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    long end = 0;

    if (file == NULL)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0)
        end = ftell(file);
    rewind(file);
    void *image = block(end > 0 ? (size_t)end : 0);
    *size = fread(image, 1, end > 0 ? (size_t)end : 0, file);
    fclose(file);
    return image;
}

static void note(void *user, uint32_t instruction, const char *name, struct nuc_value *const *args, size_t n_args)
{
    struct loaded *l = user;

    (void)instruction;
    (void)n_args;
    if (strcmp(name, "cortex_m::dequantize_per_tensor.out") == 0)
        l->step = nuc_value_scalar(args[1]);
    if (strcmp(name, "cortex_m::quantized_avg_pool2d.out") == 0)
        l->averages = true;
}

static bool load(struct loaded *l, const char *path, struct conf_report *r)
{
    struct nuc_program_sizes sizes;
    struct nuc_detail detail;
    size_t size = 0;

    memset(l, 0, sizeof *l);
    l->image = read_whole(path, &size);
    enum nuc_status status =
        l->image == NULL ? NUC_IO : nuc_program_sizes(l->image, size, &nuc_default_backends, &sizes, &detail);
    if (status == NUC_OK) {
        l->memory.state_size = sizes.state;
        l->memory.state = block(sizes.state);
        l->memory.temporary_size = sizes.temporary;
        l->memory.temporary = block(sizes.temporary);
        for (size_t i = 0; i < sizes.n_planned; i++) {
            l->memory.planned_size[i] = sizes.planned[i];
            l->memory.planned[i] = block(sizes.planned[i]);
        }
        status = nuc_program_load(&l->program, l->image, size, &l->memory, &nuc_default_kernels, &nuc_default_backends,
                                  &detail);
    }
    if (status != NUC_OK)
        conf_differ(r, "load: %s", nuc_status_name(status));
    nuc_program_trace(&l->program, note, l);
    return status == NUC_OK;
}

static void release(struct loaded *l)
{
    for (size_t i = 0; i < NUC_MAX_MEMORIES; i++)
        free(l->memory.planned[i]);
    free(l->memory.state);
    free(l->memory.temporary);
    free(l->image);
}

/* Logical order to the order of the input's dimensions in memory. */
static void lay_out(const struct nuc_tensor *t, const float *from, float *to)
{
    size_t strides[NUC_MAX_RANK] = {0}, stride = 1;

    for (size_t i = t->rank; i-- > 0;) {
        strides[t->dim_order[i]] = stride;
        stride *= (size_t)t->sizes[t->dim_order[i]];
    }
    for (size_t i = 0; i < stride; i++) {
        size_t rest = i, at = 0;
        for (size_t d = t->rank; d-- > 0;) {
            at += rest % (size_t)t->sizes[d] * strides[d];
            rest /= (size_t)t->sizes[d];
        }
        to[at] = from[i];
    }
}

static bool run_sample(struct loaded *l, const struct nuc_tensor *in, const float *sample, struct nuc_tensor *out,
                       struct conf_report *r)
{
    struct nuc_detail detail;
    float *input = block(in->bytes);

    lay_out(in, sample, input);
    enum nuc_status status = nuc_program_set_input(&l->program, 0, input, in->bytes, &detail);
    if (status == NUC_OK)
        status = nuc_program_execute(&l->program, &detail);
    if (status == NUC_OK)
        status = nuc_program_output(&l->program, 0, out);
    if (status != NUC_OK)
        conf_differ(r, "run: %s", detail.message != NULL ? detail.message : nuc_status_name(status));
    free(input);
    return status == NUC_OK;
}

static enum conf_result same_values(const struct loaded *l, const float *own, const float *expected, size_t count,
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

static enum conf_result run_samples(struct loaded *l, const struct nuc_array_info *inputs,
                                    const struct nuc_array_info *expected, struct conf_report *r)
{
    struct nuc_tensor in, out;
    enum conf_result result = CONF_EQUAL;

    if (nuc_program_input_info(&l->program, 0, &in) != NUC_OK || in.dtype != NUC_F32 || in.bytes == 0 ||
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
    for (size_t i = 0; i < nuc_dataset_n_arrays(data); i++) {
        if (nuc_dataset_array(data, i, out) == NUC_OK && strcmp(out->name, name) == 0)
            return out->dtype == NUC_F32;
    }
    return false;
}

/* The inputs are those of the same model in models/. */
enum conf_result check_cortex_m_program(const struct conf_case *c, struct conf_report *r)
{
    char program[4096], golden[4096], samples[4096];
    struct nuc_array_info inputs, expected;
    enum conf_result result = CONF_DIFFERENT;
    struct loaded l;

    if (!c->cortex_m || !conf_path(c, "pte", program, sizeof program) ||
        !conf_path(c, "golden.npz", golden, sizeof golden))
        return CONF_ABSENT;
    int n = snprintf(samples, sizeof samples, "%s/../../../models/%s/channels_last/%s.golden.npz", c->folder, c->name,
                     c->name);
    struct nuc_compiler *compiler = n > 0 && (size_t)n < sizeof samples ? conf_compiler(c) : NULL;
    if (compiler == NULL)
        return conf_differ(r, "out of memory");
    if (!array_of(compiler, samples, "in0", &inputs) || !array_of(compiler, golden, "cortexm_out0", &expected)) {
        conf_differ(r, "no recorded inputs or outputs");
    } else {
        if (load(&l, program, r))
            result = run_samples(&l, &inputs, &expected, r);
        release(&l);
    }
    nuc_compiler_free(compiler);
    return result;
}
