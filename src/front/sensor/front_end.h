/*
 * From a sensor to a model's input: a JSON file of one member, whose key says what the sensor gives ("audio"),
 * describes how that becomes what the model takes. Its operators are put in front of the model, so that calibration,
 * programs and evaluation take what the sensor gives.
 */
#ifndef NUC_FRONT_SENSOR_FRONT_END_H
#define NUC_FRONT_SENSOR_FRONT_END_H

#include "device/base/span.h"
#include "ir/graph.h"

/*
 * Reads the text, which messages call `name`, and gives the graph the sensor's input in place of its only one.
 * `is_image`: the graph has that as [N, C, H, W] where the model's file has [N, H, W, C], which is what a front end
 * makes. Returns the text without white space.
 */
const char *nuc_put_front_end(struct nuc_graph *g, const char *name, struct nuc_span text, bool is_image);

#endif
