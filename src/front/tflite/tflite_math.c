/* Elementwise operators, reductions, softmax, quantization. */
#include "tflite_import.h"

/* The operator of the graph that computes the same. */
static enum nuc_op graph_op(const struct nuc_ti *ti)
{
    static const uint16_t ops[NUC_LT_CODES] = {
#define LT_FUNCTION(name, number, type, rule, function, graph) [number] = NUC_OP_##graph,
#define LT_BINARY(name, number, type, fields, rule, kernel, graph) [number] = NUC_OP_##graph,
#define LT_MAP(name, number, type, graph) [number] = NUC_OP_##graph,
#define LT_PAIRWISE(name, number, type, fields, graph) [number] = NUC_OP_##graph,
#include "litert/lt_ops.def"
    };

    return (enum nuc_op)ops[ti->op->code];
}

/* ---- two operands ---- */

void nuc_ti_binary(struct nuc_ti *ti)
{
    enum nuc_ti_form form = nuc_ti_common_form(ti, 2);
    struct nuc_node *x = nuc_ti_broadcast(ti, 0, form), *y = nuc_ti_broadcast(ti, 1, form), *node;

    if (ti->op->code == NUC_LT_DIV && nuc_ti_is_index(nuc_ti_out(ti))) {
        /* torch's division of integers is a real one, LiteRT's drops the fraction. */
        node = nuc_ti_call(ti, NUC_OP_DIV_MODE, x);
        nuc_set_arg_node(node, ti->g, NUC_OTHER, y);
        nuc_set_arg_string(node, NUC_ARG(DIV_MODE, rounding_mode), "trunc");
        node = nuc_ti_infer(ti, node);
    } else {
        node = nuc_ti_emit(ti, graph_op(ti), NUC_ARGS(x, y));
    }
    /* No kernel clips a product: LiteRT clips it after it was rounded. */
    if (ti->op->code == NUC_LT_MUL && ti->op->options.arith.activation != NUC_LT_ACT_NONE)
        node = nuc_ti_settle(ti, node, nuc_ti_out(ti));
    /* Operators without options have no activation. */
    nuc_ti_define(ti, nuc_ti_activate(ti, node, ti->op->options.arith.activation), form);
}

/* From the first to the last. */
void nuc_ti_add_n(struct nuc_ti *ti)
{
    enum nuc_ti_form form = nuc_ti_common_form(ti, ti->op->n_inputs);
    struct nuc_node *sum = nuc_ti_real(ti, 0, form);

    for (uint32_t i = 1; i < ti->op->n_inputs; i++)
        sum = nuc_ti_emit(ti, NUC_OP_ADD, NUC_ARGS(sum, nuc_ti_real(ti, i, form)));
    nuc_ti_define(ti, sum, form);
}

/* ---- one operand ---- */

void nuc_ti_unary(struct nuc_ti *ti)
{
    enum nuc_ti_form form = nuc_ti_form_of(ti, 0);
    struct nuc_node *x = nuc_ti_real(ti, 0, form);

    nuc_ti_define(ti, nuc_ti_emit(ti, graph_op(ti), NUC_ARGS(x)), form);
}

/* Numbers in another type; of quantized ones LiteRT would take the integers. */
void nuc_ti_cast(struct nuc_ti *ti)
{
    enum nuc_ti_form form = nuc_ti_form_of(ti, 0);

    nuc_ti_need_float(ti);
    if (nuc_ti_in(ti, 0)->is_unsigned != nuc_ti_out(ti)->is_unsigned &&
        (nuc_ti_in(ti, 0)->dtype != NUC_I32 || nuc_ti_out(ti)->dtype != NUC_I32))
        nuc_ti_fail(ti, "from and to integers without a sign, int32 and uint32 are handled");
    nuc_ti_define(ti, nuc_ti_to_type(ti, nuc_ti_real(ti, 0, form), nuc_ti_out(ti)->dtype), form);
}
