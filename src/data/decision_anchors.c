#include "data/decision_json.h"

#include <math.h>

#include "archive/json_build.h"
#include "data/arrays.h"
#include "device/decision/bind.h"

enum { GRIDS_MAX = 16, CELLS_MAX = 4096, OF_CELL_MAX = 64, TABLE_MAX = 1 << 16 };

/* ---- numbers ---- */

uint32_t nuc_decision_count(const struct nuc_json *j, double least, double most)
{
    const int64_t value = nuc_json_int(j);

    if (!((double)value >= least && (double)value <= most))
        nuc_json_fail(j, NUC_BAD_INPUT, "is %lld, %.0f to %.0f are allowed", (long long)value, least, most);
    return (uint32_t)value;
}

static double value_of(const struct nuc_json *j)
{
    const double value = nuc_json_double(j);

    if (!(fabs(value) <= 1e38))
        nuc_json_fail(j, NUC_BAD_INPUT, "is not a number of float32");
    return value;
}

static double number(const struct nuc_json *object, const char *key, double standard)
{
    const struct nuc_json j = nuc_json_optional(object, key);

    return nuc_json_is_there(&j) ? value_of(&j) : standard;
}

static bool flag(const struct nuc_json *object, const char *key)
{
    const struct nuc_json j = nuc_json_optional(object, key);

    return nuc_json_is_there(&j) && nuc_json_bool(&j);
}

static float read_float(const struct nuc_json *list, size_t i)
{
    const struct nuc_json item = nuc_json_item(list, i);

    return (float)value_of(&item);
}

/* ---- grids ---- */

struct making {
    struct nuc_context *cx;
    struct nuc_anchor_grid *grids;
    float *sizes;
    size_t n_grids, grids_capacity, n_sizes, sizes_capacity; /* sizes: pairs */
};

static void add_grid(struct making *m, uint32_t rows, uint32_t columns)
{
    m->grids = nuc_grow(m->cx, m->grids, &m->grids_capacity, m->n_grids + 1, sizeof *m->grids);
    m->grids[m->n_grids++] = (struct nuc_anchor_grid){rows, columns, (uint32_t)m->n_sizes, 0};
}

static void add_size(struct making *m, double w, double h)
{
    m->sizes = nuc_grow(m->cx, m->sizes, &m->sizes_capacity, m->n_sizes + 1, 2 * sizeof *m->sizes);
    m->sizes[2 * m->n_sizes] = (float)w;
    m->sizes[2 * m->n_sizes++ + 1] = (float)h;
    m->grids[m->n_grids - 1].count++;
}

/* ---- as the anchor calculator of MediaPipe and TensorFlow's multiple_grid_anchor_generator make them ---- */

struct ssd {
    double least, most, interpolated;
    bool fixed, reduced;
    size_t n;
};

static double scale_of(const struct ssd *s, size_t i)
{
    return s->n == 1 ? (s->least + s->most) / 2 : s->least + (s->most - s->least) * (double)i / (double)(s->n - 1);
}

static void add_ratio(struct making *m, const struct ssd *s, double scale, double ratio)
{
    add_size(m, s->fixed ? 1 : scale * sqrt(ratio), s->fixed ? 1 : scale / sqrt(ratio));
}

static void add_layer(struct making *m, const struct ssd *s, const struct nuc_json *ratios, size_t layer)
{
    const double scale = scale_of(s, layer), next = layer + 1 == s->n ? 1 : scale_of(s, layer + 1);

    if (layer == 0 && s->reduced) {
        add_ratio(m, s, 0.1, 1);
        add_ratio(m, s, scale, 2);
        add_ratio(m, s, scale, 0.5);
        return;
    }
    if (!nuc_json_is_there(ratios))
        add_ratio(m, s, scale, 1);
    for (size_t i = 0; nuc_json_is_there(ratios) && i < nuc_json_count(ratios); i++) {
        const double ratio = (double)read_float(ratios, i);
        if (!(ratio > 0))
            nuc_json_fail(ratios, NUC_BAD_INPUT, "has a ratio that is not above 0");
        add_ratio(m, s, scale, ratio);
    }
    if (s->interpolated > 0)
        add_ratio(m, s, sqrt(scale * next), s->interpolated);
}

/* Widths and heights, in units of 1 / input. */
static void add_given_sizes(struct making *m, const struct nuc_json *list, const uint32_t input[2])
{
    const size_t count = nuc_json_count(list);

    if (count % 2 != 0 || count > 2 * OF_CELL_MAX)
        nuc_json_fail(list, NUC_BAD_INPUT, "has %zu numbers, at most %d pairs are allowed", count, OF_CELL_MAX);
    for (size_t k = 0; k < count; k += 2)
        add_size(m, (double)read_float(list, k) / input[0], (double)read_float(list, k + 1) / input[1]);
}

static struct ssd ssd_of(const struct nuc_json *j, size_t n)
{
    const struct ssd s = {.least = number(j, "min_scale", 0.2),
                          .most = number(j, "max_scale", 0.95),
                          .interpolated = number(j, "interpolated_scale_aspect_ratio", 1),
                          .fixed = flag(j, "fixed_size"),
                          .reduced = flag(j, "reduce_lowest"),
                          .n = n};

    if (!(s.least > 0 && s.most > 0))
        nuc_json_fail(j, NUC_BAD_INPUT, "min_scale and max_scale have to be above 0");
    return s;
}

static void make_grids(struct making *m, const struct nuc_json *j, const struct nuc_decision_rule *d)
{
    const struct nuc_json strides = nuc_json_field(j, "strides"), input = nuc_json_field(j, "input_size");
    const struct nuc_json ratios = nuc_json_optional(j, "aspect_ratios"), sizes = nuc_json_optional(j, "sizes");
    const size_t n = nuc_json_count(&strides);
    const struct ssd ssd = ssd_of(j, n);
    uint32_t last = 0;

    if (n < 1 || n > GRIDS_MAX)
        nuc_json_fail(&strides, NUC_BAD_INPUT, "has %zu strides, 1 to %d are allowed", n, GRIDS_MAX);
    if (nuc_json_is_there(&sizes) && nuc_json_count(&sizes) != n)
        nuc_json_fail(&sizes, NUC_BAD_INPUT, "has %zu lists, one for each of %zu strides belongs there",
                      nuc_json_count(&sizes), n);
    if (nuc_json_count(&input) != 2)
        nuc_json_fail(&input, NUC_BAD_INPUT, "has %zu numbers, width and height belong there", nuc_json_count(&input));
    const struct nuc_json width = nuc_json_item(&input, 0), height = nuc_json_item(&input, 1);
    const uint32_t in[2] = {nuc_decision_count(&width, 1, CELLS_MAX), nuc_decision_count(&height, 1, CELLS_MAX)};
    for (size_t i = 0; i < n; i++) {
        const struct nuc_json item = nuc_json_item(&strides, i);
        const uint32_t stride = nuc_decision_count(&item, 1, CELLS_MAX);
        if (stride != last || nuc_json_is_there(&sizes))
            add_grid(m, (in[1] + stride - 1) / stride, (in[0] + stride - 1) / stride);
        last = stride;
        if (nuc_json_is_there(&sizes)) {
            const struct nuc_json given = nuc_json_item(&sizes, i);
            add_given_sizes(m, &given, in);
        } else if (d->form == NUC_BOXES_SSD) {
            add_layer(m, &ssd, &ratios, i);
        }
    }
}

/* ---- tables ---- */

static void take_table(struct nuc_decision_rule *d, const float *rows, size_t count)
{
    d->n_grids = 0;
    d->rows = (uint32_t)count;
    d->anchors = rows;
}

static void read_file(const struct nuc_json *j, const char *folder, struct nuc_decision_rule *d)
{
    struct nuc_context *cx = j->file->cx;
    const char *name = nuc_json_string(j);

    if (folder == NULL)
        nuc_json_fail(j, NUC_BAD_INPUT, "is a file, which facts do not have");
    struct nuc_arrays arrays = nuc_read_arrays(cx, name[0] == '/' ? name : nuc_format(cx, "%s%s", folder, name));
    const struct nuc_array *a = arrays.count > 0 ? &arrays.items[0] : NULL;
    if (a == NULL || a->rank != 2 || a->shape[1] != 4 || a->shape[0] < 1 || a->shape[0] > TABLE_MAX ||
        (a->dtype != NUC_F32 && !nuc_stands_for_float(a->dtype)))
        nuc_json_fail(
            j, NUC_BAD_INPUT,
            "'%.80s' is not an array of floats [anchors, 4]: x and y of the centre, width, height, from 0 to 1", name);
    float *rows = nuc_alloc_array(cx, (size_t)a->shape[0], 4 * sizeof *rows);
    nuc_array_floats(a, 0, 4 * (size_t)a->shape[0], rows);
    for (size_t i = 0; i < 4 * (size_t)a->shape[0]; i++) {
        if (!isfinite(rows[i]))
            nuc_json_fail(j, NUC_BAD_INPUT, "'%.80s' has numbers that are not finite", name);
    }
    take_table(d, rows, (size_t)a->shape[0]);
}

/* ---- all ---- */

static void check_grids(const struct nuc_json *j, const struct nuc_decision_rule *d)
{
    const uint64_t count = nuc_decision_anchors(d);

    if (count > 1 << 20)
        nuc_json_fail(j, NUC_BAD_INPUT, "makes %llu anchors, at most %d are allowed", (unsigned long long)count,
                      1 << 20);
    for (size_t i = 0; i < d->n_grids; i++) {
        if ((d->grids[i].count == 0) != (d->form == NUC_BOXES_YOLO8))
            nuc_json_fail(j, NUC_BAD_INPUT,
                          d->form == NUC_BOXES_YOLO8 ? "yolo8 has no sizes of anchors"
                                                     : "has no sizes: aspect_ratios or sizes");
    }
    if (d->n_grids == 0 && d->form != NUC_BOXES_SSD)
        nuc_json_fail(j, NUC_BAD_INPUT, "is a table, which only ssd takes: give strides");
}

void nuc_anchors_read(const struct nuc_json *decision, const char *folder, struct nuc_decision_rule *d)
{
    static const char *const keys[] = {"strides",
                                       "input_size",
                                       "sizes",
                                       "aspect_ratios",
                                       "min_scale",
                                       "max_scale",
                                       "fixed_size",
                                       "reduce_lowest",
                                       "interpolated_scale_aspect_ratio",
                                       "file",
                                       "table",
                                       "grids",
                                       NULL};
    const struct nuc_json j = nuc_json_field(decision, "anchors"), grids = nuc_json_optional(&j, "grids"),
                          table = nuc_json_optional(&j, "table"), file = nuc_json_optional(&j, "file");
    struct making m = {.cx = j.file->cx};

    nuc_json_only(&j, keys);
    if (nuc_json_is_there(&file)) {
        read_file(&file, folder, d);
    } else if (nuc_json_is_there(&table)) {
        const size_t n = nuc_json_count(&table);
        float *rows = nuc_alloc_array(table.file->cx, n, sizeof *rows);
        if (n % 4 != 0 || n == 0 || n > 4 * TABLE_MAX)
            nuc_json_fail(&table, NUC_BAD_INPUT, "has %zu numbers, four for each anchor belong there", n);
        for (size_t i = 0; i < n; i++)
            rows[i] = read_float(&table, i);
        take_table(d, rows, n / 4);
    } else {
        if (nuc_json_is_there(&grids)) {
            /* "grids": what facts have, and what a user may give. */
            const size_t n = nuc_json_count(&grids);
            if (n < 1 || n > GRIDS_MAX)
                nuc_json_fail(&grids, NUC_BAD_INPUT, "has %zu grids, 1 to %d are allowed", n, GRIDS_MAX);
            for (size_t i = 0; i < n; i++) {
                const struct nuc_json item = nuc_json_item(&grids, i), rows = nuc_json_field(&item, "rows"),
                                      columns = nuc_json_field(&item, "columns"),
                                      sizes = nuc_json_field(&item, "sizes");
                add_grid(&m, nuc_decision_count(&rows, 1, CELLS_MAX), nuc_decision_count(&columns, 1, CELLS_MAX));
                add_given_sizes(&m, &sizes, (const uint32_t[]){1, 1});
            }
        } else
            make_grids(&m, &j, d);
        d->grids = m.grids;
        d->n_grids = (uint32_t)m.n_grids;
        d->anchors = m.sizes;
    }
    check_grids(&j, d);
}

void nuc_anchors_put(struct nuc_context *cx, json_t *parent, const struct nuc_decision_rule *d)
{
    json_t *to = nuc_put_object(cx, parent, "anchors"),
           *list = nuc_put_array(cx, to, d->n_grids > 0 ? "grids" : "table");

    for (size_t i = 0; d->n_grids == 0 && i < nuc_decision_anchor_floats(d); i++)
        nuc_put_double(cx, list, NULL, (double)d->anchors[i]);
    for (size_t i = 0; i < d->n_grids; i++) {
        const struct nuc_anchor_grid *g = &d->grids[i];
        json_t *grid = nuc_put_object(cx, list, NULL);
        nuc_put_count(cx, grid, "rows", g->rows);
        nuc_put_count(cx, grid, "columns", g->columns);
        json_t *sizes = nuc_put_array(cx, grid, "sizes");
        for (size_t k = 0; k < 2 * (size_t)g->count; k++)
            nuc_put_double(cx, sizes, NULL, (double)d->anchors[2 * (size_t)g->first + k]);
    }
}
