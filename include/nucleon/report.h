/*
 * A report about one network: placement with reasons, cycles, memory, the error of each node, accuracy. It is one JSON
 * object (docs/report.md), or a self-contained page for browsers.
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
    const char *calibration; /* samples; NULL: a float model is quantized with made-up ranges, or stays float with
                                no_quantize */
    const char *dataset;     /* samples for the accuracy, with or without labels */
    const struct nuc_evaluate_options *evaluate; /* measurement of the accuracy, and its gates; NULL: defaults */
    const char *compare;                         /* an older report of the model to compare with, as JSON or page */
    const char *invocation;                      /* the command line, which the report contains unchanged */
    /* Data sets of the same compiler in place of the paths, which are then NULL. Each call binds them again. */
    const struct nuc_dataset *calibration_data, *dataset_data;
};

/*
 * Quantizes and compiles the model as nuc_compile_model() does, without writing a program, and makes the report. The
 * report depends only on model, data and options, not on the time or the number of threads. Errors as for
 * nuc_compile_model() and nuc_evaluate(), and NUC_BAD_INPUT if `compare` is no report, or a report of another schema or
 * model. A requirement that is not met is no error; see nuc_report_missed().
 */
enum nuc_status nuc_report_make(struct nuc_model *m, const struct nuc_report_options *options, struct nuc_report **out);

/* The requirements of the compiler's options that are not met, in one line; NULL: all are met. */
const char *nuc_report_missed(const struct nuc_report *r);

/* The accuracy in a few figures. */
struct nuc_report_figures {
    size_t samples;                                 /* of the data set; 0: there is no data set */
    double accuracy, reference_accuracy, agreement; /* shares; NaN: not known */
    const char *worst_node; /* label of the node whose error costs the outputs most; NULL: errors were not measured */
    double worst_db;        /* the SQNR of the outputs with its error alone */
};
void nuc_report_figures(const struct nuc_report *r, struct nuc_report_figures *out);

/* The JSON object on one line, and the page. The texts belong to the compiler. */
enum nuc_status nuc_report_json(struct nuc_report *r, const char **text);
enum nuc_status nuc_report_page(struct nuc_report *r, const char **text);

/* Writes the page if the name ends in .html or .htm, or the object if it ends in .json. */
enum nuc_status nuc_report_write(struct nuc_report *r, const char *path);

#ifdef __cplusplus
}
#endif
#endif
