/* A prepared graph: where it is observed, and by what. */
#ifndef NUC_QUANTIZE_CALIBRATION_H
#define NUC_QUANTIZE_CALIBRATION_H

#include "eval/sequence.h"
#include "quantize/ranges/masked_range.h"
#include "quantize/ranges/observer.h"
#include "quantize/ranges/relevant_range.h"
#include "quantize/sharing.h"

/* How one node's value is observed. All groups of a node are different. */
struct nuc_observed {
    uint32_t output; /* what every user without an edge group of its own reads; NUC_NO_GROUP: the value itself */
    uint32_t n_edges;
    size_t edges_capacity;
    uint32_t *edges; /* groups in which single users read the value, in order of their first user */
};

/* An observation point: what calibration sees of a node's value for one group of readers. */
struct nuc_observation_point {
    struct nuc_node *node;
    uint32_t group;
};

/* The network with the ranges that are chosen, on samples that they do not come from. */
struct nuc_held_out {
    size_t n_samples;                           /* of those that are kept, from the first on; 0: not measured */
    double *error;                              /* by sample (effect.h) */
    const struct nuc_parameters *parameters[2]; /* by group: for the samples of each part, from those of the other */
};

struct nuc_calibration {
    struct nuc_graph *g;
    const char *samples_file;     /* for messages; NULL: samples are made up */
    const size_t *sample_numbers; /* there, of samples from number first_named on */
    uint32_t first_named;
    struct nuc_annotation **annotations; /* by node id */
    struct nuc_sharing *sharing;
    struct nuc_observer **observers; /* by group */
    struct nuc_observed *observed;   /* by node id */

    /*
     * The nodes as torch.fx orders them: constants in front of the user inputs stay there, those after them were made
     * by passes and come right before their first user.
     */
    uint32_t n_order;
    struct nuc_node **order;

    uint32_t n_points;
    struct nuc_observation_point *points; /* every one in order of execution */

    struct nuc_input_means *means; /* NULL: biases are not corrected */
    unsigned without;              /* steps of the search */
    bool high;                     /* accuracy */
    bool mixed;                    /* as in struct nuc_quantize_options */
    bool is_open;                  /* ranges are chosen by their effect */
    double run_cost; /* of this network, or of the one that it is compared with: what may be measured goes by it */
    struct nuc_chosen_ranges *ranges;   /* as in struct nuc_quantize_options */
    struct nuc_equalizer *equalizer;    /* NULL: no channel is scaled */
    struct nuc_choice_samples *samples; /* NULL: nothing is measured */
    bool has_chosen;                    /* ranges, by the samples so far */
    struct nuc_held_out held_out;
    unsigned fold; /* whose samples present parameters do not come from, or NUC_NO_FOLD (choice_samples.h) */
    const struct nuc_measured *measured; /* of the converted graph; NULL: not run */
    struct nuc_watch *watch;             /* what samples run with (observe.c); NULL before the first one */
    struct nuc_sub_arena *prepared;      /* all that there is before the first sample, until nuc_quantize_done() */
    bool *gates;                /* by node id: a mask of 0 and 1, as far as is known, that values are multiplied with */
    bool *unseen;               /* by node id: other values show the range of its group */
    bool one_scale;             /* as in struct nuc_quantize_options */
    struct nuc_range *relevant; /* by node id: what observers see of it is clipped to; NULL: as it is */
    struct nuc_range *shown;    /* by node id: all that samples showed of what is observed; NULL: nobody asks */
    bool reference_compat;      /* observers see what masks take out, ranges and steps are those of the samples alone */
    unsigned threads;
    uint32_t n_samples;
    bool has_parameters; /* the observers' parameters are up to date */
};

/* Computes the parameters of all observers from what they have seen. */
void nuc_calibration_parameters(struct nuc_calibration *c);

/* What each observer gives by itself, before any adopts those of another, and without those that derive from others. */
void nuc_own_parameters(struct nuc_calibration *c);

/* Group of the observation point that `user` reads `node` through, NUC_NO_GROUP when it reads the value itself. */
static inline uint32_t nuc_observed_group(const struct nuc_calibration *c, const struct nuc_node *node,
                                          const struct nuc_node *user)
{
    uint32_t group = nuc_edge_group(c->sharing, c->annotations, node, user);

    return group != NUC_NO_GROUP ? group : c->observed[node->id].output;
}

#endif
