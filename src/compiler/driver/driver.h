/* The objects behind compile.h. */
#ifndef NUC_DRIVER_H
#define NUC_DRIVER_H

#include "compiler/eval/eval.h"
#include "compiler/graph/graph.h"
#include "compiler/import/arrays.h"
#include "compiler/import/images.h"
#include "compiler/neutron/convert/convert.h"
#include "compiler/partition/partition.h"
#include "compiler/passes/passes.h"
#include "compiler/program/program.h"
#include "compiler/quantize/quantize.h"
#include "compiler/target/target.h"
#include "nucleon/compile.h"

#define NUC_MAX_TIMINGS 64

struct nuc_memory_map;

struct nuc_compiler {
    struct nuc_context *cx;
    struct nuc_options options;
    struct nuc_timing timings[NUC_MAX_TIMINGS];
    size_t n_timings;
    struct nuc_program_report report;
    bool trial;                          /* what runs is asked for its decisions only: no dumps, no timings */
    const struct nuc_memory_map *memory; /* of the last program, NULL: none */
    const char *dim_order_table;         /* of the last choice of a dim order, NULL: none */
};

/* What --dim-order chooses between. */
struct nuc_variant {
    enum nuc_dim_order order; /* not AUTO */
    bool use_neutron_for_format_conversion;
};

/* What became of one partition. */
struct nuc_lowered_partition {
    struct nuc_delegate *delegate;
    struct nuc_partition_info info;
    size_t n_cpu_transposed; /* inputs and outputs that the runtime transposes */
    const struct nuc_tensor_info *cpu_transposed;
    const struct nuc_neutron_image *image;
    const struct nuc_node *const *sources; /* the node each kernel call was made for, NULL: none */
};

struct nuc_model {
    struct nuc_compiler *c;
    struct nuc_graph *graph;
    bool from_litert;                      /* made from a LiteRT model, whose operators stay whole */
    struct nuc_calibration *calibration;   /* prepared models */
    bool equalized;                        /* prepared models: weights have been evened out */
    struct nuc_partitions *partitions;     /* partitioned models */
    struct nuc_variant variant;            /* of partitioned models */
    struct nuc_lowered_partition *lowered; /* lowered models: one a partition */
    struct nuc_io_quantizations io;        /* lowered models with quantized inputs and outputs */
    struct nuc_evaluator *evaluator;       /* made by the first run */
    struct nuc_node **nodes;               /* by position, made by the first question */
};

struct nuc_dataset {
    struct nuc_compiler *c;
    const char *path;
    struct nuc_arrays arrays;
    size_t n_inputs, n_samples;
    const struct nuc_array **bound; /* one an input */
    size_t *bytes;                  /* of one sample of each input */
    void **aligned;                 /* by input: the sample read last; NULL when elements lie aligned in the file */

    /* A folder of images: `arrays` holds at most the labels, `bound` is not used. */
    const struct nuc_images *images; /* NULL: arrays */
    struct nuc_image_format format;  /* of the input */
    size_t per_sample;               /* images in one sample */
    float *sample;                   /* the sample read last */
};

/* Runs fn(cx, arg) so that an error inside becomes a status; every public function goes through here. */
enum nuc_status nuc_enter(struct nuc_compiler *c, void (*fn)(struct nuc_context *cx, void *arg), void *arg);

struct nuc_model *nuc_model_make(struct nuc_compiler *c, struct nuc_graph *g);

/* Wall-clock seconds from an arbitrary start. */
double nuc_seconds(void);

/* A stage ended: notes its seconds, verifies the graph, dumps it when asked to. Returns the time now. */
double nuc_stage_done(struct nuc_compiler *c, const char *stage, struct nuc_graph *g, double started);

/* A pass ended, `user` being the compiler: dumps the graph when asked to, and verifies it in debug builds. */
void nuc_pass_done(void *user, const char *pass, struct nuc_graph *g);

/*
 * Fails with NUC_UNSUPPORTED naming the tensor when a value, or user input, is neither contiguous nor channels-last:
 * the only dim orders a tensor can have at run time. ATen values may have others, which Edge operators undo.
 */
void nuc_check_dim_orders(struct nuc_graph *g, bool inputs_only);

void nuc_fill_tensor_info(const char *name, const struct nuc_meta *meta, struct nuc_tensor_info *out);

/* Annotates the graph of a prepared model and places observers, as the options say. */
void nuc_begin_calibration(struct nuc_model *prepared);

/* One sample of arbitrary values from `low` to 1 for a prepared model. */
void nuc_quantize_random_sample(struct nuc_model *prepared, float low);

/*
 * Targets with an NPU and int8 kernels on the CPU (cpu_side.c): by node id, which nodes of a prepared model, its graph
 * not annotated yet, end on the CPU. nuc_is_cpu_node() with the result as `user` tells it of one.
 */
bool *nuc_find_cpu_nodes(struct nuc_model *prepared, const struct nuc_quantize_options *options);
bool nuc_is_cpu_node(void *user, const struct nuc_node *node);

/* Partitions the graph of `m`, and again without what the CPU should keep although the NPU could run it. */
struct nuc_partitions *nuc_place(struct nuc_model *m, const struct nuc_partition_options *options);

/* With the option `equalize`, once: evens out the weights of a prepared model and begins its calibration again. */
void nuc_equalize_model(struct nuc_model *prepared, struct nuc_dataset *samples);

/* ---- stages, each on a graph of its own ---- */

struct nuc_model *nuc_stage_import(struct nuc_compiler *c, const char *path);
struct nuc_model *nuc_stage_prepare(struct nuc_model *m);
void nuc_stage_calibrate(struct nuc_model *prepared, struct nuc_dataset *samples);
struct nuc_model *nuc_stage_convert(struct nuc_model *prepared);
/* A float model quantized with one random sample, where only decisions matter. */
struct nuc_model *nuc_stage_quantize_random(struct nuc_model *m);
struct nuc_model *nuc_stage_partition(struct nuc_model *quantized);
struct nuc_model *nuc_stage_partition_as(struct nuc_model *quantized, const struct nuc_variant *variant);
struct nuc_model *nuc_stage_lower(struct nuc_model *partitioned);
struct nuc_span nuc_stage_program(struct nuc_model *lowered);

/* Inputs and outputs of a lowered model become int8, with a warning for those that cannot (io_borders.c). */
void nuc_quantize_borders(struct nuc_model *m);

/* Of a partitioned model: what is known of inputs and outputs that are int8 already. */
void nuc_note_borders(struct nuc_model *m);

/* Scale, zero point, range and type of each such border, under names software written for ExecuTorch asks for. */
void nuc_tell_borders(const struct nuc_model *m, struct nuc_program_options *o);

/*
 * The variant of a quantized model with the least estimated cycles; of equal ones that which moves less, takes less
 * memory, is as the archive has it. Leaves a table in the compiler.
 */
struct nuc_variant nuc_choose_variant(struct nuc_model *quantized);

struct nuc_explanation;

/* The explanation of a model at any stage before lowering; cycles of kernels take a conversion. */
struct nuc_explanation *nuc_explain_model(struct nuc_model *m, bool with_cycles);

/* The kernels of all partitions to the file of the option dump_kernel_selection, when there is one. */
void nuc_write_kernel_selection(const struct nuc_model *lowered);

/* Notes that name options of the compiler which do nothing: for its target, and for a model that is quantized. */
void nuc_tell_idle_options(struct nuc_compiler *c);
void nuc_tell_idle_quantization(struct nuc_compiler *c, const char *model);

/* A dequantize node of its own behind a quantize node, so that no consumer of the value is disturbed. */
struct nuc_node *nuc_probe_quantized(struct nuc_graph *g, struct nuc_node *quantize);

/* Fails with NUC_PROPERTY naming the first operator that stays on the CPU. */
void nuc_require_full_delegation(struct nuc_model *partitioned);

/* Figures and map of a program's memory for reports; the file of the map; and NUC_PROPERTY when it exceeds a budget. */
void nuc_report_memory(struct nuc_model *lowered, const struct nuc_program_memory_report *memory);
void nuc_write_memory_map(struct nuc_compiler *c);
void nuc_check_memory_budget(struct nuc_compiler *c, const char *model);

/* What compile.h shows of a node of the model. */
void nuc_fill_node_info(struct nuc_model *m, const struct nuc_node *n, struct nuc_node_info *out);

struct nuc_dataset *nuc_dataset_read(struct nuc_compiler *c, const char *path);
void nuc_dataset_bind_model(struct nuc_dataset *d, const struct nuc_model *m);

/* nuc_dataset_sample() inside a stage. */
void nuc_dataset_read_sample(const struct nuc_dataset *d, size_t sample, const void **inputs);

/* ---- a folder of images (dataset_images.c) ---- */

/* The data set when `path` is a folder with images and without .npy files, else NULL. */
struct nuc_dataset *nuc_dataset_of_images(struct nuc_compiler *c, const char *path);
void nuc_dataset_bind_images(struct nuc_dataset *d, const struct nuc_tensor_info *inputs, size_t n_inputs);
void nuc_dataset_read_images(const struct nuc_dataset *d, size_t sample, const void **inputs);

#endif
