/* Decisions put on outputs: where in memory what they read is. */
#include "device/decision/bind.h"

/* ---- anchors ---- */

bool nuc_decision_has_anchors(const struct nuc_decision_rule *d)
{
    return d->kind == NUC_DECIDE_BOXES && (d->form == NUC_BOXES_SSD || (d->form != NUC_BOXES_FOMO && !d->is_decoded));
}

uint64_t nuc_decision_anchors(const struct nuc_decision_rule *d)
{
    uint64_t count = d->n_grids == 0 ? d->rows : 0; /* of a table */

    for (size_t i = 0; i < d->n_grids; i++) {
        const struct nuc_anchor_grid *g = &d->grids[i];
        count += (uint64_t)g->rows * g->columns * (g->count > 0 ? g->count : 1);
    }
    return count;
}

size_t nuc_decision_anchor_floats(const struct nuc_decision_rule *d)
{
    size_t sizes = 0;

    for (size_t i = 0; i < d->n_grids; i++)
        sizes += 2 * (size_t)d->grids[i].count;
    return d->n_grids == 0 ? 4 * (size_t)d->rows : sizes;
}

/* ---- outputs ---- */

/* Dimensions of more than one, in logical order, with their strides in memory. */
struct axes {
    size_t rank;
    uint64_t sizes[NUC_MAX_RANK], steps[NUC_MAX_RANK], elements;
};

static struct axes axes_of(const struct nuc_decision_output *o)
{
    struct axes a = {.elements = 1};
    uint64_t steps[NUC_MAX_RANK] = {0}, step = 1;

    for (size_t i = o->rank; i-- > 0;) {
        const size_t d = o->dim_order != NULL ? o->dim_order[i] : i;
        steps[d] = step;
        step *= (uint64_t)o->sizes[d];
    }
    a.elements = step;
    for (size_t i = 0; i < o->rank; i++) {
        if (o->sizes[i] == 1)
            continue;
        a.sizes[a.rank] = (uint64_t)o->sizes[i];
        a.steps[a.rank++] = steps[i];
    }
    return a;
}

static void set_view(struct nuc_decision_view *v, uint64_t places, uint64_t place_step, uint64_t values,
                     uint64_t value_step)
{
    v->places = (uint32_t)places;
    v->place_step = (uint32_t)place_step;
    v->values = (uint32_t)values;
    v->value_step = (uint32_t)value_step;
}

/* [rows, columns, values] or [values, rows, columns], rows and columns next to each other in memory. */
static bool view_map(const struct nuc_decision_rule *d, const struct axes *a, struct nuc_decision_view *v)
{
    const uint64_t cells = (uint64_t)d->rows * d->columns;
    struct axes b = {.elements = a->elements};

    if (a->elements == 0 || a->elements % cells != 0)
        return false;
    /* What is one cell wide has no dimension for it. */
    const size_t n_map = (size_t)(d->rows > 1) + (d->columns > 1);
    for (size_t first = 0; first + n_map <= a->rank; first++) {
        if (a->rank > n_map + 1 || (first > 0 && first + n_map < a->rank))
            return false;
        if ((d->rows > 1 && a->sizes[first] != d->rows) ||
            (d->columns > 1 && a->sizes[first + n_map - 1] != d->columns) ||
            (n_map == 2 && a->steps[first] != a->steps[first + 1] * d->columns))
            continue;
        const size_t other = first == 0 ? n_map : 0;
        b.sizes[0] = a->rank > n_map ? a->sizes[other] : 1;
        b.steps[0] = a->rank > n_map ? a->steps[other] : 1;
        set_view(v, cells, n_map > 0 ? a->steps[first + n_map - 1] : 1, b.sizes[0], b.steps[0]);
        return true;
    }
    return false;
}

/* Two dimensions, that of the places being `places` long, or the longer one where that is 0. */
static bool view_rows(const struct axes *a, uint64_t places, struct nuc_decision_view *v)
{
    if (a->rank == 1 && a->sizes[0] == places) {
        set_view(v, places, a->steps[0], 1, 1);
    } else if (a->rank == 1 && places == 1) {
        set_view(v, 1, 1, a->sizes[0], a->steps[0]);
    } else if (a->rank == 2) {
        const size_t first = places > 0 ? a->sizes[0] != places : a->sizes[0] < a->sizes[1];
        set_view(v, a->sizes[first], a->steps[first], a->sizes[1 - first], a->steps[1 - first]);
        return places == 0 || a->sizes[first] == places;
    } else {
        return false;
    }
    return true;
}

static bool view_coordinates(const struct nuc_decision_rule *d, const struct axes *a, struct nuc_decision_view *v)
{
    if (a->rank == 1 && a->elements % d->points == 0)
        set_view(v, d->points, a->elements / d->points, a->elements / d->points, 1);
    else if (!view_rows(a, d->points, v))
        return false;
    return v->values == 2 || v->values == 3;
}

uint64_t nuc_decision_least_values(const struct nuc_decision_rule *d, size_t index)
{
    if (d->kind == NUC_DECIDE_KEYPOINTS)
        return d->form == NUC_POINTS_COORDINATES ? 2 : d->points * (index + 1);
    if (d->kind != NUC_DECIDE_BOXES || d->form == NUC_BOXES_FOMO)
        return d->kind == NUC_DECIDE_BOXES && d->has_background ? 2 : 1;
    if (d->form == NUC_BOXES_SSD)
        return index == 0 ? 4 : 1 + (uint64_t)d->has_background;
    return (d->form == NUC_BOXES_YOLO8 && !d->is_decoded ? 4 * d->bins : 4) + 1 + (d->form == NUC_BOXES_YOLO5);
}

static bool place_view(const struct nuc_decision_rule *d, const struct axes *a, struct nuc_decision_view *v)
{
    if (a->elements == 0 || a->elements > INT32_MAX)
        return false;
    switch (d->kind) {
    case NUC_DECIDE_CLASSES:
        set_view(v, 1, 1, a->elements, 1);
        return a->rank <= 1;
    case NUC_DECIDE_ANOMALY:
        set_view(v, a->elements, 1, 1, 1);
        return true;
    case NUC_DECIDE_KEYPOINTS:
        return d->form == NUC_POINTS_HEATMAP ? view_map(d, a, v) : view_coordinates(d, a, v);
    case NUC_DECIDE_BOXES:
        break;
    }
    return d->form == NUC_BOXES_FOMO ? view_map(d, a, v)
                                     : view_rows(a, nuc_decision_has_anchors(d) ? nuc_decision_anchors(d) : 0, v);
}

enum nuc_output_fit nuc_decision_put_on(struct nuc_decision_rule *d, size_t index, const struct nuc_decision_output *o)
{
    struct nuc_decision_view *v = &d->views[index];
    const struct axes a = axes_of(o);

    if (o->dtype != NUC_F32 && o->dtype != NUC_I8 && o->dtype != NUC_U8 && o->dtype != NUC_I16)
        return NUC_OUTPUT_TYPE;
    if (!place_view(d, &a, v) || v->values < nuc_decision_least_values(d, index))
        return NUC_OUTPUT_SHAPE;
    for (size_t i = 0; i < d->n_ignored; i++) {
        if (d->ignored[i] >= v->values)
            return NUC_OUTPUT_CLASSES;
    }
    v->dtype = o->dtype;
    v->scale = o->dtype == NUC_F32 ? 1 : (float)o->scale;
    v->zero_point = o->dtype == NUC_F32 ? 0 : (int32_t)o->zero_point;
    return NUC_OUTPUT_FITS;
}
