/* Programs that take and give int8: inputs and outputs of the graph, and what the program says about them. */
#include "back/program/program.h"
#include "driver/lower_model.h"
#include "host/text.h"

static void warn_of_float(struct nuc_compiler *c, const char *file, const char *what, const struct nuc_quant *const *io,
                          uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (io[i] == NULL)
            nuc_warn(c->cx, "%s: %s %u stays as it is: it is not quantized inside the program", file, what, i);
    }
}

struct nuc_io_quantizations nuc_note_io(const struct nuc_model *m)
{
    const struct nuc_arg *outputs = &nuc_output_node(m->graph)->args[NUC_ARG(OUTPUT, values)];
    struct nuc_io_quantizations io = {.n_outputs = outputs->count};

    io.inputs = nuc_alloc_array(m->c->cx, m->graph->n_nodes, sizeof *io.inputs);
    io.outputs = nuc_alloc_array(m->c->cx, outputs->count, sizeof *io.outputs);
    for (const struct nuc_node *n = m->graph->first; n != NULL && nuc_is_placeholder(n); n = n->next) {
        if (n->input_kind == NUC_USER_INPUT) {
            const struct nuc_quant *q = NULL;
            for (uint32_t i = 0; q == NULL && n->vals[0].dtype == NUC_I8 && i < n->n_users; i++)
                q = nuc_io_quantization_of(m->c->cx, n->users[i], NUC_OP_DEQUANTIZE_PER_TENSOR);
            io.inputs[io.n_inputs++] = q;
        }
    }
    for (uint32_t i = 0; i < outputs->count; i++)
        io.outputs[i] = nuc_io_quantization_of(m->c->cx, outputs->u.nodes[i], NUC_OP_QUANTIZE_PER_TENSOR);
    return io;
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

bool nuc_is_int8_io(const struct nuc_job *j)
{
    return j->m->settings->o.io == NUC_IO_INT8;
}

void nuc_quantize_io(struct nuc_job *j)
{
    struct nuc_io_quantizations *io = &j->m->lowered->io;
    const struct nuc_io_quantizations noted = *io;
    const char *file = j->m->graph->file;

    nuc_remove_io_quantization(j->m->graph, j->m->settings->o.reference_compat, io);
    keep_noted(noted.inputs, noted.n_inputs, io->inputs, io->n_inputs);
    keep_noted(noted.outputs, noted.n_outputs, io->outputs, io->n_outputs);
    warn_of_float(j->c, file, "input", io->inputs, io->n_inputs);
    warn_of_float(j->c, file, "output", io->outputs, io->n_outputs);
}

enum { CONSTANTS_EACH = 5 };

/* Names and order as ExecuTorch's quantize_io_pass leaves them. */
static void add_constants(struct nuc_context *cx, const char *kind, uint32_t index, const struct nuc_quant *q,
                          struct nuc_constant_method *out)
{
    out[0] = (struct nuc_constant_method){nuc_format(cx, "%s%u_scale", kind, index), true, {.f = q->scale}};
    out[1] = (struct nuc_constant_method){nuc_format(cx, "%s%u_zp", kind, index), false, {.i = q->zero_point}};
    out[2] = (struct nuc_constant_method){nuc_format(cx, "%s%u_quant_min", kind, index), false, {.i = q->quant_min}};
    out[3] = (struct nuc_constant_method){nuc_format(cx, "%s%u_quant_max", kind, index), false, {.i = q->quant_max}};
    out[4] = (struct nuc_constant_method){
        nuc_format(cx, "%s%u_dtype", kind, index), false, {.i = nuc_scalar_type(q->dtype)}};
}

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
        add_constants(cx, input ? "input" : "output", index, q, numbers + o->n_numbers);
        o->n_numbers += CONSTANTS_EACH;
    }
}
