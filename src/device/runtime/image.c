#include "device/runtime/image.h"

#include <string.h>

#include "device/runtime/same_text.h"

#define HEADER_LEAST 24 /* bytes a reader needs */
#define HEADER_WHOLE 32 /* with the size of the segments */

bool nuc_image_need(struct nuc_image *im, bool condition, const char *message)
{
    if (!condition)
        im->detail->message = message;
    return condition;
}

bool nuc_image_ok(struct nuc_image *im)
{
    return nuc_image_need(im, !im->reader.bad, NUC_TEXT("the program's tables contradict each other"));
}

/* Extended header: where the program ends and the segments are. Without one there are no segments. */
static bool read_header(struct nuc_image *im)
{
    const uint8_t *p = im->file.data;
    uint64_t program_size = im->file.size;

    im->reader = (struct nuc_fb_reader){im->file, false};
    im->segment_data = (struct nuc_span){p, 0};
    if (im->file.size < NUC_PROGRAM_HEADER_AT + HEADER_WHOLE ||
        memcmp(p + NUC_PROGRAM_HEADER_AT, NUC_PROGRAM_HEADER_MAGIC, 4) != 0)
        return true;
    uint32_t length = nuc_load_u32(p + NUC_PROGRAM_HEADER_AT + 4);
    if (!nuc_image_need(im, length >= HEADER_LEAST, NUC_TEXT("the extended header is too short")))
        return false;
    program_size = nuc_load_u64(p + NUC_PROGRAM_HEADER_AT + 8);
    uint64_t base = nuc_load_u64(p + NUC_PROGRAM_HEADER_AT + 16);
    uint64_t data_size = base == 0 || base > im->file.size ? 0 : im->file.size - base;
    if (length >= HEADER_WHOLE && base != 0)
        data_size = nuc_load_u64(p + NUC_PROGRAM_HEADER_AT + 24);
    return nuc_image_need(im, nuc_span_slice(im->file, 0, program_size, &im->reader.bytes),
                          NUC_TEXT("the file is shorter than its program")) &&
           nuc_image_need(im, nuc_span_slice(im->file, base, data_size, &im->segment_data),
                          NUC_TEXT("the file is shorter than its segments"));
}

bool nuc_image_segment(struct nuc_image *im, uint32_t index, struct nuc_span *out)
{
    struct nuc_fb_table t = nuc_fb_vec_table(&im->reader, im->segments, index);
    uint64_t offset = nuc_fb_u64(&im->reader, t, NUC_SEGMENT_OFFSET, 0);
    uint64_t size = nuc_fb_u64(&im->reader, t, NUC_SEGMENT_SIZE, 0);

    return nuc_image_ok(im) && nuc_image_need(im, nuc_span_slice(im->segment_data, offset, size, out),
                                              NUC_TEXT("a segment lies outside the file"));
}

static bool open_constants(struct nuc_image *im)
{
    struct nuc_fb_table t = nuc_fb_sub(&im->reader, im->program, NUC_PROGRAM_CONSTANT_SEGMENT);

    im->constants = (struct nuc_span){im->file.data, 0};
    im->constant_offsets = nuc_fb_vec(&im->reader, t, NUC_SUBSEGMENT_OFFSETS, 8);
    if (im->constant_offsets.count <= 1) /* entry 0 stands for "no constant" */
        return true;
    return nuc_image_segment(im, nuc_fb_u32(&im->reader, t, NUC_SUBSEGMENT_INDEX, 0), &im->constants);
}

static bool open_plan(struct nuc_image *im)
{
    struct nuc_fb_reader *r = &im->reader;
    struct nuc_fb_vector plans = nuc_fb_vec(r, im->program, NUC_PROGRAM_PLANS, 4);

    if (!nuc_image_need(im, plans.count > 0, NUC_TEXT("the program has no method")))
        return false;
    im->plan = nuc_fb_vec_table(r, plans, 0);
    im->values = nuc_fb_vec(r, im->plan, NUC_PLAN_VALUES, 4);
    im->inputs = nuc_fb_vec(r, im->plan, NUC_PLAN_INPUTS, 4);
    im->outputs = nuc_fb_vec(r, im->plan, NUC_PLAN_OUTPUTS, 4);
    im->operators = nuc_fb_vec(r, im->plan, NUC_PLAN_OPERATORS, 4);
    im->delegates = nuc_fb_vec(r, im->plan, NUC_PLAN_DELEGATES, 4);
    im->buffer_sizes = nuc_fb_vec(r, im->plan, NUC_PLAN_BUFFER_SIZES, 8);
    struct nuc_fb_vector chains = nuc_fb_vec(r, im->plan, NUC_PLAN_CHAINS, 4);
    if (!nuc_image_need(im, chains.count == 1, NUC_TEXT("the method does not have one chain of instructions")))
        return false;
    im->instructions = nuc_fb_vec(r, nuc_fb_vec_table(r, chains, 0), NUC_CHAIN_INSTRUCTIONS, 4);
    return nuc_image_ok(im) && nuc_image_need(im, im->buffer_sizes.count <= NUC_MAX_MEMORIES + 1,
                                              NUC_TEXT("the method plans for more memories than the runtime has"));
}

bool nuc_image_open(struct nuc_image *im, const void *image, size_t size, struct nuc_detail *detail)
{
    im->file = (struct nuc_span){image, size};
    im->detail = detail;
    if (!nuc_image_need(im, image != NULL && (uintptr_t)image % NUC_MEMORY_ALIGNMENT == 0,
                        NUC_TEXT("the image is not aligned to 16 bytes")) ||
        !nuc_image_need(im,
                        size >= NUC_PROGRAM_HEADER_AT && size <= UINT32_MAX &&
                            memcmp(im->file.data + 4, NUC_PROGRAM_IDENTIFIER, 4) == 0,
                        NUC_TEXT("not an ExecuTorch program (no ET12 identifier)")) ||
        !read_header(im))
        return false;
    im->program = nuc_fb_root(&im->reader, 0);
    im->segments = nuc_fb_vec(&im->reader, im->program, NUC_PROGRAM_SEGMENTS, 4);
    im->constant_buffers = nuc_fb_vec(&im->reader, im->program, NUC_PROGRAM_CONSTANT_BUFFERS, 4);
    return open_constants(im) && open_plan(im);
}

bool nuc_image_delegate(struct nuc_image *im, uint32_t index, const char **id, struct nuc_span *processed)
{
    struct nuc_fb_reader *r = &im->reader;
    struct nuc_fb_table delegate = nuc_fb_vec_table(r, im->delegates, index);
    struct nuc_fb_table reference = nuc_fb_sub(r, delegate, NUC_DELEGATE_PROCESSED);
    uint32_t data_index = nuc_fb_u32(r, reference, NUC_REFERENCE_INDEX, 0);

    *id = nuc_fb_string(r, delegate, NUC_DELEGATE_ID, NULL);
    if (!nuc_image_ok(im) ||
        !nuc_image_need(im, *id != NULL && reference.at != 0, NUC_TEXT("a delegate has no backend or no data")))
        return false;
    if (nuc_fb_i8(r, reference, NUC_REFERENCE_LOCATION, 0) == 1)
        return nuc_image_segment(im, data_index, processed);
    struct nuc_fb_vector inline_data = nuc_fb_vec(r, im->program, NUC_PROGRAM_DELEGATE_DATA, 4);
    *processed = nuc_fb_bytes(r, nuc_fb_vec_table(r, inline_data, data_index), 0);
    return nuc_image_ok(im) &&
           nuc_image_need(im, processed->data != NULL, NUC_TEXT("the data of a delegate is missing"));
}

/* A number in decimal digits, or -1. */
static int64_t read_number(struct nuc_span text)
{
    int64_t number = 0;

    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || i == 18)
            return -1; /* 18 digits fit 63 bits */
        number = 10 * number + (text.data[i] - '0');
    }
    return text.size == 0 ? -1 : number;
}

bool nuc_image_scratch(struct nuc_image *im, uint32_t index, int64_t *offset)
{
    struct nuc_fb_reader *r = &im->reader;
    struct nuc_fb_table delegate = nuc_fb_vec_table(r, im->delegates, index);
    struct nuc_fb_vector specs = nuc_fb_vec(r, delegate, NUC_DELEGATE_COMPILE_SPECS, 4);

    *offset = -1;
    for (uint32_t i = 0; i < specs.count && nuc_image_ok(im); i++) {
        struct nuc_fb_table spec = nuc_fb_vec_table(r, specs, i);
        const char *key = nuc_fb_string(r, spec, 0, NULL);
        if (key == NULL || !nuc_same_text(key, NUC_SCRATCH_SPEC))
            continue;
        *offset = read_number(nuc_fb_bytes(r, spec, 1));
        return nuc_image_need(im, *offset >= 0, NUC_TEXT("the place of a delegate's scratch is not a number"));
    }
    return nuc_image_ok(im);
}

/* Entry 0 of the sizes is reserved by the format: memories count from 1 in the file. */
bool nuc_image_planned(struct nuc_image *im, uint32_t memory, size_t *bytes)
{
    int64_t size = nuc_fb_vec_i64(&im->reader, im->buffer_sizes, memory + 1);

    *bytes = (size_t)size;
    return nuc_image_ok(im) && nuc_image_need(im, size >= 0 && (uint64_t)size <= SIZE_MAX / 2,
                                              NUC_TEXT("a planned memory has an impossible size"));
}

bool nuc_image_constant(struct nuc_image *im, uint32_t buffer, size_t bytes, struct nuc_span *out)
{
    struct nuc_span stored;

    if (im->constant_offsets.count == 0) {
        stored = nuc_fb_bytes(&im->reader, nuc_fb_vec_table(&im->reader, im->constant_buffers, buffer), 0);
        return nuc_image_ok(im) && nuc_image_need(im, nuc_span_slice(stored, 0, bytes, out),
                                                  NUC_TEXT("a constant is shorter than its tensor"));
    }
    uint64_t offset = (uint64_t)nuc_fb_vec_i64(&im->reader, im->constant_offsets, buffer);
    return nuc_image_ok(im) && nuc_image_need(im, nuc_span_slice(im->constants, offset, bytes, out),
                                              NUC_TEXT("a constant lies outside its segment"));
}

bool nuc_image_initial(struct nuc_image *im, uint32_t buffer, size_t bytes, struct nuc_span *out)
{
    struct nuc_fb_vector all = nuc_fb_vec(&im->reader, im->program, NUC_PROGRAM_MUTABLE_SEGMENTS, 4);
    struct nuc_fb_table t = nuc_fb_vec_table(&im->reader, all, 0);
    struct nuc_fb_vector offsets = nuc_fb_vec(&im->reader, t, NUC_SUBSEGMENT_OFFSETS, 8);
    uint64_t offset = (uint64_t)nuc_fb_vec_i64(&im->reader, offsets, buffer);
    struct nuc_span segment;

    return nuc_image_ok(im) && nuc_image_segment(im, nuc_fb_u32(&im->reader, t, NUC_SUBSEGMENT_INDEX, 0), &segment) &&
           nuc_image_need(im, nuc_span_slice(segment, offset, bytes, out),
                          NUC_TEXT("initial data lies outside its segment"));
}
