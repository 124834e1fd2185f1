/* The converter of a partition: the one built in, or a command. */
#ifndef NUC_DRIVER_CONVERTER_H
#define NUC_DRIVER_CONVERTER_H

#include "driver/driver.h"
#include "npu/convert/convert.h"
#include "npu/lower/lower.h"

/* Microcode and weights, and which of the delegate's arguments and results its inputs and outputs are. */
struct nuc_converted_partition {
    struct nuc_neutron_image *image;
    uint8_t version; /* of the payload */
    const uint8_t *input_map, *output_map;
    bool is_ours; /* microcode the simulator runs */
};

/*
 * `litert` is `partition` as a file. With options.converter the file goes to that command; what comes back must be one
 * NeutronGraph with the inputs and outputs of the partition. Fails with one line that names the command and the
 * partition.
 */
struct nuc_converted_partition nuc_convert_partition(const struct nuc_model *m, const char *tag,
                                                     const struct nuc_lt_model *partition, struct nuc_span litert,
                                                     const struct nuc_convert_options *options);

/* With options.intermediates_dir: the bytes as <tag>_<kind>.et.tflite there. */
void nuc_write_intermediate(const struct nuc_model *m, const char *tag, const char *kind, struct nuc_span bytes);

/* No command is given. */
bool nuc_is_builtin_converter(const struct nuc_options *o);

/* "nucleon", or the command. */
const char *nuc_converter_name(const struct nuc_options *o);

#endif
