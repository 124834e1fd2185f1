/*
 * Decisions as JSON (docs/decisions.md): read from what a user writes and from the facts of a program,
 * where the same object stands with every member said (docs/formats.md, "Facts"), and put on the outputs of a program.
 */
#ifndef NUC_DATA_DECISION_JSON_H
#define NUC_DATA_DECISION_JSON_H

#include <jansson.h>

#include "archive/json.h"
#include "nucleon/decision.h"

/* Where names of outputs and files of anchors are looked up; all NULL: neither is taken. */
struct nuc_decision_source {
    const char *(*output_name)(void *user, size_t index); /* NULL: past the last one */
    void *user;
    const char *folder; /* of files */
};

/*
 * An object with one member, which names the kind. Untrusted: fails with one line that names the place. The views have
 * outputs alone; a threshold that is a quantile is NaN before calibration gives it.
 */
struct nuc_decision_rule *nuc_decision_read(const struct nuc_json *j, const struct nuc_decision_source *source);

/* The same of what `--decision` gives: the name of a file, or the text itself. */
struct nuc_decision_rule *nuc_decision_read_option(struct nuc_context *cx, const char *given,
                                                   const struct nuc_decision_source *source);

/* Puts the object as a member of `to`, every member said. */
void nuc_decision_put(struct nuc_context *cx, json_t *to, const char *key, const struct nuc_decision_rule *d);

/* Puts view `index` on the output. NULL, or one line: why the output does not fit the decision. */
const char *nuc_decision_bind(struct nuc_context *cx, struct nuc_decision_rule *d, size_t index,
                              const struct nuc_decision_output *output);

/* "classes", ...; and what an anomaly's output is reduced to is one of the words of `form`. */
const char *nuc_decision_kind_name(enum nuc_decision_kind kind);

/* A constant of float in C that is the same float32, as preprocessors take it too. */
const char *nuc_c_float(struct nuc_context *cx, double value);

/* Members that are numbers, flags or words, as generated C takes them: nuc_decision_each() calls for those of d. */
void nuc_decision_each(const struct nuc_decision_rule *d,
                       void (*member)(void *user, const char *name, const char *value), struct nuc_context *cx,
                       void *user);

/* ---- anchors of boxes: made as detectors' own tools make them, or read from a file (decision_anchors.c) ---- */

/* A number between these. */
uint32_t nuc_decision_count(const struct nuc_json *j, double least, double most);

/* Sets grids and anchors. `folder` is where files are; NULL: none are read. */
void nuc_anchors_read(const struct nuc_json *decision, const char *folder, struct nuc_decision_rule *d);
void nuc_anchors_put(struct nuc_context *cx, json_t *to, const struct nuc_decision_rule *d);

#endif
