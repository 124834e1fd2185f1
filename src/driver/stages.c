#include "driver/stages.h"

/* The path of a model from top to bottom. A float model takes all rows, a quantized one those from stream on. */
const struct nuc_stage_row nuc_stage_rows[NUC_STAGE_COUNT] = {
    [NUC_STAGE_IMPORT] = {.name = "import", .leaves_graph = true},
    [NUC_STAGE_EXPAND] = {.name = "expand", .leaves_graph = true},
    [NUC_STAGE_ATEN_PASSES] = {.name = "aten-passes",
                               .leaves_graph = true,
                               .passes = {&nuc_aten_passes, &nuc_norm_passes, &nuc_written_passes, &nuc_int8_passes}},
    [NUC_STAGE_ANNOTATE] = {.name = "annotate", .leaves_graph = true},
    [NUC_STAGE_CALIBRATE] = {.name = "calibrate"},
    [NUC_STAGE_EQUALIZE] = {.name = "equalize", .leaves_graph = true, .repeat_from = NUC_STAGE_CALIBRATE},
    [NUC_STAGE_WIDEN] = {.name = "widen", .repeat_from = NUC_STAGE_ANNOTATE},
    [NUC_STAGE_QUANTIZE] = {.name = "quantize", .leaves_graph = true},
    [NUC_STAGE_STREAM] = {.name = "stream", .leaves_graph = true},
    [NUC_STAGE_DIM_ORDER] = {.name = "dim-order", .leaves_graph = true},
    [NUC_STAGE_DECOMPOSE] = {.name = "decompose",
                             .leaves_graph = true,
                             .passes = {&nuc_quantized_passes, &nuc_archive_passes}},
    [NUC_STAGE_EDGE] = {.name = "edge", .leaves_graph = true, .passes = {&nuc_order_passes}},
    [NUC_STAGE_EDGE_PASSES] = {.name = "edge-passes",
                               .leaves_graph = true,
                               .passes = {&nuc_edge_passes, &nuc_float_passes, &nuc_plain_passes, &nuc_cluster_passes,
                                          &nuc_npu_passes}},
    [NUC_STAGE_PARTITION] = {.name = "partition", .leaves_graph = true, .repeat_from = NUC_STAGE_DECOMPOSE},
    [NUC_STAGE_DELEGATE] = {.name = "delegate", .leaves_graph = true},
    [NUC_STAGE_CPU_PASSES] = {.name = "cpu-passes", .leaves_graph = true, .passes = {&nuc_lowered_passes}},
    [NUC_STAGE_QUANTIZE_IO] = {.name = "quantize-io", .leaves_graph = true},
    [NUC_STAGE_LOWER] = {.name = "lower", .leaves_graph = true},
    [NUC_STAGE_BOUNDARY] = {.name = "boundary", .leaves_graph = true},
    [NUC_STAGE_STRIPS] = {.name = "strips", .leaves_graph = true},
    [NUC_STAGE_PROGRAM] = {.name = "program"},
    [NUC_STAGE_WRITE] = {.name = "write"},
};

bool nuc_dump_point(size_t index, struct nuc_dump_point *out)
{
    for (size_t s = 0; s < NUC_STAGE_COUNT; s++) {
        for (size_t k = 0; k < NUC_MAX_STAGE_LISTS && nuc_stage_rows[s].passes[k] != NULL; k++) {
            const struct nuc_pass_list *list = nuc_stage_rows[s].passes[k];
            if (index < list->count) {
                *out = (struct nuc_dump_point){nuc_pass_name(list, (uint32_t)index), nuc_stage_rows[s].name};
                return true;
            }
            index -= list->count;
        }
        if (nuc_stage_rows[s].leaves_graph && index-- == 0) {
            *out = (struct nuc_dump_point){nuc_stage_rows[s].name, NULL};
            return true;
        }
    }
    return false;
}
