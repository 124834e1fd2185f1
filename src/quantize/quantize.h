/*
 * Post-training quantization of an ATen graph to int8, as the NeutronQuantizer of ExecuTorch's NXP backend and
 * torchao's pt2e flow do it: operators are annotated with what their inputs and outputs need, values that must share
 * parameters get one observer, calibration samples run through the evaluator, and observers become pairs of quantize
 * and dequantize nodes. Scales and zero points are those of the reference for the same observed values.
 *
 *     struct nuc_calibration *c = nuc_quantize_prepare(g, &options);
 *     for each sample: nuc_quantize_sample(c, inputs);
 *     struct nuc_graph *qdq = nuc_quantize_convert(c);
 */
#ifndef NUC_QUANTIZE_QUANTIZE_H
#define NUC_QUANTIZE_QUANTIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/graph.h"
#include "nucleon/compile.h"

/* Steps of the search for parameters, as bits: what bench/ablation leaves out to see what it is worth. */
enum nuc_search_step {
    NUC_STEP_WIDEN = 1 << 0,
    NUC_STEP_RANGES = 1 << 1,
    NUC_STEP_HISTOGRAM = 1 << 2,
    NUC_STEP_MSE = 1 << 3,
    NUC_STEP_PERCENTILE = 1 << 4,
    NUC_STEP_AS_SEEN = 1 << 5,
    NUC_STEP_FAR = 1 << 6,
    NUC_STEP_RELEVANT = 1 << 7,
    NUC_STEP_BIASES = 1 << 8,
    NUC_STEP_EQUALIZE = 1 << 9,
    NUC_STEP_WIDTH = 1 << 10
};

/* Whose kernels the quantized operators are for; WIDE: those of the CPU for int16 values and int8 weights. */
enum nuc_side { NUC_SIDE_NPU, NUC_SIDE_CPU, NUC_SIDE_WIDE, NUC_SIDE_COUNT };

/*
 * Ranges that were chosen by their effect, for networks that differ in a few operators: a choice of their own for each
 * would make them differ by chance.
 */
struct nuc_chosen_ranges {
    struct nuc_arena *arena; /* that has the items */
    double run_cost;         /* of the first of these networks, which all are measured as often as; 0: none was */
    bool known;
    size_t count;
    struct nuc_chosen_range *items;
};

/*
 * Values that a concatenation, or the lesser or greater of two, requantizes, by node ids: with the same parameters one
 * of them would have far too few steps.
 */
struct nuc_apart {
    size_t count, capacity;
    struct nuc_apart_value {
        uint32_t cat, value;
    } * values;
};

struct nuc_quantize_options {
    enum nuc_side side; /* of every node that the source says no width of, NPU or CPU */
    bool int16;         /* these are of int16, too, as far as there are kernels, and in float else */
    bool mixed;         /* values are looked for that gain by int16, however good int8 is */
    /* On side NPU: nodes that end up as int8 kernels on the CPU all the same. NULL: none. */
    bool (*ends_on_cpu)(void *user, const struct nuc_node *node);
    void *ends_on_cpu_user;
    /* On side NPU: functions of one value that will be made of the NPU's operators. NULL: none. */
    bool (*npu_function)(void *user, const struct nuc_node *node);
    void *npu_function_user;
    bool reference_compat; /* exactly what the reference quantizes, its order of annotation included */
    /*
     * A value has one scale and zero point: readers take those of its producer, whatever they are, and do not quantize
     * it again. Not with reference_compat.
     */
    bool one_scale;
    /* On side NPU: nothing is delegated, so that all is computed in float. Not with reference_compat. */
    bool no_kernels;
    /* Linear layers of up to so many inputs have a scale for each output on side NPU; 0: none. */
    int64_t max_matrix_inputs;
    bool quantized_inputs; /* also where what reads them computes in float */
    unsigned threads;      /* 0: as many as cores; the result does not depend on it */
    enum nuc_accuracy accuracy;
    enum nuc_observe observer;
    enum nuc_weights weights;
    bool bias_correction;
    unsigned without;         /* steps of the search */
    unsigned rounding;        /* among networks that are equal but for hardly larger steps; 0: the network itself */
    bool executorch_ops_only; /* recurrent layers, which are decomposed then, stay in float */
    const struct nuc_apart *apart;    /* NULL: none */
    struct nuc_chosen_ranges *ranges; /* where known, they are taken; else what is chosen goes there; NULL: neither */
};

struct nuc_calibration;

/*
 * Annotates `g`, an ATen graph that went through the ATen passes, and observes its constants. The graph stays as it
 * is and must not change while the calibration is used. Values that are not float32 are left alone.
 *
 * Constants in front of the user inputs are the model's own: their dequantize nodes come first of all. One after the
 * inputs was made by a pass: it comes right before its first reader, where torch.fx has it. A pass that replaces a
 * constant therefore puts the new one in the place of the old one.
 */
struct nuc_calibration *nuc_quantize_prepare(struct nuc_graph *g, const struct nuc_quantize_options *options);

/*
 * Calibration samples: samples[k][i] holds user input i of sample k in logical order; states are what the sample before
 * left. They run side by side, and are observed as if one ran after the other. Fails with NUC_BAD_INPUT naming the node
 * when an observed value is a NaN. The second is for a single one.
 */
#define NUC_SAMPLES_TOGETHER 32 /* of more, some run after the others */
void nuc_quantize_samples(struct nuc_calibration *c, const void *const *const *samples, size_t count);
void nuc_quantize_sample(struct nuc_calibration *c, const void *const *inputs);

/* What messages call the next samples: their file, and their numbers there, which stay until they are seen. */
void nuc_quantize_name_samples(struct nuc_calibration *c, const char *file, const size_t *numbers);

/* Gives back what samples ran with, and forgets their names. More may follow, which begin a sequence. */
void nuc_quantize_pause(struct nuc_calibration *c);

/* The next sample begins a sequence, with the initial values of the states, as the first sample does. */
void nuc_quantize_begin(struct nuc_calibration *c);

/* The same as samples with the states after the user inputs, as nuc_kept_samples() gives them. */
void nuc_quantize_steps(struct nuc_calibration *c, const void *const *const *samples, size_t count);

/*
 * errors[k] of the samples of a part that `observed` kept, as nuc_held_out_error() has them, when the fresh calibration
 * `c` of another annotation is made with those of the other part. Returns how many of both parts would be measured.
 */
size_t nuc_quantize_measure(struct nuc_calibration *c, const struct nuc_calibration *observed, unsigned part,
                            double *errors);

/* Those that are kept of a part, or NUC_BOTH_PARTS, to observe them once more. Returns how many, at most 32. */
size_t nuc_kept_samples(const struct nuc_calibration *c, unsigned part, const void *const **samples);

/* Chooses ranges by the samples so far: conversion does it where nobody asked before. */
void nuc_quantize_choose(struct nuc_calibration *c);

/* What concatenations and the like could requantize, by the ranges of the samples so far; NULL: nothing. */
struct nuc_apart *nuc_quantize_find_apart(struct nuc_calibration *c);

/*
 * Channels of the graph's values are scaled such that less is lost, by what the samples of a part, or NUC_BOTH_PARTS,
 * showed; observers saw other values then. False: too little is expected of it.
 */
bool nuc_quantize_may_equalize(struct nuc_calibration *c);
void nuc_quantize_equalize(struct nuc_calibration *c, unsigned part);
void nuc_quantize_undo_equalize(struct nuc_calibration *c);

/*
 * The quantized graph, a new one in the same context: constants are quantized buffers `_frozen_param<n>` with
 * `_scale_<n>` and `_zero_point_<n>` when per channel, every consumer has a dequantize node of its own, nodes are
 * named as torch.export names them. Observers that saw nothing get scale 1 and zero point 0, with a warning.
 */
struct nuc_graph *nuc_quantize_convert(struct nuc_calibration *c);

/* Gives the memory of annotations and observers back: nothing is asked of the calibration any more. */
void nuc_quantize_done(struct nuc_calibration *c);

/* ---- what was measured ---- */

/* An output of the converted graph and of the float one, over samples that were kept for choices. */
struct nuc_measured_output {
    const char *name;
    size_t samples;
    bool is_float;
    double signal, noise;         /* sums of squares: of the float output; of the difference */
    double sqnr_db;               /* the median of folds of samples; the lowest where they differ widely */
    double lowest_db, highest_db; /* of these */
    float min, max;               /* of the float output */
    bool float_varies;            /* that is not the same for all samples */
    bool varies;                  /* nor is the quantized one */
};

struct nuc_measured {
    size_t n_outputs;
    struct nuc_measured_output *outputs;
    bool is_held_out; /* a fold of samples was measured with parameters of the others; false: there is one sample */
    size_t n_errors;
    double *errors; /* of each sample: noise relative to the mean signal, summed over the outputs */
};

/* After nuc_quantize_convert(); NULL: the converted graph was not run. */
const struct nuc_measured *nuc_quantize_measured(const struct nuc_calibration *c);

/* ---- what was observed ---- */

enum nuc_qscheme { NUC_PER_TENSOR_AFFINE, NUC_PER_TENSOR_SYMMETRIC, NUC_PER_CHANNEL_SYMMETRIC };

enum nuc_observer_kind {
    NUC_OBSERVER_HISTOGRAM,           /* range with the least L2 error */
    NUC_OBSERVER_MIN_MAX,             /* whole range */
    NUC_OBSERVER_PER_CHANNEL_MIN_MAX, /* whole range of each slice along ch_axis */
    NUC_OBSERVER_FIXED,               /* parameters known beforehand */
    NUC_OBSERVER_DERIVED,             /* product of the scales of two other observers: a bias */
    NUC_OBSERVER_MSE,                 /* range with the least mean squared error */
    NUC_OBSERVER_PERCENTILE,          /* range between two percentiles */
    NUC_OBSERVER_MOVING_AVERAGE,      /* running mean of the ranges of the samples */
    NUC_OBSERVER_AUTO,                /* one of HISTOGRAM, MIN_MAX, MSE and PERCENTILE, by its effect */
    NUC_OBSERVER_KIND_COUNT
};

/* "HistogramObserver", ...: the class of the reference. */
const char *nuc_observer_kind_name(enum nuc_observer_kind kind);

/* One place of the graph whose value is observed: a node's value as it is or as some of its users read it. */
struct nuc_observation {
    const struct nuc_node *node;
    size_t shared_with; /* the first observation with the same observer: its own index when it is the first */
    enum nuc_observer_kind kind;
    enum nuc_dtype dtype;
    int64_t quant_min, quant_max;
    enum nuc_qscheme scheme;
    int ch_axis;            /* -1: per tensor */
    bool seen;              /* false: scale 1 and zero point 0 stand in */
    uint32_t n;             /* entries of the arrays: channels, or 1 */
    const float *min, *max; /* of everything seen; NULL for fixed and derived parameters */
    const float *scale;
    const int64_t *zero_point;
};

/* Observations in the order of the graph's execution. */
size_t nuc_quantize_n_observations(const struct nuc_calibration *c);
void nuc_quantize_observation(struct nuc_calibration *c, size_t index, struct nuc_observation *out);

#endif
