/*
 * A LiteRT model under construction: the model, and for each tensor what the file does not hold but lowering and
 * tidying need, that is its format, its stand-in once an operator was dropped, and a unique name.
 */
#ifndef NUC_NEUTRON_DRAFT_H
#define NUC_NEUTRON_DRAFT_H

#include "compiler/litert/litert.h"

struct nuc_target;
struct nuc_flavor;

/* What the axes of a tensor mean. Anything but channels-last is as in the graph. */
enum nuc_draft_format {
    NUC_DRAFT_NONE, /* constants made here: axes lists, paddings, permutations */
    NUC_DRAFT_FORMATLESS,
    NUC_DRAFT_CHANNELS_FIRST,
    NUC_DRAFT_CHANNELS_LAST,
    NUC_DRAFT_BETWEEN, /* halfway between a transpose and a reshape */
};

struct nuc_draft_note {
    enum nuc_draft_format format;
    int32_t stand_in;       /* tensor that operators read instead of this one, -1: none */
    int32_t channels_first; /* result of a transpose of this tensor to channels-first, -1: none yet */
};

struct nuc_draft {
    struct nuc_context *cx;
    struct nuc_lt_model *model;
    struct nuc_draft_note *notes; /* one a tensor */
    size_t notes_capacity;
    const char **names; /* hash table of the names in use; a power of two of slots */
    size_t n_slots, n_names;
    uint32_t debug_handle;           /* given to operators appended from now on */
    const struct nuc_target *target; /* which transposes there are; flavor NULL: all */
    const struct nuc_flavor *flavor;
};

struct nuc_draft *nuc_draft_new(struct nuc_context *cx, const char *file);

static inline struct nuc_lt_subgraph *nuc_draft_graph(const struct nuc_draft *d)
{
    return &d->model->subgraphs[0];
}

/* Valid until the next tensor is added. */
static inline struct nuc_lt_tensor *nuc_draft_at(const struct nuc_draft *d, int32_t tensor)
{
    return &d->model->subgraphs[0].tensors[tensor];
}

static inline enum nuc_draft_format nuc_draft_format(const struct nuc_draft *d, int32_t tensor)
{
    return d->notes[tensor].format;
}

static inline bool nuc_draft_is_last(const struct nuc_draft *d, int32_t tensor)
{
    return d->notes[tensor].format == NUC_DRAFT_CHANNELS_LAST;
}

static inline bool nuc_draft_is_constant(const struct nuc_draft *d, int32_t tensor)
{
    return d->model->subgraphs[0].tensors[tensor].data.data != NULL;
}

/* ---- tensors ---- */

/* Adds a tensor; its name gets a number behind it when it is taken already. */
int32_t nuc_draft_add(struct nuc_draft *d, const struct nuc_lt_tensor *tensor, enum nuc_draft_format format);

/* A constant without quantization. The data is copied. */
int32_t nuc_draft_constant(struct nuc_draft *d, const char *name, enum nuc_dtype dtype, const int32_t *shape,
                           uint32_t rank, const void *data);
int32_t nuc_draft_list(struct nuc_draft *d, const char *name, const int32_t *values, uint32_t count);

/* A tensor like `tensor` with the suffix behind its name; data is shared when keep_data. */
int32_t nuc_draft_duplicate(struct nuc_draft *d, int32_t tensor, const char *suffix, bool keep_data);

/* From now on `to` is read instead of `from`; they swap names, so that a border keeps the name of its node. */
void nuc_draft_redirect(struct nuc_draft *d, int32_t from, int32_t to);

/* The tensor that is read where `tensor` is meant. */
int32_t nuc_draft_root(const struct nuc_draft *d, int32_t tensor);

void nuc_draft_swap_names(struct nuc_draft *d, int32_t a, int32_t b);

/* Sets the parameters, or fails when others are set already. scale and zero_point stay the caller's. */
void nuc_draft_quantize(struct nuc_draft *d, int32_t tensor, const struct nuc_lt_quant *quant);

void nuc_draft_set_shape(struct nuc_draft *d, int32_t tensor, const int32_t *shape, uint32_t rank);

/* ---- operators ---- */

/* Appends an operator with one output. */
struct nuc_lt_op *nuc_draft_op(struct nuc_draft *d, int32_t code, const int32_t *inputs, uint32_t n_inputs,
                               int32_t output);

/* ---- permutations: out[i] = in[perm[i]] ---- */

void nuc_perm_to_first(int32_t *perm, uint32_t rank); /* of a channels-last tensor: 0, r-1, 1, ..., r-2 */
void nuc_perm_to_last(int32_t *perm, uint32_t rank);  /* of a channels-first tensor: 0, 2, ..., r-1, 1 */
void nuc_perm_inverse(int32_t *out, const int32_t *perm, uint32_t rank);

/* The one permutation that does first `a`, then `b`. `out` is neither of them. */
void nuc_perm_combine(int32_t *out, const int32_t *a, const int32_t *b, uint32_t rank);
void nuc_perm_apply(int32_t *out, const int32_t *in, const int32_t *perm, uint32_t rank);
bool nuc_perm_is_identity(const int32_t *perm, uint32_t rank);

/* Dense elements of `size` bytes moved as TRANSPOSE moves them. */
void *nuc_permute_data(struct nuc_context *cx, const void *data, size_t size, const int32_t *shape, uint32_t rank,
                       const int32_t *perm);

/* ---- transposes ---- */

/* Whether the NPU transposes tensors of that shape, as the flavor's rules have it. */
bool nuc_draft_can_transpose(const struct nuc_draft *d, const int32_t *shape, const int32_t *perm, uint32_t rank);

void nuc_draft_transpose(struct nuc_draft *d, int32_t input, int32_t output, const int32_t *perm);

/* Appends a TRANSPOSE of `input` and returns its result. */
int32_t nuc_draft_transpose_before(struct nuc_draft *d, int32_t input, const int32_t *perm);

/*
 * A TRANSPOSE behind an operator that has not been appended yet: returns the tensor the operator writes instead of
 * `output`, and in *perm_tensor what nuc_draft_transpose_after() needs once it has been.
 */
int32_t nuc_draft_prepare_after(struct nuc_draft *d, int32_t output, const int32_t *perm, int32_t *perm_tensor);
void nuc_draft_transpose_after(struct nuc_draft *d, int32_t written, int32_t perm_tensor, int32_t output);

/* Appends a TRANSPOSE that changes nothing: the operator that tidying removes where it may. */
void nuc_draft_identity(struct nuc_draft *d, int32_t input, int32_t output);

/* A statically transposed copy of a constant, with its scales along the axis `axis`. */
int32_t nuc_draft_transposed_constant(struct nuc_draft *d, int32_t constant, const int32_t *perm, int32_t axis);

#endif
