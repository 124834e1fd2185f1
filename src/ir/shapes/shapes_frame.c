/* Front ends for cameras. */
#include "device/signal/frame.h"
#include "ir/args.h"
#include "ir/shapes/shapes.h"

/* int32 [size, 2 + taps]: the size. */
static int64_t size_of_taps(const struct nuc_shape_call *c, uint32_t index)
{
    const struct nuc_meta *m = nuc_shape_input(c, index);

    if (m->dtype != NUC_I32 || m->rank != 2 || m->sizes[0] < 1 || m->sizes[1] < 3)
        nuc_shape_fail(c, "argument %u is %s instead of int32 of taps", (unsigned)index, nuc_meta_text(c->g->cx, m));
    return m->sizes[0];
}

void nuc_shape_prepare_frame(const struct nuc_shape_call *c)
{
    const struct nuc_arg *numbers = &c->node->args[NUC_ARG(PREPARE_FRAME, numbers)];
    const int64_t *n = numbers->u.ints, most = INT32_MAX;
    const struct nuc_meta *frame = nuc_shape_input(c, NUC_SELF);
    const struct nuc_meta *table = nuc_shape_input(c, NUC_ARG(PREPARE_FRAME, table));

    if (numbers->count != 6 || n[0] < 0 || n[0] >= NUC_PIXELS_COUNT || n[1] < 0 || n[1] >= NUC_CHANNELS_COUNT ||
        n[2] < 1 || n[3] < 1 || n[2] > most / 4 / n[3] || n[4] < 3 || n[4] > 4 ||
        (n[5] != n[4] - 1 && n[5] != n[4] - 3))
        nuc_shape_fail(c, "numbers are not formats, sizes and dimensions");
    const int64_t bytes = (int64_t)nuc_frame_bytes((enum nuc_pixel_format)n[0], (size_t)n[2], (size_t)n[3]);
    const int64_t channels = n[1] == NUC_CHANNELS_GREY ? 1 : 3;
    if (frame->dtype != NUC_U8 || frame->rank != 1 || frame->sizes[0] != bytes)
        nuc_shape_fail(c, "the frame is %s instead of uint8[%lld]", nuc_meta_text(c->g->cx, frame), (long long)bytes);
    if ((table->dtype != NUC_I8 && table->dtype != NUC_F32) || table->rank != 2 || table->sizes[1] != 256 ||
        (table->sizes[0] != 1 && table->sizes[0] != channels))
        nuc_shape_fail(c, "the table is %s instead of one for each of %lld channels", nuc_meta_text(c->g->cx, table),
                       (long long)channels);
    int64_t sizes[4] = {1, 1, 1, 1};
    const int64_t rows = n[5] == n[4] - 1 ? n[4] - 3 : n[4] - 2;
    sizes[rows] = size_of_taps(c, NUC_ARG(PREPARE_FRAME, rows));
    sizes[rows + 1] = size_of_taps(c, NUC_ARG(PREPARE_FRAME, columns));
    sizes[n[5]] = channels;
    struct nuc_meta m = nuc_meta_make(table->dtype, sizes, (uint32_t)n[4]);
    /* The kernel writes either order: that which the node has been given for its reader stays. */
    nuc_order_as(&m, c->node->n_vals == 1 && nuc_is_channels_last(&c->node->vals[0]));
    nuc_shape_result(c, &m);
}
