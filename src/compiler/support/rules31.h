/* Rule set sdk-3.1: its table and what its rules share. Data of the vendor's converter before its MLIR flow. */
#ifndef NUC_SUPPORT_RULES31_H
#define NUC_SUPPORT_RULES31_H

#include "compiler/support/facts.h"

extern const struct nuc_support_row nuc_rules31_rows[NUC_OP_COUNT];

/* Sizes of a value as the converter stores them: [N, ..., C] of a CHANNELS_FIRST value, else as they are. */
struct shape31 {
    uint32_t rank;
    int64_t sizes[NUC_MAX_RANK];
};

/* out[i] = in[map[i]] */
struct perm31 {
    uint32_t map[NUC_MAX_RANK];
};

struct shape31 nuc_rule_stored_shape(const struct nuc_node *node);
struct shape31 nuc_rule_edge_shape(const struct nuc_node *node);
struct perm31 nuc_to_channels_last(uint32_t rank);  /* 0, 2, ..., r-1, 1 */
struct perm31 nuc_to_channels_first(uint32_t rank); /* 0, r-1, 1, ..., r-2 */
/* First `a`, then `b`. */
struct perm31 nuc_rule_combined31(struct perm31 a, struct perm31 b, uint32_t rank);
bool nuc_can_transpose31(const struct nuc_target *target, const struct shape31 *shape, struct perm31 perm);
/* The permutation moves dimensions of size 1 only. */
bool nuc_keeps_data_order(const struct shape31 *shape, struct perm31 perm);

bool nuc_is_channels_first(const struct nuc_node *node);
/* Channels of a value: dimension 1 of a CHANNELS_FIRST one, else the last. 1 for rank 0. */
int64_t nuc_rule_channels_of(const struct nuc_node *node);
/* A dimension argument made positive. */
int64_t nuc_positive_dim(const struct nuc_node *node, int64_t dim);
int64_t nuc_multiple_above(int64_t size, int64_t factor);

/* Reports that `size` `what` are no multiple of num_macs, with the padding that would make them one. */
bool nuc_refuse_multiple(const struct nuc_rule_query *q, const char *what, int64_t size);

/* ---- lists of rules ---- */

extern const struct nuc_support_rule nuc_conv31_target[], nuc_max_pool31_target[], nuc_upsample31_ir[],
    nuc_upsample31_target[];
extern const struct nuc_support_rule nuc_same_shape31[], nuc_mul31_target[], nuc_addmm31_ir[], nuc_mm31_ir[],
    nuc_bmm31_ir[], nuc_bmm31_target[], nuc_softmax31_ir[], nuc_softmax31_target[], nuc_mean31_target[],
    nuc_prelu31_target[];
extern const struct nuc_support_rule nuc_clamp31_target[], nuc_clamp31_partition[], nuc_hardtanh31_target[],
    nuc_hardtanh31_partition[], nuc_relu31_partition[], nuc_neg31_ir[];
extern const struct nuc_support_rule nuc_cat31_ir[], nuc_cat31_target[], nuc_cat31_partition[], nuc_pad31_target[],
    nuc_permute31_target[], nuc_slice31_ir[], nuc_slice31_target[], nuc_view31_partition[];

#endif
