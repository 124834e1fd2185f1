/* Boxes of detectors: decoding, and non-maximum suppression of the best candidates. */
#include "device/decision/decision.h"

#define BOX_VALUES 4

/* ---- anchors ---- */

struct anchor {
    float x, y, w, h;     /* centre and size */
    float cell_x, cell_y; /* column and row, */
    float columns, rows;  /* of so many; 0: a table has the anchors */
};

/* The anchor of a place. SSD has those of a cell next to each other, YOLO the cells of an anchor. */
static struct anchor anchor_of(const struct nuc_decision_rule *d, uint32_t place)
{
    struct anchor a = {.w = 1, .h = 1};

    if (d->n_grids == 0) {
        const float *row = d->anchors + (size_t)place * 4;
        return (struct anchor){.x = row[0], .y = row[1], .w = row[2], .h = row[3]};
    }
    for (uint32_t i = 0; i < d->n_grids; i++) {
        const struct nuc_anchor_grid *g = &d->grids[i];
        const uint32_t count = g->count > 0 ? g->count : 1, cells = g->rows * g->columns;
        if (place >= cells * count) {
            place -= cells * count;
            continue;
        }
        const bool by_cell = d->form == NUC_BOXES_SSD;
        const uint32_t cell = by_cell ? place / count : place % cells, which = by_cell ? place % count : place / cells;
        a.cell_x = (float)(cell % g->columns);
        a.cell_y = (float)(cell / g->columns);
        a.columns = (float)g->columns;
        a.rows = (float)g->rows;
        a.x = (a.cell_x + 0.5f) / a.columns;
        a.y = (a.cell_y + 0.5f) / a.rows;
        if (g->count > 0) {
            a.w = d->anchors[2 * (size_t)(g->first + which)];
            a.h = d->anchors[2 * (size_t)(g->first + which) + 1];
        }
        break;
    }
    return a;
}

/* ---- decoding: x and y are the centre's ---- */

static void decode_ssd(const struct nuc_decision_rule *d, const float *t, const struct anchor *a, struct nuc_found *box)
{
    const uint32_t x = d->is_y_first ? 1 : 0, y = 1 - x;
    const float w = t[2 + x] / d->coding[2], h = t[2 + y] / d->coding[3];

    box->x = t[x] / d->coding[0] * a->w + a->x;
    box->y = t[y] / d->coding[1] * a->h + a->y;
    box->w = (d->is_exponential ? nuc_real_exp(w) : w) * a->w;
    box->h = (d->is_exponential ? nuc_real_exp(h) : h) * a->h;
}

static void decode_yolo5(const float *t, const struct anchor *a, struct nuc_found *box)
{
    const float w = 2 * nuc_real_sigmoid(t[2]), h = 2 * nuc_real_sigmoid(t[3]);

    box->x = (2 * nuc_real_sigmoid(t[0]) - 0.5f + a->cell_x) / a->columns;
    box->y = (2 * nuc_real_sigmoid(t[1]) - 0.5f + a->cell_y) / a->rows;
    box->w = w * w * a->w;
    box->h = h * h * a->h;
}

/* A side's distance from the centre of the cell, in cells: the mean of a distribution over `bins`. */
static float distance(const struct nuc_decision_rule *d, const void *const *outputs, uint32_t place, uint32_t side)
{
    const struct nuc_decision_view *v = &d->views[0];
    float most, mean = 0, sum = nuc_softmax_sum(v, outputs, place, side * d->bins, d->bins, &most);

    for (uint32_t i = 0; i < d->bins; i++)
        mean += (float)i * (nuc_real_exp(nuc_view_value(v, outputs, place, side * d->bins + i) - most) / sum);
    return mean;
}

static void decode_yolo8(const struct nuc_decision_rule *d, const void *const *outputs, uint32_t place,
                         const struct anchor *a, struct nuc_found *box)
{
    float sides[BOX_VALUES]; /* left, top, right, bottom */

    for (uint32_t i = 0; i < BOX_VALUES; i++)
        sides[i] = distance(d, outputs, place, i);
    box->x = a->x + (sides[2] - sides[0]) * 0.5f / a->columns;
    box->y = a->y + (sides[3] - sides[1]) * 0.5f / a->rows;
    box->w = (sides[0] + sides[2]) / a->columns;
    box->h = (sides[1] + sides[3]) / a->rows;
}

static void decode(const struct nuc_decision_rule *d, const void *const *outputs, uint32_t place, struct nuc_found *box)
{
    const bool has_anchors = d->form == NUC_BOXES_SSD || !d->is_decoded;
    const struct anchor a = has_anchors ? anchor_of(d, place) : (struct anchor){.w = 1};
    float t[BOX_VALUES];

    for (uint32_t i = 0; i < BOX_VALUES; i++)
        t[i] = nuc_view_value(&d->views[0], outputs, place, i);
    if (d->form == NUC_BOXES_SSD)
        decode_ssd(d, t, &a, box);
    else if (d->is_decoded)
        *box = (struct nuc_found){box->label,
                                  box->score,
                                  t[0] / d->input_size[0],
                                  t[1] / d->input_size[1],
                                  t[2] / d->input_size[0],
                                  t[3] / d->input_size[1]};
    else if (d->form == NUC_BOXES_YOLO5)
        decode_yolo5(t, &a, box);
    else
        decode_yolo8(d, outputs, place, &a, box);
    box->x -= box->w * 0.5f;
    box->y -= box->h * 0.5f;
}

/* ---- suppression ---- */

static float least(float a, float b)
{
    return a < b ? a : b;
}

static float most(float a, float b)
{
    return a > b ? a : b;
}

/* The intersection over the union; 0 where there is no area. */
static float overlap(const struct nuc_found *a, const struct nuc_found *b)
{
    const float w = least(a->x + a->w, b->x + b->w) - most(a->x, b->x);
    const float h = least(a->y + a->h, b->y + b->h) - most(a->y, b->y);
    const float both = w > 0 && h > 0 ? w * h : 0;
    const float all = a->w * a->h + b->w * b->h - both;

    return both > 0 && all > 0 ? both / all : 0;
}

/* Keeps the best candidates, the best first, and of equal ones the first. `score` of a box that has no place is less
 * than that of all. */
static struct nuc_found *enter(struct nuc_decider *s, float score)
{
    size_t at = s->n_found;

    if (at == s->decision->candidates) {
        if (!(score > s->found[at - 1].score))
            return NULL;
        at--;
    } else {
        s->n_found++;
    }
    for (; at > 0 && score > s->found[at - 1].score; at--)
        s->found[at] = s->found[at - 1];
    return &s->found[at];
}

static void suppress(struct nuc_decider *s)
{
    const struct nuc_decision_rule *d = s->decision;
    size_t kept = 0;

    for (size_t i = 0; i < s->n_found && kept < d->maximum; i++) {
        const struct nuc_found box = s->found[i];
        bool keep = true;
        for (size_t k = 0; k < kept && keep; k++)
            keep = (!d->agnostic && s->found[k].label != box.label) || !(overlap(&s->found[k], &box) > d->iou);
        if (keep)
            s->found[kept++] = box;
    }
    s->n_found = kept;
}

/* ---- centroids ---- */

/* Whether cells touch, also at a corner. */
static bool touch(const struct nuc_found *a, const struct nuc_found *b)
{
    return a->label == b->label && a->x <= b->x + b->w && b->x <= a->x + a->w && a->y <= b->y + b->h &&
           b->y <= a->y + a->h;
}

static void join(struct nuc_found *to, const struct nuc_found *from)
{
    const float right = most(to->x + to->w, from->x + from->w), bottom = most(to->y + to->h, from->y + from->h);

    to->score = most(to->score, from->score);
    to->x = least(to->x, from->x);
    to->y = least(to->y, from->y);
    to->w = right - to->x;
    to->h = bottom - to->y;
}

/* Joins boxes, in whole cells, until none touches another. Each round but the last has fewer boxes. */
static void join_all(struct nuc_decider *s)
{
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < s->n_found; i++) {
            for (size_t k = i + 1; k < s->n_found; k++) {
                if (!touch(&s->found[i], &s->found[k]))
                    continue;
                join(&s->found[i], &s->found[k]);
                s->found[k--] = s->found[--s->n_found];
                again = true;
            }
        }
    }
}

static void find_centroids(struct nuc_decider *s, const void *const *outputs)
{
    const struct nuc_decision_rule *d = s->decision;

    for (uint32_t place = 0; place < d->views[0].places; place++) {
        struct nuc_found cell = {.x = (float)(place % d->columns), .y = (float)(place / d->columns), .w = 1, .h = 1};
        cell.score = nuc_best_class(d, &d->views[0], outputs, place, 0, &cell.label);
        struct nuc_found *box = cell.score >= d->threshold && cell.label >= 0 ? enter(s, cell.score) : NULL;
        if (box != NULL)
            *box = cell;
    }
    join_all(s);
    for (size_t i = 1; i < s->n_found; i++) {
        const struct nuc_found box = s->found[i];
        size_t at = i;
        for (; at > 0 && box.score > s->found[at - 1].score; at--)
            s->found[at] = s->found[at - 1];
        s->found[at] = box;
    }
    s->n_found = s->n_found < d->maximum ? s->n_found : d->maximum;
    for (size_t i = 0; i < s->n_found; i++) {
        struct nuc_found *box = &s->found[i];
        *box = (struct nuc_found){box->label,
                                  box->score,
                                  box->x / (float)d->columns,
                                  box->y / (float)d->rows,
                                  box->w / (float)d->columns,
                                  box->h / (float)d->rows};
    }
}

/* ---- all ---- */

/* Where the scores of the classes begin, and in which output. */
static uint32_t first_class(const struct nuc_decision_rule *d, const struct nuc_decision_view **scores)
{
    const uint32_t of_box = d->form == NUC_BOXES_YOLO8 && !d->is_decoded ? 4 * d->bins : BOX_VALUES;

    *scores = &d->views[d->form == NUC_BOXES_SSD ? 1 : 0];
    return d->form == NUC_BOXES_SSD ? 0 : of_box + (d->form == NUC_BOXES_YOLO5);
}

uint32_t nuc_decision_classes(const struct nuc_decision_rule *d)
{
    const struct nuc_decision_view *scores = &d->views[0];
    uint32_t first = 0;

    if (d->kind != NUC_DECIDE_CLASSES && d->kind != NUC_DECIDE_BOXES)
        return 0;
    if (d->kind == NUC_DECIDE_BOXES && d->form != NUC_BOXES_FOMO)
        first = first_class(d, &scores);
    return scores->values - first;
}

void nuc_decide_boxes(struct nuc_decider *s, const void *const *outputs)
{
    const struct nuc_decision_rule *d = s->decision;
    const struct nuc_decision_view *scores;
    const uint32_t first = first_class(d, &scores);

    s->n_found = 0;
    if (d->form == NUC_BOXES_FOMO) {
        find_centroids(s, outputs);
        return;
    }
    for (uint32_t place = 0; place < scores->places; place++) {
        struct nuc_found found = {.label = 0};
        float object = 1;
        if (d->form == NUC_BOXES_YOLO5)
            object = nuc_view_score(d, nuc_view_value(scores, outputs, place, BOX_VALUES));
        if (!(object >= d->threshold) && d->form == NUC_BOXES_YOLO5)
            continue;
        found.score = object * nuc_best_class(d, scores, outputs, place, first, &found.label);
        struct nuc_found *box = found.score >= d->threshold && found.label >= 0 ? enter(s, found.score) : NULL;
        if (box == NULL)
            continue;
        decode(d, outputs, place, &found);
        *box = found;
    }
    suppress(s);
}
