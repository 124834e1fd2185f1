#include "npu/arrange/builder.h"

#include <assert.h>
#include <string.h>

struct nuc_ltb *nuc_ltb_new(struct nuc_context *cx, const char *file)
{
    struct nuc_ltb *b = nuc_alloc(cx, sizeof *b);

    b->cx = cx;
    b->model = nuc_lt_model_new(cx, file);
    return b;
}

void nuc_ltb_close(struct nuc_ltb *b)
{
    nuc_give_back(b->cx, b->notes, b->notes_capacity * sizeof *b->notes);
    nuc_give_back(b->cx, b->names, b->names_capacity * sizeof *b->names);
    nuc_index_free(b->cx, &b->by_name);
    b->notes = NULL;
    b->names = NULL;
}

/* ---- names ---- */

/* NULL: it is not in use. */
static struct nuc_ltb_name *find_name(const struct nuc_ltb *b, const char *name)
{
    for (struct nuc_index_search s = nuc_index_search(&b->by_name, nuc_index_text(name)); nuc_index_next(&s);) {
        if (strcmp(b->names[s.place].text, name) == 0)
            return &b->names[s.place];
    }
    return NULL;
}

/* The name, or with a number that makes it one of its own. Names stay in use: a number that was taken once is taken. */
static const char *claim_name(struct nuc_ltb *b, const char *name)
{
    struct nuc_ltb_name *first = find_name(b, name);
    for (const struct nuc_ltb_name *taken = first; taken != NULL; taken = find_name(b, name))
        name = nuc_format(b->cx, "%s%u", first->text, first->next_number++);
    nuc_index_add(b->cx, &b->by_name, nuc_index_text(name), (uint32_t)b->n_names);
    b->names = nuc_grow(b->cx, b->names, &b->names_capacity, b->n_names + 1, sizeof *b->names);
    b->names[b->n_names++] = (struct nuc_ltb_name){.text = name};
    return name;
}

/* ---- tensors ---- */

void nuc_ltb_reserve(struct nuc_ltb *b, size_t count)
{
    struct nuc_lt_subgraph *s = nuc_ltb_graph(b);

    s->tensors = nuc_grow(b->cx, s->tensors, &s->tensors_capacity, count, sizeof *s->tensors);
    b->notes = nuc_grow(b->cx, b->notes, &b->notes_capacity, count, sizeof *b->notes);
    if (b->names_last)
        return;
    b->names = nuc_grow(b->cx, b->names, &b->names_capacity, count, sizeof *b->names);
    nuc_index_reserve(b->cx, &b->by_name, count);
}

int32_t nuc_ltb_add(struct nuc_ltb *b, const struct nuc_lt_tensor *tensor, enum nuc_ltb_format format)
{
    struct nuc_lt_tensor t = *tensor;

    t.name = b->names_last ? tensor->name : claim_name(b, tensor->name);
    int32_t index = nuc_lt_add_tensor(b->model, &t);
    b->notes = nuc_grow(b->cx, b->notes, &b->notes_capacity, (size_t)index + 1, sizeof *b->notes);
    b->notes[index] = (struct nuc_ltb_note){.format = format, .stand_in = -1, .channels_first = -1};
    return index;
}

int32_t nuc_ltb_constant(struct nuc_ltb *b, const char *name, enum nuc_dtype dtype, const int32_t *shape, uint32_t rank,
                         const void *data)
{
    struct nuc_lt_tensor t = {.name = name, .dtype = dtype, .rank = rank};

    if (rank != 0)
        memcpy(t.shape, shape, rank * sizeof *shape);
    t.data.size = (size_t)nuc_lt_elements(&t) * nuc_dtype_size(dtype);
    t.data.data = nuc_copy(b->cx, data, t.data.size);
    return nuc_ltb_add(b, &t, NUC_LTB_NONE);
}

int32_t nuc_ltb_list(struct nuc_ltb *b, const char *name, const int32_t *values, uint32_t count)
{
    int32_t shape = (int32_t)count;

    return nuc_ltb_constant(b, name, NUC_I32, &shape, 1, values);
}

int32_t nuc_ltb_duplicate(struct nuc_ltb *b, int32_t tensor, const char *suffix, bool keep_data)
{
    struct nuc_lt_tensor t = *nuc_ltb_at(b, tensor);

    if (!b->names_last || b->notes[tensor].label == NULL)
        t.name = nuc_format(b->cx, "%s%s", t.name, suffix);
    if (!keep_data)
        t.data = (struct nuc_span){NULL, 0};
    int32_t copy = nuc_ltb_add(b, &t, b->notes[tensor].format);
    b->notes[copy].label = b->notes[tensor].label;
    b->notes[copy].form = *suffix != '\0' ? suffix : b->notes[tensor].form;
    return copy;
}

int32_t nuc_ltb_root(const struct nuc_ltb *b, int32_t tensor)
{
    while (b->notes[tensor].stand_in >= 0)
        tensor = b->notes[tensor].stand_in;
    return tensor;
}

void nuc_ltb_redirect(struct nuc_ltb *b, int32_t from, int32_t to)
{
    from = nuc_ltb_root(b, from);
    to = nuc_ltb_root(b, to);
    if (from == to)
        return;
    assert(b->notes[from].stand_in < 0 && b->notes[to].stand_in < 0);
    b->notes[from].stand_in = to;
    nuc_ltb_swap_names(b, from, to);
}

void nuc_ltb_rename(struct nuc_ltb *b, int32_t tensor, const char *name)
{
    nuc_ltb_at(b, tensor)->name = b->names_last ? name : claim_name(b, name);
}

void nuc_ltb_swap_names(struct nuc_ltb *b, int32_t one, int32_t other)
{
    const char *name = nuc_ltb_at(b, one)->name;

    nuc_ltb_at(b, one)->name = nuc_ltb_at(b, other)->name;
    nuc_ltb_at(b, other)->name = name;
    struct nuc_ltb_note *x = &b->notes[one], *y = &b->notes[other];
    const char *label = x->label, *form = x->form;
    x->label = y->label;
    x->form = y->form;
    y->label = label;
    y->form = form;
}

/* "_channels_first" as words. */
static const char *form_text(struct nuc_context *cx, const char *suffix)
{
    size_t length;

    while (*suffix == '_')
        suffix++;
    for (length = strlen(suffix); length > 0 && suffix[length - 1] == '_';)
        length--;
    char *text = nuc_copy(cx, suffix, length + 1);
    text[length] = '\0';
    for (size_t i = 0; i < length; i++)
        text[i] = text[i] == '_' ? ' ' : text[i];
    return text;
}

static const char *name_by_label(struct nuc_ltb *b, const struct nuc_ltb_note *note)
{
    const char *form = note->form != NULL ? form_text(b->cx, note->form) : NULL;
    const char *name = form != NULL ? nuc_format(b->cx, "%s (%s)", note->label, form) : note->label;
    struct nuc_ltb_name *wanted = find_name(b, name);

    /* Numbers begin with 2. */
    for (const struct nuc_ltb_name *taken = wanted; taken != NULL; taken = find_name(b, name)) {
        unsigned number = ++wanted->next_number + 1;
        name = form != NULL ? nuc_format(b->cx, "%s (%s, %u)", note->label, form, number)
                            : nuc_format(b->cx, "%s (%u)", note->label, number);
    }
    return name;
}

void nuc_ltb_name_by_labels(struct nuc_ltb *b)
{
    struct nuc_lt_subgraph *s = nuc_ltb_graph(b);
    bool *used = nuc_alloc_array(b->cx, (size_t)s->n_tensors + 1, sizeof *used);
    const struct nuc_lt_uses uses = nuc_lt_uses(b->cx, s);

    for (uint32_t i = 0; i < s->n_inputs; i++)
        used[s->inputs[i]] = true;
    for (uint32_t i = 0; i < s->n_outputs; i++)
        used[s->outputs[i]] = true;
    for (uint32_t i = 0; i < s->n_tensors; i++) {
        used[i] = used[i] || uses.producer[i] >= 0 || uses.first[i] < uses.first[i + 1];
        if (used[i] && b->notes[i].label == NULL)
            s->tensors[i].name = claim_name(b, s->tensors[i].name);
    }
    for (uint32_t i = 0; i < s->n_tensors; i++) {
        if (!used[i] || b->notes[i].label == NULL)
            continue;
        s->tensors[i].name = claim_name(b, name_by_label(b, &b->notes[i]));
    }
    nuc_give_back(b->cx, used, ((size_t)s->n_tensors + 1) * sizeof *used);
}

void nuc_ltb_quantize(struct nuc_ltb *b, int32_t tensor, const struct nuc_lt_quant *quant)
{
    struct nuc_lt_tensor *t = nuc_ltb_at(b, tensor);

    if (quant->count == 0)
        return;
    if (t->quant.count != 0 && !nuc_lt_quant_equal(&t->quant, quant))
        nuc_fail(b->cx, NUC_BAD_INPUT,
                 "%s: the value '%s' is quantized with scale %.9g and zero point %lld, and also "
                 "with scale %.9g and zero point %lld: quantize the model again",
                 b->model->file, t->name, (double)t->quant.scale[0], (long long)t->quant.zero_point[0],
                 (double)quant->scale[0], (long long)quant->zero_point[0]);
    t->quant = *quant;
}

int32_t nuc_ltb_no_bias(struct nuc_ltb *b, const char *name, int32_t x, int32_t weights)
{
    const int32_t channels = nuc_ltb_at(b, weights)->shape[0];
    int32_t bias =
        nuc_ltb_constant(b, name, NUC_I32, &channels, 1, nuc_alloc_array(b->cx, (size_t)channels, sizeof(int32_t)));
    const struct nuc_lt_quant *in = &nuc_ltb_at(b, x)->quant, *w = &nuc_ltb_at(b, weights)->quant;
    float *scale = nuc_alloc_array(b->cx, w->count, sizeof *scale);

    for (uint32_t i = 0; i < w->count; i++)
        scale[i] = (float)((double)in->scale[0] * (double)w->scale[i]);
    nuc_ltb_at(b, bias)->quant =
        (struct nuc_lt_quant){w->count, scale, nuc_alloc_array(b->cx, w->count, sizeof(int64_t)), 0};
    return bias;
}

void nuc_ltb_set_shape(struct nuc_ltb *b, int32_t tensor, const int32_t *shape, uint32_t rank)
{
    struct nuc_lt_tensor *t = nuc_ltb_at(b, tensor);

    t->rank = rank;
    memset(t->shape, 0, sizeof t->shape);
    memcpy(t->shape, shape, rank * sizeof *shape);
}

/* ---- operators ---- */

struct nuc_lt_op *nuc_ltb_op(struct nuc_ltb *b, int32_t code, const int32_t *inputs, uint32_t n_inputs, int32_t output)
{
    struct nuc_lt_op *op = nuc_lt_add_op(b->model, code, inputs, n_inputs, &output, 1);

    op->debug_handle = b->debug_handle;
    return op;
}

bool nuc_ltb_drop_ops(struct nuc_ltb *b, const bool *drop)
{
    struct nuc_lt_subgraph *s = nuc_ltb_graph(b);
    uint32_t before = s->n_ops, kept = 0;

    while (kept < before && !drop[kept])
        kept++;
    for (uint32_t i = kept; i < before; i++) {
        if (!drop[i])
            s->ops[kept++] = s->ops[i];
    }
    s->n_ops = kept;
    return kept < before;
}
