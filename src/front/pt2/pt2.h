/*
 * Reads a torch.export archive (.pt2, written by torch 2.8 and later) into a graph of the ATen dialect.
 *
 * Parameters, buffers and constants become placeholders whose data lie in the mapped file; nothing is copied unless an
 * entry is compressed or misaligned. Every node keeps its name, its source line and its module path. The shapes the
 * archive states are checked against the operators' shape rules. Left out: what nothing reads (num_batches_tracked),
 * guards, and _assert_tensor_metadata.
 *
 * Regions (torch.no_grad(), autocast, checkpoints) are read in their place, and of torch.cond() both sides and a
 * choice. half and bfloat16 become float32. What computes nothing that is used is left out, be it known or not.
 *
 * Fails with NUC_UNSUPPORTED for a well-formed archive that is not handled (sizes that follow from data, unknown
 * operators, mutated buffers, archives of older torch) and NUC_BAD_INPUT for a damaged one; the message names entry,
 * node and source line.
 */
#ifndef NUC_FRONT_PT2_PT2_H
#define NUC_FRONT_PT2_PT2_H

#include "data/dataset.h"
#include "host/file.h"
#include "ir/graph.h"

/*
 * Sizes that the archive leaves open (dynamic_shapes of torch.export): "NAME=N", where NAME is torch's name of the
 * symbol (s39) or a dimension of an input (x.2).
 */
struct nuc_sizes {
    const char *const *texts;
    size_t count;
    struct nuc_sample_source samples; /* whose arrays say what the texts do not, where there are any */
    const struct nuc_options *options;
};

/* `sizes` may be NULL: then those of the example inputs of the export, as where neither texts nor samples say. */
struct nuc_graph *nuc_import_pt2(struct nuc_context *cx, struct nuc_stored input, const struct nuc_sizes *sizes);

#endif
