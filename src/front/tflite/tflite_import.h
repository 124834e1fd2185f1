/* What the parts of the LiteRT importer share. Private to the folder. */
#ifndef NUC_FRONT_TFLITE_TFLITE_IMPORT_H
#define NUC_FRONT_TFLITE_TFLITE_IMPORT_H

#include "front/tflite/tflite.h"
#include "host/numbers.h"
#include "ir/args.h"

/* How a value's dimensions stand for those of its tensor. */
enum nuc_ti_form {
    NUC_TI_PLAIN, /* the same order */
    NUC_TI_IMAGE, /* rank 4: [N, C, H, W] for [N, H, W, C] */
    NUC_TI_FORMS
};

struct nuc_ti_value {
    struct nuc_node *nodes[NUC_TI_FORMS]; /* of the tensor's type; NULL: not made yet */
    bool ordered[NUC_TI_FORMS];           /* its bytes in memory are in the order of the tensor's */
    enum nuc_ti_form form;                /* the one it was computed in */
    struct nuc_ti_state *variable;        /* of a handle: what it stands for */
};

struct nuc_ti {
    struct nuc_context *cx;
    const struct nuc_lt_model *m;
    const struct nuc_lt_subgraph *s; /* a copy of its own, with these tensors */
    struct nuc_lt_tensor *tensors;   /* those of the model, adapted, then as many for the same constants as floats */
    struct nuc_graph *g;
    struct nuc_node *before;          /* calls are added in front of it; NULL: at the end */
    struct nuc_ti_formulas *formulas; /* those of the model that were read so far */
    struct nuc_ti_value *values;      /* by tensor */
    const struct nuc_lt_op *op;       /* under way */
    bool eight_bit_weights;           /* struct nuc_litert_io */
    bool *was_uint8;                  /* by tensor; NULL: layers need not be exact */
    struct nuc_ti_state **states;     /* of the whole model: those that were named so far (tflite_state.c) */
    uint32_t subgraph;                /* where the operators are */
    bool is_first;                    /* they run once, before all others */
    uint32_t depth;                   /* of subgraphs that IF and WHILE brought here */
    uint32_t *n_inlined;              /* their operators and tensors, of the whole model */
    struct nuc_lt_op current;         /* where it lies, its constants those it reads */
    uint32_t index;                   /* its position */
    const struct nuc_source *source;
    /* Of operators that were left out, where obstacles are collected (ir/obstacles.h). */
    uint32_t n_cut;    /* results that became inputs */
    bool *is_cut_read; /* by tensor: one of them reads it */
};

/* What an operator takes along one axis: begin, begin + step, ... before end. A step may be negative, end then -1. */
struct nuc_ti_cut {
    int64_t begin, end, step;
};

/* Fails with "<file>: operator <index> (<NAME>): <message>". */
_Noreturn void nuc_ti_fail(const struct nuc_ti *ti, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Tensors of its own for subgraph `s`, which is the caller's, and no values. */
void nuc_ti_prepare(struct nuc_ti *ti, struct nuc_lt_subgraph *s);

void nuc_ti_import_operator(struct nuc_ti *ti, uint32_t index);

/* ---- what LiteRT derives before it runs (tflite_adapt.c) ---- */

/*
 * Quantized uint8 tensors become int8 ones. Weights become weights about zero where that is exact, and with eight bits
 * for each where it is not. Notes say what changed.
 */
void nuc_ti_adapt_tensors(struct nuc_ti *ti);

/*
 * Results of the operator get the shapes that follow from its operands, where those say: a file states what its
 * converter knew, which may be a one for every size that it did not.
 */
void nuc_ti_restate(struct nuc_ti *ti);

/* Result k gets that shape, unless it is none. */
void nuc_ti_restate_result(struct nuc_ti *ti, uint32_t k, const int64_t *sizes, uint32_t rank);

/* ---- operands ---- */

bool nuc_ti_has(const struct nuc_ti *ti, uint32_t i); /* operand i is there */
const struct nuc_lt_tensor *nuc_ti_in(const struct nuc_ti *ti, uint32_t i);
const struct nuc_lt_tensor *nuc_ti_out(const struct nuc_ti *ti);

/* Integers with a scale: their values are read through dequantize nodes. */
static inline bool nuc_ti_is_quantized(const struct nuc_lt_tensor *t)
{
    return t->quant.count > 0 && (t->dtype == NUC_I8 || t->dtype == NUC_I16 || t->dtype == NUC_I32);
}

/* A type that indices and sizes have. */
static inline bool nuc_ti_is_index(const struct nuc_lt_tensor *t)
{
    return t->dtype == NUC_I32 || t->dtype == NUC_I64;
}

/* Refuses quantized operands and results of an operator that LiteRT computes in integers of its own way. */
void nuc_ti_need_float(const struct nuc_ti *ti);

/* The form operand i was computed in; constants of rank 4 count as images. */
enum nuc_ti_form nuc_ti_form_of(const struct nuc_ti *ti, uint32_t i);

/* Operand i as a value in that form, float where the tensor is quantized. Images have rank 4. */
struct nuc_node *nuc_ti_real(struct nuc_ti *ti, uint32_t i, enum nuc_ti_form form);

/*
 * The form in which the first `count` operands meet element by element: images where a computed one is an image, and
 * none of lower rank would be repeated over pixels.
 */
enum nuc_ti_form nuc_ti_common_form(const struct nuc_ti *ti, uint32_t count);

/* The same for a value of rank below 4 that takes part in an operator on images. */
struct nuc_node *nuc_ti_broadcast(struct nuc_ti *ti, uint32_t i, enum nuc_ti_form form);

/* Whether the bytes of operand i in the form it has are also in the tensor's order when read by its own sizes. */
bool nuc_ti_is_flat(const struct nuc_lt_tensor *t);

/* Elements of a constant, or 0 when its sizes and its bytes do not agree. */
int64_t nuc_ti_held(const struct nuc_lt_tensor *t);

/* Numbers of constant operand i (int32 or int64), at most `max`; returns how many. */
uint32_t nuc_ti_integers(const struct nuc_ti *ti, uint32_t i, uint32_t max, int64_t *out);

/* ---- constants (tflite_fold.c) ---- */

/* Whether the operator's result follows from constants: it is a constant itself then, and done. */
bool nuc_ti_fold(struct nuc_ti *ti);

/* The same of what the operator was imported as: numbers and truths that the evaluator computes of such. */
void nuc_ti_fold_result(struct nuc_ti *ti);

/* The values of a constant of any type as float32, by its scales where it has some (tflite_values.c). */
struct nuc_span nuc_ti_as_floats(const struct nuc_ti *ti, const struct nuc_lt_tensor *t);

/*
 * What a STRIDED_SLICE takes along each axis of operand 0. False when begins, ends and steps are not all constants;
 * fails when they do not fit the operand.
 */
bool nuc_ti_strided_cuts(const struct nuc_ti *ti, struct nuc_ti_cut *cuts);

/*
 * A buffer with the values of constant tensor `t`, read through a dequantize node when it is quantized. Dimension d of
 * the `rank` given goes `strides[d]` elements forward in the tensor's data. `channel` is the dimension the tensor's
 * scales belong to.
 */
struct nuc_node *nuc_ti_constant(struct nuc_ti *ti, const struct nuc_lt_tensor *t, const struct nuc_meta *meta,
                                 const int64_t *strides, uint32_t channel);

/* ---- building ---- */

/* A call at the end of the graph; nuc_ti_infer() when its arguments are set. */
struct nuc_node *nuc_ti_call(struct nuc_ti *ti, enum nuc_op op, struct nuc_node *input);
struct nuc_node *nuc_ti_infer(struct nuc_ti *ti, struct nuc_node *node);

/* A call with these arguments (NUC_ARGS), shape inferred. */
struct nuc_node *nuc_ti_emit(struct nuc_ti *ti, enum nuc_op op, const struct nuc_arg *args, size_t n_args);

struct nuc_node *nuc_ti_item(struct nuc_ti *ti, struct nuc_node *tuple, int64_t index);

struct nuc_node *nuc_ti_quantize(struct nuc_ti *ti, struct nuc_node *real, const struct nuc_lt_tensor *like);
struct nuc_node *nuc_ti_dequantize(struct nuc_ti *ti, struct nuc_node *quantized, const struct nuc_lt_tensor *like);

/* Between two operators for one of the model: through quantize and dequantize with the parameters of `like`. */
struct nuc_node *nuc_ti_settle(struct nuc_ti *ti, struct nuc_node *real, const struct nuc_lt_tensor *like);

struct nuc_node *nuc_ti_view(struct nuc_ti *ti, struct nuc_node *x, const int64_t *sizes, uint32_t rank);

/* The same in the sizes of a tensor in that form. */
struct nuc_node *nuc_ti_view_as(struct nuc_ti *ti, struct nuc_node *x, const struct nuc_lt_tensor *t,
                                enum nuc_ti_form form);

struct nuc_node *nuc_ti_permute(struct nuc_ti *ti, struct nuc_node *x, const int64_t *dims, uint32_t rank);

/* A buffer of its own, float32. */
struct nuc_node *nuc_ti_number(struct nuc_ti *ti, double value);

struct nuc_node *nuc_ti_to_type(struct nuc_ti *ti, struct nuc_node *x, enum nuc_dtype dtype);

/* The fused activation on a result that will have the quantization of the operator's output. */
struct nuc_node *nuc_ti_activate(struct nuc_ti *ti, struct nuc_node *x, enum nuc_lt_activation activation);

/*
 * The operator's result k, or 0: quantized like its output tensor, whose sizes it must have; integers become those of
 * its type.
 */
void nuc_ti_define_result(struct nuc_ti *ti, uint32_t k, struct nuc_node *real, enum nuc_ti_form form);
void nuc_ti_define(struct nuc_ti *ti, struct nuc_node *real, enum nuc_ti_form form);

/* The only result in the sizes of its tensor: settled, then viewed where it has others. */
void nuc_ti_define_viewed(struct nuc_ti *ti, struct nuc_node *real);

/* The result is the value `node` of operand 0 itself, bytes in no particular order. */
void nuc_ti_define_alias(struct nuc_ti *ti, struct nuc_node *node, enum nuc_ti_form form);

/*
 * The result is constant `x` with dimension perm[d] as its dimension d, a constant itself: what reads it, as weights,
 * can ask for one. False when x is not a constant, or the result has another quantization or is the model's.
 */
bool nuc_ti_define_transposed(struct nuc_ti *ti, const struct nuc_lt_tensor *x, const int64_t *perm);

/* Dimension of a value of that form for dimension `axis` of the tensor, and back. */
uint32_t nuc_ti_dim(enum nuc_ti_form form, uint32_t axis);
uint32_t nuc_ti_axis(enum nuc_ti_form form, uint32_t dim);

/* The form that an input or a state of that tensor has. */
static inline enum nuc_ti_form nuc_ti_own_form(const struct nuc_lt_tensor *t)
{
    return t->rank == 4 ? NUC_TI_IMAGE : NUC_TI_PLAIN;
}

/* A value of the tensor in that form, its bytes in the tensor's order. */
struct nuc_meta nuc_ti_meta(const struct nuc_lt_tensor *t, enum nuc_ti_form form);

/* A name of the model as an identifier: what is not a letter or digit becomes '_'. Without one, or a long one: `other`.
 */
const char *nuc_ti_identifier(struct nuc_context *cx, const char *name, const char *other);

/* ---- states (tflite_state.c) ---- */

/* Operand i, a variable tensor, as the operator finds it, in these sizes and the tensor's type. */
struct nuc_node *nuc_ti_state(struct nuc_ti *ti, uint32_t i, const int64_t *sizes, uint32_t rank);

/* What the operator leaves in it. */
void nuc_ti_set_state(struct nuc_ti *ti, uint32_t i, struct nuc_node *next);

/* A state of the operator's own, of those sizes and zero at first, which no tensor names; and what it leaves in that.
 */
struct nuc_node *nuc_ti_own_state(struct nuc_ti *ti, const char *name, const struct nuc_meta *meta);
void nuc_ti_set_own_state(struct nuc_ti *ti, struct nuc_node *next);

/* Appends what the states become to `count` values, in the order of their placeholders. Returns how many there are. */
uint32_t nuc_ti_return_states(struct nuc_ti *ti, struct nuc_node **values, uint32_t count);

/* ---- operators ---- */

typedef void nuc_ti_importer(struct nuc_ti *ti);

/* tflite_formula.c: what rows of formulas.def express */
nuc_ti_importer nuc_ti_formula;
struct nuc_ti_formulas *nuc_ti_new_formulas(struct nuc_context *cx);

/* tflite_conv.c, tflite_math.c, tflite_move.c */
nuc_ti_importer nuc_ti_conv, nuc_ti_transpose_conv, nuc_ti_average_pool, nuc_ti_l2_pool, nuc_ti_max_pool,
    nuc_ti_fully_connected, nuc_ti_binary, nuc_ti_add_n, nuc_ti_unary, nuc_ti_reshape, nuc_ti_transpose, nuc_ti_cast;

/* Custom operators, by their names. */
nuc_ti_importer nuc_ti_transpose_conv_bias;

/* The importer of a signal operator and how many operands it has; NULL: it is none that is handled. */
nuc_ti_importer *nuc_ti_signal(const char *name, uint32_t *n_operands);

/* tflite_control.c */
nuc_ti_importer nuc_ti_choice, nuc_ti_loop, nuc_ti_call_once;

/* tflite_state.c */
nuc_ti_importer nuc_ti_var_handle, nuc_ti_read_variable, nuc_ti_assign_variable;

/* tflite_lstm.c */
nuc_ti_importer nuc_ti_sequence_lstm, nuc_ti_sequence_rnn;

/* tflite_svdf.c */
nuc_ti_importer nuc_ti_svdf;

/* ---- operands and sizes of SVDF and UNIDIRECTIONAL_SEQUENCE_LSTM, and what int8 models make of them ---- */

enum { NUC_TI_SVDF_FRAME, NUC_TI_SVDF_FEATURES, NUC_TI_SVDF_TIMES, NUC_TI_SVDF_BIAS, NUC_TI_SVDF_STATE };

struct nuc_ti_svdf {
    int64_t batches, features, rows, memory, rank; /* rank: rows of a unit */
};

void nuc_ti_integer_svdf(struct nuc_ti *ti, const struct nuc_ti_svdf *z);

/* Gates in the order input, forget, candidate, output. */
enum {
    NUC_TI_LSTM_INPUT_WEIGHTS = 1,
    NUC_TI_LSTM_RECURRENT_WEIGHTS = 5,
    NUC_TI_LSTM_PEEPHOLES = 9,
    NUC_TI_LSTM_BIASES = 12,
    NUC_TI_LSTM_PROJECTION = 16,
    NUC_TI_LSTM_OUTPUT_STATE = 18,
    NUC_TI_LSTM_CELL_STATE = 19,
    NUC_TI_LSTM_NORMS = 20
};

struct nuc_ti_lstm {
    int64_t batches, steps, features, units, outputs;
    bool time_major, is_coupled; /* coupled: what is not forgotten comes in */
};

void nuc_ti_integer_lstm(struct nuc_ti *ti, const struct nuc_ti_lstm *z);

#endif
