#include "compiler/neutron/arrange/draft.h"

#include <string.h>

#define FIRST_SLOTS 64

struct nuc_draft *nuc_draft_new(struct nuc_context *cx, const char *file)
{
    struct nuc_draft *d = nuc_alloc(cx, sizeof *d);

    d->cx = cx;
    d->model = nuc_lt_model_new(cx, file);
    d->n_slots = FIRST_SLOTS;
    d->names = nuc_alloc_array(cx, d->n_slots, sizeof *d->names);
    return d;
}

/* ---- names ---- */

static size_t hash(const char *text)
{
    uint32_t h = 2166136261u; /* FNV-1a */

    for (; *text != '\0'; text++)
        h = (h ^ (uint8_t)*text) * 16777619u;
    return h;
}

/* The slot that holds `name`, or the free one where it would go. */
static const char **slot(const struct nuc_draft *d, const char *name)
{
    size_t i = hash(name) & (d->n_slots - 1);

    while (d->names[i] != NULL && strcmp(d->names[i], name) != 0)
        i = (i + 1) & (d->n_slots - 1);
    return &d->names[i];
}

static void add_name(struct nuc_draft *d, const char *name)
{
    if (2 * (d->n_names + 1) > d->n_slots) {
        const char **old = d->names;
        size_t n_old = d->n_slots;
        d->n_slots *= 2;
        d->names = nuc_alloc_array(d->cx, d->n_slots, sizeof *d->names);
        for (size_t i = 0; i < n_old; i++) {
            if (old[i] != NULL)
                *slot(d, old[i]) = old[i];
        }
    }
    *slot(d, name) = name;
    d->n_names++;
}

static const char *unique_name(struct nuc_draft *d, const char *name)
{
    const char *candidate = name;

    for (unsigned i = 0; *slot(d, candidate) != NULL; i++)
        candidate = nuc_format(d->cx, "%s%u", name, i);
    return candidate;
}

/* ---- tensors ---- */

int32_t nuc_draft_add(struct nuc_draft *d, const struct nuc_lt_tensor *tensor, enum nuc_draft_format format)
{
    struct nuc_lt_tensor t = *tensor;

    t.name = unique_name(d, tensor->name);
    add_name(d, t.name);
    int32_t index = nuc_lt_add_tensor(d->model, &t);
    d->notes = nuc_grow(d->cx, d->notes, &d->notes_capacity, (size_t)index + 1, sizeof *d->notes);
    d->notes[index] = (struct nuc_draft_note){format, -1, -1};
    return index;
}

int32_t nuc_draft_constant(struct nuc_draft *d, const char *name, enum nuc_dtype dtype, const int32_t *shape,
                           uint32_t rank, const void *data)
{
    struct nuc_lt_tensor t = {.name = name, .dtype = dtype, .rank = rank};

    if (rank != 0)
        memcpy(t.shape, shape, rank * sizeof *shape);
    t.data.size = (size_t)nuc_lt_elements(&t) * nuc_dtype_size(dtype);
    t.data.data = nuc_copy(d->cx, data, t.data.size);
    return nuc_draft_add(d, &t, NUC_DRAFT_NONE);
}

int32_t nuc_draft_list(struct nuc_draft *d, const char *name, const int32_t *values, uint32_t count)
{
    int32_t shape = (int32_t)count;

    return nuc_draft_constant(d, name, NUC_I32, &shape, 1, values);
}

int32_t nuc_draft_duplicate(struct nuc_draft *d, int32_t tensor, const char *suffix, bool keep_data)
{
    struct nuc_lt_tensor t = *nuc_draft_at(d, tensor);

    t.name = nuc_format(d->cx, "%s%s", t.name, suffix);
    if (!keep_data)
        t.data = (struct nuc_span){NULL, 0};
    return nuc_draft_add(d, &t, d->notes[tensor].format);
}

int32_t nuc_draft_root(const struct nuc_draft *d, int32_t tensor)
{
    while (d->notes[tensor].stand_in >= 0)
        tensor = d->notes[tensor].stand_in;
    return tensor;
}

void nuc_draft_redirect(struct nuc_draft *d, int32_t from, int32_t to)
{
    from = nuc_draft_root(d, from);
    to = nuc_draft_root(d, to);
    if (from == to)
        return;
    d->notes[from].stand_in = to;
    nuc_draft_swap_names(d, from, to);
}

void nuc_draft_swap_names(struct nuc_draft *d, int32_t a, int32_t b)
{
    const char *name = nuc_draft_at(d, a)->name;

    nuc_draft_at(d, a)->name = nuc_draft_at(d, b)->name;
    nuc_draft_at(d, b)->name = name;
}

void nuc_draft_quantize(struct nuc_draft *d, int32_t tensor, const struct nuc_lt_quant *quant)
{
    struct nuc_lt_tensor *t = nuc_draft_at(d, tensor);

    if (quant->count == 0)
        return;
    if (t->quant.count != 0 && !nuc_lt_quant_equal(&t->quant, quant))
        nuc_fail(d->cx, NUC_BAD_INPUT,
                 "%s: the value '%s' is quantized with scale %.9g and zero point %lld, and also "
                 "with scale %.9g and zero point %lld: quantize the model again",
                 d->model->file, t->name, (double)t->quant.scale[0], (long long)t->quant.zero_point[0],
                 (double)quant->scale[0], (long long)quant->zero_point[0]);
    t->quant = *quant;
}

void nuc_draft_set_shape(struct nuc_draft *d, int32_t tensor, const int32_t *shape, uint32_t rank)
{
    struct nuc_lt_tensor *t = nuc_draft_at(d, tensor);

    t->rank = rank;
    memset(t->shape, 0, sizeof t->shape);
    memcpy(t->shape, shape, rank * sizeof *shape);
}

/* ---- operators ---- */

struct nuc_lt_op *nuc_draft_op(struct nuc_draft *d, int32_t code, const int32_t *inputs, uint32_t n_inputs,
                               int32_t output)
{
    struct nuc_lt_op *op = nuc_lt_add_op(d->model, code, inputs, n_inputs, &output, 1);

    op->debug_handle = d->debug_handle;
    return op;
}
