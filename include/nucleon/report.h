/*
 * Everything about one network in one place: where it runs and why, cycles, memory, the error of each node, accuracy.
 * One JSON object (docs/report.md), and a page for browsers that holds it and needs nothing else.
 */
#ifndef NUCLEON_REPORT_H
#define NUCLEON_REPORT_H

#include "nucleon/evaluate.h"

#ifdef __cplusplus
extern "C" {
#endif

struct nuc_report; /* belongs to the compiler */

/* Strings may be NULL. */
struct nuc_report_options {
    const char *calibration; /* samples; NULL: a float model is quantized with made-up ranges, unless it stays float */
    const char *dataset;     /* samples, and labels where there are some: accuracy on them */
    const struct nuc_evaluate_options *evaluate; /* how accuracy is measured and what is demanded; NULL: as usual */
    const char *compare;                         /* an older report of the model, as JSON or as page: what changed */
    const char *invocation;                      /* how the report was asked for: stands in it as it is */
    /* Data sets of the same compiler in place of the paths, which are then NULL. They are bound anew by each call. */
    const struct nuc_dataset *calibration_data, *dataset_data;
};

/*
 * Quantizes and compiles the model as nuc_compile_model() does, writes no program, and collects what there is to say.
 * The report depends on model, data and options alone: neither on the time, nor on the number of threads. Fails as
 * nuc_compile_model() and nuc_evaluate() do, and with NUC_BAD_INPUT when `compare` is no report, of another schema or
 * of another model. A property that does not hold is no failure: see nuc_report_missed().
 */
enum nuc_status nuc_report_make(struct nuc_model *m, const struct nuc_report_options *options, struct nuc_report **out);

/* The properties that the compiler's options demand and that do not hold, one line; NULL: there are none. */
const char *nuc_report_missed(const struct nuc_report *r);

/* What the report says of accuracy, in a few figures. */
struct nuc_report_figures {
    size_t samples;                                 /* of the data set, 0: there is none */
    double accuracy, reference_accuracy, agreement; /* shares; NaN: not known */
    const char *worst_node; /* label of the one that itself adds the most error; NULL: errors were not measured */
    double worst_db;        /* its SQNR, inputs being those of the quantized network */
};
void nuc_report_figures(const struct nuc_report *r, struct nuc_report_figures *out);

/* The object, on one line; and the page. They belong to the compiler. */
enum nuc_status nuc_report_json(struct nuc_report *r, const char **text);
enum nuc_status nuc_report_page(struct nuc_report *r, const char **text);

/* Writes one of them: the page where the name ends in .html or .htm, the object where it ends in .json. */
enum nuc_status nuc_report_write(struct nuc_report *r, const char *path);

#ifdef __cplusplus
}
#endif
#endif
