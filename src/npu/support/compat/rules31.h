/* Rule set sdk-3.1, of the vendor's converter before its MLIR flow: the shapes and permutations its rules reason about.
 */
#ifndef NUC_NPU_SUPPORT_COMPAT_RULES31_H
#define NUC_NPU_SUPPORT_COMPAT_RULES31_H

#include "npu/support/rules.h"

/* out[i] = in[map[i]] */
struct perm31 {
    uint32_t map[NUC_MAX_RANK];
};

struct perm31 nuc_to_channels_last(uint32_t rank);  /* 0, 2, ..., r-1, 1 */
struct perm31 nuc_to_channels_first(uint32_t rank); /* 0, r-1, 1, ..., r-2 */
/* First `a`, then `b`. */
struct perm31 nuc_combined31(struct perm31 a, struct perm31 b, uint32_t rank);
struct nuc_meta nuc_permuted31(const struct nuc_meta *m, struct perm31 perm);
bool nuc_can_transpose31(const struct nuc_target *target, const struct nuc_meta *m, struct perm31 perm);
/* The permutation moves dimensions of size 1 only. */
bool nuc_keeps_data_order(const struct nuc_meta *m, struct perm31 perm);

/* Sizes of a value as the converter stores them: [N, ..., C] of a CHANNELS_FIRST value, else as they are. */
struct nuc_meta nuc_stored_meta(const struct nuc_node *node);
/* Where dimension `dim` of the node's shape lies in stored order. */
uint32_t nuc_stored_axis(const struct nuc_node *node, int64_t dim);

/* `size` `what` are a multiple of num_macs; else that is reported, with the padding that would make them one. */
bool nuc_is_multiple(const struct nuc_rule_query *q, const char *what, int64_t size);

extern const struct nuc_support_row nuc_math31_rows[], nuc_move31_rows[];

#endif
