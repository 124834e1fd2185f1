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
    const char *device;     /* what a self-test on the device printed, as nuc_device_read() takes */
    unsigned baud;          /* of `device`, where it is a serial port; 0: 115200 */
    const char *invocation; /* the command line, which the report contains unchanged */
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

/* ---- self-tests on a device ---- */

/* A node of a program (nucleon/selftest.h), and what became of it in the cases that ran. */
struct nuc_device_node {
    const char *number, *name, *label; /* label: "" where the program gives none */
    bool on_npu;
    size_t n_equal;
    bool differs; /* in case `n_case`: */
    size_t n_case;
    uint32_t sum, expected; /* CRC-32s */
};

/* What a device printed. Strings belong to the compiler. */
struct nuc_device_test {
    const char *program;
    bool passed;
    size_t n_cases, n_nodes;
    const struct nuc_device_node *nodes;
    size_t node;         /* the first one that differs; n_nodes: none is known, as when it passed */
    const char *cause;   /* a word: passed, weights, memory, result, driver, stopped, image */
    const char *finding; /* a sentence: what is wrong, */
    const char *usually; /* and what causes it in most cases; "" when it passed */
    const char *verdict; /* "digits: FAIL at 1.4, NPU ADD, layers.0/add: " and the finding */
    uint32_t code;       /* of the driver, or enum nuc_status; 0: none */
};

/*
 * Reads the lines of a self-test until its verdict: from a terminal device, which is set to `baud` (0: 115200), or from
 * a pipe or a file. Other lines are left out; a test that begins anew counts. NUC_BAD_INPUT: there is no self-test in
 * it, or it ends before its verdict. NUC_IO: a terminal says nothing for a minute.
 */
enum nuc_status nuc_device_read(struct nuc_compiler *c, const char *path, unsigned baud,
                                const struct nuc_device_test **out);

/* A table with a line for each node, and the same as JSON (docs/json.md, "nucleon compare-device"). */
enum nuc_status nuc_device_text(struct nuc_compiler *c, const struct nuc_device_test *t, const char **text);
enum nuc_status nuc_device_json(struct nuc_compiler *c, const struct nuc_device_test *t, const char **text);

#ifdef __cplusplus
}
#endif
#endif
