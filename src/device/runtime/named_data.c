#include <string.h>

#include "device/base/program_sum.h"
#include "device/runtime/image.h"
#include "device/runtime/same_text.h"

enum nuc_status nuc_program_named_data(const void *image, size_t size, const char *key, const void **data,
                                       size_t *bytes, struct nuc_detail *detail)
{
    struct nuc_detail unused;
    struct nuc_image im;

    detail = detail != NULL ? detail : &unused;
    *detail = (struct nuc_detail){.instruction = -1, .value = -1};
    *data = NULL;
    *bytes = 0;
    if (!nuc_image_open(&im, image, size, detail))
        return NUC_BAD_INPUT;
    struct nuc_fb_vector named = nuc_fb_vec(&im.reader, im.program, NUC_PROGRAM_NAMED_DATA, 4);
    for (uint32_t i = 0; i < named.count && nuc_image_ok(&im); i++) {
        struct nuc_fb_table t = nuc_fb_vec_table(&im.reader, named, i);
        const char *name = nuc_fb_string(&im.reader, t, NUC_NAMED_KEY, NULL);
        struct nuc_span segment;
        if (name == NULL || !nuc_same_text(name, key))
            continue;
        if (!nuc_image_segment(&im, nuc_fb_u32(&im.reader, t, NUC_NAMED_SEGMENT, 0), &segment))
            return NUC_BAD_INPUT;
        *data = segment.data;
        *bytes = segment.size;
        return NUC_OK;
    }
    if (!nuc_image_ok(&im))
        return NUC_BAD_INPUT;
    detail->message = NUC_TEXT("the program has no named data of this key");
    return NUC_BAD_INPUT;
}

enum nuc_status nuc_program_verify(const void *image, size_t size, struct nuc_detail *detail)
{
    const struct nuc_span program = {image, size};
    struct nuc_detail unused;
    size_t at = image != NULL ? nuc_program_sum_at(program) : 0;

    detail = detail != NULL ? detail : &unused;
    *detail = (struct nuc_detail){.instruction = -1, .value = -1};
    if (at == 0) {
        detail->message = NUC_TEXT("the program has no checksum");
        return NUC_UNSUPPORTED;
    }
    if (nuc_program_sum_fits(program, at, nuc_crc32))
        return NUC_OK;
    detail->message = NUC_TEXT("the checksum does not fit: the program is damaged");
    return NUC_BAD_INPUT;
}

enum nuc_status nuc_program_in_bundle(const void *file, size_t size, const void **image, size_t *image_size)
{
    struct nuc_fb_reader r = {.bytes = {file, size}};

    *image = file;
    *image_size = size;
    if (file == NULL || size < 8 || memcmp((const uint8_t *)file + 4, NUC_BUNDLE_IDENTIFIER, 4) != 0)
        return NUC_OK;
    struct nuc_fb_table root = nuc_fb_root(&r, 0);
    struct nuc_span program = nuc_fb_bytes(&r, root, NUC_BUNDLE_PROGRAM);
    *image = program.data;
    *image_size = program.size;
    return r.bad || program.size == 0 ? NUC_BAD_INPUT : NUC_OK;
}
