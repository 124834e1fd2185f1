/*
 * Loads and runs a program file (.pte, docs/formats.md) in memory of the caller. The runtime allocates nothing,
 * performs no input or output, and keeps no state outside struct nuc_program and the caller's memory.
 *
 *     struct nuc_program_sizes sizes;
 *     nuc_program_sizes(image, size, &nuc_default_backends, &sizes, &detail);
 *     ... reserve sizes.state, sizes.planned[], sizes.temporary bytes, each aligned to NUC_MEMORY_ALIGNMENT ...
 *     nuc_program_load(&program, image, size, &memory, &nuc_default_kernels, &nuc_default_backends, &detail);
 *     nuc_program_set_input(&program, 0, input, bytes, &detail);
 *     nuc_program_execute(&program, &detail);
 *     nuc_program_output(&program, 0, &tensor);
 *
 * Loading verifies the image once. Whatever its bytes are, no call reads or writes outside the image and the caller's
 * memory, and every call ends. While the program is in use, the image must not move or change. It must be aligned to
 * NUC_MEMORY_ALIGNMENT, and if it contains delegates, the NPU must be able to read it. You may execute a loaded program
 * any number of times. Set its inputs before each execution, because planned memory is reused. Only one thread at a
 * time may use a program; different programs are independent of each other.
 *
 * Wrong use is an error, too. NUC_BAD_USAGE: a required pointer is NULL, a call precedes nuc_program_load() (on a
 * zeroed structure) or follows nuc_program_unload(), or an input was not set since the last execution. NUC_NO_MEMORY:
 * blocks overlap each other or the image. The calls cannot detect invalid pointers, or memory that another thread or
 * the caller changes during a call.
 *
 * Every `detail` may be NULL.
 */
#ifndef NUCLEON_RUNTIME_H
#define NUCLEON_RUNTIME_H

#include "nucleon/decision.h"
#include "nucleon/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NUC_MEMORY_ALIGNMENT 16

/* Memories a program may plan for: memory_id 1 to NUC_MAX_MEMORIES of the file, here index 0 and up. */
#define NUC_MAX_MEMORIES 8

/* Bytes that a backend needs for one delegate: state lives as long as the program, temporary during a call. */
struct nuc_backend_sizes {
    size_t state;
    size_t temporary;
    size_t scratch;     /* the part of temporary that a program may plan: one block, `scratch` of nuc_kernel_context */
    uint32_t microcode; /* version of the code for the hardware, 0: it has none */
};

/*
 * Executes delegates, the partitions for one piece of hardware. `processed` is the payload inside the image; it is not
 * trusted.
 */
struct nuc_backend {
    const char *id; /* "NeutronBackend" */

    enum nuc_status (*sizes)(const uint8_t *processed, size_t size, struct nuc_backend_sizes *out,
                             struct nuc_detail *detail);

    /*
     * Additional temporary bytes of a call whose argument `index` is this tensor (its data is NULL). May be NULL: none.
     */
    size_t (*argument_bytes)(const uint8_t *processed, size_t size, size_t index, const struct nuc_tensor *tensor);

    /* `state` has the size from sizes(), is aligned to NUC_MEMORY_ALIGNMENT and zeroed. */
    enum nuc_status (*load)(void *state, const uint8_t *processed, size_t size, struct nuc_detail *detail);

    /* Inputs, then outputs, in the program's order. The backend must check kinds, counts and constness. */
    enum nuc_status (*run)(void *state, struct nuc_kernel_context *cx, struct nuc_value *const *args, size_t n_args);

    void (*unload)(void *state); /* may be NULL */

    /* The driver's handle of a loaded delegate, for tools of that driver. May be NULL: none. */
    void *(*device)(void *state);
};

/* The runtime's part in loading delegates of programs: a firmware that names it nowhere does not hold it. */
extern const struct nuc_delegates nuc_delegates;

struct nuc_backend_table {
    const struct nuc_backend *const *entries;
    size_t count;
    const struct nuc_delegates *delegates; /* &nuc_delegates; NULL where there are no entries */
};

/* The eIQ Neutron NPU, through the driver API of NeutronDriver.h. The application must call neutronInit(). */
extern const struct nuc_backend nuc_neutron_backend;

/* neutronInit() as the runtime reports errors. */
enum nuc_status nuc_neutron_start(void);

/*
 * The same backend for an NPU that has no power while it does not work: loading and each run of a delegate call
 * neutronResume(), and neutronSuspend() when they are done, also where they fail. The application calls
 * nuc_neutron_power_start(), which leaves the NPU suspended, in place of neutronInit().
 */
extern const struct nuc_backend nuc_neutron_power_backend;
enum nuc_status nuc_neutron_power_start(void);

/* What sources of nucleon codegen, kernels and plan take: with -DNUCLEON_SUSPEND_NPU the NPU is suspended between runs.
 */
#ifdef NUCLEON_SUSPEND_NPU
#define NUC_NPU_BACKEND nuc_neutron_power_backend
#define NUC_NPU_START nuc_neutron_power_start
#else
#define NUC_NPU_BACKEND nuc_neutron_backend
#define NUC_NPU_START nuc_neutron_start
#endif

/* Only nuc_neutron_backend. */
extern const struct nuc_backend_table nuc_default_backends;

struct nuc_program_sizes {
    size_t state;                     /* places of values, instructions, arguments of a call, delegate states */
    size_t n_planned;                 /* memories in use: entries of planned */
    size_t planned[NUC_MAX_MEMORIES]; /* inputs, outputs and intermediates */
    size_t temporary;                 /* during a call, delegate scratch included */
    uint32_t microcode;               /* the latest version of a delegate's, 0: there is none */
};

/*
 * Memory of at least the sizes above. Each block is aligned to NUC_MEMORY_ALIGNMENT. A block of size 0 may be NULL.
 * Blocks must overlap neither each other nor the image.
 */
struct nuc_program_memory {
    void *state;
    size_t state_size;
    void *planned[NUC_MAX_MEMORIES];
    size_t planned_size[NUC_MAX_MEMORIES];
    void *temporary;
    size_t temporary_size;
};

struct nuc_instruction;
struct nuc_loaded_delegate;
struct nuc_slot;

/* A loaded program. Only the runtime may change the members. */
struct nuc_program {
    const uint8_t *image; /* NULL: none is loaded */
    size_t image_size;
    struct nuc_program_memory memory;
    struct nuc_instruction *instructions;
    struct nuc_loaded_delegate *delegates;
    struct nuc_slot *slots;   /* tensors that the caller places */
    struct nuc_value *work;   /* arguments of the instruction under way, and tensors of lists among them */
    struct nuc_value **args;  /* pointers to these */
    uint32_t *places;         /* per value: where its content lies in the image, or its slot */
    uint8_t *kinds;           /* per value */
    uint8_t *given;           /* per input: the round of executions that its data was set for */
    const uint8_t *constants; /* in the image, as are the tables that say where in it each one lies */
    const uint8_t *constant_offsets, *constant_buffers;
    const uint8_t *inputs; /* value indices, little-endian 32-bit, in the image */
    const uint8_t *outputs;
    uint32_t n_values;
    uint32_t n_slots;
    uint32_t n_instructions;
    uint32_t n_delegates;
    uint32_t n_inputs;
    uint32_t n_outputs;
    uint8_t round;     /* that the next execution is */
    bool numbers_move; /* an instruction changes a number that may be an argument: each call is checked again */
    void (*trace)(void *user, uint32_t instruction, const char *name, struct nuc_value *const *args, size_t n_args);
    void *trace_user;
    void (*profile)(void *user, uint32_t instruction, const uint8_t *records, size_t bytes);
    void *profile_user;
};

/*
 * Computes the memory that the program needs. Checks the image as far as necessary; backends measure their delegates.
 * `backends` may be NULL for a program without delegates.
 */
enum nuc_status nuc_program_sizes(const void *image, size_t size, const struct nuc_backend_table *backends,
                                  struct nuc_program_sizes *out, struct nuc_detail *detail);

/*
 * Verifies the image, resolves operators and backends, and prepares delegates. On failure nothing stays prepared, *p
 * has the state after nuc_program_unload(), and detail->where names a missing operator or backend. A loaded program in
 * *p is unloaded first.
 */
enum nuc_status nuc_program_load(struct nuc_program *p, const void *image, size_t size,
                                 const struct nuc_program_memory *memory, const struct nuc_kernel_table *kernels,
                                 const struct nuc_backend_table *backends, struct nuc_detail *detail);

/*
 * States are planned tensors that have initial data and keep what an execution leaves in them for the next one
 * (docs/streaming.md). Loading gives them their initial values; nuc_program_reset() does so again, at the start of
 * another sequence. Several loaded programs may share one image: each has states of its own, in its planned memory.
 */
enum nuc_status nuc_program_reset(struct nuc_program *p, struct nuc_detail *detail);
size_t nuc_program_n_states(const struct nuc_program *p);

/*
 * State `index`; NUC_BAD_USAGE when there is none. Its bytes, out->bytes at out->data, may be saved and written back
 * between executions, to a program that was loaded from the same image.
 */
enum nuc_status nuc_program_state(const struct nuc_program *p, size_t index, struct nuc_tensor *out);

/* Releases the driver resources of delegates. A second call, or a call with NULL, does nothing. */
void nuc_program_unload(struct nuc_program *p);

/*
 * The driver's handle of delegate `index` of a loaded program; for nuc_neutron_backend the NeutronModelHandle. NULL:
 * the delegate does not exist, or its backend has no handle.
 */
void *nuc_program_device(const struct nuc_program *p, size_t index);

/*
 * The number that a constant method of the program returns: "input0_scale", "input0_zp", "input0_quant_min",
 * "input0_quant_max", "output0_scale" and so on in a program compiled with int8 inputs and outputs. NUC_BAD_INPUT when
 * the program has no method of that name.
 */
enum nuc_status nuc_program_number(const void *image, size_t size, const char *name, double *out,
                                   struct nuc_detail *detail);

/*
 * Named data of the program, inside the image. The key "nucleon" has the facts about inputs and outputs as JSON
 * (docs/formats.md, "Facts"). NUC_BAD_INPUT: the program has no data with that key.
 */
enum nuc_status nuc_program_named_data(const void *image, size_t size, const char *key, const void **data,
                                       size_t *bytes, struct nuc_detail *detail);

/*
 * Whether the image is as the compiler wrote it: compares the CRC-32 that a program carries (docs/formats.md, "Facts")
 * with that of the whole image, which includes the weights that the NPU reads from it. Reads every byte: call it after
 * a program was stored or received and not before every run. NUC_BAD_INPUT: a byte has changed. NUC_UNSUPPORTED: the
 * program has no checksum, as those of --no-metadata, of --reference-compat and of ExecuTorch's own compiler.
 */
enum nuc_status nuc_program_verify(const void *image, size_t size, struct nuc_detail *detail);

/*
 * The program of a bundled program (.bpte), inside the file: for the calls above, which take no bundle. A file that is
 * no bundle is the program itself. NUC_BAD_INPUT: the bundle is damaged.
 */
enum nuc_status nuc_program_in_bundle(const void *file, size_t size, const void **image, size_t *image_size);

static inline size_t nuc_program_n_inputs(const struct nuc_program *p)
{
    return p->n_inputs;
}

static inline size_t nuc_program_n_outputs(const struct nuc_program *p)
{
    return p->n_outputs;
}

/*
 * Input or output `index` as the program declares it. NUC_BAD_USAGE when there is none, NUC_UNSUPPORTED when
 * it is not a tensor.
 */
enum nuc_status nuc_program_input_info(const struct nuc_program *p, size_t index, struct nuc_tensor *out);
enum nuc_status nuc_program_output_info(const struct nuc_program *p, size_t index, struct nuc_tensor *out);

/*
 * Gives input `index` its value: `bytes` in the dim order of nuc_program_input_info(). An input in planned memory is
 * copied (to itself, when `data` is where nuc_program_input_info() says that it lies); any other is used in place
 * and must live until the execution is over.
 */
enum nuc_status nuc_program_set_input(struct nuc_program *p, size_t index, const void *data, size_t bytes,
                                      struct nuc_detail *detail);

/*
 * Sets the memory of an output that is not planned. It must be aligned to NUC_MEMORY_ALIGNMENT, large enough, and
 * outside the image and the program's memory.
 */
enum nuc_status nuc_program_set_output(struct nuc_program *p, size_t index, void *data, size_t bytes,
                                       struct nuc_detail *detail);

/* Runs the program. Inputs in planned memory must be set again before the next execution. */
enum nuc_status nuc_program_execute(struct nuc_program *p, struct nuc_detail *detail);

/* The result: its data is valid until the next nuc_program_set_input() or nuc_program_execute(). */
enum nuc_status nuc_program_output(const struct nuc_program *p, size_t index, struct nuc_tensor *out);

/*
 * What the outputs of a loaded program mean (docs/decisions.md): the rule that it carries, put on its outputs, for
 * nuc_decider_init(). Anchors stay in the image. NUC_UNSUPPORTED: it carries none. NUC_BAD_INPUT: one that does not
 * fit.
 */
enum nuc_status nuc_program_decision(const struct nuc_program *p, struct nuc_decision_rule *out,
                                     struct nuc_detail *detail);

/* Decides on the outputs of the last execution, as nuc_decider_run() does. */
enum nuc_status nuc_program_decide(const struct nuc_program *p, struct nuc_decider *decider);

/*
 * Calls trace(user, instruction, name, args, n_args) after each kernel and delegate call, for profiling and dumps.
 * `name` is the operator's or the backend's. NULL switches it off.
 */
void nuc_program_trace(struct nuc_program *p,
                       void (*trace)(void *user, uint32_t instruction, const char *name, struct nuc_value *const *args,
                                     size_t n_args),
                       void *user);

/*
 * Calls profile(user, instruction, records, bytes) after each delegate call that left a profile: on Neutron, 16 bytes
 * per kernel call and 16 for the end, docs/microcode.md. The records are valid until the function returns.
 */
void nuc_program_profile(struct nuc_program *p,
                         void (*profile)(void *user, uint32_t instruction, const uint8_t *records, size_t bytes),
                         void *user);

#ifdef __cplusplus
}
#endif
#endif
