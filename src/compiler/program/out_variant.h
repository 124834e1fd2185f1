/* How operators of the graph are called at run time. */
#ifndef NUC_PROGRAM_OUT_VARIANT_H
#define NUC_PROGRAM_OUT_VARIANT_H

#include "compiler/graph/graph.h"

/*
 * Name and overload of the out variant, and where its arguments differ from the graph's. Masks have bit a for schema
 * position a.
 */
struct nuc_out_variant {
    const char *name, *overload;
    uint32_t dropped;  /* arguments the out variant does not have */
    uint32_t doubles;  /* doubles even when the graph holds an int */
    uint32_t whole;    /* whole numbers are ints even when the graph holds a double */
    uint32_t optional; /* lists whose elements may be None, whether or not one is */
    bool view;         /* the result is the input's bytes under another shape */
};

/* NULL when ExecuTorch's portable library has no kernel for the operator. */
const struct nuc_out_variant *nuc_out_variant(enum nuc_op op);

#endif
