/*
 * Names follow from those of the Edge dialect as torch's code generator makes them: edge.aten.x.default becomes
 * aten::x.out, edge.aten.x.Overload becomes aten::x.Overload_out.
 */
#include "back/program/out_variant.h"

#include <string.h>

#include "ir/executorch_ops.h"
#include "ir/op_list.h"

/* Out variants that torch declares by hand. */
static const char *const by_hand[NUC_OP_COUNT] = {
#define OUT(op, overload) [NUC_OP_##op] = (overload),
#include "ir/ops.def"
};

/* ExecuTorch has no recurrent layers and no RMS norm: those of torch are operators of our own. */
static struct nuc_out_variant own(struct nuc_context *cx, enum nuc_op op)
{
    const char *name = strchr(nuc_op_name(op, NUC_ATEN), '.') + 1;

    return (struct nuc_out_variant){nuc_format(cx, "nucleon::%.*s", (int)strcspn(name, "."), name), "out"};
}

struct nuc_out_variant nuc_out_variant(struct nuc_context *cx, enum nuc_op op)
{
    /*
     * The portable library has no kernel for the first ones, which are delegated or decomposed; a permutation that
     * leaves every byte in its place is not an instruction, nor are rows and what they make together.
     */
    bool quantization = nuc_op_kind(op) == NUC_KIND_QUANT || nuc_op_kind(op) == NUC_KIND_DEQUANT;
    bool edge =
        nuc_op_in_dialect(op, NUC_EDGE) && (quantization || strncmp(nuc_op_name(op, NUC_EDGE), "edge.", 5) == 0);
    if (!edge ||
        nuc_op_is_in(op, NUC_OPS(NUC_OP_PRELU, NUC_OP_PAD, NUC_OP_HARDSWISH, NUC_OP_LINEAR, NUC_OP_NUCLEON_PERMUTE_VIEW,
                                 NUC_OP_NUCLEON_ROWS_VIEW, NUC_OP_NUCLEON_JOINED_ROWS)))
        return (struct nuc_out_variant){NULL, NULL};
    if (nuc_op_family(op) == NUC_FAMILY_RECURRENT || op == NUC_OP_RMS_NORM)
        return own(cx, op);
    /* Squeezing and unsqueezing are views: ExecuTorch's own lowering replaces them by view_copy. */
    const char *name = nuc_op_name(nuc_op_family(op) == NUC_FAMILY_VIEW ? NUC_OP_VIEW : op, NUC_EDGE);
    name += strncmp(name, "edge.", 5) == 0 ? 5 : 0;
    const char *base = strchr(name, '.') + 1, *overload = strchr(base, '.') + 1;
    return (struct nuc_out_variant){
        nuc_format(cx, "%.*s::%.*s", (int)(base - 1 - name), name, (int)(overload - 1 - base), base),
        by_hand[op] != NULL                ? by_hand[op]
        : strcmp(overload, "default") == 0 ? "out"
                                           : nuc_format(cx, "%s_out", overload),
    };
}

struct nuc_out_variant nuc_out_variant_of(struct nuc_context *cx, const struct nuc_node *node)
{
    struct nuc_out_variant v = nuc_out_variant(cx, node->op);
    /* Operators of int8 that ExecuTorch has for int8 alone, or that are ours. */
    bool wide = node->n_vals == 1 && node->vals[0].dtype == NUC_I16 &&
                nuc_op_is_in(node->op,
                             NUC_OPS(NUC_OP_CORTEXM_ADD, NUC_OP_CORTEXM_MUL, NUC_OP_CORTEXM_PAD,
                                     NUC_OP_CORTEXM_BATCH_MATMUL, NUC_OP_CORTEXM_AVG_POOL2D, NUC_OP_CORTEXM_MAX_POOL2D,
                                     NUC_OP_CORTEXM_SOFTMAX, NUC_OP_NUCLEON_CONV2D, NUC_OP_NUCLEON_DEPTHWISE,
                                     NUC_OP_NUCLEON_TRANSPOSE_CONV2D, NUC_OP_NUCLEON_SUM, NUC_OP_NUCLEON_PRELU));

    if (wide)
        v = (struct nuc_out_variant){nuc_format(cx, "nucleon%s", strchr(v.name, ':')), "int16_out"};
    return v;
}

bool nuc_out_in_executorch(struct nuc_context *cx, const struct nuc_node *node)
{
    const char *name = nuc_is_call(node) ? nuc_out_variant_of(cx, node).name : NULL;

    if (node->op == NUC_OP_CONVOLUTION && node->n_vals > 0 && node->vals[0].rank > NUC_EXECUTORCH_CONVOLUTION_RANK)
        return false;
    return name == NULL || nuc_in_executorch(name);
}

bool nuc_out_has_arg(enum nuc_op op, uint32_t index)
{
    static const char *const options[] = {"dtype", "layout", "device", "pin_memory"};
    const struct nuc_schema *schema = nuc_op_schema(op);

    /* Torch's tensor options come together; the result says what they would. */
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (nuc_schema_arg_index(schema, "layout") >= 0 && strcmp(schema->args[index].name, options[i]) == 0)
            return false;
    }
    return true;
}

bool nuc_out_prefers_ints(enum nuc_op op)
{
    return nuc_op_is_in(op,
                        NUC_OPS(NUC_OP_CLAMP, NUC_OP_ADD, NUC_OP_SUB, NUC_OP_GT_SCALAR, NUC_OP_ADDMM, NUC_OP_ARANGE));
}
