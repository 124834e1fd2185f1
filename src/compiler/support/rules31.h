/* Rule set sdk-3.1: its table and what its rules share. Data of the vendor's converter before its MLIR flow. */
#ifndef NUC_SUPPORT_RULES31_H
#define NUC_SUPPORT_RULES31_H

#include "compiler/support/facts.h"

extern const struct nuc_support_row rules31_rows[NUC_OP_COUNT];

/* Sizes of a value as the converter stores them: [N, ..., C] of a CHANNELS_FIRST value, else as they are. */
struct shape31 {
    uint32_t rank;
    int64_t sizes[NUC_MAX_RANK];
};

/* out[i] = in[map[i]] */
struct perm31 {
    uint32_t map[NUC_MAX_RANK];
};

struct shape31 stored_shape(const struct nuc_node *node);
struct shape31 edge_shape(const struct nuc_node *node);
struct perm31 to_channels_last(uint32_t rank);  /* 0, 2, ..., r-1, 1 */
struct perm31 to_channels_first(uint32_t rank); /* 0, r-1, 1, ..., r-2 */
/* First `a`, then `b`. */
struct perm31 combined31(struct perm31 a, struct perm31 b, uint32_t rank);
bool can_transpose31(const struct nuc_target *target, const struct shape31 *shape, struct perm31 perm);
/* The permutation moves dimensions of size 1 only. */
bool keeps_data_order(const struct shape31 *shape, struct perm31 perm);

bool is_channels_first(const struct nuc_node *node);
/* Channels of a value: dimension 1 of a CHANNELS_FIRST one, else the last. 1 for rank 0. */
int64_t channels_of(const struct nuc_node *node);
/* A dimension argument made positive. */
int64_t positive_dim(const struct nuc_node *node, int64_t dim);
int64_t multiple_above(int64_t size, int64_t factor);

/* Reports that `size` `what` are no multiple of num_macs, with the padding that would make them one. */
bool refuse_multiple(const struct nuc_rule_query *q, const char *what, int64_t size);

/* ---- lists of rules ---- */

extern const struct nuc_support_rule conv31_target[], max_pool31_target[], upsample31_ir[], upsample31_target[];
extern const struct nuc_support_rule same_shape31[], mul31_target[], addmm31_ir[], mm31_ir[], bmm31_ir[],
    bmm31_target[], softmax31_ir[], softmax31_target[], mean31_target[], prelu31_target[];
extern const struct nuc_support_rule clamp31_target[], clamp31_partition[], hardtanh31_target[], hardtanh31_partition[],
    relu31_partition[], neg31_ir[];
extern const struct nuc_support_rule cat31_ir[], cat31_target[], cat31_partition[], pad31_target[], permute31_target[],
    slice31_ir[], slice31_target[], view31_partition[];

#endif
