/*
 * Members of JSON objects that `explain` and `report` both have: under the same keys, in the same order, of the same
 * explanation. Each command puts its own around them (docs/json.md).
 */
#ifndef NUC_EXPLAIN_EXPLAIN_MEMBERS_H
#define NUC_EXPLAIN_EXPLAIN_MEMBERS_H

#include <jansson.h>

#include "explain/explain.h"

/*
 * rule, actual, limit, reason, fix: why an operator of the row is on the CPU, and what would help; of one on the NPU
 * nulls. `actual` stands in place of what was found.
 */
void nuc_put_decision(struct nuc_context *cx, json_t *to, const struct nuc_explanation *e,
                      const struct nuc_explain_row *row, const char *actual);

/* before, after: the tags of the partitions around a split. */
void nuc_put_split_tags(struct nuc_context *cx, json_t *to, const struct nuc_explain_split *s);

/* cycles and share, of all that an inference takes; nulls: kernels of another converter. */
void nuc_put_cycles(struct nuc_context *cx, json_t *to, const struct nuc_explanation *e, uint64_t cycles, bool known);

/* boundaries: what is no node's. `nodes`: quantize and dequantize nodes, too, which the nodes around leave out. */
void nuc_put_boundaries(struct nuc_context *cx, json_t *to, const struct nuc_explanation *e, bool nodes);

/* fixes, trials: what helps of what was tried, and what becomes of the model with it. */
void nuc_put_fixes(struct nuc_context *cx, json_t *to, const struct nuc_explanation *e);

/* banks: the use of the banks of --memory; empty without it. */
void nuc_put_banks(struct nuc_context *cx, json_t *to, const struct nuc_program_report *r);

/* stream: what --stream made of the network; without it null. */
void nuc_put_stream(struct nuc_context *cx, json_t *to, const struct nuc_stream_report *s);

/* alternatives: forms that the compilation measured. */
void nuc_put_alternatives(struct nuc_context *cx, json_t *to, const struct nuc_explanation *e);

/* states: what the program keeps from run to run. */
void nuc_put_states(struct nuc_context *cx, json_t *to, const struct nuc_explanation *e);

/* "obstacles": what a model is refused for; NULL: nothing. */
void nuc_put_obstacles(struct nuc_context *cx, json_t *to, const struct nuc_obstacles *all);

#endif
