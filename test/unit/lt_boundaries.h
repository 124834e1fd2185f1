/* What goes into the first subgraph of a LiteRT model made by hand, and what comes out of it. */
#ifndef NUC_TEST_LT_BOUNDARIES_H
#define NUC_TEST_LT_BOUNDARIES_H

#include "host/text.h"
#include "litert/litert.h"

static inline void boundaries(struct nuc_lt_model *m, const int32_t *inputs, uint32_t n_inputs, const int32_t *outputs,
                              uint32_t n_outputs)
{
    struct nuc_lt_subgraph *s = &m->subgraphs[0];

    s->inputs = nuc_copy(m->cx, inputs, n_inputs * sizeof *inputs);
    s->n_inputs = n_inputs;
    s->outputs = nuc_copy(m->cx, outputs, n_outputs * sizeof *outputs);
    s->n_outputs = n_outputs;
}

static inline void set_boundaries(struct nuc_lt_model *m, int32_t input, int32_t output)
{
    boundaries(m, &input, 1, &output, 1);
}

#endif
