/*
 * Builder of a LiteRT model: the model, and for each tensor what the file does not hold but lowering and
 * tidying need, that is its format, its stand-in once an operator was dropped and, when nuc_ltb_name_by_labels() gave
 * it one, a unique name.
 */
#ifndef NUC_NPU_ARRANGE_BUILDER_H
#define NUC_NPU_ARRANGE_BUILDER_H

#include "host/index.h"
#include "litert/litert.h"

struct nuc_target;
struct nuc_flavor;

/* What the axes of a tensor mean. Anything but channels-last is as in the graph. */
enum nuc_ltb_format {
    NUC_LTB_NONE, /* constants made here: axes lists, paddings, permutations */
    NUC_LTB_FORMATLESS,
    NUC_LTB_CHANNELS_FIRST,
    NUC_LTB_CHANNELS_LAST,
    NUC_LTB_BETWEEN, /* halfway between a transpose and a reshape */
};

struct nuc_ltb_note {
    enum nuc_ltb_format format;
    int32_t stand_in;       /* tensor that operators read instead of this one, -1: none */
    int32_t channels_first; /* result of a transpose of this tensor to channels-first, -1: none yet */
    const char *label;      /* of the value (ir/labels.h), NULL: none */
    const char *form;       /* suffix of its name, that of the last change; NULL: the value as it is */
};

struct nuc_ltb_name {
    const char *text;
    uint32_t next_number; /* that may be free after it */
};

struct nuc_ltb {
    struct nuc_context *cx;
    struct nuc_lt_model *model;
    struct nuc_ltb_note *notes; /* one per tensor */
    size_t notes_capacity;
    struct nuc_ltb_name *names; /* in use */
    size_t n_names, names_capacity;
    struct nuc_index by_name;
    bool names_last;                 /* names are for nuc_ltb_name_by_labels() to settle, or for no one */
    uint32_t debug_handle;           /* given to operators appended from now on */
    const struct nuc_target *target; /* which transposes there are; flavor NULL: all */
    const struct nuc_flavor *flavor;
};

struct nuc_ltb *nuc_ltb_new(struct nuc_context *cx, const char *file);

/* Gives back what is not the model. */
void nuc_ltb_close(struct nuc_ltb *b);

/* Room for that many tensors, so that adding them copies none. */
void nuc_ltb_reserve(struct nuc_ltb *b, size_t count);

static inline struct nuc_lt_subgraph *nuc_ltb_graph(const struct nuc_ltb *b)
{
    return &b->model->subgraphs[0];
}

/* Valid until the next tensor is added. */
static inline struct nuc_lt_tensor *nuc_ltb_at(const struct nuc_ltb *b, int32_t tensor)
{
    return &b->model->subgraphs[0].tensors[tensor];
}

static inline enum nuc_ltb_format nuc_ltb_format(const struct nuc_ltb *b, int32_t tensor)
{
    return b->notes[tensor].format;
}

static inline bool nuc_ltb_is_last(const struct nuc_ltb *b, int32_t tensor)
{
    return b->notes[tensor].format == NUC_LTB_CHANNELS_LAST;
}

static inline bool nuc_ltb_is_constant(const struct nuc_ltb *b, int32_t tensor)
{
    return b->model->subgraphs[0].tensors[tensor].data.data != NULL;
}

static inline bool nuc_ltb_is_output(const struct nuc_ltb *b, int32_t tensor)
{
    return nuc_lt_contains(b->model->subgraphs[0].outputs, b->model->subgraphs[0].n_outputs, tensor);
}

/* ---- tensors ---- */

/* Adds a tensor; its name gets a number at its end when it is taken already. */
int32_t nuc_ltb_add(struct nuc_ltb *b, const struct nuc_lt_tensor *tensor, enum nuc_ltb_format format);

/* A constant without quantization. The data is copied. */
int32_t nuc_ltb_constant(struct nuc_ltb *b, const char *name, enum nuc_dtype dtype, const int32_t *shape, uint32_t rank,
                         const void *data);
int32_t nuc_ltb_list(struct nuc_ltb *b, const char *name, const int32_t *values, uint32_t count);

/* The bias of a convolution that has none: int32 zeros, with the scales of input times weights [O, ...]. */
int32_t nuc_ltb_no_bias(struct nuc_ltb *b, const char *name, int32_t x, int32_t weights);

/* A tensor like `tensor` with the suffix after its name; data is shared when keep_data. */
int32_t nuc_ltb_duplicate(struct nuc_ltb *b, int32_t tensor, const char *suffix, bool keep_data);

/* From now on `to` is read instead of `from`; they swap names, so that a boundary keeps the name of its node. */
void nuc_ltb_redirect(struct nuc_ltb *b, int32_t from, int32_t to);

/* The tensor that is read where `tensor` is meant. */
int32_t nuc_ltb_root(const struct nuc_ltb *b, int32_t tensor);

void nuc_ltb_rename(struct nuc_ltb *b, int32_t tensor, const char *name);
void nuc_ltb_swap_names(struct nuc_ltb *b, int32_t one, int32_t other);

/* Names tensors that are in use and have a label after it: "conv1", "conv1 (channels first)", "conv1 (2)". */
void nuc_ltb_name_by_labels(struct nuc_ltb *b);

/* Sets the parameters, or fails when others are set already. scale and zero_point stay the caller's. */
void nuc_ltb_quantize(struct nuc_ltb *b, int32_t tensor, const struct nuc_lt_quant *quant);

void nuc_ltb_set_shape(struct nuc_ltb *b, int32_t tensor, const int32_t *shape, uint32_t rank);

/* ---- operators ---- */

/* Appends an operator with one output. */
struct nuc_lt_op *nuc_ltb_op(struct nuc_ltb *b, int32_t code, const int32_t *inputs, uint32_t n_inputs, int32_t output);

/* Removes the operators of which drop[index] is true; false when there are none. */
bool nuc_ltb_drop_ops(struct nuc_ltb *b, const bool *drop);

/* ---- permutations: out[i] = in[perm[i]] ---- */

void nuc_perm_to_first(int32_t *perm, uint32_t rank); /* of a channels-last tensor: 0, r-1, 1, ..., r-2 */
void nuc_perm_to_last(int32_t *perm, uint32_t rank);  /* of a channels-first tensor: 0, 2, ..., r-1, 1 */
void nuc_perm_inverse(int32_t *out, const int32_t *perm, uint32_t rank);

/* `out` is not `in`. Of a permutation `in`: the one that does first `in`, then `perm`. */
void nuc_perm_apply(int32_t *out, const int32_t *in, const int32_t *perm, uint32_t rank);
void nuc_perm_identity(int32_t *perm, uint32_t rank);
bool nuc_perm_is_identity(const int32_t *perm, uint32_t rank);

/* Dense elements of `size` bytes moved as TRANSPOSE moves them. */
void *nuc_permute_data(struct nuc_context *cx, const void *data, size_t size, const int32_t *shape, uint32_t rank,
                       const int32_t *perm);

/* ---- transposes ---- */

/* Whether the NPU transposes tensors of that shape, as the flavor's rules have it. */
bool nuc_ltb_can_transpose(const struct nuc_ltb *b, const int32_t *shape, const int32_t *perm, uint32_t rank);

void nuc_ltb_transpose(struct nuc_ltb *b, int32_t input, int32_t output, const int32_t *perm);

/* Appends a TRANSPOSE of `input` and returns its result, whose axes then mean what `format` says. */
int32_t nuc_ltb_transpose_before(struct nuc_ltb *b, int32_t input, const int32_t *perm, enum nuc_ltb_format format);

/*
 * The result of an operator that a TRANSPOSE may follow:
 *
 *     struct nuc_ltb_result r = nuc_ltb_begin_result(b, output, perm, format);
 *     nuc_ltb_op(b, code, inputs, n_inputs, r.written);
 *     nuc_ltb_end_result(b, &r);
 *
 * `perm` leads from what the operator writes, which has that format, to `output`; NULL: it writes `output` itself.
 */
struct nuc_ltb_result {
    int32_t written, output;
    int32_t perm; /* tensor of the permutation, -1: none */
};

struct nuc_ltb_result nuc_ltb_begin_result(struct nuc_ltb *b, int32_t output, const int32_t *perm,
                                           enum nuc_ltb_format format);
void nuc_ltb_end_result(struct nuc_ltb *b, const struct nuc_ltb_result *r);

/* Appends a TRANSPOSE that changes nothing: the operator that tidying removes where it may. */
void nuc_ltb_identity(struct nuc_ltb *b, int32_t input, int32_t output);

/* The permutation of a TRANSPOSE with a constant one, of as many elements as the input has dimensions; else NULL. */
const int32_t *nuc_ltb_perm_of(const struct nuc_ltb *b, const struct nuc_lt_op *op);

/* A copy of a constant with its elements, seen as an array of that shape, permuted. Its own shape stays. */
int32_t nuc_ltb_permuted_constant(struct nuc_ltb *b, int32_t constant, const char *suffix, const int32_t *shape,
                                  uint32_t rank, const int32_t *perm);

/* A transposed copy of a constant, with its scales along the axis `axis`. */
int32_t nuc_ltb_transposed_constant(struct nuc_ltb *b, int32_t constant, const int32_t *perm, int32_t axis);

/* Appends a RESHAPE to the shape of `output`. */
void nuc_ltb_reshape(struct nuc_ltb *b, int32_t input, int32_t output);

#endif
