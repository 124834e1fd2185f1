/*
 * Axis maps: where index i of a result comes from. For each operand of a call, an axis says which dimension of the
 * result a dimension of the operand follows, and how: one index of it, a window, or all of them. Whoever asks how data
 * move through an operator reads the map; the operators themselves are known here alone.
 */
#ifndef NUC_IR_AXIS_MAP_H
#define NUC_IR_AXIS_MAP_H

#include "ir/graph.h"

enum nuc_axis_kind {
    NUC_AXIS_ELEMENT, /* one index: start + step * index of the result; none where that lies outside of the operand */
    NUC_AXIS_WINDOW,  /* `taps` indices from there on, `dilation` apart; taps 0: of a window that has no such numbers */
    NUC_AXIS_WHOLE,   /* any of the indices */
};

/*
 * Dimensions from to from_end - 1 of the operand, counted in logical order like one dimension, and those of the result
 * that they follow, in the same way. No dimension of the result: the index is the same for all results.
 */
struct nuc_axis {
    enum nuc_axis_kind kind;
    uint32_t from, from_end, to, to_end;
    int64_t start, step, taps, dilation;
};

/* One dimension of the operand follows one of the result. */
static inline bool nuc_is_single_axis(const struct nuc_axis *a)
{
    return a->from + 1 == a->from_end && a->to + 1 == a->to_end;
}

struct nuc_axis_map {
    uint32_t count; /* each dimension of the operand belongs to one axis */
    struct nuc_axis axes[NUC_MAX_RANK];
    /*
     * Dimensions of the result stand where those of the operand stand, aligned at the last one. A property of the
     * operator: false for a view or a permutation that happens to leave the dimensions where they are.
     */
    bool keeps_dims;
};

/*
 * The map from element `element` of a list in argument `arg`, or from the tensor there (element 0), to value `value` of
 * the node. False where there is none: the operand decides in another way than by place (an index, a table), or the
 * operator is not known.
 */
bool nuc_axis_map(const struct nuc_node *node, uint32_t value, uint32_t arg, uint32_t element,
                  struct nuc_axis_map *map);

/* The axis that holds dimension `dim` of the result; NULL: the operand does not vary along it. */
const struct nuc_axis *nuc_axis_to(const struct nuc_axis_map *map, uint32_t dim);

/* Dimensions of the result that the operand follows, as a bit mask. */
uint32_t nuc_axis_dims(const struct nuc_axis_map *map);

/* Some axis is of that kind. */
bool nuc_has_axis(const struct nuc_axis_map *map, enum nuc_axis_kind kind);

/* Operand and result have the same sizes, and each element comes from the one at its place. */
bool nuc_is_same_place(const struct nuc_axis_map *map, const struct nuc_meta *from, const struct nuc_meta *to);

/*
 * The index in an operand of the sizes of `from` that an element of a result of the sizes of `to` comes from; 0 along
 * windows and whole dimensions. False when it lies outside of the operand.
 */
bool nuc_axis_source(const struct nuc_axis_map *map, const struct nuc_meta *from, const struct nuc_meta *to,
                     const int64_t *index, int64_t *source);

/*
 * A map of single dimensions to elements, as of a slice, a permutation or a diagonal: the strides of the result in the
 * operand's memory, where that of its first element is, from the operand's strides. False for other maps.
 */
bool nuc_axis_strides(const struct nuc_axis_map *map, const int64_t *from, int64_t to[NUC_MAX_RANK], int64_t *first);

/*
 * The dimension of a move's result that holds dimension `dim` of what it reads, whole and in order; as many as the
 * result has: none does, or the node is no move.
 */
uint32_t nuc_moved_dim(const struct nuc_node *node, const struct nuc_meta *from, uint32_t dim);

/* The same by the map of an operand of the sizes of `from` to a result of the sizes of `to`. */
uint32_t nuc_whole_dim(const struct nuc_axis_map *map, const struct nuc_meta *from, const struct nuc_meta *to,
                       uint32_t dim);

#endif
