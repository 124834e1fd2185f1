/* The operators of a stage, and the rows that each of them has and computes for one strip. */
#ifndef NUC_CPU_STRIP_STAGE_H
#define NUC_CPU_STRIP_STAGE_H

#include "cpu/strips.h"
#include "ir/axis_map.h"

struct nuc_rows {
    int64_t low, high; /* high excluded; none: both equal */
};

#define NUC_MOST_STRIP_OPERANDS 2

/* An argument that is read in rows, and how its rows follow those of the result: alike but for their dimension. */
struct nuc_strip_operand {
    uint32_t arg;
    struct nuc_axis axis;
};

struct nuc_strip_reads {
    uint32_t count;
    struct nuc_strip_operand operands[NUC_MOST_STRIP_OPERANDS];
};

struct nuc_strip_node {
    struct nuc_node *node;
    const struct nuc_strip_reads *reads;
    uint32_t dim;          /* its rows: the outermost dimension in memory */
    struct nuc_rows rows;  /* there are in the strip under way */
    struct nuc_rows fresh; /* of these computed in it, the last ones; the others are kept from the strip before */
    struct nuc_rows held;  /* there were after the strip before */
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

/* An operator whose rows are such has a padding for each end of a strip: a convolution, which has a weight. */
bool nuc_has_paddings(const struct nuc_node *node, const struct nuc_axis *rows);

/*
 * Rows of the image operands for rows of the result, and what of the window lies before and after the image. False
 * where no row of the image is read.
 */
bool nuc_rows_read(const struct nuc_strip_node *n, struct nuc_rows rows, struct nuc_rows *read, int64_t outside[2]);

static inline bool nuc_no_rows(struct nuc_rows rows)
{
    return rows.low == rows.high;
}

/* Rows of a strip that are copied from the one before; none where all are there already. */
static inline struct nuc_rows nuc_kept_rows(const struct nuc_strip_node *n)
{
    return nuc_no_rows(n->fresh) ? n->fresh : (struct nuc_rows){n->rows.low, n->fresh.low};
}

/* Nodes whose values own bytes in a strip (by place: which node's bytes these are), and the last node that reads each.
 */
uint32_t *nuc_last_readers(const struct nuc_strip_stage *s, uint32_t *owner);

/*
 * The rows of strip `strip` in `now`, those of the one after it in the stage (none after the last); from the first on.
 * False when a window lies in the padding alone.
 */
bool nuc_next_strip(struct nuc_strip_stage *s, const struct nuc_strips *strips, int64_t strip,
                    struct nuc_strip_node *now);

/* Nodes of the stage read a row of this one more than once; false for the last node. */
bool nuc_is_read_in_windows(const struct nuc_strip_stage *s, uint32_t place);

/* The node computes no bytes of its own. */
bool nuc_is_strip_view(const struct nuc_node *node);

#endif
