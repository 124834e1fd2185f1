/*
 * The path of a model: pipeline.c has its rows, run_stages.c runs them. A stage continues with the model that the one
 * before it left in the job. A stage that changes a graph which a caller of compile.h may hold makes a copy first, so
 * that a model stays what it was.
 */
#ifndef NUC_DRIVER_STAGES_H
#define NUC_DRIVER_STAGES_H

#include "driver/driver.h"
#include "rewrite/passes.h"

enum nuc_stage {
    NUC_STAGE_IMPORT,
    NUC_STAGE_EXPAND,
    NUC_STAGE_ATEN_PASSES,
    NUC_STAGE_ANNOTATE,
    NUC_STAGE_CALIBRATE,
    NUC_STAGE_EQUALIZE,
    NUC_STAGE_WIDEN,
    NUC_STAGE_QUANTIZE,
    NUC_STAGE_STREAM,
    NUC_STAGE_DIM_ORDER,
    NUC_STAGE_DECOMPOSE,
    NUC_STAGE_EDGE,
    NUC_STAGE_EDGE_PASSES,
    NUC_STAGE_PARTITION,
    NUC_STAGE_DELEGATE,
    NUC_STAGE_CPU_PASSES,
    NUC_STAGE_QUANTIZE_IO,
    NUC_STAGE_LOWER,
    NUC_STAGE_BOUNDARY,
    NUC_STAGE_STRIPS,
    NUC_STAGE_PROGRAM,
    NUC_STAGE_WRITE,
    NUC_STAGE_COUNT
};

#define NUC_MAX_STAGE_LISTS 5

struct nuc_job;
struct nuc_stage_row {
    const char *name;
    void (*run)(struct nuc_job *j);
    bool leaves_graph;                                       /* which is verified, and printed by --dump-after */
    bool (*applies)(const struct nuc_job *j);                /* NULL: always */
    const struct nuc_pass_list *passes[NUC_MAX_STAGE_LISTS]; /* which it runs, in order */
    enum nuc_stage repeat_from;                              /* when it leaves job.again */
};

/* The program of a lowered model. */
struct nuc_made {
    struct nuc_span bytes;
    struct nuc_program_report report;
    const struct nuc_memory_map *memory;
    size_t constants; /* bytes of those that are no part of a delegate */
    size_t n_instructions;
    const struct nuc_node *const *instructions; /* nodes of the lowered graph in the order of the program */
};

/* What stages read and leave besides the model. */
struct nuc_job {
    struct nuc_compiler *c;
    struct nuc_stored input; /* of the first stage */
    const char *output;      /* file of the last stage */
    enum nuc_stage first;    /* that runs: set by nuc_run_stages() */
    struct nuc_dataset *samples;
    struct nuc_sample_source source; /* where CALIBRATE reads samples once more when there are none open */
    enum nuc_samples part;
    bool samples_differ; /* set by CALIBRATE */
    struct nuc_model *m;
    bool for_caller; /* the last model goes to a caller of compile.h, with all that it says about partitions */
    bool graph_only; /* DELEGATE makes no payloads: only what is left to the CPU is asked for */
    bool use_up;     /* no one reads what models become: DECOMPOSE and DELEGATE take graphs over instead of copies, */
    const struct nuc_model *given;     /* but not this one's, which is a caller's; NULL: there is none */
    const struct nuc_model *prepared;  /* of what QUANTIZE made: the float model whose nodes its nodes come from */
    const struct nuc_model *quantized; /* what the stages from DECOMPOSE to PARTITION begin with */
    struct nuc_preserved preserved;
    /*
     * EQUALIZE changed weights: from CALIBRATE on once more, with the same samples. WIDEN found values that int8 is too
     * narrow for: from ANNOTATE on once more. PARTITION found operators that were preserved in vain: from DECOMPOSE on.
     */
    bool again;
    bool is_same;      /* set by a stage that left the graph as it was: it is verified already */
    bool recalibrates; /* the samples have been looked at */
    struct nuc_made made;
};

/* Whether a caller of compile.h holds the graph, which stays what it was. */
static inline bool nuc_is_given(const struct nuc_job *j, const struct nuc_graph *g)
{
    return j->given != NULL && j->given->graph == g;
}

/* Runs the stages from `first` to `last`. */
void nuc_run_stages(struct nuc_job *j, enum nuc_stage first, enum nuc_stage last);

/* The same for a model alone: what became of it. */
struct nuc_model *nuc_advance(struct nuc_model *m, enum nuc_stage first, enum nuc_stage last);

/* Inside a stage: the passes of a list, each verified in debug builds and dumped; whether one changed something. */
bool nuc_run_stage_passes(struct nuc_job *j, const struct nuc_pass_list *list, enum nuc_pass_mode mode);

/*
 * Asks what would become of `m` under the options `as`: runs fn(model, arg), `model` being `m` with these options, but
 * without notes, dumps, timings and files. Its memory is freed at the end, so that `arg` takes plain figures, and
 * strings only from cx->message, which says why when the status is not NUC_OK. What is no answer (nuc_is_answer()) ends
 * the call around it.
 */
enum nuc_status nuc_trial(const struct nuc_model *m, const struct nuc_options *as,
                          void (*fn)(struct nuc_model *m, void *arg), void *arg);

/*
 * A note for each output of a quantized model that is the same for all samples although they differ, in float or only
 * when quantized, or whose SQNR on them is below 15 dB (quantize_stages.c).
 */
void nuc_warn_of_outputs(const struct nuc_model *quantized, bool samples_differ);

/* job.samples of job.source, and the memory that they are let go with (api_files.c). */
struct nuc_sub_arena *nuc_open_samples(struct nuc_job *j);
void nuc_close_samples(struct nuc_job *j, struct nuc_sub_arena *memory);

/* In a trial: what becomes of a model with its samples, windows as they are; its graph and observers go. */
struct nuc_model *nuc_partition_prepared(struct nuc_model *prepared);

/* From float model to quantized model with a part of the samples; nuc_warn_of_outputs() is left to the caller. */
void nuc_quantize_with(struct nuc_job *j, struct nuc_sample_source calibration, enum nuc_samples part);

/* ---- what the stages do ---- */

void nuc_expand_model(struct nuc_job *j);   /* quantize_stages.c: composite operators become others */
void nuc_run_aten_stage(struct nuc_job *j); /* quantize_stages.c */
void nuc_annotate_model(struct nuc_job *j); /* observers are placed */
bool nuc_is_to_equalize(const struct nuc_job *j);
void nuc_calibrate_model(struct nuc_job *j); /* all samples run through */
void nuc_equalize_model(struct nuc_job *j);  /* channels are scaled where that gains, observers placed again */
bool nuc_may_widen(const struct nuc_job *j);
void nuc_widen_model(struct nuc_job *j); /* trials/wide_values.c: what int8 is too narrow for is marked */

void nuc_quantize_model(struct nuc_job *j); /* observers become quantize and dequantize nodes */
bool nuc_is_to_stream(const struct nuc_job *j);
void nuc_stream_model(struct nuc_job *j);     /* windows become hops */
void nuc_choose_dim_order(struct nuc_job *j); /* trials/dim_order_auto.c; inputs and weights lie in it */
void nuc_decompose_model(struct nuc_job *j);  /* partition_stages.c: ATen to Edge */
void nuc_settle_orders(struct nuc_job *j);    /* dim orders that tensors can have at run time */
void nuc_run_edge_stage(struct nuc_job *j);
void nuc_partition_model(struct nuc_job *j);
void nuc_delegate_model(struct nuc_job *j); /* lower_model.c: partitions become delegate calls */
bool nuc_has_float_cpu(const struct nuc_job *j);
void nuc_run_cpu_passes(struct nuc_job *j);
bool nuc_has_quantized_boundary(const struct nuc_job *j); /* or has states */
void nuc_quantize_io(struct nuc_job *j);                  /* boundary.c: inputs and outputs become int8 */
void nuc_lower_for_cpu(struct nuc_job *j); /* what is left becomes int8 operators where the target has them */
bool nuc_is_from_litert(const struct nuc_job *j);
void nuc_present_boundary(struct nuc_job *j); /* boundary.c: inputs and outputs as the LiteRT model has them */
bool nuc_may_need_strips(const struct nuc_job *j);
void nuc_compute_in_strips(struct nuc_job *j); /* strips_stage.c: when the memory budget asks for it */
void nuc_make_program(struct nuc_job *j);      /* compiled_program.c */

/* ---- what they share ---- */

/* Rows that nothing reads go (quantize_stages.c): of a float model that is simplified, of another one as it came. */
void nuc_leave_unread_of(struct nuc_model *m);

/*
 * What --rewrite asks for (rewrites.c): in the graph as the model has it, and again in what the passes have
 * `recognized` in it. Fails with NUC_BAD_USAGE where a change has no place in either.
 */
void nuc_make_rewrites(struct nuc_job *j, bool recognized);

/* Fresh observers for a prepared model, and what is to be spent on its conversion. */
struct nuc_calibration *nuc_calibration_of(struct nuc_model *prepared, enum nuc_accuracy accuracy,
                                           bool bias_correction);

/* A float model quantized with one random sample, where only decisions matter (trials/random_sample.c). */
struct nuc_model *nuc_quantize_random(struct nuc_model *m);

/*
 * One sample of arbitrary values for a prepared model: floats of both signs and integers 0, an index that always fits;
 * where the model has no values for these (a logarithm, a sequence of no elements), positive floats, and integers 1.
 */
#define NUC_RANDOM_ATTEMPTS 3
void nuc_quantize_random_sample(struct nuc_model *prepared, unsigned attempt);

/*
 * Targets with an NPU and int8 kernels on the CPU (trials/cpu_nodes.c): by node id, which nodes of a prepared model,
 * its graph not annotated yet, are to be quantized for the CPU: those that would be computed there in float without
 * that, and may be in int8; with reference_compat all that end there. nuc_is_cpu_node() with the result as `user` says
 * so of one. Sets prepared->placing.
 */
struct nuc_quantize_options;
bool *nuc_find_cpu_nodes(struct nuc_model *prepared, const struct nuc_quantize_options *options);
bool nuc_is_cpu_node(void *user, const struct nuc_node *node);

/* --cpu auto (trials/cpu_kernels.c): sets settings->rounds of the float model where samples tell what int8 costs. */
void nuc_choose_cpu_kernels(struct nuc_job *j);

/* Partitions the graph of `m`, and again without what the CPU should keep although the NPU could run it. */
struct nuc_partition_options;
struct nuc_partitions *nuc_place(struct nuc_model *m, const struct nuc_partition_options *options);

/*
 * The explanation of a model at any stage before lowering; cycles of kernels take a conversion. `calibration` is what a
 * quantized model was quantized with, for what is tried on it.
 */
struct nuc_explanation *nuc_explain_model(struct nuc_model *m, bool with_cycles, struct nuc_sample_source calibration);

/*
 * Cycles of a partitioned model as its explanation has them, from real kernels (node_cycles.c); false: it cannot be
 * converted.
 */
bool nuc_count_cycles(const struct nuc_model *partitioned, uint64_t *cycles);

/* Bytes that its program takes in one memory, without strips; SIZE_MAX: it cannot be lowered. */
size_t nuc_planned_memory(const struct nuc_model *partitioned);

/* Fails with NUC_PROPERTY naming the first operator that stays on the CPU. */
void nuc_require_full_delegation(struct nuc_model *partitioned);

/*
 * Dim orders. Inputs come as they come, but for the reference's passes, which read those alone that kernels and
 * delegates know: contiguous ones and channels-last ones of rank 4 and 5. Fails with NUC_UNSUPPORTED naming the input.
 */
void nuc_check_input_orders(const struct nuc_model *m);

/* The same for what operators give, of a graph that becomes a program. */
void nuc_check_value_orders(const struct nuc_graph *g);

#endif
