/*
 * Reads a torch.export archive (.pt2, written by torch 2.8 and later) into a graph of the ATen dialect.
 *
 * Parameters, buffers and constants become placeholders whose data lie in the mapped file; nothing is copied unless an
 * entry is compressed or misaligned. Every node keeps its name, its source line and its module path. The shapes the
 * archive states are checked against the operators' shape rules. Left out: what nothing reads (num_batches_tracked),
 * guards, and _assert_tensor_metadata.
 *
 * Fails with NUC_UNSUPPORTED for a well-formed archive that is not handled (symbolic shapes, unknown operators, mutated
 * buffers, archives of older torch) and NUC_BAD_INPUT for a damaged one; the message names entry, node and source line.
 */
#ifndef NUC_FRONT_PT2_PT2_H
#define NUC_FRONT_PT2_PT2_H

#include "host/file.h"
#include "ir/graph.h"

struct nuc_graph *nuc_import_pt2(struct nuc_context *cx, struct nuc_stored input);

#endif
