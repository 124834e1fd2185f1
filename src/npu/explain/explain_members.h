/*
 * Members of JSON objects that `explain` and `report` both have: under the same keys, in the same order, of the same
 * explanation. Each command puts its own around them (docs/json.md).
 */
#ifndef NUC_NPU_EXPLAIN_EXPLAIN_MEMBERS_H
#define NUC_NPU_EXPLAIN_EXPLAIN_MEMBERS_H

#include <jansson.h>

#include "npu/explain/explain.h"

/* rule, actual, limit, fix: why an operator is where it is; NULL: nulls. `actual` stands in place of what was found. */
void nuc_put_decision(struct nuc_context *cx, json_t *to, const struct nuc_decision *d, const char *actual);

/* before, after: the tags of the partitions around a split. */
void nuc_put_split_tags(struct nuc_context *cx, json_t *to, const struct nuc_explain_split *s);

/* options: what was tried and what becomes of the model with it. */
void nuc_put_helps(struct nuc_context *cx, json_t *to, const struct nuc_explanation *e);

#endif
