/* What the kinds of front ends share. */
#ifndef NUC_FRONT_SENSOR_SENSOR_H
#define NUC_FRONT_SENSOR_SENSOR_H

#include "archive/json.h"
#include "ir/graph.h"

struct nuc_front_end {
    struct nuc_graph *g;
    struct nuc_node *input;  /* of the model, which the front end takes the place of */
    struct nuc_node *before; /* in front of which its operators are put */
    struct nuc_meta wanted;  /* what the model takes, its sizes in the order of the model's file */
};

/*
 * Reads the description and builds it: from an input of its own (nuc_front_end_input()) to a float32 value of as many
 * elements as are wanted.
 */
typedef struct nuc_node *nuc_front_end_builder(struct nuc_front_end *f, const struct nuc_json *description);

nuc_front_end_builder nuc_build_audio, nuc_build_image, nuc_build_micro, nuc_build_sensor, nuc_build_values;

struct nuc_node *nuc_front_end_input(struct nuc_front_end *f, const char *name, const struct nuc_meta *meta);

/* ---- members of a description; the last argument is what stands for one that is not there ---- */

int64_t nuc_front_end_int(const struct nuc_json *object, const char *key, int64_t least, int64_t most, int64_t absent);
double nuc_front_end_real(const struct nuc_json *object, const char *key, double least, double most, double absent);
bool nuc_front_end_flag(const struct nuc_json *object, const char *key, bool absent);

/* The sizes of what the model takes do not follow from the description: says both. */
_Noreturn void nuc_front_end_misfit(const struct nuc_front_end *f, const struct nuc_json *description,
                                    const char *makes);

#endif
