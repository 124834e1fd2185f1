/*
 * A report under way. The stages of one compilation leave models, from which a list of nodes is made that everything in
 * the report refers to: inputs, operators of the partitioned graph, outputs, in this order. The rest of the folder puts
 * members of the JSON tree, one file for each part of it (docs/json.md has the fields).
 */
#ifndef NUC_TOOLS_REPORT_FULL_REPORT_H
#define NUC_TOOLS_REPORT_FULL_REPORT_H

#include <jansson.h>

#include "back/program/memory_map.h"
#include "driver/lower.h"
#include "npu/explain/explain.h"
#include "nucleon/evaluate.h"
#include "nucleon/report.h"

#define NUC_NO_ID UINT32_MAX

enum nuc_where { NUC_ON_NPU, NUC_ON_CPU, NUC_ON_CPU_IN_FLOAT, NUC_FOLDED, NUC_BOUNDARY };

/* A node of the report; its id is its index. */
struct nuc_report_node {
    const struct nuc_node *node;       /* of the partitioned graph; of an output: what gives its value */
    const struct nuc_explain_row *row; /* of an operator; NULL: an input or an output */
    const char *label, *name;
    bool is_output;
    enum nuc_where where;
    uint64_t cycles; /* where it runs */
    /* On the calibration samples that were run; NaN: not measured. */
    double sqnr_db;     /* of the value, against that of the float network */
    double sqnr_own_db; /* the same with the inputs that the quantized network gives it */
};

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
    struct nuc_job job;
    struct nuc_model *model;       /* as it was opened */
    struct nuc_model *quantized;   /* what placement began with */
    struct nuc_model *partitioned; /* and what it made */
    struct nuc_explanation *e;
    bool made_up; /* ranges */
    struct nuc_report_node *nodes;
    uint32_t n_nodes;
    size_t n_measured; /* samples on which the errors of nodes were measured */
    uint32_t *id_of;   /* by id of a node of the partitioned graph: index of an input or an operator, or NUC_NO_ID */
    const struct nuc_node **by_id; /* nodes of the partitioned graph */
    uint64_t *instruction_cycles, cycles, npu_cycles;
    bool foreign;                            /* kernels of another converter, whose cycles are not known */
    const struct nuc_evaluation *evaluation; /* NULL: none; else what it was made with: */
    struct nuc_runner *runner;
    struct nuc_dataset *data;
    struct decisions *decisions;
    struct nuc_report_note *notes, **last_note;
    const char *missed;
    json_t *tree;
    const char *json, *page; /* NULL: not asked for yet */
};

/* ---- collecting ---- */

/* Nodes and their ids, from the partitioned model. */
void nuc_list_report_nodes(struct nuc_report *r);

/*
 * The id of a value of the partitioned graph, or of a lowered one made of it: that of what computes it, quantize and
 * dequantize nodes and parts of tuples left out. NUC_NO_ID: it is constant.
 */
uint32_t nuc_report_id(const struct nuc_report *r, const struct nuc_node *node);
uint32_t nuc_report_id_of_lowered(const struct nuc_report *r, const struct nuc_node *lowered);
uint32_t nuc_report_id_of_handle(const struct nuc_report *r, uint32_t handle);

/* Cycles of instructions, which add up to those of the program; then what each node has of them. */
void nuc_settle_instructions(struct nuc_report *r);
void nuc_place_nodes(struct nuc_report *r);

/* sqnr_db and sqnr_own_db of all nodes, from runs of the float and the quantized network (node_errors.c). */
void nuc_measure_report_nodes(struct nuc_report *r);

/* Runs the program over the data set, where there is one (evaluation.c). */
void nuc_evaluate_report(struct nuc_report *r);

/* Fails where what is to be compared with is no report, before anything takes time (compare.c). */
void nuc_check_report_compare(struct nuc_report *r);

/* A property that is demanded does not hold. */
void nuc_report_add_missed(struct nuc_report *r, const char *text);

/* ---- members of the tree ---- */

void nuc_put_report_model(struct nuc_report *r);
void nuc_put_report_summary(struct nuc_report *r);
void nuc_put_report_nodes(struct nuc_report *r);
void nuc_put_report_partitions(struct nuc_report *r);
void nuc_put_report_instructions(struct nuc_report *r);
void nuc_put_report_memory(struct nuc_report *r);
void nuc_put_report_placement(struct nuc_report *r); /* on_cpu, splits, options */
void nuc_put_report_evaluation(struct nuc_report *r);
void nuc_put_report_compare(struct nuc_report *r); /* after the summary */

/* ---- what they share ---- */

/* "npu"; NULL for inputs and outputs. */
const char *nuc_where_word(enum nuc_where where);

void nuc_put_id(struct nuc_context *cx, json_t *to, const char *key, uint32_t id); /* NUC_NO_ID: null */
void nuc_put_sizes(struct nuc_context *cx, json_t *to, const struct nuc_meta *meta);

/* The text of the page around the object. */
const char *nuc_report_page_text(struct nuc_context *cx, const char *json);

#endif
