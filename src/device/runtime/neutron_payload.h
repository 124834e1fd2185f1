/* The payload of a Neutron delegate, taken apart without a driver. */
#ifndef NUC_DEVICE_RUNTIME_NEUTRON_PAYLOAD_H
#define NUC_DEVICE_RUNTIME_NEUTRON_PAYLOAD_H

#include "device/base/span.h"
#include "nucleon/NeutronDriver.h"
#include "nucleon/runtime.h"

#define NEUTRON_ALIGNMENT 16

struct neutron_state {
    NeutronModelHandle handle;
    NeutronConfig config; /* registered with the driver, which may keep its address */
    const uint8_t *input_formats, *output_formats;
    const uint8_t *input_map, *output_map;
    uint32_t n_inputs, n_outputs, n_arguments;  /* of the program; user inputs of the delegate */
    uint32_t scratch, profile, debug, prefetch; /* bytes */
    const uint8_t *io_sizes; /* bytes of inputs, then outputs: 32-bit words in our microcode; NULL in others */
};

/* The payload's parts. */
struct neutron_payload {
    const uint8_t *microcode, *weights, *kernels;
};

enum nuc_status nuc_neutron_parse(const uint8_t *processed, size_t size, struct neutron_state *s,
                                  struct neutron_payload *parts, struct nuc_detail *detail);

/* Those of nuc_backend; the state without the driver's context. */
enum nuc_status nuc_neutron_sizes(const uint8_t *processed, size_t size, struct nuc_backend_sizes *out,
                                  struct nuc_detail *detail);
size_t nuc_neutron_argument_bytes(const uint8_t *processed, size_t size, size_t index, const struct nuc_tensor *tensor);

/* With the driver: those of neutron_delegate.c. */
enum nuc_status nuc_neutron_driver_sizes(const uint8_t *processed, size_t size, struct nuc_backend_sizes *out,
                                         struct nuc_detail *detail);
void nuc_neutron_unload(void *state);
void *nuc_neutron_device(void *state);

/* What the driver answers, in the detail. */
static inline enum nuc_status nuc_neutron_failed(struct nuc_detail *detail, NeutronError code, const char *message)
{
    detail->message = message;
    detail->code = (int32_t)code;
    return NUC_DEVICE;
}

/* How a tensor crosses the boundary. */
enum crossing { DIRECT, TRANSPOSED, REFUSED };
enum crossing nuc_neutron_crossing(const struct nuc_tensor *t, uint8_t format);

#endif
