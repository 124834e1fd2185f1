/* Int8 weights of a masked attention: 0 where the float ones are, near them elsewhere. */
#include "unit/quantize_graphs.h"
#include "unit/random.h"
#include "unit/text_cases.h"

#include "eval/eval.h"
#include "host/numbers.h"
#include "rewrite/passes.h"

#define SAMPLES 16

/* Element i of an input whose name begins with that letter, of which `stay` places stay. */
static double value_of(char letter, size_t i, size_t columns, size_t stay, uint32_t *state)
{
    bool kept = i % columns < stay;

    switch (letter) {
    case 'k':
        return kept ? 1 : 0;
    case 'h':
        return kept ? 0 : (double)-INFINITY;
    case 'l':
        return kept ? 0 : -3.4028234663852886e38;
    case 'b':
        return kept ? 2 * (double)noise(state) : (double)-INFINITY;
    case 'n':
        return (double)stay;
    default:
        return 2 * (double)noise(state);
    }
}

static const void *make_input(struct nuc_context *cx, const struct nuc_node *input, size_t sample, bool masks)
{
    const struct nuc_meta *m = &input->vals[0];
    size_t count = (size_t)nuc_elements(m), columns = 1, stay;
    void *data = nuc_alloc(cx, nuc_bytes(m) + 1);
    uint32_t state = (uint32_t)sample * 977 + 5;

    for (uint32_t i = 1; i < m->rank; i++)
        columns = (size_t)m->sizes[i] > columns && input->name[0] != 'y' ? (size_t)m->sizes[i] : columns;
    stay = masks ? 1 + sample % 4 : input->name[0] == 'n' ? 4 : columns;
    for (size_t i = 0; i < count; i++) {
        double value = value_of(input->name[0], i, columns, stay, &state);
        if (m->dtype == NUC_F32)
            ((float *)data)[i] = (float)value;
        else if (m->dtype == NUC_I64)
            ((int64_t *)data)[i] = (int64_t)value;
        else
            ((bool *)data)[i] = value > 0;
    }
    return data;
}

static const void **make_sample(struct nuc_graph *g, size_t sample, bool masks)
{
    const void **inputs = nuc_alloc_array(g->cx, 4, sizeof *inputs);
    size_t n = 0;

    for (const struct nuc_node *node = g->first; node != NULL; node = node->next) {
        if (nuc_is_user_input(node))
            inputs[n++] = make_input(g->cx, node, sample, masks);
    }
    return inputs;
}

static const float *run(struct nuc_graph *g, const void *const *inputs, size_t *count)
{
    struct nuc_evaluator *e = nuc_eval_new(g, 1);
    void *output = nuc_alloc(g->cx, nuc_bytes(&nuc_eval_output(e, 0)->vals[0]));

    *count = (size_t)nuc_elements(&nuc_eval_output(e, 0)->vals[0]);

    nuc_eval_run(e, inputs, &output);
    return output;
}

static void check_mask(struct nuc_context *cx, void *arg)
{
    struct text_case *c = arg;
    bool masks = split_at(c->name, ": no") == NULL;

    for (unsigned side = 0; side < NUC_SIDE_COUNT; side++) {
        struct nuc_graph *g = parse_quantized(cx, c->lines);
        struct nuc_quantize_options options = {
            .side = (enum nuc_side)side, .one_scale = side == NUC_SIDE_NPU, .threads = 1};
        nuc_expand(g);
        nuc_run_passes(g, &nuc_aten_passes, NUC_PASSES_DEFAULT, NULL);
        struct nuc_graph *own = nuc_graph_copy(g);
        nuc_run_passes(g, &nuc_norm_passes, NUC_PASSES_DEFAULT, NULL);
        nuc_run_passes(g, &nuc_written_passes, NUC_PASSES_DEFAULT, NULL);
        struct nuc_calibration *calibration = nuc_quantize_prepare(g, &options);
        for (size_t k = 0; k < SAMPLES; k++)
            nuc_quantize_sample(calibration, make_sample(g, k, masks));
        struct nuc_graph *quantized = nuc_quantize_convert(calibration);
        struct nuc_sqnr sqnr = {0, 0};
        for (size_t k = SAMPLES; k < 2 * SAMPLES; k++) {
            size_t count;
            const float *expected = run(own, make_sample(own, k, true), &count);
            const float *got = run(quantized, make_sample(quantized, k, true), &count);
            for (size_t i = 0; i < count; i++) {
                if (expected[i] < 1e-30f && got[i] > 0)
                    fail_msg("%s, side %u: sample %zu, weight %zu is %g", c->name, side, k, i, (double)got[i]);
            }
            nuc_sqnr_add(&sqnr, expected, got, count);
        }
        if (nuc_sqnr_db(&sqnr) < 25)
            fail_msg("%s, side %u: %.1f dB", c->name, side, nuc_sqnr_db(&sqnr));
    }
}

RUN_TESTS(TEXT_TEST("cases/masks.txt", check_mask, NULL))
