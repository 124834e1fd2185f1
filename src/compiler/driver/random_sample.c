/* Quantization of a float model without samples: every input gets the same arbitrary values. */
#include "compiler/driver/driver.h"

/* Values of a linear congruential generator, from `low` up to 1; integers and bools are 0, an index that always fits.
 */
static void *random_input(struct nuc_context *cx, const struct nuc_tensor_info *info, float low)
{
    void *data = nuc_alloc(cx, info->bytes + 1);
    uint32_t state = 42;

    if (info->dtype != NUC_F32)
        return data;
    for (size_t i = 0; i < info->bytes / sizeof(float); i++) {
        state = state * 1664525u + 1013904223u;
        ((float *)data)[i] = low + (1.0f - low) * (float)(state >> 8) / 16777216.0f;
    }
    return data;
}

struct random_call {
    struct nuc_model *m;
    float low;
    struct nuc_model *out;
};

void nuc_quantize_random_sample(struct nuc_model *prepared, float low)
{
    struct nuc_context *cx = prepared->c->cx;
    size_t count = nuc_model_n_inputs(prepared);
    const void **inputs = nuc_alloc_array(cx, count + 1, sizeof(void *));

    for (size_t i = 0; i < count; i++) {
        struct nuc_tensor_info info;
        nuc_model_input(prepared, i, &info);
        inputs[i] = random_input(cx, &info, low);
    }
    nuc_quantize_sample(prepared->calibration, inputs);
}

static void quantize_random(struct nuc_context *cx, void *arg)
{
    struct random_call *call = arg;
    struct nuc_model *prepared = nuc_stage_prepare(call->m);

    (void)cx;
    nuc_quantize_random_sample(prepared, call->low);
    call->out = nuc_stage_convert(prepared);
}

/* Values of both signs, or where the model has none for negative ones (a logarithm), positive ones. */
struct nuc_model *nuc_stage_quantize_random(struct nuc_model *m)
{
    struct nuc_context *cx = m->c->cx;
    struct random_call call = {m, -1.0f, NULL};
    enum nuc_status status = nuc_try(cx, quantize_random, &call);

    if (status == NUC_BAD_INPUT) {
        call.low = 0.0625f;
        status = nuc_try(cx, quantize_random, &call);
    }
    if (status != NUC_OK)
        nuc_fail_again(cx, status);
    return call.out;
}
