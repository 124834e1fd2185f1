/*
 * The plan of a compilation's work: the options, checked and looked up once. It is constant from there on; where a
 * stage decides what an option leaves open (--dim-order auto), the models after it have a plan of their own.
 */
#ifndef NUC_DRIVER_SETTINGS_H
#define NUC_DRIVER_SETTINGS_H

#include "host/context.h"
#include "ir/graph.h"
#include "nucleon/compile.h"

struct nuc_target;
struct nuc_flavor;
struct nuc_banks;
struct nuc_norms;
struct nuc_alternatives;

struct nuc_settings {
    struct nuc_options o;
    const struct nuc_target *row;    /* of the target as it is */
    const struct nuc_target *target; /* without `cpu` where that computes in float */
    const struct nuc_flavor *flavor;
    const struct nuc_banks *banks; /* of o.memories (back/program/banks.h); NULL: none */
    bool delegates;                /* the target has an NPU, and partitions may go there */
    /* By operator, for o.cpu NUC_CPU_AUTO: in int8 on the CPU although float keeps more digits. NULL: none. */
    const bool *rounds;
    const struct nuc_norms *norms;          /* chosen with these. NULL: all whole */
    const struct nuc_alternatives *weighed; /* for that choice. NULL: none */
    unsigned without;                       /* steps of the search for parameters (quantize.h) */
    unsigned rounding;                      /* as in struct nuc_quantize_options */
    bool trial;       /* what runs is asked for its decisions: no notes, dumps, timings or files */
    bool narrow;      /* a trial with the CPU in float found no values that have to be wider for a fair error */
    bool places_well; /* a trial whose cycles count: operators are placed as in what is compiled, which takes longer */
    bool judges;      /* is compared with others like it: with all accuracy, and no timings or data described */
};

/*
 * Whether the network is rewritten for what the newest rules of the NPU take: where it may go there and nobody asks for
 * what the reference does.
 */
bool nuc_expresses_for_npu(const struct nuc_settings *s);

/* Whether the CPU computes the operator in int8 also where the values around it are float without that. */
bool nuc_rounds_on_cpu(const struct nuc_settings *s, enum nuc_op op);
bool nuc_rounds_any_on_cpu(const struct nuc_settings *s);

/* Only this library's kernels run the program, which allow results over inputs. */
bool nuc_allows_in_place(const struct nuc_settings *s);

/* Fails with NUC_BAD_USAGE naming the first rewrite that is not known (rewrites.c). */
void nuc_check_rewrites(struct nuc_context *cx, const struct nuc_options *o);

/* The numbers of --stream AXIS[:HOP]; hop 0: not given. Fails with NUC_BAD_USAGE where these are none. */
struct nuc_stream_option {
    int64_t axis, hop;
};
struct nuc_stream_option nuc_stream_option(struct nuc_context *cx, const char *text);

/* Fails with NUC_BAD_USAGE naming the first option that cannot be. An alias of a flavor gives a note. */
void nuc_settings_resolve(struct nuc_context *cx, const struct nuc_options *options, struct nuc_settings *out);

/* Fails with NUC_BAD_USAGE where the NPU of the target reads weights in flash, so that nothing is fetched. */
void nuc_check_fetches(struct nuc_context *cx, const struct nuc_target *target);

/* Fails with NUC_BAD_USAGE when the option of that name has a value that cannot be, whatever the others are. */
void nuc_settings_check(struct nuc_context *cx, const char *name, const struct nuc_options *options);

#endif
