/* What the checks of the conformance program share. */
#ifndef NUC_CONFORMANCE_H
#define NUC_CONFORMANCE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "nucleon/compile.h"

#define DIFFERENCE_SIZE 512

/* One case: the files <folder>/<name>.* of a tree laid out like the reference data. */
struct conf_case {
    char *folder;
    char *name;
    char *label;   /* folder below the tree's root, for the report */
    bool refused;  /* the reference itself fails on it */
    bool cortex_m; /* data of the Cortex-M backend: only the checks meant for it look at the case */
};

enum conf_result { CONF_EQUAL, CONF_DIFFERENT, CONF_ABSENT };

/* Transposes of LiteRT models and the bytes they write. */
struct conf_moved {
    unsigned long transposes, bytes;
};

/* Writes why a case differs; only the first reason is kept. Returns CONF_DIFFERENT. */
struct conf_report {
    char text[DIFFERENCE_SIZE];
    bool filled;
    bool reordered; /* equal, but nodes are listed in another order */
    bool verbose;
    unsigned long near_misses; /* values that differ within what the check allows */
    bool has_sqnr;             /* of check_sqnr: ours, the reference's and that of its Edge graph (or NaN), in dB */
    double sqnr, reference_sqnr, edge_sqnr;
    bool has_moved; /* of check_moved; `whole`: by default, from the float model */
    bool multi;     /* the case has more than one operator */
    bool network;   /* and is a whole network */
    struct conf_moved reference, compat, own, whole;
    bool has_memory; /* of check_memory: bytes of the program's arena and of its largest scratch */
    size_t arena, scratch;
};
enum conf_result conf_differ(struct conf_report *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A check of a case, whose compiler is as its row says: CONF_ABSENT when there is nothing to check. */
typedef enum conf_result conf_check(struct nuc_compiler *c, const struct conf_case *k, struct conf_report *r);

conf_check check_qparams, check_decisions, check_litert, check_moved, check_outputs, check_defaults, check_qdq,
    check_float, check_sqnr, check_nodelegate, check_program, check_cortexm, check_cortex_m_program, check_converted,
    check_memory, check_models, check_tflite;

/* "<folder>/<name>.<suffix>" in a buffer of the caller; true when the file is there. */
bool conf_path(const struct conf_case *c, const char *suffix, char *out, size_t size);

/* The JSON file of a case, or NULL; the caller releases it with json_decref(). */
json_t *conf_json(const struct conf_case *c, const char *suffix);

/* Operators and parameters of a quantized graph, node by node or, in another order, along the data flow. */
enum conf_result conf_same_quantized_graph(json_t *graph, struct nuc_model *own, struct conf_report *r);

/* A compiler in reference mode, for the flow the case was made with. */
struct nuc_compiler *conf_compiler(const struct conf_case *c);

/* The same flow in the default mode. */
struct nuc_compiler *conf_default_compiler(const struct conf_case *c);

/* Whether the compiler cuts as many partitions as the data were recorded of, and their outputs for recorded inputs. */
bool conf_same_partitions(struct nuc_compiler *compiler, const struct conf_case *c, const char *data_path);
enum conf_result conf_check_partitions(struct nuc_compiler *compiler, const struct conf_case *c, const char *data_path,
                                       struct conf_report *r);

/* conf_differ() with the compiler's message. */
enum conf_result conf_failed(struct conf_report *r, const struct nuc_compiler *compiler, const char *what);

/* |a - b| <= tolerance * |b|. */
bool conf_near(double a, double b, double tolerance);

/* Opens <suffix> and runs the stages up to lowered; on failure fills the report and returns NULL. */
struct nuc_model *conf_partitioned(struct nuc_compiler *compiler, const struct conf_case *c, const char *suffix,
                                   struct conf_report *r);
struct nuc_model *conf_lowered(struct nuc_compiler *compiler, const struct conf_case *c, const char *suffix,
                               struct conf_report *r);

#endif
