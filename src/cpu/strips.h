/*
 * Stages of a lowered graph that are computed in strips of rows, so that less of their values is in memory at once.
 * Rows of a channels-last image of batch 1 lie together in memory, so that a strip of a value is another name for a
 * part of its bytes. A stage is a set of operators that leads to one value, its cut; for each strip of the cut's rows
 * it is repeated for the rows that the strip depends on, and the last operator writes into its part of the cut. Rows
 * that two strips need are kept: copied aside when the first has read them, and in front of the rows that the second
 * computes. Where there is no memory for that they are computed twice. Each row is computed as before: the bytes stay
 * the same.
 */
#ifndef NUC_CPU_STRIPS_H
#define NUC_CPU_STRIPS_H

#include "ir/graph.h"
#include "npu/target/target.h"

/* By name, so that it holds for copies of the graph, too. */
struct nuc_strips {
    const char *cut;  /* the node whose value is computed in parts */
    const char *from; /* the node whose value the stage begins with; NULL: as far up as strips go */
    int64_t rows;     /* of the cut in each strip; the last one has the rest */
    int64_t count;    /* strips */
    bool *keep;       /* by place in the stage: rows are kept for the next strip; NULL: none */
    uint64_t cycles;  /* that these strips take more than the whole */
    uint64_t peak;    /* the most bytes alive at once while the strips run, about */
    uint64_t outside; /* the same before and after */
    uint64_t cost;    /* what the choice goes by: cycles, or bytes */
};

/* What a choice is made among. */
struct nuc_strip_choices {
    struct nuc_strips *items;
    size_t count, capacity;
    uint64_t work; /* it took to find them: grows with the time, and is the same on every machine */
};

/*
 * For each stage of the graph the strips with the fewest cycles with which at most `bytes` are alive while they run, by
 * an estimate that counts no gaps; those with the fewest cycles come first. bytes 0: the strips of each stage with
 * which the fewest are alive; stages after which the fewest are alive at the worst place come first. In graphs so large
 * that this would take long, only stages of its beginning.
 */
void nuc_find_strips(struct nuc_graph *g, const struct nuc_target *target, uint64_t bytes,
                     struct nuc_strip_choices *out);

/* In place. Fails with NUC_INTERNAL when there is no such stage. */
void nuc_cut_into_strips(struct nuc_graph *g, const struct nuc_target *target, const struct nuc_strips *strips);

#endif
