/* Times one inference of LiteRT models on the simulator, and of a peer on the same models. */
#ifndef NUC_BENCH_H
#define NUC_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compiler/neutron/convert/convert.h"
#include "host/context.h"
#include "nucleon/simulator.h"

struct bench_options {
    const char *path;      /* name of the simulator's path; NULL: the best */
    const char *peer;      /* command, called as COMMAND MODEL INPUT OUTPUT; NULL: none */
    unsigned threads;      /* of the simulator */
    unsigned milliseconds; /* each measurement takes about */
    unsigned peer_samples; /* inferences of the peer */
    bool plain;            /* time plain C too */
    bool calls;            /* time each kernel call */
};

struct bench_times {
    double median, least; /* microseconds; 0: not measured */
};

/* A float tensor of the model that is int8 here: real value (q - zero) * scale. scale 0: the tensor is int8 there too.
 */
struct bench_border {
    float scale;
    int32_t zero;
};

/* A converted model in memory, with inputs of one sample. */
struct bench_model {
    struct nuc_neutron_image *image;
    uint8_t *microcode, *weights, *kernels;
    const void **inputs;
    void **outputs;
    size_t *input_sizes, *output_sizes;
    struct bench_border *input_borders, *output_borders;
    NeutronModelHandle handle;
    double macs; /* multiply-accumulates of an inference */
};

/* Microseconds of a clock that only goes forward. */
double bench_now(void);

/* Reads, converts and prepares a model; fails with a message of the file. All memory is the context's. */
struct bench_model *bench_open(struct nuc_context *cx, const char *file);
void bench_close(struct bench_model *m);

/* Chooses path and threads, runs for about the milliseconds of the options. */
struct bench_times bench_run(struct nuc_context *cx, struct bench_model *m, enum nuc_simulator_path path,
                             const struct bench_options *o);

/* Prints microseconds and work of each kernel call on the path chosen last. */
void bench_calls(struct nuc_context *cx, const struct bench_model *m, const struct bench_options *o);

/*
 * Microseconds of an inference of the peer: the time of a call with 1 + peer_samples inputs less that of one with a
 * single input, so that starting and loading cancel. *same: its outputs are the model's, byte for byte.
 */
double bench_peer(struct nuc_context *cx, const struct bench_model *m, const char *file, const struct bench_options *o,
                  bool *same);

#endif
