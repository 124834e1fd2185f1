/* The operators of a stage, and the rows that each of them computes for one strip. */
#ifndef NUC_CORTEXM_STRIP_STAGE_H
#define NUC_CORTEXM_STRIP_STAGE_H

#include "compiler/graph/graph.h"
#include "compiler/target/target.h"

struct nuc_rows {
    int64_t low, high; /* high excluded; none: both equal */
};

struct nuc_strip_node {
    struct nuc_node *node;
    uint32_t dim;         /* its rows: the outermost dimension in memory */
    struct nuc_rows rows; /* of the strip under way */
    uint64_t row_bytes;
};

struct nuc_strip_stage {
    struct nuc_graph *g;
    struct nuc_node *cut;
    uint32_t n;                   /* nodes, in graph order; the last one is the cut */
    struct nuc_strip_node *nodes; /* one for each node of the graph that belongs to the stage */
    uint32_t *place;              /* by node id: 1 + index in `nodes`; 0: it does not belong to the stage */
    uint32_t *dim_of;             /* by node id: 1 + dimension of rows of what the stage reads */
};

/* The value has rows, and an operator that computes some of them alone. */
bool nuc_has_strips(const struct nuc_node *node);

/*
 * The stage that leads to `cut`, up to `from` (NULL: no such bound), inputs, and what is also read elsewhere. False
 * when there is none, or when `from` is not part of it.
 */
bool nuc_strip_stage(struct nuc_graph *g, struct nuc_node *cut, const struct nuc_node *from,
                     struct nuc_strip_stage *out);

/* Argument `index` of a node of the stage is an image of which a strip is read. */
bool nuc_is_strip_operand(const struct nuc_node *node, uint32_t index, uint32_t dim);

/*
 * Rows of the image operands for rows of the result, and what of the window lies before and after the image. False
 * where no row of the image is read.
 */
bool nuc_rows_read(const struct nuc_node *node, struct nuc_rows rows, struct nuc_rows *read, int64_t outside[2]);

/* Sets the rows of all nodes for a strip of the cut. False when a window lies in the padding alone. */
bool nuc_rows_of_strip(struct nuc_strip_stage *s, struct nuc_rows cut);

/* Cycles of `rows` rows of a node. */
uint64_t nuc_strip_cycles(const struct nuc_costs *costs, const struct nuc_strip_node *node, int64_t rows);

#endif
