/*
 * Writes a graph of the ATen dialect, float or quantized, as an archive torch.export.load() of torch 2.14 reads; a
 * quantized one needs the operators of quantized_decomposed on the reader's side ("import
 * torch.ao.quantization.fx._decomposed"). nuc_import_pt2() gives back an equal graph.
 *
 * Parameters and buffers become the state dict, constants lifted constants; names that share their bytes share a file.
 * Every buffer is persistent, every floating parameter requires a gradient. An in-place operator stays one only where
 * nothing else reads what it overwrites; elsewhere its counterpart without '_' is written. Of the metadata torch keeps,
 * the source line and the module path of each node are there. Sample inputs are not: ep.example_inputs is None.
 *
 * The same graph gives the same bytes. Fails with NUC_BAD_USAGE when the graph holds operators of another dialect.
 */
#ifndef NUC_FRONT_PT2_PT2_WRITE_H
#define NUC_FRONT_PT2_PT2_WRITE_H

#include "host/pieces.h"
#include "ir/graph.h"

/* The file's bytes: in the arena, and those of the graph's constants. */
struct nuc_pieces nuc_write_pt2(struct nuc_graph *g);

#endif
