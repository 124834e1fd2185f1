/* The objects and calls of compile.h, seen from inside. */
#ifndef NUC_DRIVER_DRIVER_H
#define NUC_DRIVER_DRIVER_H

#include "data/dataset.h"
#include "driver/settings.h"
#include "host/call.h"
#include "host/clock.h"
#include "host/file.h"
#include "ir/labels.h"
#include "nucleon/compile.h"
#include "rewrite/recognize/changes.h"

#define NUC_MAX_TIMINGS 64

struct nuc_calibration;
struct nuc_chosen_ranges;
struct nuc_measured;
struct nuc_litert_io;
struct nuc_boundary;
struct nuc_evaluator;
struct nuc_sequence;
struct nuc_partitions;
struct nuc_lowered;
struct nuc_memory_map;
struct nuc_seen;
struct nuc_model_names;
struct nuc_obstacles;
struct nuc_stage_row;

/* What stages took, each listed once. */
struct nuc_stage_seconds {
    struct nuc_timing stages[NUC_MAX_TIMINGS];
    size_t count;
};

struct nuc_compiler {
    struct nuc_context *cx;
    struct nuc_options options;           /* as given */
    unsigned without;                     /* steps of the search for parameters (quantize.h): bench/ablation */
    struct nuc_arena *arena;              /* for what stays until the compiler is freed */
    const struct nuc_settings *settings;  /* of what is opened next; NULL: the options were not looked up yet */
    const struct nuc_stage_row *pipeline; /* the path of its models (stages.h) */
    struct nuc_stage_seconds seconds;
    /* For those who ask afterwards: of the last program, and of the last choice of a dim order. NULL: none. */
    struct nuc_program_report report;
    const struct nuc_memory_map *memory;
    const struct nuc_measured *measured;
    const char *dim_order_table;
    const struct nuc_data_lines *data;     /* of the last calibration */
    struct nuc_sample_source size_samples; /* of models that are opened: nuc_size_samples() */
};

/* What --rewrite made of a model. */
struct nuc_rewritten {
    uint32_t *counts; /* of places, for each of the options' */
    struct nuc_change_places places;
};

/* How placement by cost counts the calls of partitions; as fewer, or greedily, where trials show that it pays. */
enum nuc_placing { NUC_PLACING_BY_CALLS, NUC_PLACING_FEWER_CALLS, NUC_PLACING_GREEDY };

/* A graph, and what the stages so far found out about it. Members after the graph are NULL before their stage. */
struct nuc_model {
    struct nuc_compiler *c;
    const struct nuc_settings *settings; /* of the stages to come */
    struct nuc_graph *graph;
    bool from_litert;               /* made from a LiteRT model, whose operators stay whole */
    const struct nuc_litert_io *io; /* its boundary, which the graph has channels first; NULL: as in the graph */
    const struct nuc_io_quantizations *noted; /* what its file says of inputs and outputs; NULL: of no LiteRT model */
    const struct nuc_model_names *names;      /* of what was opened (model_metadata.h); NULL: those of the graph */
    const struct nuc_seen *seen;              /* of its data (model_metadata.h); NULL: nothing is known */
    const struct nuc_model *from_float;       /* what was quantized, or is to be; NULL: it came quantized */
    bool calibrated;                          /* its archive says that it has been, even if it stays in float */
    bool simplified;                          /* its graph has been, by passes that no choice changes */
    enum nuc_placing placing;                 /* of a placement by cost, where trials told which takes fewer cycles */
    const struct nuc_measured *measured;      /* of a quantized model: its outputs; NULL: not measured */
    const char *front_end;                    /* the text of --front-end, on one line; NULL: none */
    const struct nuc_decision_rule *decision; /* what the outputs mean (decisions.c); NULL: not said */
    const struct nuc_stream_report *stream; /* models of what --stream made, and what is made of them; NULL: nothing */
    struct nuc_rewritten *rewritten;        /* prepared models, and what is made of them; NULL: nothing is */
    struct nuc_chosen_ranges *ranges;       /* float and prepared models (quantize.h); NULL: each has its own */
    const char *dim_order_table;            /* partitioned models with --dim-order auto, and what is made of them */

    /* What is made of the model has what is above, but not what follows: nuc_model_after(). */
    const struct nuc_obstacles *refused; /* what it is refused for, where it was opened in part; NULL: nothing */
    struct nuc_calibration *calibration; /* prepared models */
    bool half_calibrated;                /* the same: samples run, or failed */
    const struct nuc_apart *apart;       /* what concatenations requantize; NULL: nothing */
    bool looked_apart;                   /* prepared models: that has been decided */
    bool equalized;                      /* prepared models: weights have been evened out */
    /* Prepared models: looks so far for values that int8 is too narrow for, and then for those that int16 gains by. */
    unsigned widened;
    bool *cpu_nodes;                   /* prepared models: by node id, of nuc_find_cpu_nodes(); NULL: not found */
    struct nuc_partitions *partitions; /* partitioned models */
    struct nuc_lowered *lowered;       /* lowered models (lower.h) */
    struct nuc_evaluator *evaluator;   /* made by the first run */
    struct nuc_sequence *sequence;     /* the same */
    struct nuc_boundary *boundary;     /* made by the first run of a model with an `io` */
    struct nuc_node **nodes;           /* by position, made by the first question */
    struct nuc_labels labels;          /* made with it */
};

/* The options of the compiler, looked up at the first call after they were changed. */
const struct nuc_settings *nuc_settings(struct nuc_compiler *c);

/* A model of the graph with the compiler's own settings; or of a graph made from that of `from`, as what it was. */
struct nuc_model *nuc_model_make(struct nuc_compiler *c, struct nuc_graph *g);
struct nuc_model *nuc_model_after(const struct nuc_model *from, struct nuc_graph *g);

/* A float model as norms on the NPU are made of it: once it is prepared, what they read is without its mean. */
struct nuc_model *nuc_model_centred(const struct nuc_model *from);

/* --stream is asked for, and its windows are to become hops. */
bool nuc_waits_for_stream(const struct nuc_model *m);

/* ---- the boundary of LiteRT models ---- */

/* Whether user input or output `index` is [N, H, W, C] outside and [N, C, H, W] in the graph. */
bool nuc_is_image_input(const struct nuc_model *m, size_t index);
bool nuc_is_image_output(const struct nuc_model *m, size_t index);

/* Whether an input of the graph may be an image: it has four dimensions. */
bool nuc_takes_images(const struct nuc_graph *g);

/* An image as the graph has it becomes one as the model has it: contiguous, the channels last. */
void nuc_channels_go_last(struct nuc_tensor_info *info);

/* ---- data sets inside a stage (api_files.c) ---- */

/* A data set of the samples that is not bound yet, whatever the given one is bound to. */
struct nuc_dataset *nuc_dataset_again(struct nuc_compiler *c, struct nuc_sample_source source);

/* To inputs as the model's graph has them. */
void nuc_dataset_bind_model(struct nuc_dataset *d, const struct nuc_model *m);

void nuc_fill_tensor_info(const char *name, const struct nuc_meta *meta, struct nuc_tensor_info *out);

/* What compile.h shows of a node of the model. */
void nuc_fill_node_info(struct nuc_model *m, const struct nuc_node *n, struct nuc_node_info *out);

/* A dequantize node of its own after a quantize node, so that no consumer of the value is disturbed. */
struct nuc_node *nuc_probe_quantized(struct nuc_graph *g, struct nuc_node *quantize);

/* A stage that took from `started` until now, for nuc_timings(); one that runs again takes as long altogether. */
void nuc_note_seconds(struct nuc_compiler *c, const char *stage, double started);

#endif
