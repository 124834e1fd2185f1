/* Functions of one value on the NPU: float networks, and the operators of their partitions. */
#include "compiler/driver/pipeline.h"
#include "quantized_text.h"

struct scenario {
    const char *what, *lines;
    const char *target;
    const char *refused; /* operator that is kept off the NPU, NULL: none */
    bool reference_compat;
    const char *expected; /* Edge operators that are not quantize and dequantize nodes, on the CPU with * */
};

#define X "%x = input : float32[1, 4, 6, 6] channels-last\n"

#define DECOMPOSED                                                                                                     \
    "_to_dim_order_copy.default* add.Tensor* clamp.default* clamp.default* mul.Tensor* _to_dim_order_copy.default* "   \
    "div.Tensor*"

/* Without dialect and name space. */
static const char *short_name(const struct nuc_node *node)
{
    return strchr(strchr(nuc_op_name(node->op, NUC_EDGE), '.') + 1, '.') + 1;
}

static const struct scenario scenarios[] = {
    {"hardswish is one operator", X "%y = aten.hardswish.default(%x)\n", "imxrt700", NULL, false, "hardswish.default"},
    {"the reference decomposes it", X "%y = aten.hardswish.default(%x)\n", "imxrt700", NULL, true, DECOMPOSED},
    {"refused it is decomposed", X "%y = aten.hardswish.default(%x)\n", "imxrt700", "aten.hardswish*", false,
     DECOMPOSED},
    {"and so does a PReLU", "%w = parameter : float32[1] values(0.25)\n" X "%y = aten.prelu.default(%x, %w)\n",
     "imxrt700", NULL, false, "prelu.default"},
    {"a reflected border is one operator", X "%y = aten.pad.default(%x, [1, 1, 1, 1], \"reflect\")\n", "imxrt700", NULL,
     false, "pad.default"},
};

struct flow {
    const struct scenario *s;
    struct nuc_compiler *c;
};

static void run_flow(struct nuc_context *cx, void *arg)
{
    struct flow *f = arg;
    struct nuc_model *m = nuc_model_make(f->c, parse_quantized(cx, f->s->lines));
    struct nuc_model *placed = nuc_advance(nuc_quantize_random(m), NUC_STAGE_DIM_ORDER, NUC_STAGE_PARTITION);
    const char *text = "";

    for (const struct nuc_node *n = placed->graph->first; n != NULL; n = n->next) {
        if (!nuc_is_call(n) || n->op == NUC_OP_OUTPUT || nuc_is_quantize(n) || nuc_is_dequantize(n))
            continue;
        text = nuc_format(cx, "%s%s%s%s", text, *text == '\0' ? "" : " ", short_name(n), n->partition >= 0 ? "" : "*");
    }
    if (strcmp(text, f->s->expected) != 0)
        fail_msg("%s: %s", f->s->what, text);
}

static void check_scenario(const struct scenario *s)
{
    struct nuc_options o;

    nuc_options_default(&o);
    o.target = s->target;
    o.reference_compat = s->reference_compat;
    o.threads = 1;
    o.operators_not_to_delegate = &s->refused;
    o.n_operators_not_to_delegate = s->refused != NULL;
    struct flow f = {s, nuc_compiler_new(&o, NULL)};
    assert_non_null(f.c);
    if (nuc_try(f.c->cx, run_flow, &f) != NUC_OK)
        fail_msg("%s: %s", s->what, nuc_compiler_message(f.c));
    nuc_compiler_free(f.c);
}

static void placed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        check_scenario(&scenarios[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(placed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
