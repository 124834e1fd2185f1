/* Front ends for cameras, by the function that the kernels of a program call: their arithmetic has one definition. */
#include "device/signal/frame.h"
#include "eval/eval_call.h"

static struct nuc_frame_input frame_input_of(const struct nuc_eval_call *c)
{
    const int64_t *n = c->node->args[NUC_ARG(PREPARE_FRAME, numbers)].u.ints;
    const uint32_t columns = NUC_ARG(PREPARE_FRAME, columns), rows = NUC_ARG(PREPARE_FRAME, rows);
    const uint32_t table = NUC_ARG(PREPARE_FRAME, table);
    const struct nuc_meta *x = nuc_eval_in_meta(c, columns), *y = nuc_eval_in_meta(c, rows);
    const struct nuc_meta *values = nuc_eval_in_meta(c, table);
    struct nuc_frame_input p = {
        .pixels = (enum nuc_pixel_format)n[0],
        .channels = (enum nuc_colours)n[1],
        .width = (size_t)n[2],
        .height = (size_t)n[3],
        .columns = {nuc_eval_in(c, columns), (size_t)x->sizes[0], (size_t)x->sizes[1]},
        .rows = {nuc_eval_in(c, rows), (size_t)y->sizes[0], (size_t)y->sizes[1]},
        .table = nuc_eval_in(c, table),
        .one_table = values->sizes[0] == 1,
        .is_wide = values->dtype == NUC_F32,
    };
    const bool last = n[5] == n[4] - 1;
    const size_t channels = (size_t)nuc_eval_result(c)->sizes[n[5]];
    p.channel_step = last ? 1 : p.rows.count * p.columns.count;
    p.column_step = last ? channels : 1;
    p.row_step = p.column_step * p.columns.count;
    return p;
}

static void prepare_frame(struct nuc_eval_call *c)
{
    if (!nuc_eval_is_constant_in(c, NUC_ARG(PREPARE_FRAME, columns)) ||
        !nuc_eval_is_constant_in(c, NUC_ARG(PREPARE_FRAME, rows)))
        nuc_eval_fail(c, "its taps are computed: make them constants");
    const struct nuc_frame_input p = frame_input_of(c);
    if (!nuc_frame_input_fits(&p))
        nuc_eval_fail(c, "a tap lies outside of the frame, or the frame has half a pair of pixels");
    c->scratch_size = nuc_frame_scratch(&p);
}

static void run_prepare_frame(const struct nuc_eval_call *c)
{
    const struct nuc_frame_input p = frame_input_of(c);

    nuc_prepare_frame(&p, nuc_eval_in(c, NUC_SELF), c->scratch, c->out[0]);
}

const struct nuc_eval_op nuc_eval_prepare_frame = {.prepare = prepare_frame, .run = run_prepare_frame};
