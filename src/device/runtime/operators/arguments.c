/* What the arguments of the operators may be, and whether those of a call are that. */
#include "device/runtime/operators/op_shapes.h"

/* Words of nuc_kernel_entry.accepts: kinds of values, then conditions of tensors or of ints. */
enum {
    WRITTEN = 1, /* no constant */
    OPTIONAL = 1 << NUC_VALUE_NONE,
    INT = 1 << NUC_VALUE_INT,
    FLAG = 1 << NUC_VALUE_BOOL,
    NUMBER = INT | 1 << NUC_VALUE_DOUBLE,
    STRING = 1 << NUC_VALUE_STRING,
    INTS = 1 << NUC_VALUE_INTS,
    DOUBLES = 1 << NUC_VALUE_DOUBLES,
    TENSOR = 1 << NUC_VALUE_TENSOR,
    OUT = TENSOR | WRITTEN,
    TENSORS = 1 << NUC_VALUE_TENSORS,
    OUTS = TENSORS | WRITTEN,
    INDICES = TENSORS | 1 << NUC_VALUE_OPTIONAL_TENSORS,
};
enum { CONDITIONS_AT = NUC_VALUE_OPTIONAL_TENSORS + 1 };

/* Of a tensor. Without an element type it may have any. The first argument of the call, to compare with, is one. */
#define TYPE(dtype) (TENSOR | 1 << (CONDITIONS_AT + (dtype)))
enum {
    U8 = TYPE(NUC_U8),
    S8 = TYPE(NUC_I8),
    I16 = TYPE(NUC_I16),
    U16 = TYPE(NUC_U16),
    I32 = TYPE(NUC_I32),
    I64 = TYPE(NUC_I64),
    INTEGER = U8 | S8 | U16 | I16 | I32 | I64,
    BOOL = TYPE(NUC_BOOL),
    F32 = TYPE(NUC_F32),
    F64 = TYPE(NUC_F64),
    NUMERIC = INTEGER | BOOL | F32 | F64,
    TYPES = ((1 << NUC_DTYPE_COUNT) - 1) << CONDITIONS_AT,
    DENSE = 1 << 23, /* contiguous */
    IMAGE = 1 << 24, /* of rank 4, channels-last */
    NONEMPTY = 1 << 25,
    SAME_TYPE = 1 << 26, /* as the first argument */
    SAME_SIZES = 1 << 27,
    SAME_LAYOUT = 1 << 28,
    RANK_AT = 29,
};
#define RANK(rank) ((uint32_t)(rank) << RANK_AT)
_Static_assert(TYPES < DENSE, "element types have bits of their own");

/*
 * Of an int, or of each int in a list: its bounds, which are powers of two or next to one. A list has `count` elements,
 * 0: any number.
 */
enum low { FROM_MINUS_2_N, FROM_1_MINUS_2_N, FROM_0, FROM_1 };
enum high { ANY, TO_2_N_LESS_1, TO_2_N, TO_0 };
enum { LOW_AT = CONDITIONS_AT + 5, HIGH_AT = LOW_AT + 2, COUNT_AT = HIGH_AT + 2 };
#define RANGE(low, high, n) ((n) << CONDITIONS_AT | (low) << LOW_AT | (high) << HIGH_AT)
#define SOME(count, low, high, n) (INTS | (count) << COUNT_AT | RANGE(low, high, n))
#define PADDING(count) SOME(count, FROM_0, TO_2_N, 14)
enum {
    DIM = INT | RANGE(0, ANY, 1), /* of the first argument */
    ZERO_POINT = INT | RANGE(FROM_MINUS_2_N, TO_2_N_LESS_1, 7),
    WORD = INT | RANGE(FROM_MINUS_2_N, TO_2_N_LESS_1, 15), /* an int16 */
    OFFSET = INT | RANGE(FROM_1_MINUS_2_N, TO_2_N, 7),     /* minus a zero point */
    INT32 = INT | RANGE(FROM_MINUS_2_N, TO_2_N_LESS_1, 31),
    SHIFT = INT | RANGE(FROM_1_MINUS_2_N, TO_2_N_LESS_1, 5),
    LEFT_SHIFT = INT | RANGE(FROM_0, TO_2_N_LESS_1, 5),
    LONG_SHIFT = INT | RANGE(FROM_0, TO_2_N_LESS_1, 6),
    POSITIVE = INT | RANGE(FROM_1, TO_2_N_LESS_1, 31),
    NATURAL = INT | RANGE(FROM_0, TO_2_N_LESS_1, 31),
    NEGATIVE = INT | RANGE(FROM_MINUS_2_N, TO_0, 31),
    FRACTION = INT | RANGE(FROM_0, TO_2_N_LESS_1, 4),
    SIDES = SOME(2, FROM_1, TO_2_N, 20),   /* of int8 images, up to NUC_LARGEST_SIDE */
    EXTENTS = SOME(2, FROM_1, TO_2_N, 14), /* what is moved over them, up to NUC_LARGEST_EXTENT: strides, dilations */
    OUTPUT_PADDING = SOME(2, FROM_MINUS_2_N, TO_2_N, 14),
    STEPS = SOME(0, FROM_1, TO_2_N, 24), /* of other images: one for all dimensions, or one each */
    MARGINS = SOME(0, FROM_0, TO_2_N, 24),
    MULTIPLIERS = SOME(1, FROM_MINUS_2_N, TO_2_N_LESS_1, 31),
    SHIFTS = SOME(1, FROM_1_MINUS_2_N, TO_2_N_LESS_1, 5),
    REPEATS = SOME(0, FROM_0, TO_2_N_LESS_1, 31),
    PADS = SOME(4, FROM_0, TO_2_N_LESS_1, 31),
};
_Static_assert(NUC_LARGEST_SIDE == 1 << 20 && NUC_LARGEST_EXTENT == 1 << 14, "the bounds of SIDES and EXTENTS");

/* ---- tables of all lists ---- */

#define A(name, accepts) accepts,
#define G(name, arguments) arguments
#define GROUP(name, arguments)
#define LIST(name, arguments) const uint32_t nuc_accepts_##name[] = {arguments 0};
#include "device/runtime/operators/arguments.def"

#ifdef NUCLEON_NO_MESSAGES
#define A(name, accepts)
#else
#define A(name, accepts) #name "\0"
#endif
#define G(name, arguments) arguments
#define GROUP(name, arguments)
#define LIST(name, arguments) const char nuc_arguments_##name[] = arguments "";
#include "device/runtime/operators/arguments.def"

/* ---- the check ---- */

/* What is wrong with a value. */
enum misfit {
    FITS,
    KIND,
    NOT_F32,
    NOT_S8,
    ELEMENT_TYPE,
    SIZES,
    NOT_CONTIGUOUS,
    NOT_CHANNELS_LAST,
    EMPTY,
    OUT_OF_RANGE
};
static const char *const messages[] = {
    [KIND] = NUC_TEXT("the arguments do not fit the operator's signature"),
    [NOT_F32] = NUC_TEXT("an argument is not float32"),
    [NOT_S8] = NUC_TEXT("an argument is not int8"),
    [ELEMENT_TYPE] = NUC_TEXT("an argument has the wrong element type"),
    [SIZES] = NUC_TEXT("an argument has the wrong sizes or dim order"),
    [NOT_CONTIGUOUS] = NUC_TEXT("an argument is not contiguous"),
    [NOT_CHANNELS_LAST] = NUC_TEXT("an argument is not channels-last"),
    [EMPTY] = NUC_TEXT("an argument has no elements"),
    [OUT_OF_RANGE] = NUC_TEXT("an argument is out of range"),
};

static enum misfit tensor_misfit(uint32_t accepts, const struct nuc_tensor *t, const struct nuc_tensor *first)
{
    uint32_t types = accepts & TYPES, rank = accepts >> RANK_AT;

    if (types != 0 && (types >> (CONDITIONS_AT + t->dtype) & 1) == 0)
        return types == (F32 & TYPES) ? NOT_F32 : types == (S8 & TYPES) ? NOT_S8 : ELEMENT_TYPE;
    if ((accepts & SAME_TYPE) != 0 && t->dtype != first->dtype)
        return ELEMENT_TYPE;
    if ((rank != 0 && t->rank != rank) || ((accepts & SAME_SIZES) != 0 && !nuc_tensor_same_sizes(t, first)) ||
        ((accepts & SAME_LAYOUT) != 0 && !nuc_tensor_same_layout(t, first)))
        return SIZES;
    if ((accepts & DENSE) != 0 && !nuc_tensor_is_contiguous(t))
        return NOT_CONTIGUOUS;
    if ((accepts & IMAGE) != 0 && !nuc_tensor_is_channels_last(t))
        return NOT_CHANNELS_LAST;
    return (accepts & NONEMPTY) != 0 && t->bytes == 0 ? EMPTY : FITS;
}

static bool is_in_range(uint32_t accepts, int64_t value, const struct nuc_tensor *first)
{
    uint32_t low_code = accepts >> LOW_AT & 3, high_code = accepts >> HIGH_AT & 3;
    int64_t power = (int64_t)1 << (accepts >> CONDITIONS_AT & 31);
    int64_t low = low_code == FROM_MINUS_2_N ? -power : low_code == FROM_1_MINUS_2_N ? 1 - power : low_code == FROM_1;
    int64_t high = high_code == TO_2_N_LESS_1 ? power - 1 : high_code == TO_2_N ? power : 0;

    if (accepts == DIM) {
        high = first->rank > 0 ? first->rank - 1 : 0;
        low = -high - 1;
    }
    return (high_code == ANY && accepts != DIM) || (value >= low && value <= high);
}

static enum misfit misfit(const struct nuc_kernel_context *cx, uint32_t accepts, const struct nuc_value *v,
                          const struct nuc_tensor *first)
{
    uint32_t count = accepts >> COUNT_AT;

    if ((accepts >> v->kind & 1) == 0)
        return KIND;
    if (v->kind == NUC_VALUE_TENSOR)
        return tensor_misfit(accepts, &v->u.tensor, first);
    if (v->kind == NUC_VALUE_INT)
        return is_in_range(accepts, v->u.i, first) ? FITS : OUT_OF_RANGE;
    if (v->kind != NUC_VALUE_INTS)
        return FITS;
    if (count != 0 && v->u.list.count != count)
        return OUT_OF_RANGE;
    for (uint32_t i = 0; i < v->u.list.count; i++) {
        if (!is_in_range(accepts, nuc_list_int(cx, v, i), first))
            return OUT_OF_RANGE;
    }
    return FITS;
}

enum nuc_status nuc_check_arg(struct nuc_kernel_context *cx, uint32_t accepts, const struct nuc_value *value,
                              const struct nuc_tensor *first)
{
    enum misfit found = misfit(cx, accepts, value, first);

    if (found == FITS)
        return NUC_OK;
    return nuc_kernel_error(cx, found == KIND ? NUC_BAD_INPUT : NUC_UNSUPPORTED, messages[found]);
}
