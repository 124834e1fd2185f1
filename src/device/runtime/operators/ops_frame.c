/* Front ends for cameras. */
#include "device/runtime/operators/op_shapes.h"
#include "device/signal/frame.h"

static struct nuc_frame_taps taps_of(const struct nuc_tensor *t)
{
    return (struct nuc_frame_taps){t->data, (size_t)t->sizes[0], (size_t)t->sizes[1]};
}

/* Formats and sizes out of the list; false where they are none, or those of another frame. */
static bool read_numbers(struct nuc_kernel_context *cx, const struct nuc_args_prepare_frame *a,
                         struct nuc_frame_input *p, int64_t dims[2])
{
    const size_t bytes = nuc_tensor_elements(&a->input->u.tensor);
    int64_t n[6] = {0};

    for (uint32_t i = 0; a->numbers->u.list.count == 6 && i < 6; i++)
        n[i] = nuc_list_int(cx, a->numbers, i);
    if (a->numbers->u.list.count != 6 || n[0] < 0 || n[0] >= NUC_PIXELS_COUNT || n[1] < 0 ||
        n[1] >= NUC_CHANNELS_COUNT || n[2] < 1 || n[3] < 1 || n[3] > INT32_MAX || n[2] > INT32_MAX / 4 / n[3])
        return false;
    p->pixels = (enum nuc_pixel_format)n[0];
    p->channels = (enum nuc_colours)n[1];
    p->width = (size_t)n[2];
    p->height = (size_t)n[3];
    dims[0] = n[4];
    dims[1] = n[5];
    return nuc_frame_bytes(p->pixels, p->width, p->height) == bytes;
}

/* Whether the result is one image of these taps and channels, whose steps are taken then. */
static bool read_result(const struct nuc_tensor *out, const int64_t dims[2], struct nuc_frame_input *p)
{
    const int64_t rank = out->rank, channels = dims[1], rows = channels == rank - 1 ? rank - 3 : rank - 2;
    ptrdiff_t strides[NUC_MAX_RANK];

    if (rank < 3 || rank > 4 || dims[0] != rank || (channels != rank - 1 && channels != rank - 3) ||
        (rank == 4 && out->sizes[0] != 1) || out->sizes[channels] != (p->channels == NUC_CHANNELS_GREY ? 1 : 3) ||
        (size_t)out->sizes[rows] != p->rows.count || (size_t)out->sizes[rows + 1] != p->columns.count)
        return false;
    nuc_tensor_strides(out, strides);
    p->channel_step = (size_t)strides[channels];
    p->row_step = (size_t)strides[rows];
    p->column_step = (size_t)strides[rows + 1];
    return true;
}

enum nuc_status nuc_op_prepare_frame(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_prepare_frame *a = (const void *)args;
    const struct nuc_tensor *table = &a->table->u.tensor, *out = &a->out->u.tensor, *scratch = &a->scratch->u.tensor;
    struct nuc_frame_input p = {.columns = taps_of(&a->columns->u.tensor),
                                .rows = taps_of(&a->rows->u.tensor),
                                .table = table->data,
                                .one_table = table->sizes[0] == 1,
                                .is_wide = table->dtype == NUC_F32};
    int64_t dims[2] = {0};

    if (!nuc_need(cx, read_numbers(cx, a, &p, dims), NUC_TEXT("argument 'numbers' is not of this frame")) ||
        !nuc_need(cx, nuc_frame_input_fits(&p), NUC_TEXT("a tap lies outside of the frame")) ||
        !nuc_need(cx, read_result(out, dims, &p), NUC_TEXT("argument 'out' is not an image of these taps")) ||
        !nuc_need(cx,
                  table->dtype == out->dtype && table->sizes[1] == 256 &&
                      (p.one_table || table->sizes[0] == (p.channels == NUC_CHANNELS_GREY ? 1 : 3)),
                  NUC_TEXT("argument 'table' has not 256 values for each channel")) ||
        !nuc_need(cx, scratch->bytes >= nuc_frame_scratch(&p) && (uintptr_t)scratch->data % sizeof(uint32_t) == 0,
                  NUC_TEXT("argument 'scratch' is too small")))
        return NUC_UNSUPPORTED;
    nuc_prepare_frame(&p, a->input->u.tensor.data, scratch->data, out->data);
    return NUC_OK;
}
