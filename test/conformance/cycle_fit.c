/*
 * cycle_fit REFERENCE: fits the cost model's free constant to the latencies NXP prints for three models on the
 * i.MX RT700, and prints each latency next to what the model says, with the constants in use and with the fitted ones.
 * Exit code 1 when a latency is missed by more than 10 % with the constants in use.
 *
 * The kernel calls come from converting the models' int8 part; the operators around it from NXP's converted files. A
 * fourth model, whose weights are copied from flash, is predicted, as two releases of NXP's SDK print it, and so is the
 * first on the MCX N947, within 20 %: nothing is fitted to them.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host/file.h"
#include "host/text.h"
#include "litert/litert.h"
#include "mobilenet_v1.h"
#include "npu/convert/convert.h"
#include "npu/target/target.h"

struct measured {
    const char *name;
    const char *model;     /* below REFERENCE/litert: what our converter converts */
    const char *converted; /* the same by NXP's converter: which operators stay on the CPU */
    double microseconds;   /* of the whole invocation, at 324 MHz */
};

static const struct measured models[] = {
    {"CifarNet", "nxp_cifarnet/model.tflite", "converted/n947_cifarnet.tflite", 1027},
    {"DS-CNN-S", "kws_dscnn/model.tflite", "converted/rt700_ds_cnn_s.tflite", 585.5}, /* printed: 576 to 595 */
    {"MobileNetV1 0.25/128", "nxp_mobilenet_025_128/model.tflite", "converted/rt700_mobilenet_025_128.tflite", 2759},
};

/*
 * tflm_label_image_ext_mem: the converter's command has --fetch_constants_to_sram, and the runtime's copy function is
 * memcpy() in both releases. Around the NeutronGraph are softmax and dequantize, of the operators the example
 * registers. In the older one each line of the cache in front of the flash is a sequence of its own.
 */
#define NAME "MobileNetV1 1.0/224"
static const struct {
    const char *name;
    uint32_t burst_bytes; /* 0: as the model has it */
    double microseconds;
} predicted[] = {{NAME, 0, 53376}, {NAME ", lines", 32, 69769}};

/*
 * LiteRT Micro's operators on the CPU: a call, assumed; a value that is dequantized and one of a softmax, as NXP's
 * example prints them: 25 and 618 us for 1,001 of them.
 */
#define CPU_CALL 500
#define CPU_CONVERT 8
#define CPU_SOFTMAX 200

enum { N_MODELS = sizeof models / sizeof models[0] };

/* What a latency is made of, in cycles: all that does not depend on the free constant, and what it is multiplied by. */
struct parts {
    double fixed, kernels;
};

struct fit {
    const char *reference;
    double kernel; /* the free constant: cycles a kernel call */
    bool within;
};

#define ALLOWED 0.10

static bool runs_on_cpu(const struct nuc_lt_op *op)
{
    return op->code == NUC_LT_SOFTMAX || op->code == NUC_LT_QUANTIZE || op->code == NUC_LT_DEQUANTIZE;
}

/* Leaves the operators in between: their input becomes the graph's, their result its output. */
static void cut_to_npu(struct nuc_context *cx, struct nuc_lt_model *m)
{
    struct nuc_lt_subgraph *g = &m->subgraphs[0];
    uint32_t first = 0, end = g->n_ops;

    while (first < end && runs_on_cpu(&g->ops[first]))
        first++;
    while (end > first && runs_on_cpu(&g->ops[end - 1]))
        end--;
    if (first == end)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: nothing for the NPU", m->file);
    g->inputs[0] = g->ops[first].inputs[0];
    g->outputs[0] = g->ops[end - 1].outputs[0];
    g->ops += first;
    g->n_ops = end - first;
}

static struct nuc_lt_model *read_model(struct nuc_context *cx, const char *reference, const char *name)
{
    const char *path = nuc_format(cx, "%s/litert/%s", reference, name);
    struct nuc_lt_model *m = nuc_lt_read(cx, path, nuc_read_file(cx, path));

    if (m->n_subgraphs != 1 || m->subgraphs[0].n_inputs != 1 || m->subgraphs[0].n_outputs != 1)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: one subgraph with one input and one output is expected", path);
    return m;
}

/* Calls that copy weights are no kernels, and take what they take. */
static void add_calls(const struct nuc_neutron_image *image, const struct nuc_target *target, struct parts *p)
{
    for (uint32_t i = 0; i < image->n_calls; i++) {
        bool copies = strcmp(image->calls[i].opcode, "FETCH") == 0 || strcmp(image->calls[i].opcode, "WAIT") == 0;
        p->kernels += copies ? 0 : 1;
        p->fixed += (double)image->calls[i].cycles - (copies ? 0 : target->npu->kernel);
    }
}

static void add_npu(struct nuc_context *cx, struct nuc_lt_model *m, const struct nuc_target *target, struct parts *p)
{
    cut_to_npu(cx, m);
    add_calls(nuc_convert_litert(cx, m, &(struct nuc_convert_options){.revision_3 = true}), target, p);
}

static void add_cpu(const struct nuc_lt_model *converted, const struct nuc_target *target, struct parts *p)
{
    const struct nuc_lt_subgraph *g = &converted->subgraphs[0];

    for (uint32_t i = 0; i < g->n_ops; i++) {
        double values = (double)nuc_lt_elements(&g->tensors[g->ops[i].outputs[0]]);
        p->fixed += CPU_CALL;
        if (g->ops[i].code == NUC_LT_SOFTMAX)
            p->fixed += values * CPU_SOFTMAX;
        else if (runs_on_cpu(&g->ops[i]))
            p->fixed += values * CPU_CONVERT;
        else
            p->fixed += target->costs.npu_call;
    }
}

static double cycles(const struct parts *p, double kernel)
{
    return p->fixed + p->kernels * kernel;
}

static double error_of(const struct parts *parts, const double *measured, int i, double kernel)
{
    return cycles(&parts[i], kernel) / measured[i] - 1;
}

/* Over all models but `left_out` (-1: none). */
static double worst_error(const struct parts *parts, const double *measured, int left_out, double kernel)
{
    double worst = 0;

    for (int i = 0; i < N_MODELS; i++) {
        if (i != left_out)
            worst = fmax(worst, fabs(error_of(parts, measured, i, kernel)));
    }
    return worst;
}

/* The smallest worst relative error, on a grid of steps that are as fine as the figures are known. */
static void search(const struct parts *parts, const double *measured, int left_out, struct fit *f)
{
    double best = (double)INFINITY;

    for (int kernel = 0; kernel <= 20000; kernel += 100) {
        double error = worst_error(parts, measured, left_out, kernel);
        if (error < best) {
            best = error;
            f->kernel = kernel;
        }
    }
}

/* A fit without a model shows how well the others predict it. */
static void print_left_out(const struct parts *parts, const double *measured)
{
    for (int i = 0; i < N_MODELS; i++) {
        struct fit f = {.reference = NULL};
        search(parts, measured, i, &f);
        printf("without %s: %.0f, which misses it by %+.1f %%\n", models[i].name, f.kernel,
               error_of(parts, measured, i, f.kernel) * 100);
    }
}

static void print_row(const struct nuc_target *t, const char *name, const struct parts *p, double measured,
                      const struct fit *f)
{
    double used = cycles(p, t->npu->kernel), fitted = cycles(p, f->kernel);
    double us = 1e6 / t->clock_hz;

    printf("%-26s %6.0f %12.1f %12.1f %+7.1f %% %12.1f %+7.1f %%\n", name, p->kernels, measured * us, used * us,
           (used / measured - 1) * 100, fitted * us, (fitted / measured - 1) * 100);
}

/* The fourth model with its weights in flash, and what it would take with a DMA's copies and with weights in SRAM. */
static void print_predicted(struct nuc_context *cx, const struct nuc_target *t, struct fit *f)
{
    for (size_t i = 0; i < sizeof predicted / sizeof predicted[0]; i++) {
        struct nuc_npu_costs costs = *t->npu;
        costs.burst_bytes = predicted[i].burst_bytes > 0 ? predicted[i].burst_bytes : costs.burst_bytes;
        const struct nuc_convert_options fetch = {.fetch_constants = true, .revision_3 = true, .costs = &costs};
        const struct nuc_neutron_image *image = nuc_convert_litert(cx, mobilenet_v1(cx), &fetch);
        double measured = predicted[i].microseconds * 1e-6 * t->clock_hz, us = 1e6 / t->clock_hz;
        struct parts p = {.fixed = 0};
        add_calls(image, t, &p);
        p.fixed += t->costs.npu_call + 3 * CPU_CALL + MOBILENET_V1_CLASSES * (CPU_CONVERT + CPU_SOFTMAX);
        print_row(t, predicted[i].name, &p, measured, f);
        double all = cycles(&p, t->npu->kernel), without = all - (double)image->fetches.cycles;
        f->within = f->within && fabs(all / measured - 1) <= ALLOWED;
        if (i == 0)
            printf("%s is predicted: %llu bytes of weights copied by the CPU take %.1f us of it; with a DMA beside the "
                   "calls %.1f us, in SRAM from the start %.1f us\n",
                   predicted[i].name, (unsigned long long)image->fetches.bytes, (double)image->fetches.cycles * us,
                   (without + (double)image->fetches.dma_cycles) * us, without * us);
    }
}

/* NXP's CifarNet for MCX N, as converted/n947_cifarnet.tflite has it. The error allowed is twice that of the others. */
static void print_mcxn(struct nuc_context *cx, struct fit *f)
{
    const struct nuc_target *t = nuc_target_find(cx, "mcxn947");
    const struct nuc_convert_options options = {.revision_3 = true, .costs = t->npu};
    struct nuc_lt_model *m = read_model(cx, f->reference, models[0].model);
    double measured = 7130 * 1e-6 * t->clock_hz;
    struct parts p = {.fixed = 0};

    cut_to_npu(cx, m);
    add_calls(nuc_convert_litert(cx, m, &options), t, &p);
    add_cpu(read_model(cx, f->reference, models[0].converted), t, &p);
    print_row(t, "CifarNet, mcxn947", &p, measured, f);
    f->within = f->within && fabs(cycles(&p, t->npu->kernel) / measured - 1) <= 2 * ALLOWED;
}

static void fit_all(struct nuc_context *cx, void *arg)
{
    struct fit *f = arg;
    const struct nuc_target *t = nuc_target_find(cx, "imxrt700");
    struct parts parts[N_MODELS] = {{.fixed = 0}};
    double measured[N_MODELS];

    for (int i = 0; i < N_MODELS; i++) {
        measured[i] = models[i].microseconds * 1e-6 * t->clock_hz;
        add_npu(cx, read_model(cx, f->reference, models[i].model), t, &parts[i]);
        add_cpu(read_model(cx, f->reference, models[i].converted), t, &parts[i]);
    }
    search(parts, measured, -1, f);
    f->within = worst_error(parts, measured, -1, t->npu->kernel) <= ALLOWED;
    printf("%-26s %6s %12s %12s %9s %12s %9s\n", "model", "calls", "printed us", "in use us", "error", "fitted us",
           "error");
    for (int i = 0; i < N_MODELS; i++)
        print_row(t, models[i].name, &parts[i], measured[i], f);
    print_predicted(cx, t, f);
    print_mcxn(cx, f);
    printf("in use: %u cycles a kernel call; fitted: %.0f\n", t->npu->kernel, f->kernel);
    print_left_out(parts, measured);
}

int main(int argc, char **argv)
{
    struct fit f = {.reference = argc == 2 ? argv[1] : NULL};
    struct nuc_context *cx = nuc_context_new(NULL);

    if (argc != 2 || cx == NULL) {
        fprintf(stderr, "usage: cycle_fit REFERENCE\n");
        return 2;
    }
    enum nuc_status status = nuc_try(cx, fit_all, &f);
    if (status != NUC_OK)
        fprintf(stderr, "cycle_fit: %s\n", cx->message);
    nuc_context_free(cx);
    return status == NUC_OK && f.within ? 0 : 1;
}
