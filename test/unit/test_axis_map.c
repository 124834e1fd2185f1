/* Axis maps: those of cases/axis_maps.txt, and what operators compute of data that name their own place. */
#include <math.h>

#include "unit/eval_graphs.h"
#include "unit/text_cases.h"

#include "ir/axis_map.h"

/* ---- maps as text ---- */

static const char *printed_index(struct nuc_context *cx, const struct nuc_axis *a)
{
    bool follows = a->to < a->to_end && (a->step != 0 || a->kind != NUC_AXIS_ELEMENT);
    struct nuc_text t = {.cx = cx};

    if (a->kind == NUC_AXIS_WHOLE)
        nuc_text_addf(&t, follows ? "any of " : "any");
    if (a->kind == NUC_AXIS_ELEMENT && !follows)
        nuc_text_addf(&t, "%lld", (long long)a->start);
    if (a->kind != NUC_AXIS_WHOLE && follows && a->step != 0 && a->step != 1)
        nuc_text_addf(&t, "%lld*", (long long)a->step);
    for (uint32_t d = a->to; d < a->to_end && follows; d++)
        nuc_text_addf(&t, "%sd%u", d == a->to ? "" : ".", d);
    if (a->kind != NUC_AXIS_WHOLE && follows && a->start != 0)
        nuc_text_addf(&t, "%+lld", (long long)a->start);
    if (a->kind == NUC_AXIS_WINDOW && a->taps == 0)
        nuc_text_addf(&t, " (some)");
    else if (a->kind == NUC_AXIS_WINDOW)
        nuc_text_addf(&t, " (%lld by %lld)", (long long)a->taps, (long long)a->dilation);
    return nuc_text_string(&t);
}

static const char *printed_map(struct nuc_context *cx, const struct nuc_axis_map *m)
{
    struct nuc_text t = {.cx = cx};

    for (uint32_t i = 0; i < m->count; i++) {
        const struct nuc_axis *a = &m->axes[i];
        nuc_text_addf(&t, i == 0 ? "%u" : ", %u", a->from);
        if (a->from_end > a->from + 1)
            nuc_text_addf(&t, "..%u", a->from_end - 1);
        nuc_text_addf(&t, ": %s", printed_index(cx, a));
    }
    if (!m->keeps_dims)
        nuc_text_addf(&t, "%smoved", m->count == 0 ? "" : " ");
    return m->count == 0 && m->keeps_dims ? "one" : nuc_text_string(&t);
}

/* Of every tensor that the node reads. */
static void check_line(struct nuc_context *cx, struct text_line *line)
{
    struct nuc_graph *g = parse_unverified(cx, nuc_format(cx, "%s%%y = %s\n", line->graph, line->left));
    const struct nuc_node *y = node_of(g, "y");
    struct nuc_text got = {.cx = cx};

    for (uint32_t i = 0; i < y->n_args; i++) {
        uint32_t count = y->args[i].kind == NUC_ARG_NODES ? y->args[i].count : y->args[i].kind == NUC_ARG_NODE ? 1 : 0;
        for (uint32_t k = 0; k < count; k++) {
            struct nuc_axis_map m;
            bool has = nuc_axis_map(y, 0, i, k, &m);
            nuc_text_addf(&got, "%s%s", i + k == 0 ? "" : " | ", has ? printed_map(cx, &m) : "-");
        }
    }
    if (strcmp(nuc_text_string(&got), line->right) != 0)
        fail_msg("%s: %s instead of %s", line->left, nuc_text_string(&got), line->right);
}

/* ---- what operators compute ---- */

/* How a result follows from the elements that the map names: see cases/axis_results.txt. */
enum result { GREATEST, SUM, MEAN, AMONG };

struct row {
    const char *operands[4], *call; /* operands end with NULL */
    enum result result;
    float others;
};

struct draw {
    const struct row *row;
    uint32_t seed, operand; /* operand: the one that names places */
    int64_t sizes[6], numbers[4];
};

/* The text with numbers in place of letters: "AB" is a product. Words keep their letters. */
static void substitute(struct nuc_text *t, const struct draw *d, const char *text)
{
    static const char letters[] = "ijpq";

    while (*text != '\0') {
        size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.%0123456789\"");
        size_t sizes = strspn(text, "ABCDEF");
        int64_t product = 1;
        if (length > 0 && sizes == length) {
            for (size_t i = 0; i < length; i++)
                product *= d->sizes[text[i] - 'A'];
            nuc_text_addf(t, "%lld", (long long)product);
        } else if (length == 1 && strchr(letters, *text) != NULL) {
            nuc_text_addf(t, "%lld", (long long)d->numbers[strchr(letters, *text) - letters]);
        } else {
            length = length == 0 ? 1 : length;
            nuc_text_addf(t, "%.*s", (int)length, text);
        }
        text += length;
    }
}

static struct nuc_graph *drawn_graph(struct nuc_context *cx, const struct draw *d)
{
    struct nuc_text t = {.cx = cx};

    for (uint32_t i = 0; i < 3 && d->row->operands[i] != NULL; i++) {
        nuc_text_addf(&t, "%%%c = input : float32[", "xyz"[i]);
        substitute(&t, d, d->row->operands[i]);
        nuc_text_addf(&t, "]\n");
    }
    nuc_text_addf(&t, "%%r = ");
    substitute(&t, d, d->row->call);
    nuc_text_addf(&t, "\n");
    if (strstr(d->row->call, "split") != NULL || strstr(d->row->call, "chunk") != NULL)
        nuc_text_addf(&t, "%%part = getitem(%%r, %lld)\n", (long long)d->numbers[0]);
    return parse_quantized(cx, nuc_text_string(&t));
}

/* What an element of the result can be: the elements that the map names, from those of one index of the result. */
struct found {
    double sum, greatest, least;
    int64_t count;
};

static void collect(const struct nuc_axis_map *m, const struct nuc_meta *x, const struct nuc_meta *y, const float *data,
                    const int64_t *index, uint32_t axis, int64_t *source, struct found *f)
{
    if (axis == m->count) {
        int64_t at = 0;
        for (uint32_t d = 0; d < x->rank; d++)
            at = at * x->sizes[d] + source[d];
        double value = (double)data[at];
        f->greatest = f->count == 0 || value > f->greatest ? value : f->greatest;
        f->least = f->count == 0 || value < f->least ? value : f->least;
        f->sum += value;
        f->count++;
        return;
    }
    const struct nuc_axis *a = &m->axes[axis];
    int64_t i = 0, size = 1;
    for (uint32_t d = a->to; d < a->to_end; d++)
        i = i * y->sizes[d] + index[d];
    for (uint32_t d = a->from; d < a->from_end; d++)
        size *= x->sizes[d];
    bool all = a->kind == NUC_AXIS_WHOLE || (a->kind == NUC_AXIS_WINDOW && a->taps == 0);
    for (int64_t k = 0; k < (all ? size : a->taps); k++) {
        int64_t at = all ? k : a->start + a->step * i + k * a->dilation;
        if (at < 0 || at >= size)
            continue;
        for (uint32_t d = a->from_end; d-- > a->from; at /= x->sizes[d])
            source[d] = at % x->sizes[d];
        collect(m, x, y, data, index, axis + 1, source, f);
    }
}

static void check_element(const struct draw *d, const struct found *f, double got)
{
    enum result result = d->row->result;
    bool same =
        result == AMONG ? f->least <= got && got <= f->greatest : f->count == 0 && !(got > 0); /* what is padded */

    if (result == GREATEST && f->count > 0)
        same = f->greatest == got;
    else if (result == SUM)
        same = f->sum == got;
    else if (result == MEAN && f->count > 0)
        same = got == (double)(float)((float)f->sum / (float)f->count) ||
               llround(got * (double)f->count) == (long long)f->sum;
    if (!same)
        fail_msg("%s: %g is not what the map of operand %u says: %lld from %g to %g, %g in all", d->row->call, got,
                 d->operand, (long long)f->count, f->least, f->greatest, f->sum);
}

static void check_draw(struct nuc_context *cx, void *arg)
{
    const struct draw *d = arg;
    struct nuc_graph *g = drawn_graph(cx, d);
    const struct nuc_node *r = node_of(g, "r");
    uint32_t value = r->is_tuple ? (uint32_t)d->numbers[0] : 0;
    const struct nuc_meta *y = &r->vals[value];
    const void *in[3];
    const struct nuc_node *named = NULL;
    struct nuc_axis_map map;

    for (uint32_t i = 0; i < 3 && d->row->operands[i] != NULL; i++) {
        struct nuc_node *x = node_of(g, (const char *const[]){"x", "y", "z"}[i]);
        size_t count = (size_t)nuc_elements(&x->vals[0]);
        float *data = nuc_alloc_array(cx, count, sizeof *data);
        for (size_t k = 0; k < count; k++)
            data[k] = i == d->operand ? (float)(k + 1) : d->row->others;
        in[i] = data;
        named = i == d->operand ? x : named;
    }
    bool list = r->args[0].kind == NUC_ARG_NODES;
    assert_true(nuc_axis_map(r, value, list ? 0 : d->operand, list ? d->operand : 0, &map));
    float *out = nuc_alloc_array(cx, (size_t)nuc_elements(y), sizeof *out);
    nuc_eval_run(nuc_eval_new(g, 1), in, (void *const[]){out});
    if (d->row->result == GREATEST && nuc_is_same_place(&map, &named->vals[0], y))
        assert_memory_equal(out, in[d->operand], (size_t)nuc_elements(y) * sizeof *out);
    int64_t index[NUC_MAX_RANK] = {0}, source[NUC_MAX_RANK], one[NUC_MAX_RANK];
    for (int64_t k = 0; k < nuc_elements(y); k++) {
        struct found f = {0};
        int64_t rest = k;
        for (uint32_t dim = y->rank; dim-- > 0; rest /= y->sizes[dim])
            index[dim] = rest % y->sizes[dim];
        collect(&map, &named->vals[0], y, in[d->operand], index, 0, source, &f);
        check_element(d, &f, (double)out[k]);
        if (nuc_has_axis(&map, NUC_AXIS_WINDOW) || nuc_has_axis(&map, NUC_AXIS_WHOLE))
            continue;
        assert_int_equal(nuc_axis_source(&map, &named->vals[0], y, index, one), f.count == 1);
        assert_true(f.count == 0 || memcmp(one, source, named->vals[0].rank * sizeof *one) == 0);
    }
}

/* Shapes and numbers that the operator refuses are drawn again; enough of them are not. */
static void check_draws(const struct row *row, uint32_t *seed)
{
    char refusal[NUC_MESSAGE_SIZE] = "";
    uint32_t done = 0;

    for (uint32_t k = 0; k < 60; k++) {
        struct draw d = {.row = row, .operand = k % 3};
        struct nuc_context *cx = nuc_context_new(NULL);
        for (size_t s = 0; s < COUNT(d.sizes); s++)
            d.sizes[s] = random_in(seed, 1, 4);
        for (size_t s = 0; s < COUNT(d.numbers); s++)
            d.numbers[s] = random_in(seed, s < 2 ? 0 : 1, s < 2 ? 2 : 3);
        if (row->operands[d.operand] != NULL && !(d.operand > 0 && strstr(row->call, "conv") != NULL)) {
            enum nuc_status status = nuc_try(cx, check_draw, &d);
            if (status != NUC_OK && status != NUC_BAD_INPUT && status != NUC_UNSUPPORTED)
                fail_msg("%s: %s", row->call, cx->message);
            done += status == NUC_OK;
            if (status != NUC_OK)
                snprintf(refusal, sizeof refusal, "%s", cx->message);
        }
        nuc_context_free(cx);
    }
    if (done < 5)
        fail_msg("%s: %u draws are calls: %s", row->call, done, refusal);
}

static void check_result(struct nuc_context *cx, struct text_line *line)
{
    static const char *const results[] = {"greatest", "sum", "mean", "among"};
    char *operand = split_at(line->left, " of "), *others = split_at(line->right, ", others ");
    struct row row = {.call = line->left, .others = others != NULL ? (float)atof(others) : 0};

    for (size_t i = 0; i < 3 && operand != NULL; i++, operand = split_at(operand, " and "))
        row.operands[i] = operand;
    while (strcmp(results[row.result], line->right) != 0)
        assert_true(++row.result < COUNT(results));
    check_draws(&row, line->user);
}

RUN_TESTS(LINE_TEST("cases/axis_maps.txt", check_line, NULL),
          LINE_TEST("cases/axis_results.txt", check_result, &(uint32_t){5}))
