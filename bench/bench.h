/* Times one inference of LiteRT models on the simulator, and of a peer on the same models. */
#ifndef NUC_BENCH_H
#define NUC_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/context.h"
#include "npu/convert/convert.h"
#include "nucleon/simulator.h"

struct bench_options {
    const char *paths;     /* names of the simulator's paths between commas */
    const char *peer;      /* command, called as COMMAND MODEL INPUT OUTPUT; NULL: none */
    const char *threads;   /* numbers of threads between commas: of the simulator on each path, and of the peer */
    unsigned milliseconds; /* a measurement of the simulator takes about, over all passes */
    unsigned passes;       /* parts of it, by turns with the others */
    unsigned peer_samples; /* inferences of the peer in a pass; 0: as many as the simulator does */
    bool calls;            /* time each kernel call */
    bool rows;             /* a line of fields for each measurement instead of text */
};

/* Microseconds of an inference. */
struct bench_times {
    double median, least;
    size_t runs;
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

/* What is timed, by turns with others: the simulator on a path, or the peer. */
struct bench_runner {
    enum nuc_simulator_path path;
    bool is_peer;
    unsigned threads;
    struct bench_times times; /* the least of the passes so far; runs 0: none */
    double start;             /* peer: least microseconds of a call with one inference */
    bool same;                /* peer: its outputs are the simulator's, byte for byte */
};

/* Median and least of `n` times, which are sorted on the way. */
struct bench_times bench_summary(double *times, size_t n);

/* A pass of the simulator: chooses path and threads, runs for about `milliseconds`. */
struct bench_times bench_run(struct nuc_context *cx, struct bench_model *m, const struct bench_runner *r,
                             double milliseconds);

/* Prints microseconds and work of each kernel call on the path chosen last. */
void bench_calls(struct nuc_context *cx, const struct bench_model *m, const struct bench_options *o);

/*
 * A pass of the peer, with r->threads as THREADS in its environment, on 1 + samples inputs of which the first is not
 * timed. It may time its inferences: lines `inference MICROSECONDS` on its standard output. Else the time of an
 * inference is that of the call less r->start, by `samples`: starting and loading cancel. The first pass sets r->same.
 */
struct bench_times bench_peer(struct nuc_context *cx, const struct bench_model *m, const char *file,
                              const char *command, struct bench_runner *r, unsigned samples);

#endif
