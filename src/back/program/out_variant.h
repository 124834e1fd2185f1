/* How operators of the graph are called at run time. */
#ifndef NUC_BACK_PROGRAM_OUT_VARIANT_H
#define NUC_BACK_PROGRAM_OUT_VARIANT_H

#include "ir/graph.h"

/* The operator that writes into tensors it is given, as ExecuTorch's portable library registers it: "aten::add", "out".
 */
struct nuc_out_variant {
    const char *name, *overload; /* NULL: there is none */
};

struct nuc_out_variant nuc_out_variant(struct nuc_context *cx, enum nuc_op op);

/* That of the call: of int16 values it may be one of our own. */
struct nuc_out_variant nuc_out_variant_of(struct nuc_context *cx, const struct nuc_node *node);

/* Whether ExecuTorch's libraries have a kernel for the call as it is; what is no instruction needs none. */
bool nuc_out_in_executorch(struct nuc_context *cx, const struct nuc_node *node);

/* The out variant has the argument. */
bool nuc_out_has_arg(enum nuc_op op, uint32_t index);

/* Its numbers of either type are ints where they are whole, even when the graph holds a double. */
bool nuc_out_prefers_ints(enum nuc_op op);

#endif
