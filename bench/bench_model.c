/* Models on the simulator. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "device/base/span.h"
#include "device/npusim/npu_host.h"
#include "host/file.h"
#include "litert/litert.h"

#define MOST_RUNS 200000
#define LEAST_RUNS 5

double bench_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

struct bench_times bench_summary(double *times, size_t n)
{
    qsort(times, n, sizeof *times, compare);
    return (struct bench_times){times[n / 2], times[0], n};
}

/* Buffers of the driver are aligned to 16 bytes; a line of the cache is better. */
static void *aligned(struct nuc_context *cx, size_t size)
{
    uint8_t *block = nuc_alloc(cx, size + 64);

    return block + (64 - (uintptr_t)block % 64) % 64;
}

static void *aligned_copy(struct nuc_context *cx, struct nuc_span s)
{
    void *copy = aligned(cx, s.size);

    if (s.size > 0)
        memcpy(copy, s.data, s.size);
    return copy;
}

static double macs_of(const union nuc_mc_record *r)
{
    const struct nuc_mc_conv *c = &r->conv;
    const struct nuc_mc_matmul *g = &r->matmul;

    switch (nuc_mc_opcode_of(&r->call)) {
    case NUC_MC_OP_CONV_2D:
    case NUC_MC_OP_DEPTHWISE_CONV_2D:
        return (double)c->batches * c->out_h * c->out_w * c->out_c * c->k_h * c->k_w * (c->in_c / c->groups);
    case NUC_MC_OP_TRANSPOSE_CONV:
        return (double)c->batches * c->in_h * c->in_w * c->out_c * c->k_h * c->k_w * c->in_c;
    case NUC_MC_OP_FULLY_CONNECTED:
    case NUC_MC_OP_BATCH_MATMUL:
        return (double)g->batches * g->rows * g->columns * g->depth;
    default:
        return 0;
    }
}

static void load_call(const struct bench_model *m, uint32_t i, union nuc_mc_record *r)
{
    nuc_mc_load(m->microcode + m->image->calls[i].offset, r);
}

/* A quantized tensor takes the place of the float one at the boundary of the model. */
static void set_border(struct bench_border *b, const struct nuc_lt_tensor *quantized)
{
    b->scale = quantized->quant.count == 1 ? quantized->quant.scale[0] : 0.0f;
    b->zero = quantized->quant.count == 1 ? (int32_t)quantized->quant.zero_point[0] : 0;
}

/*
 * A quantization of an input or a dequantization of an output is the CPU's: takes operator `op` out of the model when
 * it is one.
 */
static bool strip(struct bench_model *m, struct nuc_lt_subgraph *g, uint32_t op)
{
    const struct nuc_lt_op *o = &g->ops[op];
    bool quantize = o->code == NUC_LT_QUANTIZE, found = false;

    if ((!quantize && o->code != NUC_LT_DEQUANTIZE) || o->n_inputs != 1 || o->n_outputs != 1 ||
        g->tensors[quantize ? o->inputs[0] : o->outputs[0]].dtype != NUC_F32)
        return false;
    int32_t from = quantize ? o->inputs[0] : o->outputs[0], to = quantize ? o->outputs[0] : o->inputs[0];
    int32_t *list = quantize ? g->inputs : g->outputs;
    uint32_t n = quantize ? g->n_inputs : g->n_outputs;
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] != from)
            continue;
        list[i] = to;
        set_border(quantize ? &m->input_borders[i] : &m->output_borders[i], &g->tensors[to]);
        found = true;
    }
    if (found)
        memmove(&g->ops[op], &g->ops[op + 1], (--g->n_ops - op) * sizeof *g->ops);
    return found;
}

static void strip_borders(struct nuc_context *cx, struct bench_model *m, struct nuc_lt_subgraph *g)
{
    m->input_borders = nuc_alloc_array(cx, g->n_inputs + 1, sizeof *m->input_borders);
    m->output_borders = nuc_alloc_array(cx, g->n_outputs + 1, sizeof *m->output_borders);
    for (uint32_t i = 0; i < g->n_ops;)
        i += strip(m, g, i) ? 0 : 1;
}

static size_t bytes_of(const struct nuc_lt_model *model, int32_t tensor)
{
    const struct nuc_lt_tensor *t = &model->subgraphs[0].tensors[tensor];

    return (size_t)nuc_lt_elements(t) * nuc_dtype_size(t->dtype);
}

static void give_buffers(struct nuc_context *cx, struct bench_model *m, const struct nuc_lt_model *model)
{
    const struct nuc_lt_subgraph *g = &model->subgraphs[0];
    uint32_t seed = 1;

    m->inputs = nuc_alloc_array(cx, g->n_inputs + 1, sizeof *m->inputs);
    m->input_sizes = nuc_alloc_array(cx, g->n_inputs + 1, sizeof *m->input_sizes);
    m->outputs = nuc_alloc_array(cx, g->n_outputs + 3, sizeof *m->outputs);
    m->output_sizes = nuc_alloc_array(cx, g->n_outputs + 1, sizeof *m->output_sizes);
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        m->input_sizes[i] = bytes_of(model, g->inputs[i]);
        uint8_t *bytes = aligned(cx, m->input_sizes[i]);
        for (size_t k = 0; k < m->input_sizes[i]; k++) {
            seed = seed * 1664525u + 1013904223u;
            bytes[k] = (uint8_t)(seed >> 24);
        }
        m->inputs[i] = bytes;
    }
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        m->output_sizes[i] = bytes_of(model, g->outputs[i]);
        m->outputs[i] = aligned(cx, m->output_sizes[i]);
    }
    m->outputs[g->n_outputs] = aligned(cx, m->image->scratch_size);
}

struct bench_model *bench_open(struct nuc_context *cx, const char *file)
{
    struct bench_model *m = nuc_alloc(cx, sizeof *m);
    struct nuc_lt_model *model = nuc_lt_read(cx, file, nuc_read_file(cx, file));

    strip_borders(cx, m, &model->subgraphs[0]);
    m->image = nuc_convert_litert(cx, model, NULL);
    m->microcode = aligned_copy(cx, m->image->microcode);
    m->weights = aligned_copy(cx, m->image->weights);
    m->kernels = aligned_copy(cx, m->image->kernels);
    give_buffers(cx, m, model);
    for (uint32_t i = 0; i < m->image->n_calls; i++) {
        union nuc_mc_record r;
        load_call(m, i, &r);
        m->macs += macs_of(&r);
    }
    NeutronModelConfig config = {m->microcode, m->weights, m->kernels, 3600};
    NeutronError error = neutronModelPrepare(&config, &m->handle);
    if (error != ENONE)
        nuc_fail(cx, NUC_DEVICE, "%s: the driver refuses the program: %s", file, getNeutronErrorCategory(error));
    return m;
}

void bench_close(struct bench_model *m)
{
    if (m->handle)
        neutronModelUnprepare(m->handle);
    m->handle = NULL;
}

struct bench_times bench_run(struct nuc_context *cx, struct bench_model *m, const struct bench_runner *r,
                             double milliseconds)
{
    const struct nuc_simulator_options options = {r->path, r->threads};
    NeutronDataConfig data = {m->inputs, m->outputs, NULL, NULL};
    struct nuc_arena *outer = nuc_push_arena(cx);
    double *times = nuc_alloc_array(cx, MOST_RUNS, sizeof *times);
    double end;
    size_t n = 0;

    if (nuc_simulator_configure(m->handle, &options) != ENONE)
        nuc_fail(cx, NUC_DEVICE, "the simulator has no path %s with %u threads on this machine",
                 nuc_simulator_path_name(r->path), r->threads);
    if (neutronRunBlocking(m->handle, &data) != ENONE)
        nuc_fail(cx, NUC_DEVICE, "the program does not run");
    end = bench_now() + milliseconds * 1e3;
    while (n < LEAST_RUNS || (n < MOST_RUNS && bench_now() < end)) {
        double start = bench_now();
        neutronRunBlocking(m->handle, &data);
        times[n++] = bench_now() - start;
    }
    struct bench_times t = bench_summary(times, n);
    nuc_pop_arena(cx, outer);
    return t;
}

#define CALL_RUNS 101

void bench_calls(struct nuc_context *cx, const struct bench_model *m, const struct bench_options *o)
{
    struct nuc_npu *npu = nuc_npu_of(m->handle), one = *npu;
    const struct nuc_npu_memory memory = {
        .inputs = m->inputs, .outputs = m->outputs, .scratch = m->outputs[m->image->n_outputs], .weights = m->weights};
    double times[CALL_RUNS];
    struct nuc_mc_result result;
    uint32_t failed;

    (void)cx;
    (void)o;
    for (uint32_t i = 0; i < m->image->n_calls; i++) {
        union nuc_mc_record r;
        load_call(m, i, &r);
        /* A program of this call alone. Plain C is meant where the host declines. */
        one.calls = m->microcode + m->image->calls[i].offset;
        one.n_calls = 1;
        one.host = NULL;
        for (int k = 0; k < CALL_RUNS; k++) {
            double start = bench_now();
            if (!npu->host || !npu_host_call(npu->host, i, &memory, &r))
                nuc_npu_run(&one, &memory, NULL, NULL, &failed);
            else if (r.call.opcode & NUC_MC_TABLE && nuc_mc_result_of(&r, &result))
                npu_host_table(npu->host, &memory, &result, nuc_mc_table_at(one.calls));
            times[k] = bench_now() - start;
        }
        struct bench_times t = bench_summary(times, CALL_RUNS);
        printf("    %3u %-18s %9.2f us %9.3f MMAC %8.1f GMAC/s", i, m->image->calls[i].opcode, t.least,
               macs_of(&r) * 1e-6, macs_of(&r) / t.least * 1e-3);
        const struct nuc_mc_conv *c = &r.conv;
        uint32_t op = nuc_mc_opcode_of(&r.call);
        if (op == NUC_MC_OP_CONV_2D || op == NUC_MC_OP_DEPTHWISE_CONV_2D)
            printf("  %dx%dx%d -> %dx%dx%d, %dx%d / %d", c->in_h, c->in_w, c->in_c, c->out_h, c->out_w, c->out_c,
                   c->k_h, c->k_w, c->stride_w);
        printf("\n");
    }
}
