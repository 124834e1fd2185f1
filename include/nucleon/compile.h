/*
 * The compiler as a library, in the order of a compilation: open a model, quantize it, partition it, lower it, write
 * the program. Results belong to the compiler object and live until nuc_compiler_free(). A call that fails returns a
 * status other than NUC_OK. nuc_compiler_message() then returns one line that names the file, the place and the remedy.
 *
 * Threads: only one thread at a time may use a compiler object and everything that belongs to it. Different threads may
 * use different compilers at the same time; compilers share nothing. The library writes nothing to the standard
 * streams, never ends the process, and does not change locale, signal handlers or working folder.
 *
 * Binaries: a version that changes a function, an enumerator or the layout of a structure changes the number in the
 * name of the shared library, now libnucleon.so.0. Initialise structures with their ..._default() or with zeros; your
 * source code then need not change when members are added.
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

/* Memory order of inputs, parameters and buffers [N, C, H, W], and of all values computed from them. */
enum nuc_dim_order {
    NUC_DIM_ORDER_AS_IS,         /* as in the archive */
    NUC_DIM_ORDER_CONTIGUOUS,    /* N, C, H, W; a note names the changed inputs */
    NUC_DIM_ORDER_CHANNELS_LAST, /* N, H, W, C; a note names the changed inputs */
    NUC_DIM_ORDER_AUTO           /* the order with fewer estimated cycles; see nuc_dim_order_table() */
};

/* Type of inputs and outputs: float32, or raw int8 values (docs/formats.md, "Quantized boundaries"). */
enum nuc_io { NUC_IO_FLOAT, NUC_IO_INT8 };

/* Place of the NPU payloads: in the program, or in segments after it that a runtime may map separately. */
enum nuc_segment_mode { NUC_DELEGATE_INLINE, NUC_DELEGATE_SEGMENT };

/* How calibration derives the range of an activation from its values. */
enum nuc_observe {
    NUC_OBSERVE_AUTO,          /* tensor by tensor one of the next four: what brings the outputs closest to the float
                                  ones on calibration samples; with accuracy fast minmax, with reference_compat histogram */
    NUC_OBSERVE_HISTOGRAM,     /* the reference's search for the range with the least L2 error */
    NUC_OBSERVE_MIN_MAX,       /* everything seen */
    NUC_OBSERVE_MSE,           /* the range with the least mean squared error of rounding and clipping */
    NUC_OBSERVE_PERCENTILE,    /* all but 0.01 % of the values on each side */
    NUC_OBSERVE_MOVING_AVERAGE /* minimum and maximum of each sample, averaged over the samples */
};

/* Numbers of the values between operators; weights are int8. The NPU has int8 alone. */
enum nuc_activations {
    NUC_ACTIVATIONS_INT8,
    NUC_ACTIVATIONS_INT16, /* all values whose operators have kernels of int16 on the CPU, the others in float */
    NUC_ACTIVATIONS_MIXED  /* int16 where that gains most for the cycles that it takes */
};

/* The effort that quantization spends on the accuracy of the program. */
enum nuc_accuracy {
    NUC_ACCURACY_FAST,    /* the quantized network is not run */
    NUC_ACCURACY_DEFAULT, /* choices are compared by the outputs of calibration samples */
    NUC_ACCURACY_HIGH     /* the same on more samples, and in large networks tensor by tensor, too */
};

/* Scales of convolution weights; fully connected layers have one scale. */
enum nuc_weights { NUC_WEIGHTS_PER_CHANNEL, NUC_WEIGHTS_PER_TENSOR };

/* The operators that a target with an NPU places on the CPU. */
enum nuc_placement {
    NUC_PLACEMENT_GREEDY, /* those that the NPU does not support */
    NUC_PLACEMENT_COST    /* also those that save cycles of the whole model there, with calls and boundaries */
};

/* How the CPU computes the operators that the NPU does not run. */
enum nuc_cpu_kernels {
    NUC_CPU_AUTO, /* in int8 where the values around are int8 already, and where the cycles are worth the decibels;
                     else in float */
    NUC_CPU_INT8, /* in int8 where there is a kernel */
    NUC_CPU_FLOAT /* in float; without an NPU as no_quantize */
};

/* Handling of images whose size differs from the input's (formula in docs/formats.md). */
enum nuc_resize {
    NUC_RESIZE_AUTO,    /* as in the calibration of the program; refuses the image otherwise */
    NUC_RESIZE_NONE,    /* refuses the image */
    NUC_RESIZE_STRETCH, /* scales the whole image to the input's height and width */
    NUC_RESIZE_CROP     /* scales the largest centred part with the input's proportions */
};

/* All options of a compilation. Start from nuc_options_default(). Strings are borrowed until the compiler is freed. */
struct nuc_options {
    const char *target;           /* "imxrt700"; `nucleon targets` lists the others */
    enum nuc_cpu_kernels cpu;     /* reference_compat: auto is float with an NPU */
    const char *converter_flavor; /* "sdk-3.2" */
    bool delegate;                /* false: everything stays on the CPU */
    /*
     * Operators ("aten.add.Tensor", "aten::add", "add") or nodes by label ("layers.0/add") or name, with * and ? as in
     * a shell. A pattern that matches nothing is an error. Under reference_compat: parts of node names, where "::"
     * stands for "_".
     */
    const char *const *operators_not_to_delegate;
    size_t n_operators_not_to_delegate;
    /* ATen operators kept whole where the NPU takes them: "aten.pad.default", "aten::pad" or "pad". */
    const char *const *preserve_ops;
    size_t n_preserve_ops;
    /* Sizes that a .pt2 leaves open: "x.2=64", a dimension of an input, or "s39=32", torch's symbol. */
    const char *const *sizes;
    size_t n_sizes;
    const char *signature; /* of a LiteRT model that has several; NULL: serving_default, or the first */
    /*
     * Changes of the model's source that are made in its graph: "gelu-to-sigmoid", or "gelu-to-sigmoid@layers.0.act"
     * for a node by label or name, with * and ?. The names are those that nuc_explain() gives. For float models.
     */
    const char *const *rewrites;
    size_t n_rewrites;
    /*
     * "AXIS[:HOP]": the network over a window of time, dimension AXIS of its first input, becomes one that takes HOP
     * new frames and keeps what it needs of the earlier ones in states. NULL: it stays as it is.
     */
    const char *stream;
    /*
     * A JSON file (docs/applications.md) that says how the model's input is made of what a sensor gives: sound, axes,
     * an image. The program computes it, and its input, as that of calibration, is what the sensor gives. NULL: none.
     */
    const char *front_end;
    bool allow_no_op_partitions;
    bool force_delegate_cat;      /* flavor sdk-3.1: concatenations of any size are delegated */
    bool require_full_delegation; /* nuc_compile_file() fails with NUC_PROPERTY when an operator stays on the CPU */
    /* Called for each Edge node that the rules accept; false keeps it on the CPU. NULL: accept all. */
    bool (*check_op_support)(void *user, const struct nuc_node_info *node);
    void *check_op_support_user;
    bool use_neutron_for_format_conversion;
    enum nuc_dim_order dim_order;
    const char *intermediates_dir; /* NULL: none */
    bool plan_delegate_scratch;    /* the arena holds the scratch of delegates; only nucleon's runtime uses this */
    const char *memory_map;        /* file nuc_compile_file() writes the memory map to, .svg: a picture; NULL: none */
    size_t memory_budget; /* nuc_compile_file() fails with NUC_PROPERTY when arena and scratch need more; 0: any */
    /*
     * "NAME=SIZE": banks of SRAM that planned memory is split over, one planned memory for each (docs/memory.md). The
     * names are those of the target; of a target without an NPU any. 0: one memory of any size.
     */
    const char *const *memories;
    size_t n_memories;
    const char *weights_memory;   /* memory of the target, or of `memories`, that the weights lie in; NULL: not said */
    bool fetch_constants_to_sram; /* weights lie in flash and are copied while the NPU computes; needs copy functions */
    /*
     * The converter of partitions: NULL or "builtin", or a command (words separated by spaces, no shell). The command
     * gets --input FILE.tflite --output FILE.tflite --target NAME and writes a model of one NeutronGraph, as the
     * vendor's neutron-converter and `nucleon convert` do.
     */
    const char *converter;
    const char *extra_flags;           /* recorded in the program's compile spec compile_flags; NULL: "" */
    const char *dump_kernel_selection; /* C file nuc_compile_file() writes with the NPU kernels needed; NULL: none */
    unsigned converter_timeout;        /* seconds for each partition; 0: 300 */
    bool payload_version_0;            /* payloads for runtimes that support only version 0; they have no profiles */
    bool profile;                      /* programs record the time of each kernel call and carry the kernels' names */
    enum nuc_segment_mode delegate_data;
    enum nuc_io io;
    enum nuc_placement placement; /* greedy with reference_compat, require_full_delegation and flavor sdk-3.1 */
    bool no_quantize;             /* a float program for the CPU: no calibration, nothing is delegated */
    bool no_metadata;             /* omits the facts about the data; so does reference_compat */
    bool executorch_ops_only;     /* only operators that ExecuTorch's runtime supports */
    bool reference_compat;        /* reproduce the reference backend's decisions and quantization */
    enum nuc_accuracy accuracy;   /* reference_compat: fast */
    enum nuc_observe observer;
    enum nuc_weights weights;
    enum nuc_activations activations;
    /*
     * "PATTERN=int8", "PATTERN=int16", "PATTERN=float": numbers of operators by label, name or module, with * and ? as
     * in a shell; of several entries the last one that matches. A module stands for all that is in it. A pattern that
     * matches nothing is an error. For float models.
     */
    const char *const *precision;
    size_t n_precision;
    bool bias_correction; /* take the mean error of rounded weights off the biases; reference_compat: false */
    /* Images become (pixel / 255 - mean) / std. One number applies to all channels; default: mean 0 and std 1. */
    float image_mean[3], image_std[3];
    size_t n_image_mean, n_image_std;
    enum nuc_resize image_resize;
    /*
     * Names of the classes by index, or the name of a file with one line per class. Default: the names of the
     * calibration folders.
     */
    const char *const *classes;
    size_t n_classes;

    /*
     * What the outputs mean, for tools and firmware: the name of a JSON file, or its text, which begins with a brace
     * (docs/decisions.md). Default NULL: not said.
     */
    const char *decision;
    bool unlike_calibration; /* accepts data in another unit than the calibration data, with a note */
    const char *dump_after;  /* name of a stage or pass (nuc_dump_point()), or "all": after each stage; NULL: none */
    void (*dump)(void *user, const char *stage, const char *text);
    void *dump_user;
    void (*warn)(void *user, const char *message);
    void *warn_user;
    /* Progress of a step, called by the calling thread; 0 of 0 at the start if the amount is unknown. */
    void (*progress)(void *user, const char *what, size_t done, size_t total);
    void *progress_user;
    unsigned threads; /* 0: one per core */
};

/* The defaults of `nucleon compile`. */
void nuc_options_default(struct nuc_options *options);

/*
 * Names for dump_after, in the order of a compilation: `index` counts from 0; false after the last one. A pass precedes
 * the stage that contains it. If passes run in cycles, each run is dumped.
 */
struct nuc_dump_point {
    const char *name;
    const char *stage; /* of a pass; NULL: `name` is a stage */
};
bool nuc_dump_point(size_t index, struct nuc_dump_point *out);

/*
 * Returns NULL if memory is exhausted. The options are copied. NULL: the options of nuc_options_default(); options.h
 * sets them by name. `hooks` may be NULL: malloc() and free().
 */
struct nuc_compiler *nuc_compiler_new(const struct nuc_options *options, const struct nuc_memory_hooks *hooks);
void nuc_compiler_free(struct nuc_compiler *c);

/*
 * Groups the files of several calls. The files of one call appear together when the call succeeds. After
 * nuc_begin_files(), the files of all calls appear when nuc_commit_files() succeeds, all or none. nuc_compiler_free()
 * before that leaves none. A second begin changes nothing; a commit without a begin is NUC_BAD_USAGE.
 */
void nuc_begin_files(struct nuc_compiler *c);
enum nuc_status nuc_commit_files(struct nuc_compiler *c);

/*
 * The path, as given, and the size of file `index`, in the order in which this compiler wrote its files. Temporary
 * files do not count. Returns false if there are fewer files.
 */
bool nuc_written_file(const struct nuc_compiler *c, size_t index, const char **path, size_t *bytes);

/*
 * Interrupts the current call, from another thread, a signal handler or a callback such as progress. After the current
 * sample or step, the call returns NUC_INTERRUPTED and leaves no file. The compiler is in the same state as after any
 * failed call. Does nothing if no call is active.
 */
void nuc_interrupt(struct nuc_compiler *c);

/*
 * Only for a signal handler that ends the process: removes the temporary files of the current call and ends a running
 * converter. The compiler must not be used afterwards.
 */
void nuc_compiler_abandon(struct nuc_compiler *c);

/* The options of the compiler. */
const struct nuc_options *nuc_compiler_options(const struct nuc_compiler *c);

/* Why the last call failed: one line without a line break, or "" after success. Valid until the next call. */
const char *nuc_compiler_message(const struct nuc_compiler *c);

/* Properties of the compiler's target, which decide the options that have an effect. Fails if an option is wrong. */
struct nuc_target_facts {
    const char *name;
    bool has_npu;
    bool has_int8_cpu; /* int8 kernels for operators on the CPU */
    const char *cpu;   /* of these kernels: "Cortex-M33"; "": there are none */
};
enum nuc_status nuc_target_facts(struct nuc_compiler *c, struct nuc_target_facts *out);

/* ---- models ---- */

/*
 * Data as of nuc_dataset_open(), for example the calibration's: sizes that a .pt2 leaves open and no option names are
 * those of its arrays, in models that are opened from now on, else those of the example inputs. NULL: no data. It is
 * read when there is such a size. nuc_compile_file() and nuc_quantize_file() take their own.
 */
enum nuc_status nuc_size_samples(struct nuc_compiler *c, const char *path);

/* The same of a data set of this compiler. */
enum nuc_status nuc_size_dataset(struct nuc_compiler *c, const struct nuc_dataset *data);

/*
 * Opens a .pt2 archive or a LiteRT model (.tflite), float or quantized. Inputs and outputs of a LiteRT model keep its
 * sizes and order, channels last.
 */
enum nuc_status nuc_model_open(struct nuc_compiler *c, const char *path, struct nuc_model **out);

/*
 * The same for nuc_explain() and nuc_report_make() of a model that may not be compiled as it is: operators that are not
 * handled are left out, with their results as inputs and what they read as outputs, as far as the file can be read.
 * Neither takes samples for it.
 */
enum nuc_status nuc_model_open_in_part(struct nuc_compiler *c, const char *path, struct nuc_model **out);

/* Why such a model is refused, in one line; NULL: it is not. */
const char *nuc_model_refusal(const struct nuc_model *m);

/*
 * nuc_model_open() for the bytes of such a file in memory. They are borrowed until the compiler is freed and need no
 * alignment. `name` replaces the name of the file in messages and results, for example "model.pt2".
 */
enum nuc_status nuc_model_open_bytes(struct nuc_compiler *c, const char *name, const void *bytes, size_t size,
                                     struct nuc_model **out);

/* The compiler of the model, and the model's name in messages. */
struct nuc_compiler *nuc_model_compiler(const struct nuc_model *m);
const char *nuc_model_file(const struct nuc_model *m);

/* Whether the model contains quantize nodes. */
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
 * An archive made from the LiteRT model `of` has images [N, C, H, W]. After this call, inputs and outputs of `m` have
 * the order of `of`, [N, H, W, C]. No effect if the two models do not correspond.
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
    const char *label; /* a readable name, unique in the graph: "layers.0.conv1", "layers.0/add", "x (int8)" */
    const char *target;
    const char *const *inputs; /* names of the tensor arguments, in order */
    size_t n_inputs;
    struct nuc_tensor_info value; /* of a tuple the first value; rank 0 and bytes 0: no value */
    bool is_quantize, is_dequantize;
    size_t n_scales;
    const float *scales;
    const int64_t *zero_points;
    int64_t quant_min, quant_max;
    const char *partition; /* tag of the partition, NULL: not delegated, or before partitioning */
    const char *format;    /* "CHANNELS_FIRST", "FORMATLESS", "NONE" or NULL */
    const char *reason;    /* why the node is not on the NPU, or NULL */
    const char *source_file;
    int source_line;
};
size_t nuc_model_n_nodes(const struct nuc_model *m);
enum nuc_status nuc_model_node(struct nuc_model *m, size_t index, struct nuc_node_info *out);

/*
 * Runs the reference evaluator: inputs[i] are nuc_tensor_info.bytes of input i in logical (contiguous) order; outputs
 * are written in logical order to buffers of the outputs' byte counts.
 */
enum nuc_status nuc_model_run(struct nuc_model *m, const void *const *inputs, void *const *outputs);

/* Buffers that the model changes: what one run leaves in them, the next one reads (docs/streaming.md). */
size_t nuc_model_n_states(const struct nuc_model *m);

/* The next run begins with the initial values of the model's states; each other one with what the run before left. */
void nuc_model_reset(struct nuc_model *m);

/*
 * Names of the operator nodes with quantized values, in graph order. At these nodes the float, the quantized and the
 * compiled model can be compared.
 */
enum nuc_status nuc_model_probes(struct nuc_model *quantized, const char *const **names, size_t *count);

/*
 * Copies the model and adds the values of the named nodes as outputs after the model's own. If a quantize node reads
 * the value, its result is the output. The copy compiles and runs like any model; its partitions compute the same
 * bytes.
 */
enum nuc_status nuc_model_expose(struct nuc_model *m, const char *const *names, size_t count, struct nuc_model **out);

/* ---- quantization ---- */

/*
 * Opens an .npz, an .npy, a folder of .npy files, or a folder of PNG and JPEG images. Images are samples of a model
 * with one float32 input of 1 or 3 channels. An image folder with one subfolder per class also has the int64 array
 * 'label'.
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
 * Makes a data set of arrays in memory, equal to an .npz of these arrays. Names are copied. Elements are borrowed until
 * the compiler is freed; they are little-endian and need no alignment. Messages use `name`. NUC_BAD_USAGE: a size is
 * negative, `bytes` does not match shape and type, or two arrays have the same name.
 */
enum nuc_status nuc_dataset_of_arrays(struct nuc_compiler *c, const char *name, const struct nuc_array_info *arrays,
                                      size_t count, struct nuc_dataset **out);

enum nuc_status nuc_dataset_array(const struct nuc_dataset *d, size_t index, struct nuc_array_info *out);

/*
 * Binds arrays to a model's user inputs by name: the input's name, or in0, in1, ... A single input also accepts the
 * only array that does not hold labels, or the only one that fits. An array holds samples along axis 0: its shape is
 * [N] + sizes, or [N * sizes[0]] + sizes[1..]. Its type is the input's, or float16, bfloat16 or float64 for float32.
 * NUC_BAD_INPUT, with array, shape and dtype in the message: an input has no array, an array does not fit, the numbers
 * of samples differ, or there is no sample.
 */
enum nuc_status nuc_dataset_bind(struct nuc_dataset *d, const struct nuc_tensor_info *inputs, size_t n_inputs,
                                 size_t *n_samples);

/*
 * Returns pointers to the inputs of one sample of a bound data set, in logical order, valid until the next call. This
 * call reads and decodes images.
 */
enum nuc_status nuc_dataset_sample(const struct nuc_dataset *d, size_t sample, const void **inputs);

/*
 * Whether a sequence begins with the sample: sample 0, and in a data set bound for a model with states
 * (docs/streaming.md) the first step of each sequence. The caller gives the states their initial values there.
 */
bool nuc_dataset_begins(const struct nuc_dataset *d, size_t sample);

/* Steps of each sequence where the arrays have an axis of time, [sequences, steps] + sizes; 0: they have none. */
size_t nuc_dataset_n_steps(const struct nuc_dataset *d);

/*
 * Describes the binding of a data set after nuc_runner_bind() or a calibration, line by line: array, input, shape of a
 * sample, range of the data; then unused arrays. NULL after the last line.
 */
const char *nuc_dataset_line(const struct nuc_dataset *d, size_t index);

/* The same for the last calibration, for example of nuc_compile_file() or nuc_quantize(). */
const char *nuc_calibration_line(const struct nuc_compiler *c, size_t index);

/* Writes arrays as an .npz that numpy reads. */
enum nuc_status nuc_write_arrays(struct nuc_compiler *c, const char *path, const struct nuc_array_info *arrays,
                                 size_t count);

/*
 * The three steps: annotate and insert observers, run the samples, replace observers by quantize/dequantize pairs. A
 * model whose calibration failed has seen no samples: it is calibrated again.
 */
enum nuc_status nuc_prepare(struct nuc_model *m, struct nuc_model **prepared);
enum nuc_status nuc_calibrate(struct nuc_model *prepared, struct nuc_dataset *samples);
enum nuc_status nuc_convert(struct nuc_model *prepared, struct nuc_model **quantized);

/* The values that an observer of a calibrated model saw, and the resulting parameters. */
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
 * The quality of an output of a quantized model. Quantization measured it on calibration samples, against the float
 * model: up to four times on samples that were held out, with ranges and biases of the others, in between the first of
 * the samples and the last. The model itself is made of all samples.
 */
struct nuc_output_quality {
    const char *name;
    size_t samples;
    size_t held_out; /* all of them, or 0 where a single sample leaves nothing to hold out */
    bool is_float;   /* false: the members below are not set */
    /*
     * The median of those times, or the lowest where they differ by more than 10 dB, and the range. Infinite: no
     * difference; minus infinite: the float output is all zeros, the quantized is not.
     */
    double sqnr_db, lowest_db, highest_db;
    float min, max; /* of the float output: equal where it is constant */
    /* Two samples have different values in the float output, and in the quantized one. */
    bool float_varies, varies;
};

/* The number of outputs, or 0 without a measurement: accuracy fast, or a model that was already quantized. */
size_t nuc_model_n_qualities(const struct nuc_model *m);
/* NUC_BAD_USAGE: there is no such output. */
enum nuc_status nuc_model_quality(const struct nuc_model *m, size_t index, struct nuc_output_quality *out);

/* All three steps. */
enum nuc_status nuc_quantize(struct nuc_model *m, struct nuc_dataset *samples, struct nuc_model **quantized);

/* Writes a float or quantized model as an archive for torch.export.load (docs/formats.md). */
enum nuc_status nuc_model_write(struct nuc_model *m, const char *path);

/* From float archive to quantized archive, as `nucleon quantize` does. */
enum nuc_status nuc_quantize_file(struct nuc_compiler *c, const char *model, const char *calibration,
                                  const char *output);

/*
 * Returns the bytes that `nucleon quantize` would write, for an open model and a data set of the same compiler. The
 * data set does not change; each call binds it again. The bytes belong to the compiler.
 */
enum nuc_status nuc_quantize_to_memory(struct nuc_model *m, const struct nuc_dataset *calibration,
                                       const uint8_t **bytes, size_t *size);

/* ---- lowering ---- */

/* ATen to Edge, Edge passes, formats, partitions: the result holds the decision for every node. */
enum nuc_status nuc_partition(struct nuc_model *quantized, struct nuc_model **partitioned);

/* Options and result of nuc_explain(). Cycles are estimates (docs/explain.md). */
struct nuc_explain_options {
    bool json;      /* every node as JSON instead of a table of 80 columns */
    bool all_nodes; /* a row for each node, also quantize, dequantize and getitem nodes; all splits */
    /*
     * What nuc_quantize() was given: changes of options and source are tried with it, and their SQNR is measured. NULL:
     * with one random sample.
     */
    const struct nuc_dataset *calibration;
};
struct nuc_explain_result {
    const char *text;
    size_t n_operators, n_delegated, n_partitions;
    uint64_t cycles;          /* of an inference */
    uint64_t lost_cycles;     /* that would be saved if the NPU ran all operators of the CPU */
    uint64_t least_arena;     /* if no program fits the memory budget: the smallest arena found; else 0 */
    bool made_up_ranges;      /* a float model was quantized with one random sample */
    const char *first_on_cpu; /* the first operator there and why, in one line; NULL: none */
};

/*
 * Reports where every node runs. For each node on the CPU it gives the reason, and the change of options or source that
 * helps of those that it tries on the model. A float model is first quantized with one random sample.
 * `options` may be NULL.
 */
enum nuc_status nuc_explain(struct nuc_model *m, const struct nuc_explain_options *options,
                            struct nuc_explain_result *out);

/*
 * Lists the operators of the flavor's rule set with their rules. `markdown`: of all rule sets, as
 * docs/supported-ops.md.
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
 * With NUC_DIM_ORDER_AUTO, the variants that the last nuc_partition() compared, one per line below a heading: estimated
 * cycles, transposes and the bytes they move, arena. A star marks the chosen variant. NULL otherwise.
 */
const char *nuc_dim_order_table(const struct nuc_compiler *c);

/* Turns partitions into delegate calls, and the other nodes into operators of the runtime. */
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
 * Describes a .pt2, .tflite or .pte file; with `disassemble`, the microcode of its NPU payloads too. The content
 * determines the kind of the file.
 */
enum nuc_status nuc_inspect_file(struct nuc_compiler *c, const char *path, enum nuc_inspect_form form, bool disassemble,
                                 const char **text);

/* The same for the bytes of such a file in memory, borrowed until the call returns; messages use `name`. */
enum nuc_status nuc_inspect_bytes(struct nuc_compiler *c, const char *name, const void *bytes, size_t size,
                                  enum nuc_inspect_form form, bool disassemble, const char **text);

/*
 * Writes the delegates of the program at `path` as LiteRT models, for viewers and tools that cannot read delegates:
 * folder/npu_N.tflite for the delegate call in instruction N, with one NeutronGraph operator (docs/formats.md). Creates
 * the folder if necessary. NUC_BAD_INPUT if the program has no delegate call. `files` are the paths in the order of
 * execution.
 */
enum nuc_status nuc_extract_models(struct nuc_compiler *c, const char *path, const char *folder,
                                   const char *const **files, size_t *count);

/* ---- profiles ---- */

/* The profile records of one delegate call, from nuc_program_profile() of runtime.h. */
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
 * microseconds at the target's clock, share, node and source line (docs/cycle-model.md). Messages use `file`. `run` may
 * be NULL: the times of kernels are then those of the cycle model.
 */
enum nuc_status nuc_profile_text(struct nuc_compiler *c, const char *file, const void *program, size_t size,
                                 const struct nuc_profile_run *run, const char **text);

/* The same for ExecuTorch's Inspector: an ETDump file with a block for each execution; its times are cycles. */
enum nuc_status nuc_write_etdump(struct nuc_compiler *c, const char *file, const void *program, size_t size,
                                 const struct nuc_profile_run *runs, size_t n_runs, const char *output);

/*
 * An ETRecord beside it, by which the Inspector says what events are: those of nuc_write_etdump(), and those that
 * ExecuTorch's runtime logs of the same program on a device. Modules and lines are there in a program that was compiled
 * with the option `profile`.
 */
enum nuc_status nuc_write_etrecord(struct nuc_compiler *c, const char *file, const void *program, size_t size,
                                   const char *output);

/* Figures of the last program made by nuc_program() or nuc_compile_file(); NUC_BAD_USAGE when there is none. */
/* What --stream made of a network. Frames are those of the input. */
struct nuc_stream_report {
    int64_t hop;              /* frames that a run takes */
    int64_t window;           /* frames that the network takes */
    int64_t latency;          /* frames by which results come later than the network computes them */
    size_t ring_bytes;        /* of the states that were added */
    double macs, window_macs; /* multiply-accumulates of a hop, and of the network over its window */
    /* The operator that reads the axis as a whole: it, and what follows, is computed of the latest window; NULL: none
     */
    const char *window_from;
    int64_t overhang; /* frames by which that window is longer than the network's: results differ at its ends */
    bool looks_back;  /* what windows are made of depends on frames before them */
};

/* What of a program lies in a bank of option `memories`. */
struct nuc_bank_use {
    const char *name;
    size_t size;      /* bytes, as the option says */
    size_t planned;   /* of these, planned memory, */
    size_t peak;      /* of which so much is alive at once, */
    size_t temporary; /* memory beside it during delegate calls, */
    size_t states;    /* states, */
    size_t weights;   /* and weights, where the option weights_memory names the bank */
};

struct nuc_program_report {
    const char *converter;        /* "nucleon", or the command that converted the partitions */
    bool runs_on_simulator;       /* all microcode comes from nucleon's converter */
    size_t n_operators;           /* of the Edge graph, as nuc_explain() counts them */
    size_t n_operators_delegated; /* of these, on the NPU */
    size_t n_nodes;               /* operators, quantize, dequantize and getitem nodes */
    size_t n_delegated;           /* of these nodes, on the NPU */
    size_t n_partitions;          /* delegate calls */
    size_t n_executorch_lacks;    /* instructions whose operators ExecuTorch's libraries have no kernels for, */
    const char *executorch_lacks; /* and these: "nucleon::quantized_sum, ...", "" for none; valid as the compiler is */
    size_t n_cpu_int8;            /* of targets with int8 kernels on the CPU: operators there that these run, */
    size_t n_cpu_int16;           /* those in int16, */
    size_t n_cpu_integers;        /* those of integers that stand for themselves, as indices and counts, */
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
    size_t n_banks;
    const struct nuc_bank_use *banks;       /* of option `memories`, in the order of planned memories */
    const struct nuc_stream_report *stream; /* of option `stream`; NULL: without it. Valid as the compiler is */
};
enum nuc_status nuc_program_report(const struct nuc_compiler *c, struct nuc_program_report *out);

/* The outputs of the model that nuc_quantize_file(), nuc_compile_file() or nuc_compile_model() wrote last. */
size_t nuc_n_qualities(const struct nuc_compiler *c);
enum nuc_status nuc_quality(const struct nuc_compiler *c, size_t index, struct nuc_output_quality *out);

enum nuc_map_form {
    NUC_MAP_TEXT, /* every tensor: address, size, lifetime */
    NUC_MAP_SVG,
    NUC_MAP_PEAK /* the tensors that are alive where most bytes are */
};

/*
 * The map of the arena of the last program and of its delegates' scratch, also if the program exceeded the budget. The
 * text belongs to the compiler. NUC_BAD_USAGE if there is no program.
 */
enum nuc_status nuc_memory_map(struct nuc_compiler *c, enum nuc_map_form form, const char **text);

/* From archive to file, as `nucleon compile` does. `calibration` may be NULL for a quantized archive. */
enum nuc_status nuc_compile_file(struct nuc_compiler *c, const char *model, const char *calibration,
                                 const char *output);

/* The same for an open model. */
enum nuc_status nuc_compile_model(struct nuc_model *m, const char *calibration, const char *output);

/*
 * Returns the bytes that nuc_compile_model() would write, with samples from a data set of the same compiler. The data
 * set does not change; each call binds it again. `calibration` may be NULL for a quantized model. Files that options
 * request, such as a memory map, are written. The bytes belong to the compiler.
 */
enum nuc_status nuc_compile_to_memory(struct nuc_model *m, const struct nuc_dataset *calibration, const uint8_t **bytes,
                                      size_t *size);

/* Result of nuc_convert_model(). */
struct nuc_convert_report {
    size_t n_graphs;            /* NeutronGraph operators */
    size_t n_operators;         /* of the model before */
    size_t n_inside;            /* of these, now in NeutronGraphs */
    size_t scratch;             /* largest scratch of a graph */
    const char *const *outside; /* for each operator outside: "operator 7 (SOFTMAX): why" */
};

struct nuc_convert_model_options {
    size_t min_operators; /* smaller groups are not converted; 0: 1 */
    bool profile;         /* programs record the time of every kernel call */
    bool fetch_constants_to_sram;
};

/*
 * Converts a LiteRT model into one with NeutronGraph operators (docs/formats.md), as `nucleon convert` does. `options`
 * and `report` may be NULL.
 */
enum nuc_status nuc_convert_model(struct nuc_compiler *c, const char *model, const char *output,
                                  const struct nuc_convert_model_options *options, struct nuc_convert_report *report);

/*
 * Merges kernel selection files for a firmware with several programs. NUC_BAD_INPUT: a file is no kernel selection, or
 * belongs to another version of the microcode.
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
 * For messages such as "did you mean": the most similar of the `count` words to the misspelt word `text`. NULL if no
 * word is similar enough.
 */
const char *nuc_nearest_word(const char *text, const char *const *words, size_t count);

/*
 * For printing names from files. nuc_text_character() returns the first character of `text`, in UTF-8, and its number
 * of bytes; 0 bytes: the text does not begin with a valid character. nuc_is_control_character() tells whether a
 * terminal must not receive the character unescaped: C0, C1, delete, line breaks, changes of direction, invisible
 * characters.
 */
uint32_t nuc_text_character(const char *text, size_t *bytes);
bool nuc_is_control_character(uint32_t character);

/* "0.1.0" */
const char *nuc_version(void);

#ifdef __cplusplus
}
#endif
#endif
