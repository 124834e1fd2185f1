/*
 * A network over a window of time becomes one that takes the frames as they come. Each operator that looks back reads
 * its frames from a state, a ring of those that came before, and computes what the new ones add. plan.c follows the
 * axis of time through the graph and finds what each operator needs; rings.c rewrites the graph.
 *
 * Frame i of a value is index i of its axis in the network over a whole recording. A hop of the stream brings `frames`
 * of them: hop k those from k * frames - delay on. Frames before the first of the recording do not exist: an operator
 * with padding reads its own pad value there, so that what a delayed value has there is replaced.
 */
#ifndef NUC_REWRITE_STREAM_STREAM_H
#define NUC_REWRITE_STREAM_STREAM_H

#include "ir/axis_map.h"
#include "ir/graph.h"
#include "nucleon/compile.h"

enum nuc_track_kind {
    NUC_TRACK_STILL,  /* does not follow the stream */
    NUC_TRACK_FRAMES, /* a hop brings some frames of it */
    NUC_TRACK_WINDOW, /* computed once a hop, from a window of the latest frames */
};

/* How a value follows the stream. */
struct nuc_track {
    enum nuc_track_kind kind;
    uint32_t axis;              /* of time */
    uint32_t left;              /* of a window: dimensions in which the axis is left, as a bit mask */
    int64_t num, den;           /* frames of the value for one of the input: num / den */
    int64_t frames;             /* that a hop brings */
    int64_t delay;              /* below 0: as many frames in front are `fill`, and known before the first hop */
    double fill;                /* as a real number */
    const struct nuc_node *why; /* of a window: the operator that reads the axis as a whole */
};

/* What an operator reads of an operand: `count` frames, from `before` in front of those that the hop brings on. */
struct nuc_stream_need {
    struct nuc_node *user, *value;
    uint32_t arg, element;
    int64_t before, count;
    double pad;    /* what frames are that do not exist */
    bool is_pad;   /* such frames are read */
    bool is_whole; /* frames `from` .. `from + count - 1` of a whole window */
    int64_t from;
    bool is_part; /* by a slice of a whole window, which takes all that it is given */
};

struct nuc_stream_plan {
    struct nuc_graph *g;
    uint32_t n_nodes;
    struct nuc_node **nodes;  /* in graph order */
    struct nuc_track *tracks; /* by node id */
    int64_t hop;              /* frames of the input; 0: only `multiple` is asked for */
    int64_t multiple;         /* that hops have to be of */
    int64_t span;             /* frames of the input that windows reach back; 0: there are none */
    bool looks_back;          /* what windows are computed of depends on frames in front of them */
    uint32_t n_needs;
    size_t capacity;
    struct nuc_stream_need *needs;
};

/* Follows dimension `axis` of the first input, and of inputs of the same size there. */
struct nuc_stream_plan *nuc_plan_stream(struct nuc_graph *g, uint32_t axis, int64_t hop);

/* The operand of a call at an argument, or at an element of a list of them; NULL: there is none. */
struct nuc_node *nuc_stream_operand(const struct nuc_node *node, uint32_t arg, uint32_t element);

/*
 * Rewrites a graph of the ATen dialect, float or with quantize nodes. `axis` counts from the end where it is negative;
 * hop 0 is the least that goes. Fails with NUC_BAD_USAGE where axis or hop cannot be, and with NUC_UNSUPPORTED naming
 * the operator that does not allow it. Returns what hops have to be a multiple of.
 */
int64_t nuc_stream_graph(struct nuc_graph *g, int64_t axis, int64_t hop, struct nuc_stream_report *out);

#endif
