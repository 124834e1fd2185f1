/* An NPU and int8 kernels on the CPU as one target: from float models to the operators of the program. */
#include "cpu/cortexm.h"
#include "driver/pipeline.h"
#include "quantized_text.h"

struct scenario {
    const char *what, *lines;
    const char *refused; /* operator that is kept off the NPU, NULL: none */
    enum nuc_placement placement;
    const char *expected; /* operators in order */
};

#define IMAGE(name) "%" name " = input : float32[1, 8, 16, 16] channels-last\n"

static const struct scenario scenarios[] = {
    {"everything on the NPU", IMAGE("x") "%y = aten.add.Tensor(%x, %x)\n", NULL, NUC_PLACEMENT_GREEDY,
     "edge.cortex_m.quantize_per_tensor.default call_delegate getitem edge.cortex_m.dequantize_per_tensor.default"},
    {"add, minimum, maximum with the last two refused",
     IMAGE("x") IMAGE("z") "%a = aten.add.Tensor(%x, %z)\n"
                           "%m = aten.minimum.default(%a, %z)\n"
                           "%y = aten.maximum.default(%m, %a)\n",
     "*imum*", NUC_PLACEMENT_GREEDY,
     "edge.cortex_m.quantize_per_tensor.default edge.cortex_m.quantize_per_tensor.default call_delegate getitem "
     "edge.cortex_m.minimum.default edge.cortex_m.maximum.default "
     "edge.cortex_m.dequantize_per_tensor.default"},
    {"mul and minimum: no requantization in between",
     IMAGE("x") IMAGE("z") "%a = aten.mul.Tensor(%x, %z)\n"
                           "%y = aten.minimum.default(%a, %x)\n",
     "aten.minimum*", NUC_PLACEMENT_GREEDY,
     "edge.cortex_m.quantize_per_tensor.default edge.cortex_m.quantize_per_tensor.default call_delegate getitem "
     "edge.cortex_m.minimum.default "
     "edge.cortex_m.dequantize_per_tensor.default"},
    {"softmax and gelu after what the NPU runs",
     "%x = input : float32[1, 64]\n%a = aten.relu.default(%x)\n"
     "%g = aten.gelu.default(%a)\n%y = aten.softmax.int(%g, 1)\n",
     "aten._softmax*", NUC_PLACEMENT_GREEDY,
     "edge.cortex_m.quantize_per_tensor.default call_delegate getitem edge.cortex_m.quantized_activation.default "
     "edge.cortex_m.softmax.default edge.cortex_m.dequantize_per_tensor.default"},
    {"an addition of 16 values costs less than the call of the NPU",
     "%x = input : float32[1, 16]\n%z = input : float32[1, 16]\n%y = aten.add.Tensor(%x, %z)\n", NULL,
     NUC_PLACEMENT_COST,
     "edge.cortex_m.quantize_per_tensor.default edge.cortex_m.quantize_per_tensor.default "
     "edge.cortex_m.quantized_add.default edge.cortex_m.dequantize_per_tensor.default"},
    {"an addition of 65,536 values does not",
     "%x = input : float32[1, 65536]\n%z = input : float32[1, 65536]\n"
     "%y = aten.add.Tensor(%x, %z)\n",
     NULL, NUC_PLACEMENT_COST,
     "edge.cortex_m.quantize_per_tensor.default edge.cortex_m.quantize_per_tensor.default call_delegate getitem "
     "edge.cortex_m.dequantize_per_tensor.default"},
};

struct flow {
    const struct scenario *s;
    struct nuc_compiler *c;
};

static void run_flow(struct nuc_context *cx, void *arg)
{
    struct flow *f = arg;
    struct nuc_model *m = nuc_model_make(f->c, parse_quantized(cx, f->s->lines));
    struct nuc_model *lowered = nuc_advance(nuc_quantize_random(m), NUC_STAGE_DIM_ORDER, NUC_STAGE_LOWER);
    const char *text = "";

    for (const struct nuc_node *n = lowered->graph->first; n != NULL; n = n->next) {
        assert_false(nuc_is_float_operator(n));
        if (nuc_is_call(n) && n->op != NUC_OP_OUTPUT)
            text = nuc_format(cx, "%s%s%s", text, *text == '\0' ? "" : " ", nuc_node_op_name(n));
    }
    if (strcmp(text, f->s->expected) != 0)
        fail_msg("%s: %s", f->s->what, text);
}

static void check_scenario(const struct scenario *s)
{
    struct nuc_options o;

    nuc_options_default(&o);
    o.target = "imxrt700cm";
    o.placement = s->placement;
    o.threads = 1;
    o.operators_not_to_delegate = &s->refused;
    o.n_operators_not_to_delegate = s->refused != NULL;
    struct flow f = {s, nuc_compiler_new(&o, NULL)};
    assert_non_null(f.c);
    if (nuc_try(f.c->cx, run_flow, &f) != NUC_OK)
        fail_msg("%s: %s", s->what, nuc_compiler_message(f.c));
    nuc_compiler_free(f.c);
}

static void sides(void **state)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        check_scenario(&scenarios[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sides)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
