/* Values in pieces: concatenations, as what is written part by part becomes. */
#ifndef NUC_REWRITE_PIECES_H
#define NUC_REWRITE_PIECES_H

#include "ir/graph.h"

/* Of a concatenation whose parts are told apart: each write lists them again. */
#define NUC_MOST_PIECES 1024

/* A concatenation along the dimension, of no more parts than that. */
bool nuc_is_in_pieces(const struct nuc_node *value, uint32_t dim);

/* Whether the parts of a concatenation are what they were: no operator in place takes one. */
bool nuc_keeps_pieces(const struct nuc_node *cat);

/*
 * What [start, end) of a value consists of, in front of `before`: parts that were written before are not read as a
 * whole, so that a result that a loop fills step by step is one concatenation. Returns how many, at most
 * NUC_MOST_PIECES; pieces: NULL only counts them.
 */
uint32_t nuc_list_pieces(struct nuc_graph *g, struct nuc_node *before, struct nuc_node *value, uint32_t dim,
                         int64_t start, int64_t end, struct nuc_node **pieces);

/*
 * The slice of another value, where that is a piece by itself, as the state that a loop has just written, or a part of
 * a part; else NULL.
 */
struct nuc_node *nuc_insert_piece(struct nuc_graph *g, struct nuc_node *before, const struct nuc_node *slice,
                                  struct nuc_node *of);

/* The parts one after the other; one part itself. */
struct nuc_node *nuc_insert_joined(struct nuc_graph *g, struct nuc_node *before, struct nuc_node **parts,
                                   uint32_t count, uint32_t dim);

/* The value with `part` in the place that begins at `start`. */
struct nuc_node *nuc_insert_written(struct nuc_graph *g, struct nuc_node *before, struct nuc_node *value, uint32_t dim,
                                    int64_t start, struct nuc_node *part);

#endif
