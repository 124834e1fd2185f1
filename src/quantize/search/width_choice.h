/*
 * Values that int8 is too narrow for: powers, logarithms and what else has more decades than 256 steps. Which ones need
 * wider numbers is decided here, by what single values lose on samples that their ranges do not come from, and what
 * wider numbers cost; what is done about them is decided where operators are annotated (annotate.c).
 */
#ifndef NUC_QUANTIZE_SEARCH_WIDTH_CHOICE_H
#define NUC_QUANTIZE_SEARCH_WIDTH_CHOICE_H

#include "quantize/calibration.h"

/* Cycles of wider numbers. */
struct nuc_width_costs {
    double call;       /* of a kernel */
    double element;    /* value read and written */
    double function;   /* of a value */
    double product;    /* multiply-accumulate */
    double in_layer;   /* the same of a layer that takes int16 beside float; 0: none does */
    double recurrent;  /* the same in a recurrent layer */
    double conversion; /* value from int8, or to it */
    bool few_products; /* values alone whose operators have a small share of the network's */
    bool by_path;      /* sums that are computed one after the other together, too */
};

struct nuc_width_search;

/*
 * Errors of the outputs, relative to their power: no reason to leave int8, 40 dB; and a fair one, 30 dB, of which
 * little may be spent on less.
 */
#define NUC_SMALL_ERROR 1e-4
#define NUC_FAIR_ERROR 1e-3

/* Factors of an error: 3 dB, which wider numbers have to gain, half a dB, and 0.05 dB, which a part of them adds. */
#define NUC_WORTHWHILE 2.0
#define NUC_NOTICED 1.122
#define NUC_NOTICED_OF_MIXED 1.01

/* Where the user asks for them, or a small error is to become a smaller one, less is worth it. */
static inline double nuc_worthwhile(double error, bool beyond, bool mixed)
{
    return error > (beyond ? NUC_SMALL_ERROR : NUC_FAIR_ERROR) && !mixed ? NUC_WORTHWHILE : NUC_NOTICED;
}

/*
 * Whether there may be values to free of int8, which is asked of the held-out errors of the network on so many samples:
 * else nobody asks for these.
 */
bool nuc_may_free_values(struct nuc_calibration *c, size_t n_samples);

/*
 * After nuc_quantize_choose(). NULL where there is nothing to gain: the network loses little, or what it loses is
 * spread over more than a share of its products. Takes a bounded number of multiply-accumulates; the
 * result does not depend on the number of threads. `quantized_io`: inputs and outputs of the model are int8 whatever
 * computes with them. `beyond`: less than a fair error may be looked for. `has_int16`: layers may take it beside float.
 */
struct nuc_width_search *nuc_width_search_new(struct nuc_calibration *c, bool quantized_io, bool beyond,
                                              bool has_int16);

/*
 * Sets wide[id] of the operators that most decibels are expected of for the cycles that they take, as far as these are
 * estimated to be at most `most_cycles`, until the error is fair, or, `beyond`, none. Returns the estimate; 0: nothing
 * gains enough. *left: the share of the error that is estimated to be left.
 */
double nuc_width_propose(const struct nuc_width_search *s, const struct nuc_width_costs *costs, double most_cycles,
                         bool beyond, bool *wide, double *left);

/* Sets wide[id] of all operators that are int8 and may be wider. Returns the cycles that this is estimated to take. */
double nuc_width_of_all(const struct nuc_calibration *c, const struct nuc_width_costs *costs, bool *wide);

/* Trials take little enough time to look for less than a fair error. */
bool nuc_width_goes_beyond(const struct nuc_width_search *s);

/*
 * A layer that int16 is wide enough for, by what its values lose in it: where others need float, as the powers of a
 * spectrum and their logarithms behind a Fourier transform, it takes int16 among them, whose products are far cheaper.
 */
bool nuc_is_layer_in_int16(const struct nuc_width_search *s, const struct nuc_node *node);

/*
 * Error of the network, relative to its power, with the ranges that are chosen, on samples that they do not come from;
 * 0: not measured. errors, unless NULL: of each of the samples, of which it is the mean.
 */
double nuc_held_out_error(const struct nuc_calibration *c, double *errors);
size_t nuc_held_out_samples(const struct nuc_calibration *c);

/* Computed in float as the graph is annotated. */
bool nuc_is_float_anyway(const struct nuc_calibration *c, const struct nuc_node *node);

#endif
