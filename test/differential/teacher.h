/*
 * How the operators of a quantized graph are compared one by one, whatever their number: the program gives out every
 * quantized value, and the evaluator computes each of them anew from the program's own values of its operands. No
 * difference is carried from operator to operator.
 */
#ifndef NUC_TEACHER_H
#define NUC_TEACHER_H

#include "ir/graph.h"

#define TEACHER_MAX_OPS 8

/* A quantized value that depends on the inputs, and the operators between it and the quantized values before it. */
struct teacher_value {
    const struct nuc_node *quantize; /* of the graph under test */
    double scale;
    int64_t zero, low, high; /* kernels saturate at the ends of the type, outside of ranges of -127 to 127, too */
    enum nuc_dtype dtype;    /* int8 or int16 */
    size_t elements;
    enum nuc_op ops[TEACHER_MAX_OPS]; /* in the order of the enumeration, each once; none: a second quantization */
    unsigned n_ops;
    bool exact;                    /* all of `ops` are bit-exact, and what they begin with has the same parameters */
    const struct nuc_node *source; /* the quantized value that `ops` begin with, where it is one alone */
};

struct teacher {
    uint32_t n_values, n_outputs, n_inputs;
    struct teacher_value *values;
    struct nuc_graph *exposed; /* outputs: those of the graph, then the values, dequantized */
    /* Inputs: those of the graph, then the values; outputs: the values, then the graph's. Those of int16 are int32. */
    struct nuc_graph *taught;
};

struct teacher teacher_make(const struct nuc_graph *quantized);

/* Whether evaluator and program give the same bytes for the operator, and if not, why one step is allowed. */
const char *teacher_reason(enum nuc_op op); /* NULL: exact */

#endif
