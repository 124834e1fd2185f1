/* Anchors of boxes: made as detectors' own tools make them, or read from a file (decision.c). */
#ifndef NUC_DATA_DECISION_ANCHORS_H
#define NUC_DATA_DECISION_ANCHORS_H

#include "data/decision_json.h"

/* Sets grids and anchors. `folder` is where files are; NULL: none are read. */
void nuc_anchors_read(const struct nuc_json *decision, const char *folder, struct nuc_decision_rule *d);
void nuc_anchors_put(struct nuc_context *cx, json_t *to, const struct nuc_decision_rule *d);

#endif
