/* Arguments of nodes as numbers, pairs, dimensions and bounds, by position (NUC_ARG). */
#ifndef NUC_IR_ARGS_H
#define NUC_IR_ARGS_H

#include "ir/graph.h"

/* The position of an argument that the operator does not have: nuc_arg_at() gives None for it. */
#define NUC_NO_ARG UINT32_MAX

/* The position of the argument of that name in the schema, or NUC_NO_ARG. */
uint32_t nuc_arg_named(const struct nuc_node *node, const char *name);

/* The memory format that the node asks for by an argument; NUC_PRESERVE_FORMAT: none. */
enum nuc_memory_format nuc_format_asked(const struct nuc_node *node);

/* The argument at a position; one of kind NUC_ARG_NONE when the node has none there. */
const struct nuc_arg *nuc_arg_at(const struct nuc_node *node, uint32_t index);

/* A Scalar, which archives write as an int or a float; `fallback` for anything else, None above all. */
double nuc_scalar(const struct nuc_node *node, uint32_t index, double fallback);

/*
 * Whether a Scalar of the node that is given as an int stays one: beside integers, whose type it leaves as it is where
 * a float does not. Set after the tensor arguments in front of it.
 */
bool nuc_keeps_whole_numbers(const struct nuc_node *node);

/* An int; `fallback` for anything else. */
int64_t nuc_integer(const struct nuc_node *node, uint32_t index, int64_t fallback);

/* A bool that is there and true. */
bool nuc_flag(const struct nuc_node *node, uint32_t index);

/* An int[2] of height and width: a single number stands for both, none or an empty list for `fallback`. */
struct nuc_pair {
    int64_t h, w;
};
struct nuc_pair nuc_pair(const struct nuc_node *node, uint32_t index, struct nuc_pair fallback);

/* Of add and sub: the factor of the second operand is 1. */
bool nuc_has_plain_alpha(const struct nuc_node *node);

/* A dimension in [-rank, rank) counted from the front. */
int64_t nuc_positive_dim(int64_t dim, uint32_t rank);

/* The same of a dimension that may not exist; false: it does not. A scalar has dimension 0, as in torch. */
bool nuc_find_dim(int64_t dim, uint32_t rank, uint32_t *found);

/* The int at a position, a dimension of a tensor of that rank, counted from the front. */
int64_t nuc_dim(const struct nuc_node *node, uint32_t index, int64_t fallback, uint32_t rank);

/* The start or end of a slice, which counts from the end where it is negative, as a place from 0 to `size`. */
int64_t nuc_slice_end(int64_t value, int64_t size);

/* One index of a dimension of a value, as a slice takes it; false: the node, which may be NULL, is something else. */
struct nuc_taken {
    struct nuc_node *of;
    int64_t dim, at;
};
bool nuc_takes_one(const struct nuc_node *node, struct nuc_taken *taken);

/*
 * A slice of neighbouring indices of the outermost dimension in memory, or a split along it, that is no output: the
 * bytes of a result lie together in those of the operand, which is no parameter.
 */
bool nuc_cuts_rows(const struct nuc_node *node);

/* Dimensions that an int[] names in a tensor of that rank, as a bit mask; None and an empty list name all. */
uint32_t nuc_dims_mask(const struct nuc_node *node, uint32_t index, uint32_t rank);

/* The dimensions of such a mask in order, for an int[]; returns how many. */
uint32_t nuc_list_dims(uint32_t mask, uint32_t rank, int64_t *dims);

/* The exponent of a power of one operand, a root or an inverse too; 0: it is none. */
double nuc_power_of(const struct nuc_node *node);

/* Type and sizes of tensor argument `index`; rank 0 when there is none. */
const struct nuc_meta *nuc_input_meta(const struct nuc_node *node, uint32_t index);

/* torch's numbers of a selu. */
#define NUC_SELU_ALPHA 1.6732632423543772848170429916717
#define NUC_SELU_SCALE 1.0507009873554804934193349852946

/*
 * What a relu, relu6, hardtanh, clamp, clamp_min or clamp_max lets through; infinite where it does not bound. Of bounds
 * that cross, the upper one is both, as torch computes min(max(x, low), high). A bound that is NaN makes every result
 * NaN: then both are.
 */
struct nuc_bounds {
    double min, max;
};
struct nuc_bounds nuc_bounds_of(const struct nuc_node *node);

/* Whether the node is one of those. */
bool nuc_has_bounds(const struct nuc_node *node);

static inline struct nuc_arg nuc_node_arg(struct nuc_node *node)
{
    return (struct nuc_arg){.kind = node == NULL ? NUC_ARG_NONE : NUC_ARG_NODE, .u.node = node};
}

static inline struct nuc_arg nuc_nodes_arg(struct nuc_node **nodes, uint32_t count)
{
    return (struct nuc_arg){.kind = NUC_ARG_NODES, .count = count, .u.nodes = nodes};
}

static inline struct nuc_arg nuc_int_arg(int64_t i)
{
    return (struct nuc_arg){.kind = NUC_ARG_INT, .u.i = i};
}

static inline struct nuc_arg nuc_ints_arg(const int64_t *ints, uint32_t count)
{
    return (struct nuc_arg){.kind = NUC_ARG_INTS, .count = count, .u.ints = ints};
}

/* Of a struct nuc_pair. */
#define NUC_PAIR_ARG(pair) nuc_ints_arg((const int64_t[]){(pair).h, (pair).w}, 2)

static inline struct nuc_arg nuc_float_arg(double f)
{
    return (struct nuc_arg){.kind = NUC_ARG_FLOAT, .u.f = f};
}

static inline struct nuc_arg nuc_dtype_arg(enum nuc_dtype dtype)
{
    return (struct nuc_arg){.kind = NUC_ARG_DTYPE, .u.dtype = dtype};
}

static inline struct nuc_arg nuc_bool_arg(bool b)
{
    return (struct nuc_arg){.kind = NUC_ARG_BOOL, .u.b = b};
}

static inline struct nuc_arg nuc_same_arg(struct nuc_arg arg)
{
    return arg;
}

/*
 * Arguments from position 0 on, as nuc_set_args(g, node, NUC_ARGS(x, 3)): nodes, numbers, and what functions above
 * make. Those of kind NUC_ARG_NONE, like NULL, keep the schema's default. true and false are numbers in C:
 * nuc_bool_arg(true).
 */
#define NUC_ARGS(...) (const struct nuc_arg[]){NUC_EACH_ARG(__VA_ARGS__)}, NUC_COUNT_ARGS(__VA_ARGS__)
#define NUC_ARG_OF(x)                                                                                                  \
    _Generic((x), struct nuc_arg: nuc_same_arg, struct nuc_node *: nuc_node_arg, void *: nuc_node_arg,                 \
             double: nuc_float_arg, float: nuc_float_arg, bool: nuc_bool_arg, default: nuc_int_arg)(x)

/* One after the other, up to 20. */
#define NUC_EACH_ARG(...) NUC_ARGS_FROM(NUC_COUNT_ARGS(__VA_ARGS__))(__VA_ARGS__)
#define NUC_ARGS_FROM(n) NUC_PASTE_ARGS(n)
#define NUC_PASTE_ARGS(n) NUC_ARGS_##n
#define NUC_COUNT_ARGS(...)                                                                                            \
    NUC_TWENTY_FIRST(__VA_ARGS__, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define NUC_TWENTY_FIRST(x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15, x16, x17, x18, x19, x20, n, \
                         ...)                                                                                          \
    n
#define NUC_ARGS_1(x) NUC_ARG_OF(x)
#define NUC_ARGS_2(x, ...) NUC_ARG_OF(x), NUC_ARGS_1(__VA_ARGS__)
#define NUC_ARGS_3(x, ...) NUC_ARG_OF(x), NUC_ARGS_2(__VA_ARGS__)
#define NUC_ARGS_4(x, ...) NUC_ARG_OF(x), NUC_ARGS_3(__VA_ARGS__)
#define NUC_ARGS_5(x, ...) NUC_ARG_OF(x), NUC_ARGS_4(__VA_ARGS__)
#define NUC_ARGS_6(x, ...) NUC_ARG_OF(x), NUC_ARGS_5(__VA_ARGS__)
#define NUC_ARGS_7(x, ...) NUC_ARG_OF(x), NUC_ARGS_6(__VA_ARGS__)
#define NUC_ARGS_8(x, ...) NUC_ARG_OF(x), NUC_ARGS_7(__VA_ARGS__)
#define NUC_ARGS_9(x, ...) NUC_ARG_OF(x), NUC_ARGS_8(__VA_ARGS__)
#define NUC_ARGS_10(x, ...) NUC_ARG_OF(x), NUC_ARGS_9(__VA_ARGS__)
#define NUC_ARGS_11(x, ...) NUC_ARG_OF(x), NUC_ARGS_10(__VA_ARGS__)
#define NUC_ARGS_12(x, ...) NUC_ARG_OF(x), NUC_ARGS_11(__VA_ARGS__)
#define NUC_ARGS_13(x, ...) NUC_ARG_OF(x), NUC_ARGS_12(__VA_ARGS__)
#define NUC_ARGS_14(x, ...) NUC_ARG_OF(x), NUC_ARGS_13(__VA_ARGS__)
#define NUC_ARGS_15(x, ...) NUC_ARG_OF(x), NUC_ARGS_14(__VA_ARGS__)
#define NUC_ARGS_16(x, ...) NUC_ARG_OF(x), NUC_ARGS_15(__VA_ARGS__)
#define NUC_ARGS_17(x, ...) NUC_ARG_OF(x), NUC_ARGS_16(__VA_ARGS__)
#define NUC_ARGS_18(x, ...) NUC_ARG_OF(x), NUC_ARGS_17(__VA_ARGS__)
#define NUC_ARGS_19(x, ...) NUC_ARG_OF(x), NUC_ARGS_18(__VA_ARGS__)
#define NUC_ARGS_20(x, ...) NUC_ARG_OF(x), NUC_ARGS_19(__VA_ARGS__)

void nuc_set_args(struct nuc_graph *g, struct nuc_node *node, const struct nuc_arg *args, size_t count);

static inline int64_t nuc_at_least_0(int64_t n)
{
    return n > 0 ? n : 0;
}

/* Equality of two numbers without a floating-point comparison that warns; a NaN equals nothing. */
static inline bool nuc_numbers_equal(double a, double b)
{
    return a <= b && a >= b;
}

#endif
