/* Networks of which the NPU takes every operator: no value is quantized a second time on the CPU. */
#include "driver/stages.h"
#include "npu/partition/partition.h"
#include "quantized_text.h"
#include "rewrite/passes.h"

struct network {
    const char *what, *lines;
    uint32_t partitions, products; /* products: requantizations on the NPU */
};

#define IMAGE "%x = input : float32[1, 8, 16, 16]\n"
#define WEIGHT(name, sizes) "%" name " = parameter : float32[" sizes "] values(0.5, -0.25, 0.75, 0.125, -1)\n"

static const struct network networks[] = {
    {"a gate",
     WEIGHT("w", "8, 8, 1, 1") IMAGE "%m = aten.mean.dim(%x, [2, 3], true); %c = aten.conv2d.default(%m, %w)\n"
                                     "%s = aten.sigmoid.default(%c); %y = aten.mul.Tensor(%x, %s)\n",
     1, 0},
    {"probabilities go through a layer",
     WEIGHT("w", "8, 16") "%x = input : float32[4, 16]\n"
                          "%s = aten.softmax.int(%x, 1); %y = aten.linear.default(%s, %w)\n",
     1, 0},
    {"a copy between layers",
     WEIGHT("w", "8, 8, 3, 3") IMAGE "%c = aten.conv2d.default(%x, %w, none, [1, 1], [2, 2])\n"
                                     "%s = aten.slice.Tensor(%c, 2, 0, 16); %t = aten.contiguous.default(%s)\n"
                                     "%r = aten.relu.default(%t); %y = aten.conv2d.default(%r, %w)\n",
     1, 0},
    {"the fixed parameters of a sigmoid do not suit what it is joined with",
     IMAGE "%a = aten.add.Tensor(%x, %x); %s = aten.sigmoid.default(%a); %c = aten.cat.default([%a, %s], 1)\n"
           "%y = aten.add.Tensor(%c, %c)\n",
     1, 1},
    {"a product of scores, which take zero point 0, and probabilities, which have another",
     "%x = input : float32[2, 8, 8]\n"
     "%a = aten.add.Tensor(%x, %x); %s = aten.softmax.int(%a, 2); %b = aten.bmm.default(%s, %a)\n"
     "%y = aten.add.Tensor(%b, %a)\n",
     1, 1},
    {"an input is quantized on the CPU in any case",
     "%x = input : float32[2, 8, 8]\n%b = aten.bmm.default(%x, %x); %y = aten.add.Tensor(%b, %x)\n", 1, 0},
};

static bool is_requantized(const struct nuc_node *node)
{
    const struct nuc_node *from = nuc_is_quantize(node) ? nuc_arg_node(node, NUC_SELF) : NULL;
    const struct nuc_node *value = from != NULL && nuc_is_dequantize(from) ? nuc_arg_node(from, NUC_SELF) : NULL;

    const struct nuc_node *origin = value != NULL && nuc_is_quantize(value) ? nuc_arg_node(value, NUC_SELF) : NULL;

    /* Inputs are quantized on the CPU in any case. */
    return origin != NULL && !nuc_is_placeholder(origin);
}

struct flow {
    const struct network *network;
    struct nuc_compiler *c;
};

static void run_flow(struct nuc_context *cx, void *arg)
{
    struct flow *f = arg;
    struct nuc_model *m = nuc_model_make(f->c, parse_quantized(cx, f->network->lines));
    struct nuc_model *placed = nuc_advance(nuc_quantize_random(m), NUC_STAGE_DIM_ORDER, NUC_STAGE_PARTITION);
    uint32_t again = 0, products = 0;

    for (const struct nuc_node *n = placed->graph->first; n != NULL; n = n->next) {
        again += is_requantized(n);
        products += nuc_is_requantization(placed->graph, n);
    }
    if (again != 0 || products != f->network->products || placed->partitions->count != f->network->partitions)
        fail_msg("%s: %u partitions, %u products, %u values quantized again", f->network->what,
                 placed->partitions->count, products, again);
}

static void no_value_is_quantized_twice(void **state)
{
    struct nuc_options o;

    nuc_options_default(&o);
    o.placement = NUC_PLACEMENT_GREEDY;
    o.threads = 1;
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++) {
        struct flow f = {&networks[i], nuc_compiler_new(&o, NULL)};
        assert_non_null(f.c);
        if (nuc_try(f.c->cx, run_flow, &f) != NUC_OK)
            fail_msg("%s: %s", networks[i].what, nuc_compiler_message(f.c));
        nuc_compiler_free(f.c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_value_is_quantized_twice)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
