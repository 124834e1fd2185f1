/* Networks of which the NPU takes every operator: no value is quantized a second time on the CPU. */
#include "compiled_lines.h"

#include "driver/stages.h"
#include "npu/partition/partition.h"
#include "rewrite/passes.h"

static bool is_requantized(const struct nuc_node *node)
{
    const struct nuc_node *from = nuc_is_quantize(node) ? nuc_arg_node(node, NUC_SELF) : NULL;
    const struct nuc_node *value = from != NULL && nuc_is_dequantize(from) ? nuc_arg_node(from, NUC_SELF) : NULL;

    const struct nuc_node *origin = value != NULL && nuc_is_quantize(value) ? nuc_arg_node(value, NUC_SELF) : NULL;

    /* Inputs are quantized on the CPU in any case. */
    return origin != NULL && !nuc_is_placeholder(origin);
}

static void check_scales(struct nuc_context *cx, struct nuc_model *m, const struct text_line *line)
{
    struct nuc_model *placed = nuc_advance(nuc_quantize_random(m), NUC_STAGE_DIM_ORDER, NUC_STAGE_PARTITION);
    uint32_t again = 0, products = 0;

    for (const struct nuc_node *n = placed->graph->first; n != NULL; n = n->next) {
        again += is_requantized(n);
        products += nuc_is_requantization(placed->graph, n);
    }
    const char *found = nuc_format(cx, "%u partition, %u products", placed->partitions->count, products);
    if (again != 0 || strcmp(found, line->right) != 0)
        fail_msg("%s: %s, %u values quantized again", line->name, found, again);
}

RUN_TESTS(COMPILED_TEST("cases/one_scale.txt", check_scales))
