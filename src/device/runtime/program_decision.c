/* The decision that a program carries, on its outputs. */
#include "device/decision/bind.h"
#include "device/runtime/image.h"

/* "output3_scale" for outputs below 100. */
static bool number_of(const struct nuc_program *p, uint32_t output, const char *what, double *out)
{
    char name[sizeof "output99_" + 8] = "output";
    size_t at = 6;

    if (output >= 10)
        name[at++] = (char)('0' + output / 10);
    name[at++] = (char)('0' + output % 10);
    while (*what != '\0')
        name[at++] = *what++;
    name[at] = '\0';
    return nuc_program_number(p->image, p->image_size, name, out, NULL) == NUC_OK;
}

static bool put_on(const struct nuc_program *p, struct nuc_decision_rule *d, size_t view)
{
    const uint32_t index = d->views[view].output;
    int64_t sizes[NUC_MAX_RANK];
    struct nuc_tensor t;

    if (nuc_program_output_info(p, index, &t) != NUC_OK || t.rank > NUC_MAX_RANK)
        return false;
    for (size_t i = 0; i < t.rank; i++)
        sizes[i] = t.sizes[i];
    struct nuc_decision_output o = {
        .dtype = (enum nuc_dtype)t.dtype, .rank = t.rank, .sizes = sizes, .dim_order = t.dim_order};
    if (!number_of(p, index, "_scale", &o.scale) || !number_of(p, index, "_zp", &o.zero_point) ||
        !(o.scale > 0 && o.scale <= 3e38 && o.zero_point >= -32768 && o.zero_point <= 32768)) {
        o.scale = 1;
        o.zero_point = 0;
    }
    return nuc_decision_put_on(d, view, &o) == NUC_OUTPUT_FITS;
}

enum nuc_status nuc_program_decision(const struct nuc_program *p, struct nuc_decision_rule *out,
                                     struct nuc_detail *detail)
{
    struct nuc_detail unused;
    const void *data;
    size_t size;

    detail = detail != NULL ? detail : &unused;
    *detail = (struct nuc_detail){.instruction = -1, .value = -1};
    if (p == NULL || p->image == NULL || out == NULL)
        return NUC_BAD_USAGE;
    if (nuc_program_named_data(p->image, p->image_size, NUC_DECISION_KEY, &data, &size, NULL) != NUC_OK) {
        detail->message = NUC_TEXT("the program carries no decision");
        return NUC_UNSUPPORTED;
    }
    detail->message = NUC_TEXT("the decision is damaged or of another version");
    if (!nuc_decision_load(out, (struct nuc_span){data, size}))
        return NUC_BAD_INPUT;
    detail->message = NUC_TEXT("the decision does not fit the outputs");
    for (size_t i = 0; i < out->n_views; i++) {
        detail->value = (int32_t)out->views[i].output;
        if (!put_on(p, out, i))
            return NUC_BAD_INPUT;
    }
    *detail = (struct nuc_detail){.instruction = -1, .value = -1};
    return NUC_OK;
}

enum nuc_status nuc_program_decide(const struct nuc_program *p, struct nuc_decider *decider)
{
    const void *outputs[NUC_DECISION_OUTPUTS] = {NULL};
    struct nuc_tensor t;

    if (decider == NULL || decider->decision == NULL)
        return NUC_BAD_USAGE;
    for (size_t i = 0; i < decider->decision->n_views; i++) {
        const uint32_t index = decider->decision->views[i].output;
        const enum nuc_status status = index < NUC_DECISION_OUTPUTS ? nuc_program_output(p, index, &t) : NUC_BAD_USAGE;
        if (status != NUC_OK || t.data == NULL)
            return status != NUC_OK ? status : NUC_BAD_USAGE;
        outputs[index] = t.data;
    }
    return nuc_decider_run(decider, outputs);
}
