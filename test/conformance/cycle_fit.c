/*
 * cycle_fit REFERENCE: fits the cost model's two free constants to the latencies NXP prints for three models on the
 * i.MX RT700, and prints each latency next to what the model says, with the constants in use and with the fitted ones.
 * Exit code 1 when a latency is missed by more than 10 % with the constants in use.
 *
 * The kernel calls come from converting the models' int8 part; the operators around it from NXP's converted files. A
 * fourth model, whose weights are copied from flash, is predicted: nothing is fitted to it.
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
 * memcpy(). Around the NeutronGraph are softmax and dequantize, of the operators the example registers.
 */
static const struct measured predicted = {"MobileNetV1 1.0/224", NULL, NULL, 69769};

enum { N_MODELS = sizeof models / sizeof models[0] };

/* What a latency is made of, in cycles: all that does not depend on the free constants, and what they are multiplied
 * by. */
struct parts {
    double fixed, kernels, softmax_values;
};

struct fit {
    const char *reference;
    double kernel, softmax; /* free constants: cycles a kernel call, CPU cycles a softmax value */
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
    add_calls(nuc_convert_litert(cx, m, NULL), target, p);
}

static void add_cpu(const struct nuc_lt_model *converted, const struct nuc_target *target, struct parts *p)
{
    const struct nuc_lt_subgraph *g = &converted->subgraphs[0];

    for (uint32_t i = 0; i < g->n_ops; i++) {
        double values = (double)nuc_lt_elements(&g->tensors[g->ops[i].outputs[0]]);
        p->fixed += target->costs.real.call;
        if (g->ops[i].code == NUC_LT_SOFTMAX)
            p->softmax_values += values;
        else if (runs_on_cpu(&g->ops[i]))
            p->fixed += values * target->costs.int8.element;
        else
            p->fixed += target->costs.npu_call;
    }
}

static double cycles(const struct parts *p, double kernel, double softmax)
{
    return p->fixed + p->kernels * kernel + p->softmax_values * softmax;
}

static double error_of(const struct parts *parts, const double *measured, int i, double kernel, double softmax)
{
    return cycles(&parts[i], kernel, softmax) / measured[i] - 1;
}

/* Over all models but `left_out` (-1: none). */
static double worst_error(const struct parts *parts, const double *measured, int left_out, double kernel,
                          double softmax)
{
    double worst = 0;

    for (int i = 0; i < N_MODELS; i++) {
        if (i != left_out)
            worst = fmax(worst, fabs(error_of(parts, measured, i, kernel, softmax)));
    }
    return worst;
}

/* The smallest worst relative error, on a grid of steps that are as fine as the figures are known. */
static void search(const struct parts *parts, const double *measured, int left_out, struct fit *f)
{
    double best = (double)INFINITY;

    for (int kernel = 0; kernel <= 20000; kernel += 100) {
        for (int softmax = 0; softmax <= 1000; softmax += 10) {
            double error = worst_error(parts, measured, left_out, kernel, softmax);
            if (error < best) {
                best = error;
                f->kernel = kernel;
                f->softmax = softmax;
            }
        }
    }
}

/* A fit without a model shows how well the others predict it. */
static void print_left_out(const struct parts *parts, const double *measured)
{
    for (int i = 0; i < N_MODELS; i++) {
        struct fit f = {.reference = NULL};
        search(parts, measured, i, &f);
        printf("without %s: %.0f and %.0f, which misses it by %+.1f %%\n", models[i].name, f.kernel, f.softmax,
               error_of(parts, measured, i, f.kernel, f.softmax) * 100);
    }
}

static void print_row(const struct nuc_target *t, const char *name, const struct parts *p, double measured,
                      const struct fit *f)
{
    double used = cycles(p, t->npu->kernel, t->costs.real.softmax), fitted = cycles(p, f->kernel, f->softmax);
    double us = 1e6 / t->clock_hz;

    printf("%-22s %6.0f %8.0f %12.1f %12.1f %+7.1f %% %12.1f %+7.1f %%\n", name, p->kernels, p->softmax_values,
           measured * us, used * us, (used / measured - 1) * 100, fitted * us, (fitted / measured - 1) * 100);
}

/* The fourth model with its weights in flash, and what it would take with a DMA's copies and with weights in SRAM. */
static void print_predicted(struct nuc_context *cx, const struct nuc_target *t, struct fit *f)
{
    const struct nuc_convert_options fetch = {.fetch_constants = true};
    const struct nuc_neutron_image *image = nuc_convert_litert(cx, mobilenet_v1(cx), &fetch);
    double measured = predicted.microseconds * 1e-6 * t->clock_hz, us = 1e6 / t->clock_hz;
    struct parts p = {.softmax_values = MOBILENET_V1_CLASSES};

    add_calls(image, t, &p);
    p.fixed += t->costs.npu_call + 3 * t->costs.real.call + MOBILENET_V1_CLASSES * t->costs.int8.element;
    print_row(t, predicted.name, &p, measured, f);
    double all = cycles(&p, t->npu->kernel, t->costs.real.softmax), without = all - (double)image->fetches.cycles;
    printf("%s is predicted: %llu bytes of weights copied by the CPU take %.1f us of it; with a DMA beside the calls "
           "%.1f us, in SRAM from the start %.1f us\n",
           predicted.name, (unsigned long long)image->fetches.bytes, (double)image->fetches.cycles * us,
           (without + (double)image->fetches.dma_cycles) * us, without * us);
    f->within = f->within && fabs(all / measured - 1) <= ALLOWED;
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
    f->within = worst_error(parts, measured, -1, t->npu->kernel, t->costs.real.softmax) <= ALLOWED;
    printf("%-22s %6s %8s %12s %12s %9s %12s %9s\n", "model", "calls", "softmax", "printed us", "in use us", "error",
           "fitted us", "error");
    for (int i = 0; i < N_MODELS; i++)
        print_row(t, models[i].name, &parts[i], measured[i], f);
    print_predicted(cx, t, f);
    printf("in use: %u cycles a kernel call, %.0f a softmax value on the CPU; fitted: %.0f and %.0f\n", t->npu->kernel,
           t->costs.real.softmax, f->kernel, f->softmax);
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
