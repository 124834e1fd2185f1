/* Decisions put on outputs, and as words that a program carries. */
#ifndef NUC_DEVICE_DECISION_BIND_H
#define NUC_DEVICE_DECISION_BIND_H

#include "device/base/span.h"
#include "nucleon/decision.h"

/* ---- anchors ---- */

bool nuc_decision_has_anchors(const struct nuc_decision_rule *d);
uint64_t nuc_decision_anchors(const struct nuc_decision_rule *d);

/* ---- outputs ---- */

enum nuc_output_fit {
    NUC_OUTPUT_FITS,
    NUC_OUTPUT_TYPE,   /* is of another type */
    NUC_OUTPUT_SHAPE,  /* has another shape */
    NUC_OUTPUT_CLASSES /* has not all classes that are ignored */
};

/* Puts view `index` on the output: whatever the sizes are, it does not reach beyond its elements. */
enum nuc_output_fit nuc_decision_put_on(struct nuc_decision_rule *d, size_t index, const struct nuc_decision_output *o);

/* The least values of a place of the view's output. */
uint64_t nuc_decision_least_values(const struct nuc_decision_rule *d, size_t index);

/* ---- in a program: named data of this key (docs/formats.md, "Facts") ---- */

#define NUC_DECISION_KEY "nucleon.decision"

/* Bytes of the rule, and the rule as words of 32 bits, little-endian. */
size_t nuc_decision_bytes(const struct nuc_decision_rule *d);
void nuc_decision_store(const struct nuc_decision_rule *d, uint8_t *bytes);

/*
 * Reads what is not trusted; false: it is no rule. Its anchors stay where they are, its views are to be put on outputs.
 */
bool nuc_decision_load(struct nuc_decision_rule *d, struct nuc_span bytes);

#endif
