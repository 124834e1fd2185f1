/*
 * The front end of a camera writes its result as its reader takes it: quantized, in that order of dimensions and of
 * bytes. What stands between them goes: quantizing changes the table of pixel values, moves the place of each value.
 */
#include <string.h>

#include "cpu/cortexm_site.h"
#include "device/signal/frame.h"
#include "eval/eval.h"
#include "ir/args.h"
#include "rewrite/rewrite.h"

/* The table with what the quantize node makes of its values. False, and nothing done: of a type it does not have. */
static bool quantize_table(struct nuc_graph *g, struct nuc_node *frame, struct nuc_node *quantize)
{
    const uint32_t index = NUC_ARG(PREPARE_FRAME, table);
    struct nuc_node *table = frame->args[index].u.node;
    const struct nuc_meta result = quantize->vals[0];
    const struct nuc_meta meta = nuc_meta_make(NUC_I8, table->vals[0].sizes, table->vals[0].rank);
    void *values;

    if (result.dtype != NUC_I8 || table->vals[0].dtype != NUC_F32)
        return false;
    nuc_set_arg_node(quantize, g, NUC_SELF, table);
    nuc_set_val(g, quantize, &meta);
    const bool known = nuc_eval_constant(g, quantize, &values);
    if (known)
        nuc_set_arg_node(frame, g, index, nuc_add_constant(g, "values", &meta, values));
    nuc_set_arg_node(quantize, g, NUC_SELF, frame);
    nuc_set_val(g, quantize, &result);
    return known;
}

/* Whether the permutation takes the channels from the end to in front of rows and columns, or back. */
static bool move_channels(struct nuc_graph *g, struct nuc_node *frame, const struct nuc_node *permute)
{
    const struct nuc_arg *numbers = &frame->args[NUC_ARG(PREPARE_FRAME, numbers)];
    const struct nuc_arg *dims = &permute->args[NUC_ARG(PERMUTE, dims)];
    const uint32_t rank = permute->vals[0].rank;
    int64_t changed[6], place = -1;

    memcpy(changed, numbers->u.ints, sizeof changed);
    for (uint32_t i = 0; i < rank && dims->count == rank; i++) {
        if ((dims->u.ints[i] + rank) % rank == changed[5])
            place = i;
    }
    const bool goes_last = changed[5] == rank - 3 && place == rank - 1;
    if (!goes_last && !(changed[5] == rank - 1 && place == rank - 3))
        return false;
    for (uint32_t i = 0; i < rank; i++) { /* rows and columns stay in their order */
        const int64_t from = i == place ? changed[5] : i < rank - 3u ? i : goes_last ? i + 1 : i - 1;
        if ((dims->u.ints[i] + rank) % rank != from)
            return false;
    }
    changed[5] = place;
    nuc_set_arg_ints(frame, g, NUC_ARG(PREPARE_FRAME, numbers), changed, sizeof changed / sizeof *changed);
    return true;
}

static bool absorb(struct nuc_graph *g, struct nuc_node *frame)
{
    struct nuc_node *reader = frame->n_users == 1 ? frame->users[0] : NULL;
    bool absorbed = false;

    if (reader == NULL || reader->n_vals != 1)
        return false;
    if (nuc_is_quantize(reader))
        absorbed = quantize_table(g, frame, reader);
    else if (nuc_op_is_in(reader->op, NUC_OPS(NUC_OP_PERMUTE, NUC_OP_CORTEXM_TRANSPOSE, NUC_OP_NUCLEON_PERMUTE_VIEW)))
        absorbed = move_channels(g, frame, reader);
    else if (reader->op == NUC_OP_TO_DIM_ORDER_COPY)
        absorbed = reader->vals[0].dtype == frame->vals[0].dtype;
    if (!absorbed)
        return false;
    const struct nuc_meta result = reader->vals[0];
    nuc_set_val(g, frame, &result);
    nuc_replace_uses(g, reader, frame, frame);
    nuc_remove_node(g, reader);
    return true;
}

void nuc_cortexm_lower_frames(struct nuc_graph *g)
{
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (n->op != NUC_OP_PREPARE_FRAME)
            continue;
        while (absorb(g, n))
            ;
        /* Sums of rows of the result, a row of it and one of the frame. */
        const int64_t *numbers = n->args[NUC_ARG(PREPARE_FRAME, numbers)].u.ints;
        const struct nuc_node *columns = n->args[NUC_ARG(PREPARE_FRAME, columns)].u.node;
        const struct nuc_node *rows = n->args[NUC_ARG(PREPARE_FRAME, rows)].u.node;
        const int64_t *x = columns->vals[0].sizes, *y = rows->vals[0].sizes;
        const struct nuc_frame_input p = {
            .pixels = (enum nuc_pixel_format)numbers[0],
            .channels = (enum nuc_colours)numbers[1],
            .columns = {(const int32_t *)(const void *)columns->data->bytes.data, (size_t)x[0], (size_t)x[1]},
            .rows = {(const int32_t *)(const void *)rows->data->bytes.data, (size_t)y[0], (size_t)y[1]}};
        nuc_cm_scratch(g, n, NUC_ARG(PREPARE_FRAME, scratch), nuc_frame_scratch(&p));
    }
}
