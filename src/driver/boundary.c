/*
 * Inputs and outputs of programs that take and give int8, and what the program says about them. Those of LiteRT models:
 * [N, H, W, C] for whoever gives or takes them, [N, C, H, W] in the graph, whose dim order has them in the same bytes.
 */
#include <string.h>

#include "back/program/program.h"
#include "driver/lowered.h"
#include "front/tflite/tflite.h"
#include "ir/args.h"
#include "npu/layout/orders.h"
#include "rewrite/rewrite.h"

static const int64_t to_first[4] = {0, 3, 1, 2}, to_last[4] = {0, 2, 3, 1};

/* ---- archives made of LiteRT models ---- */

/* Whether inputs, or outputs, are those of a graph of the LiteRT model: the same sizes in the same bytes. */
static bool correspond(const struct nuc_model *m, const struct nuc_model *of,
                       enum nuc_status (*info)(const struct nuc_model *, size_t, struct nuc_tensor_info *),
                       const bool *images, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct nuc_tensor_info a, b;
        if (info(m, i, &a) != NUC_OK || info(of, i, &b) != NUC_OK || a.rank != b.rank)
            return false;
        if (images[i])
            nuc_channels_go_last(&a);
        if (memcmp(a.sizes, b.sizes, a.rank * sizeof a.sizes[0]) != 0)
            return false;
    }
    return true;
}

void nuc_model_present_as(struct nuc_model *m, const struct nuc_model *of)
{
    const struct nuc_litert_io *io = of->io;

    if (m->io == NULL && io != NULL && nuc_model_n_inputs(m) == io->n_inputs &&
        nuc_model_n_outputs(m) == io->n_outputs && correspond(m, of, nuc_model_input, io->image_inputs, io->n_inputs) &&
        correspond(m, of, nuc_model_output, io->image_outputs, io->n_outputs))
        m->io = io;
}

/* ---- the program's ---- */

/* The value with its dimensions in another order: under another name where its bytes lie so already, else a copy. */
static struct nuc_node *permuted(struct nuc_graph *g, struct nuc_node *before, struct nuc_node *value,
                                 const int64_t *dims, const struct nuc_meta *as)
{
    bool in_place = nuc_is_permuted_in_place(&value->vals[0], dims, as);
    enum nuc_op op = in_place ? NUC_OP_NUCLEON_PERMUTE_VIEW : NUC_OP_PERMUTE;
    struct nuc_node *node = nuc_emit(g, before, op, value, NUC_ARGS(value, nuc_ints_arg(dims, as->rank)));

    if (in_place)
        nuc_set_val(g, node, as);
    return node;
}

static struct nuc_meta image_outside(const struct nuc_meta *inside)
{
    int64_t sizes[4];

    for (size_t d = 0; d < 4; d++)
        sizes[d] = inside->sizes[to_last[d]];
    return nuc_meta_make(inside->dtype, sizes, 4);
}

bool nuc_is_from_litert(const struct nuc_job *j)
{
    return j->m->io != NULL;
}

void nuc_present_boundary(struct nuc_job *j)
{
    struct nuc_model *m = j->m;
    size_t index = 0;

    for (struct nuc_node *n = m->graph->first; nuc_is_placeholder(n); n = n->next) {
        if (n->input_kind == NUC_USER_INPUT && nuc_is_image_input(m, index++)) {
            struct nuc_graph *g = m->graph;
            struct nuc_node *before = n;
            while (nuc_is_placeholder(before))
                before = before->next;
            const struct nuc_meta inside = n->vals[0], outside = image_outside(&inside);
            nuc_set_val(g, n, &outside);
            if (n->n_users == 0)
                continue;
            struct nuc_node *image = permuted(g, before, n, to_first, &inside);
            nuc_replace_uses(g, n, image, image);
            if (nuc_same_layout(&image->vals[0], &inside))
                continue;
            /* The copy is contiguous: those who read the input did so channels last. */
            struct nuc_node *copy = nuc_insert_in_order(g, before, NUC_OP_TO_DIM_ORDER_COPY, image, &inside);
            nuc_replace_uses(g, image, copy, copy);
        }
    }
    for (uint32_t i = 0; i < nuc_model_n_outputs(m); i++) {
        if (nuc_is_image_output(m, i)) {
            struct nuc_graph *g = m->graph;
            struct nuc_node *output = nuc_output_node(g);
            const struct nuc_arg *list = &output->args[NUC_ARG(OUTPUT, values)];
            struct nuc_node **values = nuc_copy(g->cx, list->u.nodes, list->count * sizeof(struct nuc_node *));
            const struct nuc_meta outside = image_outside(&values[i]->vals[0]);
            values[i] = permuted(g, output, values[i], to_last, &outside);
            nuc_set_arg_nodes(output, g, NUC_ARG(OUTPUT, values), values, list->count);
        }
    }
    m->io = NULL;
}

/* ---- int8 ---- */

static void warn_of_float(struct nuc_compiler *c, const char *file, const char *what, const struct nuc_quant *const *io,
                          uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (io[i] == NULL)
            nuc_warn(c->cx, "%s: %s %u stays as it is: it is not quantized inside the program", file, what, i);
    }
}

/* Inputs and outputs that were quantized all along keep what was known of them. */
static void keep_noted(const struct nuc_quant *const *noted, uint32_t n_noted, const struct nuc_quant **now,
                       uint32_t count)
{
    for (uint32_t i = 0; i < count && i < n_noted; i++) {
        if (now[i] == NULL)
            now[i] = noted[i];
    }
}

struct nuc_io_quantizations nuc_note_io(const struct nuc_model *m)
{
    const struct nuc_arg *outputs = &nuc_output_node(m->graph)->args[NUC_ARG(OUTPUT, values)];
    struct nuc_io_quantizations io = {.n_outputs = nuc_n_results(m->graph)};

    io.inputs = nuc_alloc_array(m->c->cx, m->graph->n_nodes, sizeof *io.inputs);
    io.outputs = nuc_alloc_array(m->c->cx, outputs->count, sizeof *io.outputs);
    for (const struct nuc_node *n = m->graph->first; n != NULL && nuc_is_placeholder(n); n = n->next) {
        if (n->input_kind == NUC_USER_INPUT) {
            const struct nuc_quant *q = NULL;
            bool quantized = n->vals[0].dtype == NUC_I8 || n->vals[0].dtype == NUC_I16;
            for (uint32_t i = 0; q == NULL && quantized && i < n->n_users; i++)
                q = nuc_io_quantization_of(m->c->cx, n->users[i], NUC_OP_DEQUANTIZE_PER_TENSOR);
            io.inputs[io.n_inputs++] = q;
        }
    }
    for (uint32_t i = 0; i < io.n_outputs; i++)
        io.outputs[i] = nuc_io_quantization_of(m->c->cx, outputs->u.nodes[i], NUC_OP_QUANTIZE_PER_TENSOR);
    if (m->noted != NULL) {
        keep_noted(m->noted->inputs, m->noted->n_inputs, io.inputs, io.n_inputs);
        keep_noted(m->noted->outputs, m->noted->n_outputs, io.outputs, io.n_outputs);
    }
    return io;
}

static bool is_int8_io(const struct nuc_job *j)
{
    return j->m->settings->o.io == NUC_IO_INT8;
}

bool nuc_has_quantized_boundary(const struct nuc_job *j)
{
    return is_int8_io(j) || (nuc_n_states(j->m->graph) > 0 && !j->m->settings->o.reference_compat);
}

void nuc_quantize_io(struct nuc_job *j)
{
    struct nuc_io_quantizations *io = &j->m->lowered->io;
    const struct nuc_io_quantizations noted = *io;
    const char *file = j->m->graph->file;

    if (!j->m->settings->o.reference_compat)
        nuc_quantize_states(j->m->graph);
    if (!is_int8_io(j))
        return;
    nuc_remove_io_quantization(j->m->graph, j->m->settings->o.reference_compat, io);
    keep_noted(noted.inputs, noted.n_inputs, io->inputs, io->n_inputs);
    keep_noted(noted.outputs, noted.n_outputs, io->outputs, io->n_outputs);
    warn_of_float(j->c, file, "input", io->inputs, io->n_inputs);
    warn_of_float(j->c, file, "output", io->outputs, io->n_outputs);
}

enum { CONSTANTS_EACH = 5 };

void nuc_add_io_constants(const struct nuc_model *m, struct nuc_program_options *o)
{
    struct nuc_context *cx = m->c->cx;
    const struct nuc_io_quantizations *io = &m->lowered->io;
    size_t most = (size_t)(io->n_inputs + io->n_outputs) * CONSTANTS_EACH;
    struct nuc_constant_method *numbers = nuc_alloc_array(cx, most, sizeof *numbers);

    o->numbers = numbers;
    for (uint32_t i = 0; i < io->n_inputs + io->n_outputs; i++) {
        bool input = i < io->n_inputs;
        uint32_t index = input ? i : i - io->n_inputs;
        const struct nuc_quant *q = input ? io->inputs[index] : io->outputs[index];
        if (q == NULL)
            continue;
        /* Names and order as ExecuTorch's quantize_io_pass leaves them. */
        const char *of = nuc_format(cx, "%s%u", input ? "input" : "output", index);
        const struct nuc_constant_method own[CONSTANTS_EACH] = {
            {nuc_format(cx, "%s_scale", of), true, {.f = q->scale}},
            {nuc_format(cx, "%s_zp", of), false, {.i = q->zero_point}},
            {nuc_format(cx, "%s_quant_min", of), false, {.i = q->quant_min}},
            {nuc_format(cx, "%s_quant_max", of), false, {.i = q->quant_max}},
            {nuc_format(cx, "%s_dtype", of), false, {.i = nuc_scalar_type(q->dtype)}}};
        memcpy(numbers + o->n_numbers, own, sizeof own);
        o->n_numbers += CONSTANTS_EACH;
    }
}
