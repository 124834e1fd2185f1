/* Decisions: what is read and refused, boxes against a model of suppression that compares all, classes over time. */
#include <math.h>

#include "archive/json_build.h"
#include "contexts.h"
#include "data/decision_json.h"
#include "device/decision/bind.h"
#include "random.h"
#include "text_cases.h"

static struct nuc_decision_rule *read(struct nuc_context *cx, const char *text)
{
    const struct nuc_decision_source nothing = {.folder = NULL};

    return nuc_decision_read_option(cx, text, &nothing);
}

/* On float outputs of these sizes; a size of 0 ends them. */
static const char *put(struct nuc_context *cx, struct nuc_decision_rule *d, size_t view, const int64_t *sizes)
{
    struct nuc_decision_output o = {.name = "out", .dtype = NUC_F32, .sizes = sizes, .scale = 1};

    while (o.rank < 4 && sizes[o.rank] != 0)
        o.rank++;
    return nuc_decision_bind(cx, d, view, &o);
}

static struct nuc_decider start(struct nuc_context *cx, const struct nuc_decision_rule *d)
{
    struct nuc_decider s;
    size_t n = nuc_decision_found(d), history = nuc_decision_history(d);

    assert_int_equal(nuc_decider_init(&s, d, nuc_alloc_array(cx, n, sizeof *s.found), n,
                                      nuc_alloc_array(cx, history + 1, sizeof(float)), history),
                     NUC_OK);
    return s;
}

static bool same(float a, float b)
{
    return fabsf(a - b) < 1e-5f;
}

/* ---- reading ---- */

static void read_row(struct nuc_context *cx, void *arg)
{
    read(cx, arg);
}

/* What is taken is written, read and written again as the same. */
static void check_option(struct nuc_context *cx, struct text_line *line)
{
    const enum nuc_status status = nuc_try(cx, read_row, line->left);

    if ((status != NUC_OK) != line->refused || (line->refused && strstr(cx->message, line->right) == NULL))
        fail_msg("%s: %s", line->left, cx->message);
    if (status != NUC_OK)
        return;
    const char *before = NULL;
    for (const char *text = line->left; before == NULL || strcmp(before, text) != 0;) {
        json_t *tree = nuc_json_tree(cx);
        assert_true(before == NULL || before == line->left);
        nuc_decision_put(cx, tree, "d", read(cx, text));
        before = text;
        struct nuc_span span = nuc_json_dump(cx, json_object_get(tree, "d"), JSON_COMPACT | JSON_REAL_PRECISION(9));
        text = nuc_format(cx, "%.*s", (int)span.size, (const char *)span.data);
    }
}

/* ---- in a program ---- */

static const char *as_text(struct nuc_context *cx, const struct nuc_decision_rule *d)
{
    json_t *tree = nuc_json_tree(cx);

    nuc_decision_put(cx, tree, "d", d);
    struct nuc_span span = nuc_json_dump(cx, tree, JSON_COMPACT | JSON_REAL_PRECISION(9));
    return nuc_format(cx, "%.*s", (int)span.size, (const char *)span.data);
}

static const struct record_case {
    const char *text;
    int64_t sizes[2][4];
} records[] = {
    {"{\"classes\":{\"smoothing\":\"average\",\"window\":3,\"ignore\":[2,0],\"release\":0.25}}", {{12}}},
    {"{\"boxes\":{\"form\":\"fomo\",\"rows\":3,\"columns\":4,\"activation\":\"softmax\"}}", {{3, 4, 2}}},
    {"{\"boxes\":{\"form\":\"yolo8\",\"agnostic\":true,\"input_size\":[96,64]}}", {{40, 6}}},
    {"{\"boxes\":{\"form\":\"yolo5\",\"decoded\":false,\"anchors\":{\"input_size\":[32,32],\"strides\":[8,16],"
     "\"sizes\":[[8,16,4,4],[1,2]]}}}",
     {{36, 7}}},
    {"{\"boxes\":{\"form\":\"ssd\",\"outputs\":[1,0],\"coding\":[10,10,5,5],\"background\":true,\"anchors\":{\"table\":"
     "[0.5,0.25,0.125,1,0.25,0.5,1,0.5]}}}",
     {{2, 4}, {2, 3}}},
    {"{\"keypoints\":{\"form\":\"heatmap\",\"outputs\":[0,1],\"rows\":4,\"columns\":3,\"points\":2}}",
     {{4, 3, 2}, {4, 3, 4}}},
    {"{\"anomaly\":{\"threshold\":0.5,\"score\":\"max\"}}", {{5}}},
};

static bool put_all(struct nuc_context *cx, struct nuc_decision_rule *d, const struct record_case *c)
{
    for (size_t i = 0; i < d->n_views; i++) {
        if (put(cx, d, i, c->sizes[i]) != NULL)
            return false;
    }
    return true;
}

/* What is stored is loaded; what is changed is refused, or decides within its outputs and memory (sanitizers tell). */
static void check_record(struct nuc_context *cx, void *row)
{
    static const uint32_t words[] = {0, 1, 2, 3, 17, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF};
    const struct record_case *c = row;
    const struct nuc_decision_rule *d = read(cx, c->text);
    const size_t size = nuc_decision_bytes(d);
    uint8_t *bytes = nuc_alloc(cx, size + 4);
    struct nuc_decision_rule loaded;
    size_t taken = 0;

    nuc_decision_store(d, bytes);
    assert_true(nuc_decision_load(&loaded, (struct nuc_span){bytes, size}));
    assert_string_equal(as_text(cx, d), as_text(cx, &loaded));
    assert_true(put_all(cx, &loaded, c));
    assert_false(nuc_decision_load(&loaded, (struct nuc_span){bytes, size + 4}));
    for (size_t cut = 0; cut < size; cut++)
        assert_false(nuc_decision_load(&loaded, (struct nuc_span){nuc_copy(cx, bytes, cut), cut}));
    for (size_t at = 0; at < size; at += 4) {
        for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
            uint8_t *changed = nuc_copy(cx, bytes, size);
            const void *outputs[NUC_DECISION_OUTPUTS] = {NULL};
            nuc_store_u32(changed + at, words[w]);
            if (!nuc_decision_load(&loaded, (struct nuc_span){changed, size}) || loaded.views[0].output > 1 ||
                loaded.views[1].output > 1 || !put_all(cx, &loaded, c))
                continue;
            for (size_t i = 0; i < loaded.n_views; i++) { /* one for both is as long as the longer needs */
                const int64_t *s = c->sizes[i];
                size_t elements = 1;
                for (size_t k = 0; k < 4 && s[k] > 0; k++)
                    elements *= (size_t)s[k];
                if (loaded.views[0].output != loaded.views[1].output || loaded.n_views == 1)
                    outputs[loaded.views[i].output] = nuc_alloc_array(cx, elements, sizeof(float));
            }
            if (outputs[loaded.views[0].output] == NULL)
                continue;
            struct nuc_decider s = start(cx, &loaded);
            nuc_decider_run(&s, outputs);
            taken += nuc_decider_run(&s, outputs) == NUC_OK;
        }
    }
    assert_true(taken > 20);
}

struct shape_case {
    const char *text;
    int64_t sizes[5];
    const char *why;
    uint32_t places, values, place_step, value_step;
};

static const struct shape_case shapes[] = {
    {"{\"classes\":{}}", {1, 12, 1, 1}, NULL, 1, 12, 1, 1},
    {"{\"classes\":{}}", {3, 4}, "has shape [3, 4], one score for each class", 0, 0, 0, 0},
    {"{\"classes\":{\"ignore\":[4]}}", {1, 4}, "class 4", 0, 0, 0, 0},
    {"{\"boxes\":{\"form\":\"yolo8\"}}", {1, 7, 50}, NULL, 50, 7, 1, 50},
    {"{\"boxes\":{\"form\":\"yolo5\"}}", {1, 50, 7}, NULL, 50, 7, 7, 1},
    {"{\"boxes\":{\"form\":\"yolo5\"}}", {1, 50, 5}, "at least 6 values", 0, 0, 0, 0},
    {"{\"boxes\":{\"form\":\"fomo\",\"rows\":6,\"columns\":8}}", {1, 6, 8, 3}, NULL, 48, 3, 3, 1},
    {"{\"boxes\":{\"form\":\"fomo\",\"rows\":6,\"columns\":8}}", {1, 3, 6, 8}, NULL, 48, 3, 1, 48},
    {"{\"boxes\":{\"form\":\"fomo\",\"rows\":8,\"columns\":6}}", {1, 3, 6, 8}, "8 rows, 6 columns", 0, 0, 0, 0},
    {"{\"keypoints\":{\"form\":\"heatmap\",\"rows\":6,\"columns\":8,\"points\":1}}", {1, 6, 8, 1}, NULL, 48, 1, 1, 1},
    {"{\"keypoints\":{\"form\":\"coordinates\",\"points\":17}}", {1, 51}, NULL, 17, 3, 3, 1},
    {"{\"keypoints\":{\"form\":\"coordinates\",\"points\":17}}", {1, 1, 17, 2}, NULL, 17, 2, 2, 1},
    {"{\"anomaly\":{\"threshold\":1}}", {1, 3, 4, 2}, NULL, 24, 1, 1, 1},
};

static void check_shape(struct nuc_context *cx, void *row)
{
    const struct shape_case *c = row;
    struct nuc_decision_rule *d = read(cx, c->text);
    const char *why = put(cx, d, 0, c->sizes);
    const struct nuc_decision_view *v = &d->views[0];

    if ((why == NULL) != (c->why == NULL) || (why != NULL && strstr(why, c->why) == NULL))
        fail_msg("%s: %s", c->text, why);
    if (why == NULL)
        assert_true(v->places == c->places && v->values == c->values && v->place_step == c->place_step &&
                    v->value_step == c->value_step);
}

/* ---- boxes ---- */

enum { N_BOXES = 60, N_VALUES = 4 + 3 };

static float iou_of(const float *a, const float *b)
{
    float w = fminf(a[0] + a[2] / 2, b[0] + b[2] / 2) - fmaxf(a[0] - a[2] / 2, b[0] - b[2] / 2);
    float h = fminf(a[1] + a[3] / 2, b[1] + b[3] / 2) - fmaxf(a[1] - a[3] / 2, b[1] - b[3] / 2);
    float both = w > 0 && h > 0 ? w * h : 0;

    return both / (a[2] * a[3] + b[2] * b[3] - both);
}

static int best_of(const float *row, float *score)
{
    int best = 0;

    for (int i = 1; i < 3; i++)
        best = row[4 + i] > row[4 + best] ? i : best;
    *score = row[4 + best];
    return best;
}

/* Takes the best that is left, and away what it suppresses: the indices in order. */
static size_t slow_suppression(const float (*rows)[N_VALUES], bool agnostic, float threshold, float iou, size_t *out)
{
    bool gone[N_BOXES] = {false};
    size_t n = 0;

    for (;;) {
        int best = -1;
        float most = 0, score;
        for (int i = 0; i < N_BOXES; i++) {
            best_of(rows[i], &score);
            if (!gone[i] && score >= threshold && (best < 0 || score > most)) {
                best = i;
                most = score;
            }
        }
        if (best < 0)
            return n;
        out[n++] = (size_t)best;
        for (int i = 0; i < N_BOXES; i++) {
            bool kin = agnostic || best_of(rows[i], &score) == best_of(rows[best], &score);
            gone[i] = gone[i] || i == best || (kin && iou_of(rows[i], rows[best]) > iou);
        }
    }
}

static void suppression(struct nuc_context *cx, void *arg)
{
#define ROWS "{\"boxes\":{\"form\":\"yolo8\",\"threshold\":0.3,\"iou\":0.4,\"candidates\":64,"
    static const char *const texts[] = {
        ROWS "\"maximum\":64}}",
        ROWS "\"maximum\":64,\"agnostic\":true}}",
        ROWS "\"maximum\":3}}",
    };
    uint32_t state = 7;
    size_t suppressed = 0;

    (void)arg;
    for (size_t trial = 0; trial < 200; trial++) {
        float rows[N_BOXES][N_VALUES];
        size_t wanted[N_BOXES];
        const void *outputs[] = {rows};
        for (size_t i = 0; i < N_BOXES; i++) {
            for (size_t k = 0; k < N_VALUES; k++)
                rows[i][k] = (float)(next_random(&state) % 64) / 64;
            rows[i][2] += 0.25f;
            rows[i][3] += 0.25f;
        }
        struct nuc_decision_rule *d = read(cx, texts[trial % 3]);
        assert_null(put(cx, d, 0, (const int64_t[]){1, N_BOXES, N_VALUES, 0}));
        struct nuc_decider s = start(cx, d);
        assert_int_equal(nuc_decider_run(&s, outputs), NUC_OK);
        size_t n = slow_suppression((const float(*)[N_VALUES])rows, d->agnostic, d->threshold, d->iou, wanted);
        suppressed += N_BOXES - n;
        n = n < d->maximum ? n : d->maximum;
        assert_int_equal(s.n_found, n);
        for (size_t i = 0; i < n; i++) {
            const float *row = rows[wanted[i]];
            float score;
            assert_int_equal(s.found[i].label, best_of(row, &score));
            assert_true(same(s.found[i].score, score) && same(s.found[i].w, row[2]) &&
                        same(s.found[i].x, row[0] - row[2] / 2));
        }
    }
    assert_true(suppressed > 200);
}

/* Of more than the candidates the best ones stay, whatever their order. */
static void bounded(struct nuc_context *cx, void *arg)
{
    struct nuc_decision_rule *d =
        read(cx, "{\"boxes\":{\"form\":\"yolo8\",\"threshold\":0.1,\"candidates\":4,\"maximum\":4,\"iou\":1}}");
    float rows[9][5] = {{0}};
    const void *outputs[] = {rows};

    (void)arg;
    for (size_t i = 0; i < 9; i++)
        rows[i][4] = (float)(i * 4 % 9) / 10;
    assert_null(put(cx, d, 0, (const int64_t[]){9, 5, 0}));
    struct nuc_decider s = start(cx, d);
    nuc_decider_run(&s, outputs);
    assert_int_equal(s.n_found, 4);
    for (size_t i = 0; i < 4; i++)
        assert_true(same(s.found[i].score, (float)(8 - i) / 10));
    struct nuc_found few[3];
    assert_int_equal(nuc_decider_init(&s, d, few, 3, NULL, 0), NUC_NO_MEMORY);
}

/* The anchors of MediaPipe's face detector, and a box of its coding by hand. */
static void anchors(struct nuc_context *cx, void *arg)
{
    struct nuc_decision_rule *d =
        read(cx, "{\"boxes\":{\"form\":\"ssd\",\"y_first\":false,\"exponential\":false,\"coding\":[128,128,128,128],"
                 "\"activation\":\"sigmoid\",\"anchors\":{\"input_size\":[128,128],\"strides\":[8,16,16,16],"
                 "\"min_scale\":0.1484375,\"max_scale\":0.75,\"aspect_ratios\":[1.0],\"fixed_size\":true}}}");
    float boxes[896][16] = {{0}}, scores[896];
    const void *outputs[] = {boxes, scores};

    (void)arg;
    assert_int_equal(nuc_decision_anchors(d), 896);
    assert_int_equal(d->n_grids, 2);
    assert_true(d->grids[0].count == 2 && d->grids[1].count == 6 && d->grids[1].rows == 8);
    assert_null(put(cx, d, 0, (const int64_t[]){1, 896, 16, 0}));
    assert_null(put(cx, d, 1, (const int64_t[]){1, 896, 1, 0}));
    for (size_t i = 0; i < 896; i++)
        scores[i] = -5;
    scores[512 + 6 * 9 + 5] = 2; /* the second row and column of the coarse grid */
    boxes[512 + 6 * 9 + 5][0] = 12.8f;
    boxes[512 + 6 * 9 + 5][2] = 32;
    boxes[512 + 6 * 9 + 5][3] = 64;
    struct nuc_decider s = start(cx, d);
    nuc_decider_run(&s, outputs);
    assert_int_equal(s.n_found, 1);
    assert_true(same(s.found[0].score, 0.880797f) && same(s.found[0].x, 0.1875f + 0.1f - 0.125f) &&
                same(s.found[0].y, 0.1875f - 0.25f) && same(s.found[0].w, 0.25f) && same(s.found[0].h, 0.5f));
}

/* Raw rows of both YOLO heads: a cell's centre where nothing is added to it. */
static void raw_yolo(struct nuc_context *cx, void *arg)
{
    struct nuc_decision_rule *d =
        read(cx, "{\"boxes\":{\"form\":\"yolo5\",\"decoded\":false,\"activation\":\"sigmoid\","
                 "\"threshold\":0.2,\"anchors\":{\"input_size\":[32,32],\"strides\":[8],"
                 "\"sizes\":[[8,16,4,4]]}}}");
    float rows[32][6], bins[64][9];
    const void *outputs[] = {rows};

    (void)arg;
    for (size_t i = 0; i < 32 * 6; i++)
        rows[i / 6][i % 6] = i % 6 < 4 ? 0 : -9;
    rows[6][4] = rows[6][5] = 9;
    assert_null(put(cx, d, 0, (const int64_t[]){32, 6, 0}));
    struct nuc_decider s = start(cx, d);
    nuc_decider_run(&s, outputs);
    assert_int_equal(s.n_found, 1);
    assert_true(same(s.found[0].w, 0.25f) && same(s.found[0].h, 0.5f) && same(s.found[0].x, 2.5f / 4 - 0.125f) &&
                same(s.found[0].y, 1.5f / 4 - 0.25f));

    d = read(cx, "{\"boxes\":{\"form\":\"yolo8\",\"decoded\":false,\"activation\":\"sigmoid\",\"bins\":2,"
                 "\"anchors\":{\"input_size\":[64,64],\"strides\":[8]}}}");
    for (size_t i = 0; i < 64 * 9; i++)
        bins[i / 9][i % 9] = i % 9 == 8 ? -9 : 0;
    bins[63][8] = 9;
    assert_null(put(cx, d, 0, (const int64_t[]){64, 9, 0}));
    s = start(cx, d);
    outputs[0] = bins;
    nuc_decider_run(&s, outputs);
    assert_int_equal(s.n_found, 1);
    assert_true(same(s.found[0].x, 7.0f / 8) && same(s.found[0].w, 1.0f / 8));
}

static void centroids(struct nuc_context *cx, void *arg)
{
    struct nuc_decision_rule *d = read(cx, "{\"boxes\":{\"form\":\"fomo\",\"rows\":4,\"columns\":5}}");
    float map[20][3] = {{0}};
    const void *outputs[] = {map};
    static const size_t ones[] = {0, 1, 6, 19};

    (void)arg;
    for (size_t i = 0; i < 20; i++)
        map[i][0] = 1; /* background */
    for (size_t i = 0; i < 4; i++)
        map[ones[i]][1] = 0.6f + (float)i / 10;
    map[10][2] = 0.9f;
    assert_null(put(cx, d, 0, (const int64_t[]){1, 4, 5, 3}));
    struct nuc_decider s = start(cx, d);
    nuc_decider_run(&s, outputs);
    assert_int_equal(s.n_found, 3);
    assert_true(s.found[0].label == 2 || s.found[1].label == 2);
    const struct nuc_found *f = s.found[2].label == 1 ? &s.found[2] : &s.found[1];
    assert_true(same(f->score, 0.8f) && same(f->x, 0) && same(f->w, 0.4f) && same(f->h, 0.5f));
}

/* ---- classes ---- */

static void events(struct nuc_context *cx, void *arg)
{
    struct nuc_decision_rule *d =
        read(cx, "{\"classes\":{\"smoothing\":\"average\",\"window\":2,\"threshold\":0.7,"
                 "\"release\":0.3,\"minimum_count\":2,\"refractory_steps\":8,\"ignore\":[0]}}");
    static const float scores[] = {0.9f, 0.9f, 0.9f, 0.5f, 0.1f, 0.1f, 0.9f, 0.9f, 0.9f, 0.9f};
    /* Means of two: 0.9 a second time begins, 0.3 does not end, 0.1 does; 8 steps later another one may begin. */
    static const char wanted[] = "-nuuu----n";

    (void)arg;
    assert_null(put(cx, d, 0, (const int64_t[]){1, 2, 0}));
    struct nuc_decider s = start(cx, d);
    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i < sizeof scores / sizeof scores[0]; i++) {
            const float row[] = {1, scores[i]};
            const void *outputs[] = {row};
            nuc_decider_run(&s, outputs);
            const char state = s.is_new ? 'n' : s.n_found > 0 ? 'u' : '-';
            if (state != wanted[i])
                fail_msg("step %zu: %c", i, state);
        }
        nuc_decider_reset(&s);
    }
}

static void keypoints(struct nuc_context *cx, void *arg)
{
    struct nuc_decision_rule *d =
        read(cx, "{\"keypoints\":{\"form\":\"heatmap\",\"rows\":4,\"columns\":4,\"points\":2}}");
    float map[16][2] = {{0}};
    const void *outputs[] = {map};

    (void)arg;
    map[5][0] = 0.9f;
    map[6][0] = 0.2f; /* to the right of it */
    map[15][1] = 0.5f;
    assert_null(put(cx, d, 0, (const int64_t[]){1, 4, 4, 2}));
    struct nuc_decider s = start(cx, d);
    nuc_decider_run(&s, outputs);
    assert_int_equal(s.n_found, 2);
    assert_true(same(s.found[0].x, 1.75f / 4) && same(s.found[0].y, 1.5f / 4) && same(s.found[1].x, 3.5f / 4));
}

/* int8 values are those of their scale. */
static void anomalies(struct nuc_context *cx, void *arg)
{
    struct nuc_decision_rule *d = read(cx, "{\"anomaly\":{\"threshold\":1.25}}");
    int8_t data[] = {10, 12, 14, 16};
    const void *outputs[] = {data};
    const struct nuc_decision_output o = {
        .name = "out", .dtype = NUC_I8, .rank = 1, .sizes = (const int64_t[]){4}, .scale = 0.5, .zero_point = 10};

    (void)arg;
    assert_null(nuc_decision_bind(cx, d, 0, &o));
    struct nuc_decider s = start(cx, d);
    nuc_decider_run(&s, outputs);
    assert_true(s.found[0].label == 1 && s.is_new && same(s.found[0].score, 1.5f));
    nuc_decider_run(&s, outputs);
    assert_true(s.found[0].label == 1 && !s.is_new);
    data[3] = 12;
    nuc_decider_run(&s, outputs);
    assert_int_equal(s.found[0].label, 0);
}

RUN_TESTS(LINE_TEST("cases/decision.txt", check_option, NULL), ROW_TEST(check_record, records),
          ROW_TEST(check_shape, shapes), CONTEXT_TEST(suppression), CONTEXT_TEST(bounded), CONTEXT_TEST(anchors),
          CONTEXT_TEST(raw_yolo), CONTEXT_TEST(centroids), CONTEXT_TEST(events), CONTEXT_TEST(keypoints),
          CONTEXT_TEST(anomalies))
