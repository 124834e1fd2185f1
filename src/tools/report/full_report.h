/*
 * A report under way: a network (introspect/network.h), what its program is worth on a data set, and what changed since
 * an older report. Each file of the folder puts a part of the JSON tree (docs/json.md has the fields).
 */
#ifndef NUC_TOOLS_REPORT_FULL_REPORT_H
#define NUC_TOOLS_REPORT_FULL_REPORT_H

#include <jansson.h>

#include "data/dataset.h"
#include "host/call.h"
#include "introspect/network.h"
#include "nucleon/evaluate.h"
#include "nucleon/report.h"

/* What was noted on the way, in order. */
struct nuc_report_note {
    struct nuc_report_note *next;
    const char *text;
};

/* Of real numbers in the object: those of float32, as scales are. */
#define NUC_REPORT_DIGITS 9

struct nuc_report {
    struct nuc_compiler *c;
    struct nuc_context *cx;
    struct nuc_report_options o;
    struct nuc_sample_source calibration, dataset; /* of the options */
    struct nuc_model *model;                       /* as it was opened */
    struct nuc_network *network;
    struct nuc_network_facts facts;          /* of it */
    const struct nuc_evaluation *evaluation; /* NULL: none; else what it was made with: */
    struct nuc_runner *runner;
    struct nuc_dataset *data;
    struct decisions *decisions;
    struct nuc_report_note *notes, **last_note;
    const struct nuc_device_test *device; /* NULL: no self-test of one is given */
    const char *missed;
    json_t *tree;
    const char *json, *page; /* NULL: not asked for yet */
};

/* ---- collecting ---- */

/* Runs the program over the data set, where there is one (evaluation.c). */
void nuc_evaluate_report(struct nuc_report *r);

/* Fails where what is to be compared with is no report, before anything takes time (compare.c). */
void nuc_check_report_compare(struct nuc_report *r);

/* ---- members of the tree ---- */

void nuc_put_report_evaluation(struct nuc_report *r);
void nuc_put_report_compare(struct nuc_report *r); /* after the summary */

#endif
