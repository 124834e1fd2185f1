/*
 * Functions of one value that the NPU has no operator for, as operators that it has. They stay whole until they are
 * quantized: then 256 numbers are all that comes in, and what the operators make of these in int8 is compared with the
 * function itself. npu_function.c has a row for each expression.
 */
#ifndef NUC_REWRITE_NPU_FORMS_NPU_FUNCTION_H
#define NUC_REWRITE_NPU_FORMS_NPU_FUNCTION_H

#include "ir/quant.h"
#include "npu/support/support.h"

/* ---- expressions ---- */

enum { NUC_FUNCTION_MAX_STEPS = 16, NUC_FUNCTION_PARAMS = 3 };
enum { NUC_FUNCTION_X = 0, NUC_FUNCTION_NUMBER = -1, NUC_FUNCTION_NOTHING = -2 };

/*
 * Step k gives value k, counted from 1; 0 is the argument of the function. The last one gives its value. A number is
 * `number` times the function's parameters to these powers; of a LEAKY_RELU it is the slope.
 */
struct nuc_function_step {
    enum nuc_op op;
    int8_t a, b; /* values, `b` also NUC_FUNCTION_NUMBER or NUC_FUNCTION_NOTHING */
    double number;
    int8_t powers[NUC_FUNCTION_PARAMS];
    double low, high; /* what of the result counts, where low < high: further values do as well as these */
};

/* One way to express a function. */
struct nuc_function {
    enum nuc_op op;
    struct {
        uint32_t arg; /* a Scalar among the operator's arguments; 0: none */
        double value; /* when it is not given */
    } params[NUC_FUNCTION_PARAMS];
    bool only; /* the first parameter has to have its value */
    const struct nuc_function_step *steps;
    uint32_t n_steps;
};

/* Scales and zero points of the values of an expression: [0] of x, [n_steps] of the result. */
struct nuc_function_scales {
    struct nuc_quant of[NUC_FUNCTION_MAX_STEPS + 1];
    double params[NUC_FUNCTION_PARAMS];
};

double nuc_function_number(const struct nuc_function_step *step, const double *params);

/*
 * Chooses the scales of what is between, those at both ends given, and computes what int8 operators make of the 256
 * numbers (npu_function_scales.c). `results` are quantized numbers.
 */
void nuc_function_run(const struct nuc_function *f, struct nuc_function_scales *scales, double results[256]);

/* Of the function rounded once, steps of the output. */
#define NUC_FUNCTION_MAX_STEPS_OFF 1.0

/*
 * Mean squared error of the results over that of the function rounded once, input rounding included in both, in dB. The
 * mean is that of a normal distribution in the middle of the input's range, three deviations to each end; a function
 * that by chance meets the steps of its output counts as rounded there, too. Infinite where a number is further off
 * than NUC_FUNCTION_MAX_STEPS_OFF.
 */
double nuc_function_loss(const struct nuc_function_scales *scales, uint32_t n_steps, const float exact[256],
                         const double results[256]);

/* ---- graphs ---- */

/* Largest loss at which an expression takes the place of its function, dB. */
#define NUC_FUNCTION_MAX_LOSS 2.0

/* Whether a function of a float graph has an expression that takes fewer cycles than the CPU; the loss is not known. */
bool nuc_has_npu_function(const struct nuc_support *s, const struct nuc_node *node);

/*
 * The loss of the nearest expression of a function that is quantized at both ends, dB; infinite where a number is too
 * far off, NaN where the function has no expression.
 */
double nuc_npu_function_loss(const struct nuc_support *s, struct nuc_node *node);

/*
 * Of a node between a dequantize node and quantize nodes of int8: builds the first expression in front of it that is
 * close enough and takes fewer cycles, with quantize and dequantize nodes in between, in the Edge dialect. Returns what
 * stands for the node, or NULL.
 */
struct nuc_node *nuc_to_npu_function(const struct nuc_support *s, struct nuc_node *node);

#endif
