/*
 * Made by nucleon codegen. The newest program of two slots of flash, read in place, in memory of constant sizes; of the
 * kernels the image has those of the tables, or all. docs/update.md of nucleon describes slots and packages.
 */
#include <string.h>

#include "inference.h"

#include "@NAME@_tables.h"
#include "nucleon/update.h"
#include "port/flash.h"

/*
 * State, planned tensors and temporary memory of the program that needs most. With another driver than the simulator a
 * delegate may take more: inference_load() says by how many bytes.
 */
#ifndef ARENA_BYTES
#define ARENA_BYTES @ARENA_BYTES@
#endif

/* Where it lies: nothing, or __attribute__((section("..."))). The NPU reads and writes it. */
#ifndef ARENA
#define ARENA
#endif

/* What the firmware asks of a package besides: a function that verifies its signature, and the oldest version. */
#ifdef VERIFY
enum nuc_status VERIFY(void *user, const uint8_t *bytes, size_t size, const uint8_t *signature, size_t signature_size);
#else
#define VERIFY NULL
#endif
#ifndef LEAST_VERSION
#define LEAST_VERSION 0
#endif

static ARENA _Alignas(NUC_MEMORY_ALIGNMENT) uint8_t arena[ARENA_BYTES];
@BANKS@

/* Where the NPU does not read flash, programs are copied before they run: into so many bytes. */
#ifndef COPY_BYTES
#define COPY_BYTES 0
#endif
#if COPY_BYTES > 0
static ARENA _Alignas(NUC_MEMORY_ALIGNMENT) uint8_t copy[COPY_BYTES];
#define COPY copy
#else
#define COPY NULL
#endif

#ifdef ALL_KERNELS
#define KERNELS nuc_default_kernels
#else
#define KERNELS @NAME@_tables_kernels
#endif
#ifdef HAS_NPU
extern const uint32_t neutronKernelsVersion; /* of the driver */
#endif
#if defined ALL_KERNELS && defined HAS_NPU
static const struct nuc_backend *const npu[] = {&NUC_NPU_BACKEND};
static const struct nuc_backend_table backends = {npu, 1, &nuc_delegates};
#define BACKENDS backends
#define START NUC_NPU_START
#else
#define BACKENDS @NAME@_tables_backends
#define START @NAME@_tables_start
#endif

static struct nuc_firmware firmware = {
    .kernels = &KERNELS,
    .backends = &BACKENDS,
    .banks = banks,
    .n_banks = sizeof banks / sizeof banks[0],
    .copy = COPY,
    .cpu = "@CPU@",
    .copy_size = COPY_BYTES,
    .least_version = LEAST_VERSION,
    .verify = VERIFY,
};

#ifndef SLOT_BYTES
#define SLOT_BYTES @SLOT_BYTES@
#endif
extern const uint8_t slot0[], slot1[]; /* slots.S */

static enum nuc_status erase(void *user, size_t slot, size_t offset)
{
    (void)user;
    return nuc_port_flash_erase((slot == 0 ? slot0 : slot1) + offset) == 0 ? NUC_OK : NUC_IO;
}

static enum nuc_status write(void *user, size_t slot, size_t offset, const uint8_t *data, size_t size)
{
    (void)user;
    return nuc_port_flash_write((slot == 0 ? slot0 : slot1) + offset, data, size) == 0 ? NUC_OK : NUC_IO;
}

static const struct nuc_slots slots = {
    .data = {slot0, slot1},
    .size = SLOT_BYTES,
    .erase_size = NUC_PORT_ERASE_SIZE,
    .write_size = NUC_PORT_WRITE_SIZE,
    .erase = erase,
    .write = write,
};

static struct nuc_program program;
static struct nuc_package package;
static uint8_t *io; /* inputs and outputs for which the program plans no memory, one after the other */

#if @UPPER@_TABLES_DECISIONS > 0
/* What the program carries of decisions, which another program of this image may have others of. */
static struct nuc_decision_rule rule;
static struct nuc_decider decider;
static struct nuc_found found[@UPPER@_TABLES_FOUND];
static float history[@UPPER@_TABLES_HISTORY + 1];
static bool has_run, has_decided; /* the last inference */

static void begin_decisions(void)
{
    nuc_decider_reset(&decider);
    has_run = has_decided = false;
}

static enum nuc_status load_decision(struct nuc_detail *detail)
{
    enum nuc_status status = nuc_program_decision(&program, &rule, detail);

    decider = (struct nuc_decider){.decision = NULL};
    if (status != NUC_OK)
        return status == NUC_UNSUPPORTED ? NUC_OK : status;
    status = nuc_decider_init(&decider, &rule, found, @UPPER@_TABLES_FOUND, history, @UPPER@_TABLES_HISTORY);
    if (status != NUC_OK)
        *detail = (struct nuc_detail){.message = "the decision takes more memory than the image was made for"};
    begin_decisions();
    return status;
}
#endif

/* ---- loading ---- */

static size_t rounded(size_t size)
{
    return (size + NUC_MEMORY_ALIGNMENT - 1) / NUC_MEMORY_ALIGNMENT * NUC_MEMORY_ALIGNMENT;
}

static enum nuc_status start(struct nuc_detail *detail)
{
    static bool started;

    *detail = (struct nuc_detail){.message = started ? NULL : "the NPU's driver does not start"};
    enum nuc_status status = started ? NUC_OK : START();
    started = status == NUC_OK;
#ifdef HAS_NPU
    firmware.microcode = neutronKernelsVersion;
#endif
    return status;
}

static enum nuc_status place_outputs(uint8_t *at, struct nuc_detail *detail)
{
    struct nuc_tensor t;
    enum nuc_status status = NUC_OK;

    for (size_t i = 0; i < inference_outputs() && status == NUC_OK; i++) {
        status = nuc_program_output_info(&program, i, &t);
        if (status != NUC_OK || t.planned || t.constant)
            continue;
        status = nuc_program_set_output(&program, i, at, t.bytes, detail);
        at += rounded(t.bytes);
    }
    return status;
}

enum nuc_status inference_load(struct nuc_detail *detail)
{
    struct nuc_bank rest; /* the package says what inputs and outputs take of it */
    enum nuc_status status = start(detail);

    nuc_program_unload(&program);
    if (status == NUC_OK)
        status = nuc_slots_load(&program, &slots, &firmware, &package, &rest, detail);
    if (status != NUC_OK)
        return status;
    io = rest.data;
    struct tensor end = inference_input(inference_inputs());
    status = place_outputs(end.data, detail);
#if @UPPER@_TABLES_DECISIONS > 0
    if (status == NUC_OK)
        status = load_decision(detail);
#endif
    return status;
}

uint32_t inference_version(void)
{
    return package.version;
}

/* ---- running ---- */

size_t inference_inputs(void)
{
    return nuc_program_n_inputs(&program);
}

size_t inference_outputs(void)
{
    return nuc_program_n_outputs(&program);
}

struct tensor inference_input(size_t index)
{
    struct tensor found = {io, 0};
    struct nuc_tensor t;
    uint8_t *next = io;

    for (size_t i = 0; i <= index && nuc_program_input_info(&program, i, &t) == NUC_OK; i++) {
        found = (struct tensor){t.planned ? t.data : next, t.bytes};
        next += t.planned ? 0 : rounded(t.bytes);
    }
    return index < inference_inputs() ? found : (struct tensor){next, 0};
}

enum nuc_status inference_run(struct nuc_detail *detail)
{
    enum nuc_status status = NUC_OK;

    for (size_t i = 0; i < inference_inputs() && status == NUC_OK; i++) {
        struct tensor t = inference_input(i);
        status = nuc_program_set_input(&program, i, t.data, t.bytes, detail);
    }
    if (status == NUC_OK)
        status = nuc_program_execute(&program, detail);
#if @UPPER@_TABLES_DECISIONS > 0
    has_run = status == NUC_OK && decider.decision != NULL;
    has_decided = false;
#endif
    return status;
}

void inference_reset(void)
{
    (void)nuc_program_reset(&program, NULL); /* fails for a program that is not loaded alone */
#if @UPPER@_TABLES_DECISIONS > 0
    begin_decisions();
#endif
}

size_t inference_states(void)
{
    struct nuc_tensor t;
    size_t bytes = 0;

    for (size_t i = 0; nuc_program_state(&program, i, &t) == NUC_OK; i++)
        bytes += t.bytes;
    return bytes;
}

void inference_save(void *to)
{
    struct nuc_tensor t;
    uint8_t *at = to;

    for (size_t i = 0; nuc_program_state(&program, i, &t) == NUC_OK; at += t.bytes, i++)
        memcpy(at, t.data, t.bytes);
}

void inference_restore(const void *from)
{
    struct nuc_tensor t;
    const uint8_t *at = from;

    for (size_t i = 0; nuc_program_state(&program, i, &t) == NUC_OK; at += t.bytes, i++)
        memcpy(t.data, at, t.bytes);
}

#ifdef @UPPER@_FOUND
const struct nuc_decider *inference_decide(void)
{
#if @UPPER@_TABLES_DECISIONS > 0
    if (has_run && !has_decided)
        has_decided = nuc_program_decide(&program, &decider) == NUC_OK;
    return has_decided ? &decider : NULL;
#else
    return NULL;
#endif
}
#endif

struct tensor inference_output(size_t index)
{
    struct nuc_tensor t;

    if (nuc_program_output(&program, index, &t) != NUC_OK)
        return (struct tensor){NULL, 0};
    return (struct tensor){t.data, t.bytes};
}

/* ---- updates ---- */

/* A header that fits it is checked before anything is erased. */
static uint8_t piece[1024];
static struct nuc_update update;

enum nuc_status inference_update_begin(struct nuc_detail *detail)
{
    *detail = (struct nuc_detail){.message = NULL};
    return nuc_update_begin(&update, &slots, &firmware, program.image != NULL ? &package : NULL, piece, sizeof piece);
}

enum nuc_status inference_update_write(const void *data, size_t size, struct nuc_detail *detail)
{
    return nuc_update_write(&update, data, size, detail);
}

enum nuc_status inference_update_finish(struct nuc_detail *detail)
{
    return nuc_update_finish(&update, detail);
}
