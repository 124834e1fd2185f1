/*
 * Operators that the NPU has no row for, or only with other arguments, written as operators that it has. The stage
 * aten-passes does that before anything is observed, for targets with an NPU and its newest rules; each npu_*.c has the
 * table of a family.
 */
#ifndef NUC_REWRITE_NPU_FORMS_NPU_FORMS_H
#define NUC_REWRITE_NPU_FORMS_NPU_FORMS_H

#include "ir/op_list.h"
#include "npu/support/support.h"
#include "rewrite/expand/expand.h"

struct nuc_npu_form {
    const enum nuc_op *ops; /* NUC_OPS */
    /*
     * What stands for the node, built in front of it, if the rules of the NPU accept that and the cycle model gains by
     * it; NULL, and nothing is built: the node stays.
     */
    struct nuc_node *(*form)(const struct nuc_support *s, struct nuc_node *node);
};

/* In the order in which they are tried; each ends with a row without a form. */
extern const struct nuc_npu_form nuc_norm_forms[], nuc_linear_map_forms[], nuc_sum_forms[], nuc_computed_conv_forms[],
    nuc_conv_forms[], nuc_softmax_forms[], nuc_row_forms[], nuc_window_forms[], nuc_matrix_forms[],
    nuc_broadcast_forms[], nuc_stride_forms[], nuc_move_forms[], nuc_unpool_forms[], nuc_cpu_conv_forms[],
    nuc_cpu_move_forms[];

/* The value of a function of npu_forms.def, built in front of the node. */
struct nuc_node *nuc_built(const struct nuc_support *s, struct nuc_node *node, const char *name,
                           const struct nuc_arg *args, size_t n_args);

/* A quotient each of whose divisors, which are computed, divides several values. */
bool nuc_divides_by_few(const struct nuc_node *node);

/* Whether the NPU takes a reshape to that number of dimensions. */
bool nuc_can_view(const struct nuc_support *s, uint32_t rank);

/* Returns whether anything changed. Only an ATen graph without quantize nodes. */
bool nuc_to_npu_forms(const struct nuc_support *support);

/*
 * The same by some of them alone. nuc_row_forms are made in front of what decides where norms are computed, since norms
 * go to other places. Two are for the CPU: its int8 kernels of convolutions have two dimensions and take each group
 * apart, and pads of values that are there already, at once or in pieces, are slices to it.
 */
bool nuc_to_forms(const struct nuc_support *support, const struct nuc_npu_form *forms);

/*
 * Takes the mean off what is normalized over its channels: off the weights of all that writes it, where nothing but
 * layer norms reads it, perhaps behind sums and moves. These need not, then.
 */
void nuc_centre_rows(struct nuc_graph *g);

/* Whether there are such rows. */
bool nuc_can_centre_rows(struct nuc_graph *g);

/* Whether the norm has a form that takes fewer cycles, and that s->norms asks for. */
bool nuc_has_npu_norm(const struct nuc_support *s, struct nuc_node *node);

/* Whether a softmax of long rows has a form that s->norms asks for: exponentials over their sum. */
bool nuc_has_npu_softmax(const struct nuc_support *s, const struct nuc_node *node);

/*
 * Sums of squares of the rows that a norm has in samples, of each half of these: in ranges of one half int8 meets the
 * rows of the other.
 */
struct nuc_norm_sums {
    const struct nuc_node *norm;
    struct nuc_row_sums {
        double *values;     /* some of all that are not 0, spread over them */
        double least, most; /* of all that are not 0 */
        size_t count;
    } of[2];
    bool has_empty;
};

struct nuc_norm_sums *nuc_norm_sums_new(struct nuc_context *cx, const struct nuc_node *norm, size_t n_samples);

/* The node whose values nuc_norm_see() takes: `count` of a sample, in logical order. */
const struct nuc_node *nuc_norm_source(const struct nuc_node *norm);
void nuc_norm_see(struct nuc_norm_sums *s, unsigned part, const float *x, size_t count);

/*
 * The form that errs hardly more than rounding the rows does, with the mean square of its errors in parts of that;
 * WHOLE: none does.
 */
struct nuc_norm_of nuc_norm_form_of(const struct nuc_norm_sums *s, double *error);

/* Places along one dimension that an index takes, all others whole. */
struct nuc_places {
    const int64_t *at; /* from the front; NULL: the operator takes others */
    int64_t count;
    uint32_t dim;
};

struct nuc_places nuc_places_of(struct nuc_graph *g, const struct nuc_node *node);

/* One float32 tensor with elements. */
bool nuc_is_float_value(const struct nuc_node *x);

/* Whether a value is made by what works on images channels first, perhaps behind functions of each element. */
bool nuc_is_of_images(const struct nuc_node *value);

/* Whether the rules take a conv2d as it is, before anything is quantized. */
bool nuc_takes_conv(const struct nuc_support *s, const struct nuc_node *conv);

/*
 * The cycles of a convolution whose weight is computed, by the form that takes the fewest; UINT64_MAX: none can be
 * built.
 */
uint64_t nuc_computed_conv_cycles(const struct nuc_support *s, struct nuc_node *node);

#endif
