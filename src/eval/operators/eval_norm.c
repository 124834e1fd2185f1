/* Batch normalization with running statistics: input * scale + shift for each channel. */
#include <math.h>

#include "eval/eval_call.h"

/* Both operators have their tensors in the same places. */
#define TENSOR(name) NUC_ARG(NATIVE_BATCH_NORM, name)

struct batch_norm {
    float eps;
    size_t planes, channels, inner;
};

static void prepare(struct nuc_eval_call *c)
{
    struct batch_norm *bn = nuc_alloc(c->cx, sizeof *bn);
    const struct nuc_meta *in = nuc_eval_in_meta(c, TENSOR(input));
    bool native = c->node->op == NUC_OP_NATIVE_BATCH_NORM;

    if (!native && nuc_flag(c->node, NUC_ARG(BATCH_NORM, training)))
        nuc_eval_fail(c, "it normalizes in training mode; export the model after eval()");
    nuc_eval_expect_float(c, TENSOR(input));
    for (uint32_t arg = TENSOR(weight); arg <= TENSOR(running_var); arg++) {
        if (arg >= TENSOR(running_mean) || nuc_eval_has_in(c, arg))
            nuc_eval_expect(c, arg, NUC_F32);
    }
    bn->eps = (float)nuc_scalar(c->node, native ? NUC_ARG(NATIVE_BATCH_NORM, eps) : NUC_ARG(BATCH_NORM, eps), 1e-5);
    bn->planes = (size_t)(in->sizes[0] * in->sizes[1]);
    bn->channels = (size_t)in->sizes[1];
    bn->inner = nuc_product_of_dims(in, 2, in->rank);
    c->state = bn;
}

/* torch fuses the last product with the sum; in double the product is exact, so one rounding is left here too. */
static void normalize_planes(const void *arg, struct nuc_part part)
{
    const struct nuc_eval_call *c = arg;
    const struct batch_norm *bn = c->state;
    const float *weight = nuc_eval_in(c, TENSOR(weight)), *bias = nuc_eval_in(c, TENSOR(bias));
    const float *mean = nuc_eval_in(c, TENSOR(running_mean)), *var = nuc_eval_in(c, TENSOR(running_var));

    for (size_t p = part.begin; p < part.end; p++) {
        size_t ch = p % bn->channels;
        float inverse = 1.0f / sqrtf(var[ch] + bn->eps);
        float scale = weight == NULL ? inverse : inverse * weight[ch];
        float shift = fmaf(-mean[ch], scale, bias == NULL ? 0.0f : bias[ch]);
        const float *in = (const float *)nuc_eval_in(c, TENSOR(input)) + p * bn->inner;
        float *out = (float *)c->out[0] + p * bn->inner;
        for (size_t i = 0; i < bn->inner; i++)
            out[i] = (float)((double)in[i] * (double)scale + (double)shift);
    }
}

/* The saved mean and deviation of the Edge operator are empty in inference. */
static void run(const struct nuc_eval_call *c)
{
    const struct batch_norm *bn = c->state;

    nuc_parallel_for(c->pool, bn->planes, (double)(bn->planes * bn->inner), normalize_planes, c);
}

const struct nuc_eval_op nuc_eval_batch_norm = {.prepare = prepare, .run = run};
