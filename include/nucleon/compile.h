/*
 * The compiler as a library, in the order of a compilation: open a model, quantize it, partition it, lower it, write
 * the program. Every call takes the compiler object; what it returns belongs to that object and lives until
 * nuc_compiler_free(). A call that fails returns a status other than NUC_OK, and nuc_compiler_message() gives one line
 * that names the file, the place and the remedy.
 *
 * Threads: a compiler object and all that belongs to it are used by one thread at a time; different compilers may be
 * used by different threads at once, and nothing is shared between them. The library writes nothing to the standard
 * streams, never ends the process, and leaves locale, signal handlers and working folder alone.
 *
 * Binaries: a version that changes a function, an enumerator or the layout of a structure has another number in the
 * name of the shared library, now libnucleon.so.0. Structures that are given begin from their ..._default() or from
 * zeros, so that source code need not change when members are added.
 */
#ifndef NUCLEON_COMPILE_H
#define NUCLEON_COMPILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nucleon/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct nuc_compiler;
struct nuc_node_info;
struct nuc_model;   /* a graph at any stage: float, quantized, Edge, lowered */
struct nuc_dataset; /* samples: arrays by name, from an .npz or .npy files, or a folder of images */

/* Memory of the compiler. allocate(user, NULL, n) allocates, allocate(user, block, 0) frees; NULL reports exhaustion.
 */
struct nuc_memory_hooks {
    void *(*allocate)(void *user, void *block, size_t size);
    void *user;
};

/* Memory order of inputs, parameters and buffers [N, C, H, W], and with them of what is computed from them. */
enum nuc_dim_order {
    NUC_DIM_ORDER_AS_IS,         /* as the archive has it */
    NUC_DIM_ORDER_CONTIGUOUS,    /* N, C, H, W; a note names the changed inputs */
    NUC_DIM_ORDER_CHANNELS_LAST, /* N, H, W, C; a note names the changed inputs */
    NUC_DIM_ORDER_AUTO           /* whichever takes fewer cycles by estimate; see nuc_dim_order_table() */
};

/* What a program takes and gives: float32, or the int8 values inside (docs/formats.md, "Quantized boundaries"). */
enum nuc_io { NUC_IO_FLOAT, NUC_IO_INT8 };

/* Where the NPU payloads lie: in the program, or in segments after it that a runtime may map apart. */
enum nuc_segment_mode { NUC_DELEGATE_INLINE, NUC_DELEGATE_SEGMENT };

/* How the range of an activation follows from the values it takes in calibration. */
enum nuc_observe {
    NUC_OBSERVE_AUTO,          /* tensor by tensor one of the next four: what brings the outputs closest to the float
                                  ones on calibration samples; with accuracy fast minmax, with reference_compat histogram */
    NUC_OBSERVE_HISTOGRAM,     /* the reference's search for the range with the least L2 error */
    NUC_OBSERVE_MIN_MAX,       /* everything seen */
    NUC_OBSERVE_MSE,           /* the range with the least mean squared error of rounding and clipping */
    NUC_OBSERVE_PERCENTILE,    /* all but 0.01 % of the values on each side */
    NUC_OBSERVE_MOVING_AVERAGE /* minimum and maximum of each sample, averaged over the samples */
};

/* What quantization spends on the accuracy of the program. */
enum nuc_accuracy {
    NUC_ACCURACY_FAST,    /* the quantized network is not run */
    NUC_ACCURACY_DEFAULT, /* choices are made by what they do to the outputs of calibration samples */
    NUC_ACCURACY_HIGH     /* weights are changed, too: channels evened out, rounded by calibration data */
};

/* Scales of convolution weights; fully connected layers have one scale. */
enum nuc_weights { NUC_WEIGHTS_PER_CHANNEL, NUC_WEIGHTS_PER_TENSOR };

/* Which operators a target with an NPU leaves to the CPU. */
enum nuc_placement {
    NUC_PLACEMENT_GREEDY, /* those the NPU cannot run */
    NUC_PLACEMENT_COST    /* also those with which the model takes fewer cycles there, calls and boundaries included */
};

/* Moving biases by the mean error of rounded weights. */
enum nuc_bias_correction {
    NUC_BIAS_CORRECTION_OFF,
    NUC_BIAS_CORRECTION_ON,
    NUC_BIAS_CORRECTION_MEASURED /* where that makes the outputs of the first calibration samples better */
};

/* What becomes of an image of another size than the input (formula in docs/formats.md). */
enum nuc_resize {
    NUC_RESIZE_AUTO,    /* as for the calibration of the program, else it is refused */
    NUC_RESIZE_NONE,    /* it is refused */
    NUC_RESIZE_STRETCH, /* the whole image is scaled to the input's height and width */
    NUC_RESIZE_CROP     /* the largest centred part of the input's proportions is scaled */
};

/* All options of a compilation. Start from nuc_options_default(). Strings are borrowed until the compiler is freed. */
struct nuc_options {
    const char *target;           /* "imxrt700"; `nucleon targets` lists the others */
    const char *converter_flavor; /* "sdk-3.2" */
    bool delegate;                /* false: everything stays on the CPU */
    /*
     * Operators ("aten.add.Tensor", "aten::add", "add") or nodes by label ("layers.0/add") or name, with * and ? as in
     * a shell; one that matches nothing is an error. Under reference_compat: parts of node names, "::" standing for
     * "_".
     */
    const char *const *operators_not_to_delegate;
    size_t n_operators_not_to_delegate;
    /* ATen operators kept whole where the NPU takes them: "aten.pad.default", "aten::pad" or "pad". */
    const char *const *preserve_ops;
    size_t n_preserve_ops;
    bool allow_no_op_partitions;
    bool force_delegate_cat;      /* flavor sdk-3.1: concatenations of any size are delegated */
    bool require_full_delegation; /* nuc_compile_file() fails with NUC_PROPERTY when an operator stays on the CPU */
    /* Asked for every Edge node the rules accept; false keeps it on the CPU. NULL: accept. */
    bool (*check_op_support)(void *user, const struct nuc_node_info *node);
    void *check_op_support_user;
    bool use_neutron_for_format_conversion;
    enum nuc_dim_order dim_order;
    const char *intermediates_dir; /* NULL: none */
    bool plan_delegate_scratch;    /* the arena holds the scratch of delegates; other runtimes take more all the same */
    const char *memory_map;        /* file nuc_compile_file() writes the memory map to, .svg: a picture; NULL: none */
    size_t memory_budget; /* nuc_compile_file() fails with NUC_PROPERTY when arena and scratch need more; 0: any */
    bool fetch_constants_to_sram; /* weights lie in flash and are copied while the NPU computes; needs copy functions */
    /*
     * What makes programs of partitions: NULL or "builtin", or a command (words between spaces, no shell) that is given
     * --input FILE.tflite --output FILE.tflite --target NAME and writes a model of one NeutronGraph, such as the
     * vendor's neutron-converter or `nucleon convert`.
     */
    const char *converter;
    const char *extra_flags;           /* recorded in the program's compile spec compile_flags; NULL: "" */
    const char *dump_kernel_selection; /* C file nuc_compile_file() writes with the NPU kernels needed; NULL: none */
    unsigned converter_timeout;        /* seconds for each partition; 0: 300 */
    bool payload_version_0;            /* payloads for runtimes that know no other: without profiles */
    bool profile;                      /* programs record the time of each kernel call and carry the kernels' names */
    enum nuc_segment_mode delegate_data;
    enum nuc_io io;
    enum nuc_placement placement; /* greedy with reference_compat, require_full_delegation and flavor sdk-3.1 */
    bool no_quantize;             /* a float program for the CPU: no calibration, nothing is delegated */
    bool no_metadata;             /* the program says nothing about its data; neither does one of reference_compat */
    bool executorch_ops_only;     /* no operator that ExecuTorch's runtime does not have */
    bool reference_compat;        /* reproduce the reference backend's decisions and quantization */
    enum nuc_accuracy accuracy;   /* reference_compat: fast */
    enum nuc_observe observer;
    enum nuc_weights weights;
    bool equalize; /* even out the ranges of weight channels across layers before quantization */
    enum nuc_bias_correction bias_correction; /* reference_compat: off */
    /* Images become (pixel / 255 - mean) / std; one number stands for all channels, none for mean 0 and std 1. */
    float image_mean[3], image_std[3];
    size_t n_image_mean, n_image_std;
    enum nuc_resize image_resize;
    /*
     * Names of the classes by index, or one name: a file with a line for each. By default those of the folders that
     * calibration was with.
     */
    const char *const *classes;
    size_t n_classes;
    bool unlike_calibration; /* data in another unit than that of calibration are taken, with a note */
    const char *dump_after;  /* name of a stage or pass (nuc_dump_point()), or "all": after each stage; NULL: none */
    void (*dump)(void *user, const char *stage, const char *text);
    void *dump_user;
    void (*warn)(void *user, const char *message);
    void *warn_user;
    /* How far a step is, by the thread that called; 0 of 0 when it begins and it is not known how much there is. */
    void (*progress)(void *user, const char *what, size_t done, size_t total);
    void *progress_user;
    unsigned threads; /* 0: as many as cores */
};

/* What `nucleon compile` does without options. */
void nuc_options_default(struct nuc_options *options);

/*
 * What dump_after may name, in the order of a compilation: `index` from 0, false after the last one. A pass comes
 * before the stage that it is part of; where passes run in cycles, each run of it is dumped.
 */
struct nuc_dump_point {
    const char *name;
    const char *stage; /* of a pass; NULL: `name` is a stage */
};
bool nuc_dump_point(size_t index, struct nuc_dump_point *out);

/*
 * NULL when memory is exhausted. The options are copied; NULL: those of nuc_options_default(), and options.h sets them
 * by name. `hooks` may be NULL: malloc() and free().
 */
struct nuc_compiler *nuc_compiler_new(const struct nuc_options *options, const struct nuc_memory_hooks *hooks);
void nuc_compiler_free(struct nuc_compiler *c);

/*
 * Files of several calls as one. Those of each call appear together when it succeeds; of calls after nuc_begin_files()
 * they appear when nuc_commit_files() does, all or none. nuc_compiler_free() before that leaves none. A second begin
 * changes nothing; a commit without a begin is NUC_BAD_USAGE.
 */
void nuc_begin_files(struct nuc_compiler *c);
enum nuc_status nuc_commit_files(struct nuc_compiler *c);

/*
 * File `index`, in their order, of those that calls of this compiler have written so far, scratch files left out: its
 * path as it was given and its bytes. False: there are not as many.
 */
bool nuc_written_file(const struct nuc_compiler *c, size_t index, const char **path, size_t *bytes);

/*
 * Ends the call under way, from another thread, a handler of a signal or a function that the call calls (progress, for
 * instance): within a sample or a step of the work it returns NUC_INTERRUPTED and leaves no file. The compiler is as
 * after any call that failed. Without a call under way it does nothing.
 */
void nuc_interrupt(struct nuc_compiler *c);

/*
 * For a handler of a signal that ends the process, and only for it: removes the temporary files of the call under way
 * and ends a converter that it runs. Nothing else may be done with the compiler after that.
 */
void nuc_compiler_abandon(struct nuc_compiler *c);

/* What it was made with. */
const struct nuc_options *nuc_compiler_options(const struct nuc_compiler *c);

/* Why the last call failed, one line without its end; "" when it did not. Valid until the next call. */
const char *nuc_compiler_message(const struct nuc_compiler *c);

/* What can have an effect on the compiler's target. Fails when an option is wrong. */
struct nuc_target_facts {
    const char *name;
    bool has_npu;
    bool has_int8_cpu; /* int8 kernels for what stays on the CPU */
};
enum nuc_status nuc_target_facts(struct nuc_compiler *c, struct nuc_target_facts *out);

/* ---- models ---- */

/*
 * Opens a .pt2 archive or a LiteRT model (.tflite), float or quantized. The file stays mapped. Inputs and outputs of a
 * LiteRT model have its own sizes and order, channels last.
 */
enum nuc_status nuc_model_open(struct nuc_compiler *c, const char *path, struct nuc_model **out);

/*
 * The same for the bytes of such a file in memory, which are borrowed until the compiler is freed and need no
 * alignment. `name` stands in messages and in what is written about the model: that of a file would, "model.pt2".
 */
enum nuc_status nuc_model_open_bytes(struct nuc_compiler *c, const char *name, const void *bytes, size_t size,
                                     struct nuc_model **out);

/* Whose it is, and the name that messages give it. */
struct nuc_compiler *nuc_model_compiler(const struct nuc_model *m);
const char *nuc_model_file(const struct nuc_model *m);

/* True when the model holds quantize nodes. */
bool nuc_model_is_quantized(const struct nuc_model *m);

size_t nuc_model_n_inputs(const struct nuc_model *m);
size_t nuc_model_n_outputs(const struct nuc_model *m);

/* Shape of user input or output `index`: dtype, rank, sizes[NUC_MAX_RANK], dim_order[NUC_MAX_RANK]. */
struct nuc_tensor_info {
    const char *name;
    enum nuc_dtype dtype;
    size_t rank;
    int64_t sizes[NUC_MAX_RANK];
    uint8_t dim_order[NUC_MAX_RANK];
    size_t bytes;
};
enum nuc_status nuc_model_input(const struct nuc_model *m, size_t index, struct nuc_tensor_info *out);
enum nuc_status nuc_model_output(const struct nuc_model *m, size_t index, struct nuc_tensor_info *out);

/*
 * An archive that was made of the LiteRT model `of` has images [N, C, H, W]. From here on `m` takes and gives them as
 * `of` does, [N, H, W, C]. No effect where the two do not correspond.
 */
void nuc_model_present_as(struct nuc_model *m, const struct nuc_model *of);

/* The text form (docs/formats.md). */
enum nuc_status nuc_model_text(struct nuc_model *m, bool with_data, const char **out);

/*
 * Nodes in graph order, for tools. `target` as in ops.def. Quantization of a Q/DQ node in scale and zero_point
 * (per tensor) or n_scales > 1 (per channel).
 */
struct nuc_node_info {
    const char *name;
    const char *label; /* what people call it, unique in the graph: "layers.0.conv1", "layers.0/add", "x (int8)" */
    const char *target;
    const char *const *inputs; /* names of the tensor arguments, in order */
    size_t n_inputs;
    struct nuc_tensor_info value; /* the first one of a tuple; rank 0 and bytes 0 when there is none */
    bool is_quantize, is_dequantize;
    size_t n_scales;
    const float *scales;
    const int64_t *zero_points;
    int64_t quant_min, quant_max;
    const char *partition; /* tag of the partition, NULL: not delegated, or before partitioning */
    const char *format;    /* "CHANNELS_FIRST", "FORMATLESS", "NONE" or NULL */
    const char *reason;    /* why the node is not delegated, or NULL */
    const char *source_file;
    int source_line;
};
size_t nuc_model_n_nodes(const struct nuc_model *m);
enum nuc_status nuc_model_node(struct nuc_model *m, size_t index, struct nuc_node_info *out);

/* Whether a node of that name computes one float32 tensor. */
bool nuc_model_has_float_node(const struct nuc_model *m, const char *name);

/*
 * Runs the reference evaluator: inputs[i] are nuc_tensor_info.bytes of input i in logical (contiguous) order; outputs
 * are written in logical order to buffers of the outputs' byte counts.
 */
enum nuc_status nuc_model_run(struct nuc_model *m, const void *const *inputs, void *const *outputs);

/*
 * Names of the operator nodes of a quantized model whose value is quantized, in graph order: where float, quantized and
 * compiled model can be compared.
 */
enum nuc_status nuc_model_probes(struct nuc_model *quantized, const char *const **names, size_t *count);

/*
 * A copy of the model with the values of the named nodes as further outputs, after its own; where a quantize node
 * reads the value, what it makes of it. The copy compiles and runs as any model; its partitions compute the same bytes.
 */
enum nuc_status nuc_model_expose(struct nuc_model *m, const char *const *names, size_t count, struct nuc_model **out);

/* ---- quantization ---- */

/*
 * An .npz, an .npy, a folder of .npy files, or a folder of PNG and JPEG images: samples of a model with one float32
 * input of 1 or 3 channels. An image folder with a subfolder for each class has the int64 array 'label'.
 */
enum nuc_status nuc_dataset_open(struct nuc_compiler *c, const char *path, struct nuc_dataset **out);

struct nuc_array_info {
    const char *name;
    enum nuc_dtype dtype;
    size_t rank;
    int64_t sizes[NUC_MAX_RANK];
    const void *data; /* dense, row-major */
    size_t bytes;
};
size_t nuc_dataset_n_arrays(const struct nuc_dataset *d);

/*
 * A data set of arrays in memory, as an .npz of them would be. Names are copied, elements are borrowed until the
 * compiler is freed; they are little-endian and need no alignment. `name` stands in messages. NUC_BAD_USAGE: a size is
 * negative, `bytes` are not those of shape and type, or two arrays have one name.
 */
enum nuc_status nuc_dataset_of_arrays(struct nuc_compiler *c, const char *name, const struct nuc_array_info *arrays,
                                      size_t count, struct nuc_dataset **out);

enum nuc_status nuc_dataset_array(const struct nuc_dataset *d, size_t index, struct nuc_array_info *out);

/*
 * Binds arrays to a model's user inputs: each has its input's name, or is in0, in1, ...; an only input also takes the
 * only array that is none of labels, or the only one that fits. An array holds samples along axis 0: its shape is [N] +
 * sizes, or [N * sizes[0]] + sizes[1..]; its type is the input's, or float16, bfloat16 or float64 for float32. Fails
 * with NUC_BAD_INPUT naming array, shape and dtype when an input has no array, when they do not fit, when counts differ
 * or when there is no sample.
 */
enum nuc_status nuc_dataset_bind(struct nuc_dataset *d, const struct nuc_tensor_info *inputs, size_t n_inputs,
                                 size_t *n_samples);

/*
 * Pointers to the inputs of one sample of a bound dataset, in logical order. They are valid until the next call; images
 * are read and decoded here.
 */
enum nuc_status nuc_dataset_sample(const struct nuc_dataset *d, size_t sample, const void **inputs);

/*
 * What a data set is bound to after nuc_runner_bind() or a calibration, line by line: array, input, shape of a sample,
 * range of the data; arrays that nothing takes. NULL: there are no more lines.
 */
const char *nuc_dataset_line(const struct nuc_dataset *d, size_t index);

/* The same of the last calibration: of nuc_compile_file(), nuc_quantize() and so on. */
const char *nuc_calibration_line(const struct nuc_compiler *c, size_t index);

/* Writes arrays as an .npz that numpy reads. */
enum nuc_status nuc_write_arrays(struct nuc_compiler *c, const char *path, const struct nuc_array_info *arrays,
                                 size_t count);

/* The three steps: annotate and insert observers, run the samples, replace observers by quantize/dequantize pairs. */
enum nuc_status nuc_prepare(struct nuc_model *m, struct nuc_model **prepared);
enum nuc_status nuc_calibrate(struct nuc_model *prepared, struct nuc_dataset *samples);
enum nuc_status nuc_convert(struct nuc_model *prepared, struct nuc_model **quantized);

/* What an observer of a calibrated model saw and what parameters follow from it. */
struct nuc_observer_info {
    const char *class_name; /* "HistogramObserver", "PerChannelMinMaxObserver", ... */
    const char *observes;   /* the node whose value it sees; the first one of a group that shares it */
    enum nuc_dtype dtype;
    int64_t quant_min, quant_max;
    size_t n_scales; /* 1: per tensor */
    const float *scales;
    const int64_t *zero_points;
    float min, max; /* of a per-tensor observer */
};
size_t nuc_model_n_observers(const struct nuc_model *prepared);
enum nuc_status nuc_model_observer(struct nuc_model *prepared, size_t index, struct nuc_observer_info *out);

/*
 * An output of a quantized model, or of what was made of one, on the calibration samples on which quantization compared
 * it with the float model.
 */
struct nuc_output_quality {
    const char *name;
    size_t samples;
    bool is_float;  /* else there is no figure after this one */
    double sqnr_db; /* infinite: no difference; minus infinite: the float output is all zeros, the quantized is not */
    float min, max; /* of the float output: equal where it is constant */
    /* Two samples have different values in the float output, and in the quantized one. */
    bool float_varies, varies;
};

/* As many as outputs; none when nothing was measured, as with accuracy fast or a model that came quantized. */
size_t nuc_model_n_qualities(const struct nuc_model *m);
/* NUC_BAD_USAGE: there is no such output. */
enum nuc_status nuc_model_quality(const struct nuc_model *m, size_t index, struct nuc_output_quality *out);

/* What a step of accuracy high took, and what it made of the outputs, all together, on the same samples. */
struct nuc_accuracy_step {
    const char *name; /* "biases", "weight rounding" */
    double seconds;
    double before_db, after_db;
};

/* All three. */
enum nuc_status nuc_quantize(struct nuc_model *m, struct nuc_dataset *samples, struct nuc_model **quantized);

/* Writes a float or quantized model as an archive torch.export.load reads (docs/formats.md). */
enum nuc_status nuc_model_write(struct nuc_model *m, const char *path);

/* From float archive to quantized archive, as `nucleon quantize` does. */
enum nuc_status nuc_quantize_file(struct nuc_compiler *c, const char *model, const char *calibration,
                                  const char *output);

/*
 * The bytes of the file that `nucleon quantize` writes, for a model that is open and a data set of the same compiler,
 * which stays as it is: it is bound anew at each call. They belong to the compiler.
 */
enum nuc_status nuc_quantize_to_memory(struct nuc_model *m, const struct nuc_dataset *calibration,
                                       const uint8_t **bytes, size_t *size);

/* ---- lowering ---- */

/* ATen to Edge, Edge passes, formats, partitions: the result holds the decision for every node. */
enum nuc_status nuc_partition(struct nuc_model *quantized, struct nuc_model **partitioned);

/* What nuc_explain() shows and finds. Cycles are estimates (docs/explain.md). */
struct nuc_explain_options {
    bool json;      /* every node as JSON instead of a table of 80 columns */
    bool all_nodes; /* a row for each node, also quantize, dequantize and getitem nodes; all splits */
};
struct nuc_explain_result {
    const char *text;
    size_t n_operators, n_delegated, n_partitions;
    uint64_t cycles;      /* of an inference */
    uint64_t lost_cycles; /* fewer if the NPU ran what is on the CPU */
    uint64_t
        least_arena;     /* with a memory budget that no program of the model keeps: the smallest arena found; else 0 */
    bool made_up_ranges; /* the model was a float one: quantized with one random sample */
    const char *first_on_cpu; /* the first operator there and why, in one line; NULL: none */
};

/*
 * Where every node runs, and for those on the CPU the rule that keeps them there, what was found, what is allowed and
 * the nearest change of the model that would help. A float model is quantized with one random sample first. `options`
 * may be NULL.
 */
enum nuc_status nuc_explain(struct nuc_model *m, const struct nuc_explain_options *options,
                            struct nuc_explain_result *out);

/*
 * The operators of the flavor's rule set with their rules; `markdown`: of all sets, the text of docs/supported-ops.md.
 */
enum nuc_status nuc_list_operators(struct nuc_compiler *c, bool markdown, const char **text);

/*
 * What runs an operator, by which formulas others express it, and its rules. `name` may leave out the dialect and the
 * overload: "aten.mish.default", "aten.mish", "mish". NUC_BAD_USAGE: no operator has the name.
 */
enum nuc_status nuc_describe_operator(struct nuc_compiler *c, const char *name, const char **text);

/* Targets and converter flavors. */
enum nuc_status nuc_list_targets(struct nuc_compiler *c, const char **text);

/* Their names, in that order; NULL after the last one. */
const char *nuc_target_name(size_t index);
const char *nuc_flavor_name(size_t index);

/*
 * With NUC_DIM_ORDER_AUTO, the variants that nuc_partition() compared last, one per line below a head: estimated
 * cycles, transposes and the bytes they move, arena; a star stands before the one it chose. Else NULL.
 */
const char *nuc_dim_order_table(const struct nuc_compiler *c);

/* Partitions become delegate calls; the rest operators of the runtime. */
enum nuc_status nuc_lower(struct nuc_model *partitioned, struct nuc_model **lowered);

/* The LiteRT model and the payload of partition `index` (of nuc_model_n_partitions()) of a lowered model. */
size_t nuc_model_n_partitions(const struct nuc_model *lowered);
struct nuc_partition_info {
    const char *tag;
    const uint8_t *litert;
    size_t litert_size;
    const uint8_t *payload;
    size_t payload_size;
    size_t scratch_size;
    size_t n_transposes;        /* TRANSPOSE operators left in the LiteRT model */
    size_t moved_bytes;         /* written by them */
    size_t n_inputs, n_outputs; /* of the delegate call */
    const struct nuc_tensor_info *inputs, *outputs;
};
enum nuc_status nuc_model_partition(struct nuc_model *lowered, size_t index, struct nuc_partition_info *out);

/* The program file. The bytes belong to the compiler. */
enum nuc_status nuc_program(struct nuc_model *lowered, const uint8_t **bytes, size_t *size);

/* ---- inspection ---- */

enum nuc_inspect_form {
    NUC_INSPECT_TEXT, /* for people */
    NUC_INSPECT_JSON, /* members as in docs/formats.md */
    NUC_INSPECT_DOT   /* the graph of a .pt2 or .tflite, or the instructions of a .pte, for graphviz */
};

/*
 * Describes a .pt2, .tflite or .pte file; with `disassemble`, the microcode of its NPU payloads too. The kind of file
 * is found by its content.
 */
enum nuc_status nuc_inspect_file(struct nuc_compiler *c, const char *path, enum nuc_inspect_form form, bool disassemble,
                                 const char **text);

/* The same for the bytes of such a file in memory, borrowed until the call returns; `name` stands in messages. */
enum nuc_status nuc_inspect_bytes(struct nuc_compiler *c, const char *name, const void *bytes, size_t size,
                                  enum nuc_inspect_form form, bool disassemble, const char **text);

/*
 * What the program at `path` runs on the NPU, as LiteRT models for viewers and tools that read no delegates:
 * folder/npu_N.tflite for the delegate call that is instruction N, with one NeutronGraph operator (docs/formats.md).
 * The folder is made when it is not there. NUC_BAD_INPUT when the program has no such call. `files` are the paths
 * written, in order of execution.
 */
enum nuc_status nuc_extract_models(struct nuc_compiler *c, const char *path, const char *folder,
                                   const char *const **files, size_t *count);

/* ---- profiles ---- */

/* What one delegate call of an execution left: nuc_program_profile() of runtime.h gives it. */
struct nuc_profile_call {
    uint32_t instruction;
    const void *records;
    size_t bytes;
};

struct nuc_profile_run {
    const struct nuc_profile_call *calls;
    size_t n_calls;
};

/*
 * A table of one execution of the program: every operator on the CPU and every kernel on the NPU, with cycles,
 * microseconds at the target's clock, share, node and source line (docs/cycle-model.md). `file` stands in messages;
 * `run` may be NULL: kernels then have the times of the model.
 */
enum nuc_status nuc_profile_text(struct nuc_compiler *c, const char *file, const void *program, size_t size,
                                 const struct nuc_profile_run *run, const char **text);

/* The same for ExecuTorch's Inspector: an ETDump file with a block for each execution; its times are cycles. */
enum nuc_status nuc_write_etdump(struct nuc_compiler *c, const char *file, const void *program, size_t size,
                                 const struct nuc_profile_run *runs, size_t n_runs, const char *output);

/* Figures of the last program made by nuc_program() or nuc_compile_file(); NUC_BAD_USAGE when there is none. */
struct nuc_program_report {
    const char *converter;        /* "nucleon", or the command that converted the partitions */
    bool runs_on_simulator;       /* all microcode is nucleon's */
    size_t n_operators;           /* of the Edge graph, as nuc_explain() counts them */
    size_t n_operators_delegated; /* of these, on the NPU */
    size_t n_nodes;               /* operators and what quantizes, dequantizes and takes parts of tuples */
    size_t n_delegated;           /* of these nodes, on the NPU */
    size_t n_partitions;          /* delegate calls */
    size_t n_executorch_lacks;    /* instructions whose operators ExecuTorch's libraries have no kernels for, */
    const char *executorch_lacks; /* and these: "nucleon::quantized_sum, ...", "" for none; valid as the compiler is */
    size_t n_cpu_int8;            /* of targets with int8 kernels on the CPU: operators there that these run, */
    size_t n_cpu_float;           /* and operators that compute in float */
    size_t n_transposes;          /* TRANSPOSE operators on the NPU */
    size_t moved_bytes;           /* written by them */
    size_t arena;                 /* bytes of planned memory: inputs, outputs, intermediates */
    size_t arena_lower_bound;     /* bytes alive at the peak: no plan is smaller */
    bool arena_proven;            /* no smaller plan exists for this order of instructions */
    size_t delegate_scratch;      /* largest scratch of a delegate call */
    size_t scratch_bound;         /* bytes alive at the peak of that scratch */
    bool scratch_proven;          /* no delegate's scratch could be smaller */
    bool scratch_in_arena;        /* the arena holds it */
    size_t staging;               /* largest buffer for weights that a delegate call copies from flash; 0: none does */
    size_t fetched;               /* bytes that calls copy there */
    uint64_t fetch_cycles;        /* cycles this takes when the CPU copies, as the runtimes do, */
    uint64_t fetch_cycles_by_dma; /* and when the application's copy functions leave it to a DMA */
    size_t delegate_data;         /* bytes of microcode, weights and kernels of all delegates */
    size_t program;               /* bytes of the file */
    bool has_npu;                 /* the target has one */
    size_t plain_arena;           /* where the operators one after the other exceed the memory budget: their arena, */
    size_t least_arena;           /* the smallest one found, strips or not, */
    size_t n_strip_stages;        /* stages of the program that are computed in strips of rows, */
    size_t n_strips;              /* strips of all of them, */
    uint64_t strip_cycles;        /* and estimated cycles that these take more than */
    uint64_t plain_cycles;        /* the CPU's operators without them; all 0 elsewhere */
    uint64_t cycles;              /* of an inference, by the model of docs/cycle-model.md; 0: of a foreign converter */
    uint64_t npu_cycles;          /* of these, on the NPU, calls included; the others are the CPU's */
    double clock_hz;              /* of the target */
};
enum nuc_status nuc_program_report(const struct nuc_compiler *c, struct nuc_program_report *out);

/* The outputs of the model that nuc_quantize_file(), nuc_compile_file() or nuc_compile_model() wrote last. */
size_t nuc_n_qualities(const struct nuc_compiler *c);
enum nuc_status nuc_quality(const struct nuc_compiler *c, size_t index, struct nuc_output_quality *out);
/* In their order; none with another accuracy. NUC_BAD_USAGE: there is no such step. */
enum nuc_status nuc_accuracy_step(const struct nuc_compiler *c, size_t index, struct nuc_accuracy_step *out);

enum nuc_map_form {
    NUC_MAP_TEXT, /* every tensor: address, size, lifetime */
    NUC_MAP_SVG,
    NUC_MAP_PEAK /* the tensors that are alive where most bytes are */
};

/*
 * The arena of the last program and the scratch of its delegates, also of one that exceeded the budget. The text
 * belongs to the compiler. NUC_BAD_USAGE when there is none.
 */
enum nuc_status nuc_memory_map(struct nuc_compiler *c, enum nuc_map_form form, const char **text);

/* From archive to file, as `nucleon compile` does. `calibration` may be NULL for a quantized archive. */
enum nuc_status nuc_compile_file(struct nuc_compiler *c, const char *model, const char *calibration,
                                 const char *output);

/* The same for a model that is open. */
enum nuc_status nuc_compile_model(struct nuc_model *m, const char *calibration, const char *output);

/*
 * The bytes of the file that nuc_compile_model() writes, of samples in a data set of the same compiler, which stays as
 * it is: it is bound anew at each call. `calibration` may be NULL for a quantized model. Files that options ask for, a
 * memory map for instance, are written. The bytes belong to the compiler.
 */
enum nuc_status nuc_compile_to_memory(struct nuc_model *m, const struct nuc_dataset *calibration, const uint8_t **bytes,
                                      size_t *size);

/* What nuc_convert_model() made. */
struct nuc_convert_report {
    size_t n_graphs;            /* NeutronGraph operators */
    size_t n_operators;         /* of the model before */
    size_t n_inside;            /* of these, now in NeutronGraphs */
    size_t scratch;             /* largest scratch of a graph */
    const char *const *outside; /* for each other one: "operator 7 (SOFTMAX): why" */
};

struct nuc_convert_model_options {
    size_t min_operators; /* groups of fewer stay as they are; 0: 1 */
    bool profile;         /* programs record the time of every kernel call */
    bool fetch_constants_to_sram;
};

/*
 * From LiteRT model to LiteRT model with NeutronGraph operators (docs/formats.md), as `nucleon convert` does. `options`
 * and `report` may be NULL.
 */
enum nuc_status nuc_convert_model(struct nuc_compiler *c, const char *model, const char *output,
                                  const struct nuc_convert_model_options *options, struct nuc_convert_report *report);

/*
 * Makes one kernel selection file of several, for a firmware with several programs. NUC_BAD_INPUT: a file is not one,
 * or was made for another version of the microcode.
 */
enum nuc_status nuc_merge_kernel_selections(struct nuc_compiler *c, const char *const *inputs, size_t n_inputs,
                                            const char *output);

/* Seconds of each stage so far, in order. Returns how many there are; fills at most `max`. */
struct nuc_timing {
    const char *stage;
    double seconds;
};
size_t nuc_timings(const struct nuc_compiler *c, struct nuc_timing *out, size_t max);

/*
 * For messages such as "did you mean": of the `count` words the one that `text`, a word that is none of them, was most
 * probably meant to be; NULL when none is near enough.
 */
const char *nuc_nearest_word(const char *text, const char *const *words, size_t count);

/*
 * For printing names that come from files: the character that `text` begins with, in UTF-8, and its bytes; 0 bytes:
 * what is there is none. And whether a terminal must not be shown it as it is: it is C0, C1 or delete, or breaks lines,
 * changes the direction of what follows or is not seen.
 */
uint32_t nuc_text_character(const char *text, size_t *bytes);
bool nuc_is_control_character(uint32_t character);

/* "0.1.0" */
const char *nuc_version(void);

#ifdef __cplusplus
}
#endif
#endif
