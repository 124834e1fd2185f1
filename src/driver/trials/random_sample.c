/* Models quantized without samples. */
#include "driver/stages.h"
#include "quantize/quantize.h"

static const struct made_up {
    float low;     /* floats are from here up to 1 */
    uint8_t whole; /* integers */
} made_up[NUC_RANDOM_ATTEMPTS] = {{-1.0f, 0}, {0.0625f, 0}, {-1.0f, 1}};

/* Values of a linear congruential generator; integers of other types than int64 and int32 are 0. */
static void *random_input(struct nuc_context *cx, const struct nuc_tensor_info *info, const struct made_up *of)
{
    void *data = nuc_alloc(cx, info->bytes + 1);
    size_t count = info->bytes / nuc_dtype_size(info->dtype);
    uint32_t state = 42;

    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        if (info->dtype == NUC_F32)
            ((float *)data)[i] = of->low + (1.0f - of->low) * (float)(state >> 8) / 16777216.0f;
        else if (info->dtype == NUC_BOOL)
            ((uint8_t *)data)[i] = (uint8_t)(state >> 31);
        else if (info->dtype == NUC_I64)
            ((int64_t *)data)[i] = of->whole;
        else if (info->dtype == NUC_I32)
            ((int32_t *)data)[i] = of->whole;
    }
    return data;
}

/* Only decisions follow from it, so that any values will do that the model can compute with. */
void nuc_quantize_random_sample(struct nuc_model *prepared, unsigned attempt)
{
    struct nuc_context *cx = prepared->c->cx;
    size_t count = nuc_model_n_inputs(prepared);
    const void **inputs = nuc_alloc_array(cx, count + 1, sizeof(void *));

    for (size_t i = 0; i < count; i++) {
        struct nuc_tensor_info info;
        nuc_model_input(prepared, i, &info);
        inputs[i] = random_input(cx, &info, &made_up[attempt]);
    }
    nuc_quantize_sample(prepared->calibration, inputs);
}

struct random_call {
    struct nuc_model *m;
    unsigned attempt;
    struct nuc_model *out;
};

static void quantize_random(struct nuc_context *cx, void *arg)
{
    struct random_call *call = arg;
    struct nuc_model *prepared = nuc_advance(call->m, NUC_STAGE_ATEN_PASSES, NUC_STAGE_ANNOTATE);

    (void)cx;
    nuc_quantize_random_sample(prepared, call->attempt);
    call->out = nuc_advance(prepared, NUC_STAGE_QUANTIZE, NUC_STAGE_QUANTIZE);
}

struct nuc_model *nuc_quantize_random(struct nuc_model *m)
{
    struct nuc_context *cx = m->c->cx;
    struct random_call call = {m, 0, NULL};
    enum nuc_status status = nuc_attempt(cx, quantize_random, &call);

    while (status == NUC_BAD_INPUT && ++call.attempt < NUC_RANDOM_ATTEMPTS)
        status = nuc_attempt(cx, quantize_random, &call);
    nuc_check(cx, status);
    call.out->measured = NULL; /* which one random sample says nothing about */
    return call.out;
}
