/*
 * Check on int8 LiteRT models made by others without the graph in between: read, converted and run by the simulator
 * behind the driver. A DEQUANTIZE at the boundary, which no NPU computes, is done here. Where the values of one
 * inference are recorded (intermediates/t<tensor>.bin), every result of a kernel call is compared, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"
#include "device/base/microcode.h"
#include "device/base/span.h"
#include "host/file.h"
#include "litert/litert.h"
#include "npu/convert/convert.h"
#include "nucleon/NeutronDriver.h"

struct run {
    struct nuc_context *cx;
    const char *folder;
    struct conf_report *r;
    struct nuc_lt_model *model;
    const struct nuc_lt_tensor *dequantized; /* what the model gives out as floats, or NULL */
    bool same;
};

static size_t tensor_bytes(const struct nuc_lt_tensor *t)
{
    return (size_t)nuc_lt_elements(t) * nuc_dtype_size(t->dtype);
}

static void *aligned(struct nuc_context *cx, size_t size)
{
    uint8_t *block = nuc_alloc(cx, size + 2 * NUC_MC_ALIGNMENT);

    return block + (NUC_MC_ALIGNMENT - (uintptr_t)block % NUC_MC_ALIGNMENT) % NUC_MC_ALIGNMENT;
}

static const void *aligned_copy(struct nuc_context *cx, struct nuc_span bytes)
{
    void *copy = aligned(cx, bytes.size);

    memcpy(copy, bytes.data, bytes.size);
    return copy;
}

/* ---- the boundary ---- */

static void take_dequantize_off(struct run *run)
{
    struct nuc_lt_subgraph *g = &run->model->subgraphs[0];
    const struct nuc_lt_op *last = g->n_ops > 0 ? &g->ops[g->n_ops - 1] : NULL;

    if (last == NULL || last->code != NUC_LT_DEQUANTIZE || g->n_outputs != 1 || last->outputs[0] != g->outputs[0])
        return;
    g->outputs[0] = last->inputs[0];
    run->dequantized = &g->tensors[last->inputs[0]];
    g->n_ops--;
}

static bool same_floats(const struct nuc_lt_tensor *t, const int8_t *own, const char *expected)
{
    for (int64_t i = 0; i < nuc_lt_elements(t); i++) {
        float value = t->quant.scale[0] * (float)(own[i] - t->quant.zero_point[0]);
        if (memcmp(&value, expected + (size_t)i * sizeof value, sizeof value) != 0)
            return false;
    }
    return true;
}

/* ---- one inference ---- */

static bool infer(struct run *run, const struct nuc_neutron_image *image, const void *input, void **results)
{
    const struct nuc_lt_subgraph *g = &run->model->subgraphs[0];
    NeutronModelConfig config = {.microcode = aligned_copy(run->cx, image->microcode),
                                 .weights = aligned_copy(run->cx, image->weights),
                                 .kernels = aligned_copy(run->cx, image->kernels)};
    NeutronModelHandle handle = NULL;
    void **outputs = nuc_alloc_array(run->cx, (size_t)g->n_outputs + 3, sizeof *outputs);
    const void *inputs[] = {input};
    NeutronDataConfig data = {.inputs = inputs, .outputs = outputs};

    for (uint32_t i = 0; i < g->n_outputs; i++)
        outputs[i] = results[i] = aligned(run->cx, tensor_bytes(&g->tensors[g->outputs[i]]));
    outputs[g->n_outputs] = data.scratch = aligned(run->cx, image->scratch_size);
    NeutronError error = neutronModelPrepare(&config, &handle);
    if (error == ENONE) {
        error = neutronRunBlocking(handle, &data);
        neutronModelUnprepare(handle);
    }
    if (error != ENONE)
        conf_differ(run->r, "the driver reports error 0x%x", (unsigned)error);
    return error == ENONE;
}

static struct nuc_span file_of(struct run *run, const char *name)
{
    return nuc_read_file(run->cx, nuc_format(run->cx, "%s/%s", run->folder, name));
}

static bool same_outputs(struct run *run, const struct nuc_neutron_image *image)
{
    const struct nuc_lt_subgraph *g = &run->model->subgraphs[0];
    struct nuc_span in = file_of(run, "input.bin"), out = file_of(run, "output.bin");
    const struct nuc_lt_tensor *result = &g->tensors[g->outputs[0]];
    size_t in_bytes = tensor_bytes(&g->tensors[g->inputs[0]]);
    size_t out_bytes = tensor_bytes(result) * (run->dequantized != NULL ? sizeof(float) : 1);
    size_t count = in.size / in_bytes;

    if (count == 0 || in.size != count * in_bytes || out.size != count * out_bytes)
        return conf_differ(run->r, "input.bin and output.bin do not fit the model") == CONF_EQUAL;
    for (size_t k = 0; k < count; k++) {
        const char *expected = (const char *)out.data + k * out_bytes;
        void *own;
        if (!infer(run, image, aligned_copy(run->cx, (struct nuc_span){in.data + k * in_bytes, in_bytes}), &own))
            return false;
        bool same =
            run->dequantized != NULL ? same_floats(result, own, expected) : memcmp(own, expected, out_bytes) == 0;
        if (!same)
            return conf_differ(run->r, "sample %zu: other bytes than output.bin", k) == CONF_EQUAL;
    }
    return true;
}

/* ---- values in between ---- */

static bool is_output(const struct nuc_lt_subgraph *g, int32_t tensor)
{
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        if (g->outputs[i] == tensor)
            return true;
    }
    return false;
}

/* Gives out the result of every kernel call. Those of other operators exist nowhere: they became part of a call. */
static void give_out_results(struct run *run, const struct nuc_neutron_image *image)
{
    struct nuc_lt_subgraph *g = &run->model->subgraphs[0];
    int32_t *outputs = nuc_alloc_array(run->cx, (size_t)g->n_outputs + image->n_calls, sizeof *outputs);

    memcpy(outputs, g->outputs, g->n_outputs * sizeof *outputs);
    g->outputs = outputs;
    for (uint32_t i = 0; i < image->n_calls; i++) {
        int32_t result = g->ops[image->calls[i].lt_op].outputs[0];
        if (!is_output(g, result))
            g->outputs[g->n_outputs++] = result;
    }
}

/* The calls are the same when results are given out: what was compared is what runs otherwise. */
static bool same_calls(const struct nuc_neutron_image *a, const struct nuc_neutron_image *b)
{
    bool same = a->n_calls == b->n_calls;

    for (uint32_t i = 0; same && i < a->n_calls; i++)
        same = strcmp(a->calls[i].opcode, b->calls[i].opcode) == 0 && a->calls[i].lt_op == b->calls[i].lt_op;
    return same;
}

static void print_others(const struct run *run, const struct nuc_lt_subgraph *g)
{
    for (uint32_t i = 0; run->r->verbose && i < g->n_ops; i++) {
        const char *name = g->tensors[g->ops[i].outputs[0]].name;
        if (!is_output(g, g->ops[i].outputs[0]))
            printf("  tensor %d (%s of '%s') is not the result of a call: %s\n", g->ops[i].outputs[0],
                   nuc_lt_code_name(run->cx, g->ops[i].code), name, "its bytes are those of the operator's input");
    }
}

static bool same_results(struct run *run, const struct nuc_neutron_image *image)
{
    const struct nuc_lt_subgraph *g = &run->model->subgraphs[0];
    char path[4096];
    FILE *index;

    snprintf(path, sizeof path, "%s/intermediates/index.txt", run->folder);
    index = fopen(path, "r");
    if (index == NULL)
        return true;
    fclose(index);
    give_out_results(run, image);
    const struct nuc_neutron_image *inner = nuc_convert_litert(run->cx, run->model, NULL);
    if (!same_calls(image, inner))
        return conf_differ(run->r, "other calls when their results are given out") == CONF_EQUAL;
    void **results = nuc_alloc_array(run->cx, g->n_outputs, sizeof *results);
    struct nuc_span input = file_of(run, nuc_format(run->cx, "intermediates/t%03d.bin", g->inputs[0]));
    if (!infer(run, inner, aligned_copy(run->cx, input), results))
        return false;
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        struct nuc_span expected = file_of(run, nuc_format(run->cx, "intermediates/t%03d.bin", g->outputs[i]));
        if (expected.size != tensor_bytes(&g->tensors[g->outputs[i]]) ||
            memcmp(results[i], expected.data, expected.size) != 0)
            return conf_differ(run->r, "tensor %d ('%s') differs", g->outputs[i], g->tensors[g->outputs[i]].name) ==
                   CONF_EQUAL;
    }
    if (run->r->verbose)
        printf("  %u tensors of one inference are equal\n", g->n_outputs);
    print_others(run, g);
    fflush(stdout); /* a check ends in a process of its own, without its buffers */
    return true;
}

static void run_model(struct nuc_context *cx, void *arg)
{
    struct run *run = arg;
    const char *path = nuc_format(cx, "%s/model.tflite", run->folder);

    run->model = nuc_lt_read(cx, path, nuc_read_file(cx, path));
    nuc_lt_verify(run->model);
    take_dequantize_off(run);
    const struct nuc_neutron_image *image = nuc_convert_litert(cx, run->model, NULL);
    run->same = same_outputs(run, image) && same_results(run, image);
}

enum conf_result check_models(struct nuc_compiler *none, const struct conf_case *c, struct conf_report *r)
{
    struct run run = {.folder = c->folder, .r = r};
    char path[4096];

    (void)none;
    if (strcmp(c->name, "model") != 0 || !conf_path(c, "tflite", path, sizeof path))
        return CONF_ABSENT;
    run.cx = nuc_context_new(NULL);
    if (run.cx == NULL)
        return conf_differ(r, "out of memory");
    neutronInit();
    if (nuc_try(run.cx, run_model, &run) != NUC_OK)
        conf_differ(r, "%s", run.cx->message);
    neutronDeinit();
    nuc_context_free(run.cx);
    return run.same ? CONF_EQUAL : CONF_DIFFERENT;
}
