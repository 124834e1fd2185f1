/*
 * Writes to memory that values share, as torch.export.export leaves them: y[:, :2] = a is a slice of y and a copy_ to
 * it. Every value becomes immutable: a write makes a new value of the tensor that owns the memory, in which the changed
 * part has taken its place, and whatever reads the tensor or a view of it afterwards reads that.
 */
#include <assert.h>
#include <string.h>

#include "ir/axis_map.h"
#include "ir/op_list.h"
#include "ir/shapes/shapes.h"
#include "rewrite/expand/expand.h"
#include "rewrite/insert.h"
#include "rewrite/pieces.h"
#include "rewrite/to_edge/functionalize.h"

#define NEVER UINT32_MAX

/* What stands for a value of torch. Views of a tensor form a tree whose root owns the memory. */
struct place {
    const struct nuc_node *same;   /* another name of this value: the operand of an operator in place; NULL: none */
    const struct nuc_node *parent; /* what it is a view of; NULL: a root */
    const struct nuc_node *root;   /* NULL: not met yet */
    int64_t strides[NUC_MAX_RANK]; /* in the memory of the root, as torch has them */
    struct nuc_node *value;        /* what it was at `version` of the root's memory */
    uint32_t version;

    /* Of a root. */
    uint32_t writes;               /* version of the memory */
    const struct nuc_node *newer;  /* a view that was written, while `value` is what the root was before; NULL: none */
    bool read;                     /* by an operator that is not a view */
    const struct nuc_node *writer; /* the last */

    /*
     * Of a root that is not one in torch: memory of complex numbers in another form. It is a value as good as any until
     * one is written and the other read.
     */
    const struct nuc_node *form;     /* the operator that makes it; NULL: it is a root in torch */
    const struct nuc_node *bases[2]; /* the roots in whose memory it is; NULL: there are no more */
    uint32_t versions[2];            /* of their memories that it shows */
    uint32_t depth;                  /* how many forms in a row this is the last of */
    const struct nuc_node *other;    /* of a base: the form of it that was written; NULL: none */
};

struct writes {
    struct nuc_graph *g;
    struct place *places; /* by node id; nodes that the pass adds have none */
    uint32_t n_places;
    struct nuc_node *at; /* new nodes stand in front of it */
    bool *was_state;     /* by node id */
    bool changed;
};

static struct place *place_of(struct writes *w, const struct nuc_node *node)
{
    assert(node->id < w->n_places);
    while (w->places[node->id].same != NULL)
        node = w->places[node->id].same;
    return &w->places[node->id];
}

static const struct nuc_node *named(struct writes *w, const struct nuc_node *node)
{
    while (w->places[node->id].same != NULL)
        node = w->places[node->id].same;
    return node;
}

/* ---- views ---- */

static struct nuc_node *operand(const struct nuc_node *node)
{
    return nuc_arg_node(node, NUC_SELF);
}

/* Whether a cast or copy in a memory format hands its input on. */
static bool copies_nothing(const struct nuc_node *node, const int64_t *strides)
{
    const struct nuc_meta *in = nuc_input_meta(node, NUC_SELF), *out = &node->vals[0];
    bool cast = nuc_op_family(node->op) == NUC_FAMILY_CAST;
    uint32_t copy = node->op == NUC_OP_TO_DTYPE ? NUC_ARG(TO_DTYPE, copy) : NUC_ARG(TO_DTYPE_LAYOUT, copy);

    if (in->dtype != out->dtype || (cast && nuc_flag(node, copy)))
        return false;
    if (nuc_format_asked(node) == NUC_PRESERVE_FORMAT)
        return true;
    /* Strides of the dense tensor the value would be, and whether it lies so but for dimensions of size 1. */
    int64_t dense[NUC_MAX_RANK];
    nuc_dense_strides(out, dense);
    for (uint32_t i = 0; i < out->rank; i++) {
        if (out->sizes[i] != 1 && strides[i] != dense[i])
            return false;
    }
    return true;
}

/* One element at most has any shape without a copy. */
static bool is_single(const struct nuc_meta *in, const struct nuc_meta *out, int64_t *to)
{
    for (uint32_t i = 0; i < out->rank; i++)
        to[i] = nuc_elements(in) <= 1 ? 1 : to[i];
    return nuc_elements(in) <= 1;
}

/* Whether the result is a view of the operand, and the strides it then has in the operand's memory. */
static bool view_strides(const struct nuc_node *node, const int64_t *from, int64_t *to)
{
    const struct nuc_meta *in = nuc_input_meta(node, NUC_SELF), *out = node->vals;
    struct nuc_axis_map map;
    int64_t first;

    memcpy(to, from, sizeof(int64_t[NUC_MAX_RANK]));
    switch ((unsigned)node->op) {
    case NUC_OP_VIEW:
    case NUC_OP_RESHAPE:
    case NUC_OP_FLATTEN:
    case NUC_OP_SQUEEZE:
    case NUC_OP_SQUEEZE_DIM:
    case NUC_OP_SQUEEZE_DIMS:
    case NUC_OP_UNSQUEEZE:
        return is_single(in, out, to) || nuc_view_strides(in, from, out, to);
    case NUC_OP_PERMUTE:
    case NUC_OP_TRANSPOSE:
    case NUC_OP_T:
    case NUC_OP_SLICE:
    case NUC_OP_EXPAND:
    case NUC_OP_DIAGONAL:
    case NUC_OP_SPLIT:
    case NUC_OP_SPLIT_SIZES:
    case NUC_OP_SPLIT_WITH_SIZES:
    case NUC_OP_CHUNK:
        return nuc_axis_map(node, 0, NUC_SELF, 0, &map) && nuc_axis_strides(&map, from, to, &first);
    case NUC_OP_ALIAS:
    case NUC_OP_DROPOUT:
    case NUC_OP_UNFOLD:
    case NUC_OP_AS_STRIDED:
        return true;
    case NUC_OP_CONTIGUOUS:
    case NUC_OP_TO_DTYPE:
    case NUC_OP_TO_DTYPE_LAYOUT:
        return copies_nothing(node, from);
    default:
        return false;
    }
}

/* Composite operators that make views: they are expanded before writes are looked at. */
static const enum nuc_op *const composite_views =
    NUC_OPS(NUC_OP_UNFLATTEN, NUC_OP_RESHAPE_AS, NUC_OP_VIEW_AS, NUC_OP_VIEW_DTYPE, NUC_OP_ATLEAST_1D,
            NUC_OP_ATLEAST_2D, NUC_OP_ATLEAST_3D, NUC_OP_MOVEDIM, NUC_OP_MOVEDIM_INT, NUC_OP_NUMPY_T, NUC_OP_MT,
            NUC_OP_MH, NUC_OP_ADJOINT, NUC_OP_COMPLEX_REAL, NUC_OP_COMPLEX_IMAG, NUC_OP_VIEW_AS_COMPLEX, NUC_OP_SELECT,
            NUC_OP_NARROW, NUC_OP_UNBIND, NUC_OP_TENSOR_SPLIT, NUC_OP_TENSOR_SPLIT_SECTIONS, NUC_OP_HSPLIT,
            NUC_OP_HSPLIT_ARRAY, NUC_OP_VSPLIT, NUC_OP_VSPLIT_ARRAY, NUC_OP_DSPLIT, NUC_OP_DSPLIT_ARRAY,
            NUC_OP_EXPAND_AS, NUC_OP_BROADCAST_TO, NUC_OP_BROADCAST_TENSORS, NUC_OP_TYPE_AS, NUC_OP_TO_OTHER,
            NUC_OP_TO_DEVICE, NUC_OP_FEATURE_DROPOUT, NUC_OP_ALPHA_DROPOUT, NUC_OP_FEATURE_ALPHA_DROPOUT);

bool nuc_is_composite_view(const struct nuc_node *node)
{
    return nuc_op_is_in(node->op, composite_views);
}

/* ---- complex numbers in another form ---- */

#define MOST_FORMS 8 /* in a row: checks go up all of them, and each may have two bases */

/* What shows the memory of its operand in another form, with `node` as its result or an item; NULL: nothing does. */
static const struct nuc_node *form_of(const struct nuc_node *node)
{
    const struct nuc_node *made = node->op == NUC_OP_GETITEM ? operand(node) : node;

    return made != NULL &&
                   nuc_op_is_in(made->op, NUC_OPS(NUC_OP_VIEW_AS_REAL, NUC_OP_COMPLEX_CONJ, NUC_OP_COMPLEX_CONJ_OF,
                                                  NUC_OP_COMPLEX_MH, NUC_OP_COMPLEX_ADJOINT, NUC_OP_COMPLEX_MATRIX_H))
               ? made
               : NULL;
}

static void find_bases(struct writes *w, const struct nuc_node *node)
{
    struct place *p = &w->places[node->id];
    const struct nuc_node *form = form_of(node);
    struct nuc_cursor at = {0, 0};

    if (form == NULL)
        return;
    p->form = form;
    if (form != node) { /* the real part is of the real part, the imaginary one of the imaginary one */
        const size_t part = nuc_integer(node, NUC_ARG(GETITEM, index), 0) == 1;
        p->bases[0] = w->places[form->id].bases[part];
        p->versions[0] = w->places[form->id].versions[part];
        p->depth = w->places[form->id].depth;
        return;
    }
    for (uint32_t i = 0; i < 2; i++) {
        const struct nuc_node *in = nuc_next_input(node, &at);
        if (in == NULL || in->id >= w->n_places || w->places[in->id].root == NULL)
            continue;
        p->bases[i] = place_of(w, in)->root;
        const struct place *base = place_of(w, p->bases[i]);
        p->versions[i] = base->writes;
        p->depth = base->depth >= p->depth ? base->depth + 1 : p->depth;
    }
    if (p->depth > MOST_FORMS)
        nuc_fail(w->g->cx, NUC_UNSUPPORTED, "%s: %s shows complex numbers in more than %d forms in a row: clone() one",
                 w->g->file, nuc_node_text(w->g->cx, node), MOST_FORMS);
}

/* Fails where another form of the memory was written, but for `form`, which is that form. */
static void check_written(struct writes *w, const struct place *root, const struct nuc_node *form)
{
    const struct nuc_node *writer = NULL, *view = root->other;

    if (view != NULL && view != form)
        writer = w->places[view->id].writer;
    for (uint32_t i = 0; writer == NULL && i < 2 && root->bases[i] != NULL; i++) {
        const struct place *base = place_of(w, root->bases[i]);
        view = root->form;
        if (base->writes != root->versions[i])
            writer = base->writer;
        else
            check_written(w, base, root->form);
    }
    if (writer != NULL)
        nuc_fail(w->g->cx, NUC_UNSUPPORTED,
                 "%s: %s writes to memory that %s shows in another form, and both are used: write to a "
                 "clone(), or export with run_decompositions({})",
                 w->g->file, nuc_node_text(w->g->cx, writer), nuc_node_text(w->g->cx, view));
}

static void note_write(struct writes *w, struct place *root, const struct nuc_node *writer)
{
    root->writer = writer;
    if (root->form != NULL)
        w->places[root->form->id].writer = writer;
    for (uint32_t i = 0; i < 2 && root->bases[i] != NULL; i++) {
        struct place *base = place_of(w, root->bases[i]);
        base->other = root->form;
        note_write(w, base, writer);
    }
}

/* ---- values ---- */

static struct nuc_node *read_value(struct writes *w, const struct nuc_node *node);

/* Where a part of a split begins along which dimension. */
static int64_t start_of_item(struct writes *w, const struct nuc_node *item, uint32_t *dim)
{
    const struct nuc_node *tuple = nuc_operand(w->g, item, NUC_SELF);
    int64_t index = nuc_integer(item, NUC_ARG(GETITEM, index), 0), start = 0;

    *dim = (uint32_t)nuc_dim(tuple, NUC_ARG(SPLIT, dim), 0, tuple->vals[0].rank);
    for (int64_t i = 0; i < index; i++)
        start += tuple->vals[i].sizes[*dim];
    return start;
}

/* The view `view` of another value of what it is a view of. */
static struct nuc_node *view_again(struct writes *w, const struct nuc_node *view, struct nuc_node *of)
{
    w->changed = true;
    if (view->op == NUC_OP_GETITEM) {
        uint32_t dim;
        int64_t start = start_of_item(w, view, &dim);
        return nuc_insert_slice(w->g, w->at, of, dim, start, start + view->vals[0].sizes[dim]);
    }
    struct nuc_node *piece = view->op == NUC_OP_SLICE ? nuc_insert_piece(w->g, w->at, view, of) : NULL;
    if (piece != NULL)
        return piece;
    struct nuc_node *copy = nuc_insert(w->g, w->at, view->op, view);
    copy->in_place = false;
    for (uint32_t i = 0; i < view->n_args; i++)
        nuc_copy_arg(w->g, copy, i, view, i);
    nuc_set_arg_node(copy, w->g, NUC_SELF, of);
    /* A view of memory that is laid out in another way now may have to copy. */
    if (copy->op == NUC_OP_VIEW) {
        struct nuc_node *reshaped = nuc_insert_reshaped(w->g, w->at, of, view->vals[0].sizes, view->vals[0].rank);
        nuc_remove_node(w->g, copy);
        return reshaped;
    }
    nuc_infer_shape(w->g, copy);
    return copy;
}

/* The view as it was before the last write. */
static struct nuc_node *older_value(struct writes *w, const struct nuc_node *view)
{
    struct place *p = place_of(w, view);
    const struct place *root = place_of(w, p->root);

    if (p->parent == NULL || p->version == root->version)
        return p->value;
    return view_again(w, named(w, view), older_value(w, p->parent));
}

/* ---- a part in its place ---- */

_Noreturn static void refuse_view(struct writes *w, const struct nuc_node *view)
{
    nuc_fail(w->g->cx, NUC_UNSUPPORTED, "%s: a view by %s is written to: write to a copy", w->g->file,
             nuc_node_text(w->g->cx, view));
}

/* The sliced tensor with `part` in the place of the slice. */
static struct nuc_node *unslice(struct writes *w, const struct nuc_node *slice, struct nuc_node *part)
{
    const struct nuc_meta *in = nuc_input_meta(slice, NUC_SELF);
    uint32_t dim = (uint32_t)nuc_dim(slice, NUC_ARG(SLICE, dim), 0, in->rank);
    int64_t start = nuc_slice_end(nuc_integer(slice, NUC_ARG(SLICE, start), 0), in->sizes[dim]);
    int64_t step = nuc_integer(slice, NUC_ARG(SLICE, step), 1), count = part->vals[0].sizes[dim];

    if (count == in->sizes[dim])
        return part;
    struct nuc_node *old = older_value(w, place_of(w, slice)->parent);
    if (nuc_elements(&part->vals[0]) == 0)
        return old;
    if (step == 1 || count == 1)
        return nuc_insert_written(w->g, w->at, old, dim, start, part);
    return nuc_emit(w->g, w->at, NUC_OP_SLICE_SCATTER, slice,
                    NUC_ARGS(old, part, dim, start, start + (count - 1) * step + 1, step));
}

static struct nuc_node *unpermute(struct writes *w, const struct nuc_node *view, struct nuc_node *value)
{
    int64_t back[NUC_MAX_RANK] = {0};
    struct nuc_axis_map map;

    nuc_axis_map(view, 0, NUC_SELF, 0, &map);
    for (uint32_t i = 0; i < map.count; i++)
        back[map.axes[i].from] = map.axes[i].to;
    return nuc_insert_permuted(w->g, w->at, value, back);
}

static struct nuc_node *undiagonal(struct writes *w, const struct nuc_node *view, struct nuc_node *value)
{
    struct nuc_node *old = older_value(w, place_of(w, view)->parent);
    struct nuc_node *whole = nuc_insert(w->g, w->at, NUC_OP_DIAGONAL_SCATTER, view);

    nuc_set_arg_node(whole, w->g, NUC_SELF, old);
    nuc_set_arg_node(whole, w->g, NUC_ARG(DIAGONAL_SCATTER, src), value);
    nuc_copy_arg(w->g, whole, NUC_ARG(DIAGONAL_SCATTER, offset), view, NUC_ARG(DIAGONAL, offset));
    nuc_copy_arg(w->g, whole, NUC_ARG(DIAGONAL_SCATTER, dim1), view, NUC_ARG(DIAGONAL, dim1));
    nuc_copy_arg(w->g, whole, NUC_ARG(DIAGONAL_SCATTER, dim2), view, NUC_ARG(DIAGONAL, dim2));
    nuc_set_val(w->g, whole, &old->vals[0]);
    return whole;
}

static struct nuc_node *unsplit(struct writes *w, const struct nuc_node *item, struct nuc_node *value)
{
    uint32_t dim;
    int64_t start = start_of_item(w, item, &dim);

    return nuc_insert_written(w->g, w->at, older_value(w, place_of(w, item)->parent), dim, start, value);
}

/* What the view is a view of, when the view has that value and all else is as before. */
static struct nuc_node *with_view(struct writes *w, const struct nuc_node *view, struct nuc_node *value)
{
    const struct nuc_meta *in = nuc_input_meta(view, NUC_SELF);

    switch ((unsigned)view->op) {
    case NUC_OP_SLICE:
        return unslice(w, view, value);
    case NUC_OP_GETITEM:
        return unsplit(w, view, value);
    case NUC_OP_PERMUTE:
    case NUC_OP_TRANSPOSE:
    case NUC_OP_T:
        return unpermute(w, view, value);
    case NUC_OP_DIAGONAL:
        return undiagonal(w, view, value);
    case NUC_OP_EXPAND:
        if (nuc_elements(&view->vals[0]) != nuc_elements(in))
            refuse_view(w, view);
        return nuc_insert_reshaped(w->g, w->at, value, in->sizes, in->rank);
    case NUC_OP_UNFOLD:
    case NUC_OP_AS_STRIDED:
        refuse_view(w, view);
    default:
        return nuc_insert_reshaped(w->g, w->at, value, in->sizes, in->rank);
    }
}

/* `value` in the type and sizes of what it is written to. */
static struct nuc_node *fitted(struct writes *w, struct nuc_node *value, const struct nuc_meta *m)
{
    value = nuc_insert_cast(w->g, w->at, value, m->dtype);
    return nuc_insert_expanded(w->g, w->at, value, m->sizes, m->rank);
}

/* Operators in place that lead to a value are not so for a part of another tensor. */
static void make_functional(struct writes *w, struct nuc_node *value)
{
    while (value != NULL && nuc_is_call(value) && value->in_place) {
        value->in_place = false;
        nuc_infer_shape(w->g, value);
        value = operand(value);
    }
}

/* The view that was written becomes part of a new value of the root. */
static void settle(struct writes *w, struct place *root)
{
    const struct nuc_node *view = root->newer;

    if (view == NULL)
        return;
    struct nuc_node *value = place_of(w, view)->value;
    make_functional(w, value);
    value = fitted(w, value, &view->vals[0]);
    w->changed = true;
    for (const struct nuc_node *v = view; place_of(w, v)->parent != NULL; v = named(w, place_of(w, v)->parent))
        value = with_view(w, v, value);
    root->newer = NULL;
    root->value = value;
    root->version = root->writes;
}

static struct nuc_node *read_value(struct writes *w, const struct nuc_node *node)
{
    struct place *p = place_of(w, node);
    struct place *root = place_of(w, p->root);

    check_written(w, root, NULL);
    if (p->version == root->writes)
        return p->value;
    if (p->parent == NULL) {
        settle(w, root);
        return p->value;
    }
    p->value = view_again(w, named(w, node), read_value(w, p->parent));
    p->version = root->writes;
    return p->value;
}

/* ---- walking through the graph ---- */

/* Whether the node is what its name stands for now: a value that was copied elsewhere may have been written since. */
static bool is_present(struct writes *w, const struct nuc_node *node)
{
    if (node->id >= w->n_places || w->places[node->id].root == NULL)
        return true;
    const struct place *p = place_of(w, node);
    return p->value == node && p->version == place_of(w, p->root)->writes;
}

static void read_inputs(struct writes *w, struct nuc_node *node, bool is_view)
{
    struct nuc_cursor at = {0, 0};

    for (struct nuc_node *in = nuc_next_input(node, &at); in != NULL; in = nuc_next_input(node, &at)) {
        if (in->id >= w->n_places || w->places[in->id].root == NULL)
            continue;
        struct nuc_node *value = read_value(w, in);
        place_of(w, place_of(w, in)->root)->read |= !is_view;
        if (value != in && !is_present(w, value))
            value = nuc_emit(w->g, w->at, NUC_OP_ALIAS, value, NUC_ARGS(value));
        if (value != in)
            nuc_replace_input(w->g, node, in, value);
    }
}

static void add_root(struct writes *w, struct nuc_node *node)
{
    struct place *p = &w->places[node->id];

    p->root = node;
    p->value = node;
    if (!node->is_tuple && node->n_vals == 1)
        nuc_dense_strides(&node->vals[0], p->strides);
}

/* False when the node is no view. A view of what a write has yet to change is made when it is read. */
static bool add_view(struct writes *w, struct nuc_node *node)
{
    struct nuc_node *of = operand(node);
    struct place *p = &w->places[node->id];

    if (of == NULL || w->places[of->id].root == NULL || node->in_place)
        return false;
    /* An item of a split is a view of what is split. */
    const struct nuc_node *parent = of;
    if (node->op == NUC_OP_GETITEM) {
        if (place_of(w, of)->parent == NULL)
            return false;
        parent = place_of(w, of)->parent;
        memcpy(p->strides, place_of(w, of)->strides, sizeof p->strides);
    } else if (!view_strides(node, place_of(w, of)->strides, p->strides)) {
        return false;
    }
    const struct place *above = place_of(w, parent);
    p->parent = named(w, parent);
    p->root = above->root;
    p->value = node;
    p->version = NEVER;
    if (above->version != place_of(w, p->root)->writes)
        return true;
    read_inputs(w, node, true);
    p->version = above->version;
    return true;
}

static bool overwrites_all(const struct nuc_node *node)
{
    return nuc_op_is_in(node->op, NUC_OPS(NUC_OP_COPY, NUC_OP_FILL, NUC_OP_FILL_TENSOR, NUC_OP_ZERO));
}

/* What one run writes to a buffer the next one sees, unless it writes it first. */
static void find_state(struct writes *w, const struct nuc_node *node, const struct nuc_node *self)
{
    const struct place *p = place_of(w, self), *root = place_of(w, p->root);

    if (!nuc_is_static(p->root) || root->writes > 0)
        return;
    if (root->read || p->parent != NULL || !overwrites_all(node)) {
        nuc_find_node(w->g, p->root->name)->input_kind = NUC_STATE;
        w->changed = true;
    }
}

/* The same part of the same tensor. */
static bool is_same_view(struct writes *w, const struct nuc_node *a, const struct nuc_node *b)
{
    a = named(w, a);
    b = named(w, b);
    if (a == b)
        return true;
    const struct place *pa = place_of(w, a), *pb = place_of(w, b);
    if (pa->parent == NULL || pb->parent == NULL || a->op != b->op || !is_same_view(w, pa->parent, pb->parent) ||
        !nuc_same_sizes(&a->vals[0], &b->vals[0]))
        return false;
    if (a->op == NUC_OP_GETITEM) {
        uint32_t dim, other;
        return start_of_item(w, a, &dim) == start_of_item(w, b, &other) && dim == other;
    }
    for (uint32_t i = 1; i < a->n_args; i++) {
        const struct nuc_arg *x = &a->args[i], *y = &b->args[i];
        bool same = x->kind == y->kind && x->kind == NUC_ARG_INTS
                        ? x->count == y->count && memcmp(x->u.ints, y->u.ints, x->count * sizeof *x->u.ints) == 0
                        : x->kind == y->kind && (x->kind != NUC_ARG_INT || x->u.i == y->u.i);
        if (!same)
            return false;
    }
    return true;
}

/* What the operator in place writes; NULL when it changes nothing. */
static struct nuc_node *written_value(struct writes *w, struct nuc_node *node)
{
    const struct nuc_node *self = operand(node);

    if (node->op == NUC_OP_COPY) {
        struct nuc_node *source = nuc_operand(w->g, node, NUC_ARG(COPY, src));
        bool known = source->id < w->n_places && w->places[source->id].root != NULL;
        /* x[0] += 1 writes the part twice: by add_, and by an assignment of what that returned. */
        if (known && is_same_view(w, source, self) &&
            place_of(w, source)->version == place_of(w, place_of(w, source)->root)->writes)
            return NULL;
        struct nuc_node *value = known ? read_value(w, source) : source;
        if (known)
            place_of(w, place_of(w, source)->root)->read = true;
        w->changed = true;
        return fitted(w, value, &self->vals[0]);
    }
    read_inputs(w, node, overwrites_all(node));
    if (nuc_op_family(node->op) == NUC_FAMILY_COMPOSITE || place_of(w, self)->parent != NULL)
        w->changed = true;
    if (nuc_op_family(node->op) == NUC_FAMILY_COMPOSITE) {
        node->in_place = false;
        return node;
    }
    /*
     * What the operator writes in the type of what it is written to: of a comparison of floats in place, 1 and 0. Where
     * the types agree it stays in place.
     */
    struct nuc_meta stated = node->vals[0];
    node->in_place = false;
    nuc_infer_shape(w->g, node);
    if (node->vals[0].dtype == stated.dtype) {
        node->in_place = true;
        nuc_set_val(w->g, node, &stated);
        return node;
    }
    w->changed = true;
    return nuc_insert_cast(w->g, node->next, node, stated.dtype);
}

static void write(struct writes *w, struct nuc_node *node)
{
    const struct nuc_node *self = operand(node);

    if (self == NULL || w->places[self->id].root == NULL)
        nuc_fail(w->g->cx, NUC_BAD_INPUT, "%s: %s has no tensor to write to", w->g->file,
                 nuc_node_text(w->g->cx, node));
    self = named(w, self);
    find_state(w, node, self);
    struct place *p = place_of(w, self), *root = place_of(w, p->root);
    check_written(w, root, NULL);
    struct nuc_node *value = written_value(w, node);
    if (value != NULL) {
        note_write(w, root, node);
        if (root->newer != NULL && root->newer != self)
            settle(w, root);
        if (value == node && nuc_op_family(node->op) == NUC_FAMILY_COMPARE) {
            /* A comparison writes 0 and 1 of the operand's type. */
            struct nuc_meta own = node->vals[0];
            make_functional(w, node);
            w->at = node->next;
            value = fitted(w, node, &own);
        }
        p->value = value;
        p->version = ++root->writes;
        root->newer = p->parent == NULL ? NULL : self;
    }
    w->places[node->id].same = self;
    w->places[node->id].root = p->root;
}

/* Dropout writes what is there already, unless the model trains, which import refuses. */
static bool writes_nothing(const struct nuc_node *node)
{
    return nuc_op_is_in(
        node->op, NUC_OPS(NUC_OP_DROPOUT, NUC_OP_FEATURE_DROPOUT, NUC_OP_ALPHA_DROPOUT, NUC_OP_FEATURE_ALPHA_DROPOUT));
}

static void visit(struct writes *w, struct nuc_node *node)
{
    const struct nuc_node *self = operand(node);

    w->at = node;
    if (nuc_is_placeholder(node)) {
        add_root(w, node);
        return;
    }
    if (node->in_place && writes_nothing(node) && self != NULL && w->places[self->id].root != NULL) {
        w->places[node->id].same = named(w, self);
        w->places[node->id].root = place_of(w, self)->root;
        w->changed = true;
        return;
    }
    if (node->in_place) {
        write(w, node);
        return;
    }
    if (add_view(w, node))
        return;
    find_bases(w, node);
    read_inputs(w, node, false);
    add_root(w, node);
}

bool nuc_resolve_writes(struct nuc_graph *g)
{
    struct writes w = {.g = g, .n_places = g->next_id};
    const uint32_t n_results = nuc_n_results(g);

    w.places = nuc_alloc_array(g->cx, w.n_places, sizeof *w.places);
    w.was_state = nuc_alloc_array(g->cx, w.n_places, sizeof *w.was_state);
    for (const struct nuc_node *n = g->first; nuc_is_placeholder(n); n = n->next)
        w.was_state[n->id] = nuc_is_state(n);
    for (struct nuc_node *n = g->first, *next; n != NULL; n = next) {
        next = n->next;
        if (n->id < w.n_places)
            visit(&w, n);
    }
    /*
     * What the states become is returned after all else: of those the graph had before, what it said unless it wrote.
     */
    struct nuc_node *output = nuc_output_node(g);
    const struct nuc_arg given = output->args[NUC_ARG(OUTPUT, values)];
    uint32_t n_states = nuc_n_states(g), count = n_results, n_old = n_results;
    struct nuc_node **values = nuc_alloc_array(g->cx, (size_t)n_results + n_states, sizeof(struct nuc_node *));
    w.at = output;
    for (uint32_t i = 0; i < n_results; i++)
        values[i] = given.u.nodes[i];
    for (struct nuc_node *n = g->first; nuc_is_placeholder(n); n = n->next) {
        bool was_one = n->id < w.n_places && w.was_state[n->id];
        if (nuc_is_state(n))
            values[count++] = was_one && place_of(&w, n)->writes == 0 ? given.u.nodes[n_old] : read_value(&w, n);
        n_old += was_one;
    }
    if (n_states > 0)
        nuc_set_arg_nodes(output, g, NUC_ARG(OUTPUT, values), values, count);
    /* A copy of a constant is the constant, unless it is written to. */
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (n->op != NUC_OP_CLONE || n->id >= w.n_places || w.places[n->id].writes > 0 || operand(n) == NULL ||
            !nuc_is_static(operand(n)) || n->args[NUC_ARG(CLONE, memory_format)].kind == NUC_ARG_MEMORY_FORMAT)
            continue;
        nuc_replace_uses(g, n, operand(n), NULL);
    }
    nuc_remove_dead(g);
    return w.changed;
}
