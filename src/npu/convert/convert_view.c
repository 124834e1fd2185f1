/*
 * Concatenations and slices without copies. The result of an operator that is only a part of a concatenation is written
 * where it belongs: a part of whole rows of the memory without gaps, any other in rows with a pitch, which the kernel
 * that writes it and those that read it have to support. A slice is read where it lies, too. Each such view makes the
 * larger buffer live longer; one that raises the most bytes live at once is taken back.
 */
#include <string.h>

#include "npu/convert/conversion.h"

/* What lies in each tensor, and who uses it: lists by tensor, -1 at their ends. */
struct nuc_cv_views {
    int32_t *first, *next, *before; /* tensors whose alias it is */
    uint32_t *from, *nodes;         /* those that read or write it: nodes[from[t]] up to nodes[from[t + 1]] */
};

/* Whether the node's kernel can write its result in rows of that many bytes. */
static bool writes_rows(const struct nuc_cv *cv, const struct nuc_cv_node *n, int64_t row)
{
    const struct nuc_lt_tensor *y = nuc_cv_y(cv, n);
    struct nuc_cv_layout layout = {0, row, row};
    struct nuc_mc_binary shape;
    int64_t stride[NUC_MAX_RANK];

    if (n->table || n->picks)
        return n->table != NULL;
    switch (nuc_cv_kernel(n->op->code)->rows) {
    case CV_ROWS_LAST:
        return n->turn == 0 && y->rank > 0 && y->shape[y->rank - 1] == row;
    case CV_ROWS_BINARY:
        return nuc_cv_in(cv, n, 0) && nuc_cv_in(cv, n, 1) && nuc_cv_binary_shape(cv, n, row, &shape);
    case CV_ROWS_MOVED:
        return nuc_cv_strides(y, &layout, stride);
    case CV_ROWS_NONE:
        break;
    }
    return false;
}

/* ---- parts of a concatenation ---- */

int32_t nuc_cv_concat_axis(const struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    const struct nuc_lt_tensor *y = nuc_cv_y(cv, n);
    int64_t axis = nuc_lt_axis(n->op->options.concat.axis, y->rank), sum = 0;

    if (axis < 0 || n->op->options.concat.activation != NUC_LT_ACT_NONE)
        return -1;
    for (uint32_t i = 0; i < n->op->n_inputs; i++) {
        const struct nuc_lt_tensor *x = nuc_cv_in(cv, n, i);
        if (!x || x->rank != y->rank || x->dtype != y->dtype || !nuc_cv_same_params(cv, n, x, y))
            return -1;
        for (uint32_t d = 0; d < y->rank; d++) {
            if ((int64_t)d != axis && x->shape[d] != y->shape[d])
                return -1;
        }
        sum += x->shape[axis];
    }
    return sum == y->shape[axis] ? (int32_t)axis : -1;
}

struct nuc_cv_layout nuc_cv_concat_part(const struct nuc_cv *cv, const struct nuc_cv_node *n, uint32_t i, int64_t at)
{
    const struct nuc_lt_tensor *y = nuc_cv_y(cv, n);
    int64_t axis = nuc_lt_axis(n->op->options.concat.axis, y->rank);
    int64_t outer = 1, inner = (int64_t)nuc_dtype_size(y->dtype);

    for (uint32_t d = 0; d < y->rank; d++) {
        outer *= (int64_t)d < axis ? y->shape[d] : 1;
        inner *= (int64_t)d > axis ? y->shape[d] : 1;
    }
    struct nuc_cv_layout part = {.at = at * inner};
    if (outer > 1) {
        part.row = nuc_cv_in(cv, n, i)->shape[axis] * inner;
        part.pitch = y->shape[axis] * inner;
    }
    return part;
}

/*
 * The tensor with a buffer of its own that operand `i` is, when its bytes may lie somewhere else: computed here, not
 * given out. In rows of revision 3 only when nothing but the concatenation reads it, also under its other names.
 */
static int32_t movable(const struct nuc_cv *cv, int32_t t, bool rows)
{
    int64_t bytes = nuc_cv_bytes(cv, t);

    for (;; t = cv->tensors[t].alias) {
        const struct nuc_cv_tensor *state = &cv->tensors[t];
        if (state->constant || state->input_index >= 0 || state->output_index >= 0 || state->producer < 0 ||
            nuc_cv_bytes(cv, t) != bytes || (rows && cv->revision_3 && state->n_uses != 1))
            return -1;
        if (state->alias == t)
            return t;
    }
}

static bool listed_before(const struct nuc_cv_node *n, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++) {
        if (n->op->inputs[k] == n->op->inputs[i])
            return true;
    }
    return false;
}

/* ---- what lies in a tensor ---- */

static void leave_alias(struct nuc_cv *cv, int32_t t)
{
    struct nuc_cv_views *v = cv->views;

    if (v->before[t] >= 0)
        v->next[v->before[t]] = v->next[t];
    else
        v->first[cv->tensors[t].alias] = v->next[t];
    if (v->next[t] >= 0)
        v->before[v->next[t]] = v->before[t];
    cv->tensors[t].alias = t;
}

static void set_alias(struct nuc_cv *cv, int32_t t, int32_t other)
{
    struct nuc_cv_views *v = cv->views;

    cv->tensors[t].alias = other;
    v->before[t] = -1;
    v->next[t] = v->first[other];
    if (v->next[t] >= 0)
        v->before[v->next[t]] = t;
    v->first[other] = t;
}

/* The nodes that read or write a tensor. */
static void list_nodes(const struct nuc_cv *cv, struct nuc_cv_views *v)
{
    const struct nuc_lt_subgraph *g = cv->graph;

    for (int pass = 0; pass < 2; pass++) { /* counted, then listed from the end */
        for (uint32_t i = g->n_ops; i-- > 0;) {
            const struct nuc_cv_node *n = &cv->nodes[i];
            for (uint32_t k = 0; k <= nuc_cv_n_operands(n); k++) {
                int32_t t = k == 0 ? n->output : nuc_cv_operand(n, k - 1);
                if (t < 0)
                    continue;
                if (pass == 0)
                    v->from[t]++;
                else
                    v->nodes[--v->from[t]] = i;
            }
        }
        for (uint32_t t = 0; pass == 0 && t < g->n_tensors; t++)
            v->from[t + 1] += v->from[t];
        if (pass == 0)
            v->nodes = nuc_alloc_array(cv->cx, v->from[g->n_tensors] + (size_t)1, sizeof *v->nodes);
    }
}

static void list_views(struct nuc_cv *cv)
{
    const uint32_t n = cv->graph->n_tensors;
    struct nuc_cv_views *v = nuc_alloc(cv->cx, sizeof *v);

    v->first = nuc_alloc_array(cv->cx, n, sizeof *v->first);
    v->next = nuc_alloc_array(cv->cx, n, sizeof *v->next);
    v->before = nuc_alloc_array(cv->cx, n, sizeof *v->before);
    v->from = nuc_alloc_array(cv->cx, (size_t)n + 1, sizeof *v->from);
    memset(v->first, -1, n * sizeof *v->first);
    cv->views = v;
    for (uint32_t t = 0; t < n; t++) {
        if (cv->tensors[t].alias != (int32_t)t)
            set_alias(cv, (int32_t)t, cv->tensors[t].alias);
    }
    list_nodes(cv, v);
}

/* Whether the operators that read or write a tensor can do that where it lies. */
static bool is_usable(const struct nuc_cv *cv, int32_t t)
{
    for (uint32_t i = cv->views->from[t]; i < cv->views->from[t + 1]; i++) {
        const struct nuc_cv_node *n = &cv->nodes[cv->views->nodes[i]];
        if (!n->dropped && !nuc_cv_can_use(cv, n, t))
            return false;
    }
    return true;
}

/* The same of a tensor and all that lies in it: nothing else depends on where it lies. */
static bool are_usable(const struct nuc_cv *cv, int32_t top)
{
    const struct nuc_cv_views *v = cv->views;
    int32_t t = top;

    for (;;) {
        if (!is_usable(cv, t))
            return false;
        if (v->first[t] >= 0) {
            t = v->first[t];
            continue;
        }
        while (t != top && v->next[t] < 0)
            t = cv->tensors[t].alias;
        if (t == top)
            return true;
        t = v->next[t];
    }
}

/* Makes `t` a part of `other` unless an operator could not read it there, or what lies in it. */
static bool put_inside(struct nuc_cv *cv, int32_t t, int32_t other, struct nuc_cv_layout layout)
{
    set_alias(cv, t, other);
    cv->tensors[t].inside = layout;
    if (cv->revision_3 || are_usable(cv, t))
        return true;
    leave_alias(cv, t);
    return false;
}

/* The tensor placed inside the result, or -1. */
static int32_t place_part(struct nuc_cv *cv, const struct nuc_cv_node *n, uint32_t i, int64_t at)
{
    struct nuc_cv_layout part = nuc_cv_concat_part(cv, n, i, at), composed = part;
    struct nuc_cv_place y = nuc_cv_place(cv, n->output);
    int64_t bytes = nuc_cv_bytes(cv, n->op->inputs[i]);

    if (listed_before(n, i) || !nuc_cv_compose(&composed, bytes, &y.layout))
        return -1;
    int32_t t = movable(cv, n->op->inputs[i], composed.row > 0);
    if (t < 0 || t == y.holder)
        return -1;
    const struct nuc_cv_node *producer = &cv->nodes[cv->tensors[t].producer];
    if (composed.row > 0 && (producer->output != t || !writes_rows(cv, producer, composed.row)))
        return -1;
    return put_inside(cv, t, n->output, part) ? t : -1;
}

/* The first of the operands of `large` that are those of `n`, one after the other, or -1. */
static int32_t find_run(const struct nuc_cv_node *large, const struct nuc_cv_node *n)
{
    for (uint32_t first = 0; first + n->op->n_inputs <= large->op->n_inputs; first++) {
        if (memcmp(large->op->inputs + first, n->op->inputs, n->op->n_inputs * sizeof *n->op->inputs) == 0)
            return (int32_t)first;
    }
    return -1;
}

/*
 * Puts the result of a concatenation inside that of a later one that has all its operands in the same order: what both
 * list is then in place for both. Returns the tensor placed, or -1.
 */
static int32_t place_run(struct nuc_cv *cv, const struct nuc_cv_node *n, int32_t axis)
{
    const struct nuc_cv_tensor *y = &cv->tensors[n->output];

    if (cv->revision_3 || y->alias != n->output || y->output_index >= 0)
        return -1;
    const uint32_t *from = cv->views->from + n->op->inputs[0];
    for (uint32_t i = from[1]; i-- > from[0];) {
        const struct nuc_cv_node *large = &cv->nodes[cv->views->nodes[i]];
        if (large->index <= n->index || large->dropped || large->picks || large->op->code != NUC_LT_CONCATENATION ||
            nuc_cv_concat_axis(cv, large) != axis)
            continue;
        int32_t first = find_run(large, n);
        if (first < 0)
            continue;
        int64_t at = 0;
        for (int32_t k = 0; k < first; k++)
            at += nuc_cv_in(cv, large, (uint32_t)k)->shape[axis];
        struct nuc_cv_layout run = nuc_cv_concat_part(cv, large, (uint32_t)first, at);
        for (uint32_t k = 1; k < n->op->n_inputs; k++)
            run.row += run.row > 0 ? nuc_cv_concat_part(cv, large, (uint32_t)first + k, at).row : 0;
        return put_inside(cv, n->output, large->output, run) ? n->output : -1;
    }
    return -1;
}

/* ---- slices ---- */

/* Where a slice begins in its input when its bytes are neighbours there, or -1. */
static int64_t slice_start(const struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    const struct nuc_lt_tensor *x = nuc_cv_x(cv, n), *y = nuc_cv_y(cv, n);
    int64_t begin[NUC_MAX_RANK], at = 0, step = (int64_t)nuc_dtype_size(y->dtype);
    bool partial = false;

    if (x->dtype != y->dtype || x->rank != y->rank || !nuc_cv_same_params(cv, n, x, y) ||
        nuc_cv_integers(cv, n, 1, NUC_MAX_RANK, begin) != x->rank)
        return -1;
    for (uint32_t d = x->rank; d-- > 0;) {
        if (begin[d] < 0 || begin[d] + y->shape[d] > x->shape[d] || (partial && y->shape[d] != 1))
            return -1;
        partial = partial || y->shape[d] != x->shape[d];
        at += begin[d] * step;
        step *= x->shape[d];
    }
    return at;
}

/* Where a slice along one axis lies in its input when it has gaps there. False: it is another slice. */
static bool slice_rows(const struct nuc_cv *cv, const struct nuc_cv_node *n, struct nuc_cv_layout *layout)
{
    const struct nuc_lt_tensor *x = nuc_cv_x(cv, n), *y = nuc_cv_y(cv, n);
    int64_t begin[NUC_MAX_RANK], inner = (int64_t)nuc_dtype_size(y->dtype);
    bool found = false;

    if (x->dtype != y->dtype || x->rank != y->rank || !nuc_cv_same_params(cv, n, x, y) ||
        nuc_cv_integers(cv, n, 1, NUC_MAX_RANK, begin) != x->rank)
        return false;
    for (uint32_t d = x->rank; d-- > 0; inner *= x->shape[d]) {
        if (begin[d] < 0 || begin[d] + y->shape[d] > x->shape[d] || (found && x->shape[d] != y->shape[d]))
            return false;
        if (x->shape[d] == y->shape[d])
            continue;
        *layout = (struct nuc_cv_layout){begin[d] * inner, y->shape[d] * inner, x->shape[d] * inner};
        found = true;
    }
    return found;
}

/* Makes the slice's result a view of its input. */
static int32_t place_slice(struct nuc_cv *cv, struct nuc_cv_node *n)
{
    struct nuc_cv_tensor *y = &cv->tensors[n->output];
    struct nuc_cv_layout layout = {.at = slice_start(cv, n)};

    if (y->alias != n->output || y->output_index >= 0 ||
        (layout.at < 0 && (cv->revision_3 || !slice_rows(cv, n, &layout))))
        return -1;
    /* The slice itself reads its input no more. */
    n->dropped = true;
    if (put_inside(cv, n->output, n->input, layout))
        return n->output;
    n->dropped = false;
    return -1;
}

/* Makes the result of a TRANSPOSE a view of its operand where only products, with strides, and others of its kind read
 * it. */
static int32_t place_turned(struct nuc_cv *cv, struct nuc_cv_node *n)
{
    struct nuc_cv_tensor *y = &cv->tensors[n->output];
    struct nuc_cv_turned lies;

    if (cv->revision_3 || y->alias != n->output || y->output_index >= 0 || cv->tensors[n->input].constant ||
        n->output != n->op->outputs[0] || !nuc_cv_turn(cv, n, &lies))
        return -1;
    n->dropped = y->turned = true;
    if (put_inside(cv, n->output, n->input, (struct nuc_cv_layout){.at = 0}))
        return n->output;
    n->dropped = y->turned = false;
    return -1;
}

/* ---- what the views cost ---- */

/* The tensor with a buffer of its own that holds `t`; of those between the two it is known then. */
static int32_t holder_of(const struct nuc_cv *cv, int32_t t, int32_t *holders)
{
    int32_t holder = t, next;

    while (holders[holder] < 0 && cv->tensors[holder].alias != holder)
        holder = cv->tensors[holder].alias;
    holder = holders[holder] < 0 ? holder : holders[holder];
    for (; t != holder && holders[t] < 0; t = next) {
        next = cv->tensors[t].alias;
        holders[t] = holder;
    }
    return holder;
}

/* The operators between which a buffer lives. */
struct life {
    uint32_t first, last;
    uint64_t size; /* 0: it does not */
};

/* Buffers of scratch, and the operator at which most bytes of them are live, in the order of the model. */
struct lives {
    struct life *of;      /* by tensor with a buffer of its own */
    int32_t *holders;     /* of holder_of() */
    uint64_t *more, most; /* more: live at an operator than at the one before it */
    uint32_t at;
};

static struct lives new_lives(struct nuc_cv *cv)
{
    return (struct lives){.of = nuc_alloc_array(cv->cx, cv->graph->n_tensors, sizeof(struct life)),
                          .holders = nuc_alloc_array(cv->cx, cv->graph->n_tensors, sizeof(int32_t)),
                          .more = nuc_alloc_array(cv->cx, cv->graph->n_ops + (size_t)1, sizeof(uint64_t))};
}

static void touch(const struct nuc_cv *cv, int32_t t, uint32_t now, struct lives *l)
{
    int32_t holder = holder_of(cv, t, l->holders);
    struct life *life = &l->of[holder];

    if (!nuc_cv_in_scratch(cv, holder))
        return;
    if (life->size == 0)
        *life = (struct life){now, now, nuc_align_up((size_t)nuc_cv_bytes(cv, holder), NUC_MC_ALIGNMENT)};
    life->last = now;
}

static void measure(const struct nuc_cv *cv, struct lives *l)
{
    const struct nuc_lt_subgraph *g = cv->graph;
    uint64_t live = 0;

    memset(l->of, 0, g->n_tensors * sizeof *l->of);
    memset(l->holders, -1, g->n_tensors * sizeof *l->holders);
    memset(l->more, 0, (g->n_ops + (size_t)1) * sizeof *l->more);
    for (uint32_t i = 0; i < g->n_ops; i++) {
        const struct nuc_cv_node *n = &cv->nodes[i];
        if (n->dropped)
            continue;
        touch(cv, n->output, i, l);
        for (uint32_t k = 0; k < nuc_cv_n_operands(n); k++) {
            if (nuc_cv_operand(n, k) >= 0)
                touch(cv, nuc_cv_operand(n, k), i, l);
        }
    }
    for (uint32_t t = 0; t < g->n_tensors; t++) {
        l->more[l->of[t].first] += l->of[t].size;
        l->more[l->of[t].last + 1] -= l->of[t].size;
    }
    l->most = 0;
    for (uint32_t i = 0; i < g->n_ops; i++) {
        live += l->more[i];
        l->at = live > l->most ? i : l->at;
        l->most = live > l->most ? live : l->most;
    }
}

/* A slice or turned value that is read where it lies needs no operator. */
static void set_dropped(struct nuc_cv *cv, int32_t view, bool dropped)
{
    struct nuc_cv_node *n = &cv->nodes[cv->tensors[view].producer];

    bool turns = n->op->code == NUC_LT_TRANSPOSE;

    if ((n->op->code == NUC_LT_SLICE || turns) && !n->table && cv->tensors[view].alias == n->input) {
        n->dropped = dropped;
        cv->tensors[view].turned = turns && dropped;
    }
}

/* The last first, each view without which less memory is live at the peak, if others stay readable. */
static void take_back(struct nuc_cv *cv, const int32_t *views, uint32_t n)
{
    struct nuc_arena *outer = nuc_push_arena(cv->cx);
    struct lives now = new_lives(cv), without = new_lives(cv);

    measure(cv, &now);
    while (n-- > 0) {
        int32_t view = views[n], alias = cv->tensors[view].alias;
        /* Without a view the bytes that most are live with can become fewer only where it lies in some of them. */
        const struct life *life = &now.of[holder_of(cv, view, now.holders)];
        if (life->size == 0 || life->first > now.at || now.at > life->last)
            continue;
        set_dropped(cv, view, false);
        leave_alias(cv, view);
        measure(cv, &without);
        if (without.most < now.most && (cv->revision_3 || are_usable(cv, view))) {
            struct lives before = now;
            now = without;
            without = before;
            continue;
        }
        set_alias(cv, view, alias);
        set_dropped(cv, view, true);
    }
    nuc_pop_arena(cv->cx, outer);
}

void nuc_cv_make_views(struct nuc_cv *cv)
{
    int32_t *views = nuc_alloc_array(cv->cx, (size_t)cv->graph->n_tensors + 1, sizeof *views);
    uint32_t n_views = 0;

    list_views(cv);
    /* Slices first, by then nothing lies in rows of concatenations. Larger concatenations before their parts. */
    for (uint32_t i = 0; i < cv->graph->n_ops; i++) {
        struct nuc_cv_node *n = &cv->nodes[i];
        int32_t view = n->dropped || n->table || n->op->code != NUC_LT_SLICE ? -1 : place_slice(cv, n);
        if (view < 0)
            continue;
        views[n_views++] = view;
        set_dropped(cv, view, true);
    }
    for (uint32_t i = 0; i < cv->graph->n_ops; i++) {
        struct nuc_cv_node *n = &cv->nodes[i];
        int32_t view = n->dropped || n->table || n->op->code != NUC_LT_TRANSPOSE ? -1 : place_turned(cv, n);
        if (view >= 0)
            views[n_views++] = view;
    }
    for (uint32_t i = cv->graph->n_ops; i-- > 0;) {
        const struct nuc_cv_node *n = &cv->nodes[i];
        const int32_t axis = n->op->code == NUC_LT_CONCATENATION && !n->picks ? nuc_cv_concat_axis(cv, n) : -1;
        int64_t at = 0;
        if (n->dropped || axis < 0)
            continue;
        int32_t run = place_run(cv, n, axis);
        if (run >= 0)
            views[n_views++] = run;
        for (uint32_t k = 0; k < n->op->n_inputs; k++) {
            int32_t view = place_part(cv, n, k, at);
            if (view >= 0)
                views[n_views++] = view;
            at += nuc_cv_in(cv, n, k)->shape[axis];
        }
    }
    take_back(cv, views, n_views);
}
