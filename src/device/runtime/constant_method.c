#include "device/runtime/image.h"
#include "device/runtime/same_text.h"

/* The value of a constant method: its first output, a number. */
static bool read_number(struct nuc_image *im, struct nuc_fb_table plan, double *out)
{
    struct nuc_fb_reader *r = &im->reader;
    struct nuc_fb_vector values = nuc_fb_vec(r, plan, NUC_PLAN_VALUES, 4);
    struct nuc_fb_vector outputs = nuc_fb_vec(r, plan, NUC_PLAN_OUTPUTS, 4);

    if (outputs.count == 0 || r->bad)
        return false;
    uint32_t index = (uint32_t)nuc_fb_vec_i32(r, outputs, 0);
    if (index >= values.count || r->bad)
        return false;
    struct nuc_fb_table value = nuc_fb_vec_table(r, values, index);
    struct nuc_fb_table content = nuc_fb_sub(r, value, NUC_EVALUE_VALUE);
    uint8_t kind = nuc_fb_u8(r, value, NUC_EVALUE_TYPE, 0);
    if (kind == NUC_VALUE_INT)
        *out = (double)nuc_fb_i64(r, content, 0, 0);
    else if (kind == NUC_VALUE_DOUBLE)
        *out = nuc_fb_f64(r, content, 0, 0.0);
    return !r->bad && content.at != 0 && (kind == NUC_VALUE_INT || kind == NUC_VALUE_DOUBLE);
}

enum nuc_status nuc_program_number(const void *image, size_t size, const char *name, double *out,
                                   struct nuc_detail *detail)
{
    struct nuc_detail unused;
    struct nuc_image im;

    detail = detail != NULL ? detail : &unused;
    *detail = (struct nuc_detail){.instruction = -1, .value = -1};
    if (!nuc_image_open(&im, image, size, detail))
        return NUC_BAD_INPUT;
    struct nuc_fb_vector plans = nuc_fb_vec(&im.reader, im.program, NUC_PROGRAM_PLANS, 4);
    for (uint32_t i = 0; i < plans.count; i++) {
        struct nuc_fb_table plan = nuc_fb_vec_table(&im.reader, plans, i);
        const char *method = nuc_fb_string(&im.reader, plan, NUC_PLAN_NAME, NULL);
        if (method != NULL && nuc_same_text(method, name))
            return nuc_image_need(&im, read_number(&im, plan, out), NUC_TEXT("the method's output is not a number"))
                       ? NUC_OK
                       : NUC_BAD_INPUT;
    }
    detail->message = NUC_TEXT("the program has no method of this name");
    return NUC_BAD_INPUT;
}
