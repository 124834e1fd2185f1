/*
 * Programs of a firmware that are replaced in the field (docs/update.md). A package is a program file with what a
 * firmware has to know before it uses one; nuc_pack_program() writes it. A slot is a region of flash that holds one
 * package, and a firmware has two: an update is written to the one that is not in use, and the newest package that
 * passes every check is the one that runs.
 *
 *     nuc_slots_load(&program, &slots, &firmware, &package, NULL, &detail);     at start
 *     nuc_update_begin(&update, &slots, &firmware, &package, buffer, sizeof buffer);
 *     ... for each piece as it arrives: nuc_update_write(&update, data, size, &detail);
 *     nuc_update_finish(&update, &detail);
 *     nuc_program_unload(&program);
 *     nuc_slots_load(&program, &slots, &firmware, &package, NULL, &detail);     the new one, or the old one again
 *
 * Nothing is allocated, and there is no state outside the caller's structures. Whatever the bytes of a slot are, no
 * call reads outside of it. Every `detail` may be NULL.
 */
#ifndef NUCLEON_UPDATE_H
#define NUCLEON_UPDATE_H

#include "nucleon/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the memory of a record holds: planned memories in their order, then one record each, where it is not empty. */
enum nuc_package_holds { NUC_PACKAGE_PLANNED, NUC_PACKAGE_TEMPORARY, NUC_PACKAGE_IO };

/* A package that is taken apart. Pointers lead into its bytes. */
struct nuc_package {
    const uint8_t *bytes;
    size_t size; /* header and program: what the checksum and the signature are of */
    const uint8_t *program;
    size_t program_size;
    uint32_t version;   /* of the program, higher for a newer one */
    uint32_t microcode; /* version word of its parts for the NPU; 0: it has none */
    const char *cpu;    /* whose kernels it calls, where they are not those of a Cortex-M33: "Cortex-M55"; else "" */
    const uint8_t *records; /* of memories: nuc_package_memory() */
    uint32_t n_memories, n_kernels, n_backends;
    const char *names; /* of kernels, then of backends, one text after the other */
    const uint8_t *signature;
    size_t signature_size; /* 0: it is not signed */
};

/* Memory that a package asks for besides the runtime's own state, which the firmware measures. */
struct nuc_package_memory {
    enum nuc_package_holds holds;
    uint32_t bytes;
    const char *bank; /* where the program wants it; NULL: anywhere */
};
struct nuc_package_memory nuc_package_memory(const struct nuc_package *package, uint32_t index);

/* A static string: "planned", "temporary", "inputs and outputs". */
const char *nuc_package_holds_name(enum nuc_package_holds holds);

/*
 * Takes a package apart. Checks every bound and the checksum, nothing else. NUC_BAD_INPUT: there is none at `bytes`, or
 * it is damaged. NUC_UNSUPPORTED: it has a later format.
 */
enum nuc_status nuc_package_open(const void *bytes, size_t size, struct nuc_package *out, struct nuc_detail *detail);

/* ---- what a firmware offers ---- */

/* Memory of the firmware, aligned to NUC_MEMORY_ALIGNMENT. */
struct nuc_bank {
    const char *name; /* that of `nucleon compile --memory NAME=SIZE` */
    void *data;
    size_t size;
};

#define NUC_MAX_BANKS 8

struct nuc_firmware {
    const struct nuc_kernel_table *kernels;
    const struct nuc_backend_table *backends;
    const struct nuc_bank *banks; /* the first one is the arena: the runtime's state, and what names no other bank */
    size_t n_banks;               /* 1 to NUC_MAX_BANKS */
    void *copy;                   /* where a program is copied to before it runs; NULL: it runs in its slot */
    size_t copy_size;
    const char *cpu;        /* as in struct nuc_package; NULL: it is not compared */
    uint32_t microcode;     /* that the NPU's firmware takes, its neutronKernelsVersion; 0: it is not compared */
    uint32_t least_version; /* older programs are refused, whatever their signature */
    /*
     * Whether `signature` is one of `bytes`: NUC_OK, or the status of the refusal. NULL: none is asked for. A package
     * without a signature has size 0 here.
     */
    enum nuc_status (*verify)(void *user, const uint8_t *bytes, size_t size, const uint8_t *signature,
                              size_t signature_size);
    void *user;
};

/*
 * Whether the package at `bytes`, aligned to NUC_MEMORY_ALIGNMENT, can run: nuc_package_open(), version, signature,
 * microcode, kernels, memory. NUC_UNSUPPORTED: detail->where is a kernel or backend that the firmware lacks.
 * NUC_NO_MEMORY: detail->argument is the bank that is too small, detail->missing by how many bytes.
 */
enum nuc_status nuc_package_check(const void *bytes, size_t size, const struct nuc_firmware *firmware,
                                  struct nuc_package *out, struct nuc_detail *detail);

/*
 * Loads the program of a package that nuc_package_check() has passed. `rest` is what is left of the arena, enough for
 * the inputs and outputs that the program leaves to the caller (NUC_PACKAGE_IO); it may be NULL.
 */
enum nuc_status nuc_package_load(struct nuc_program *p, const struct nuc_package *package,
                                 const struct nuc_firmware *firmware, struct nuc_bank *rest, struct nuc_detail *detail);

/* ---- two slots ---- */

/* Both are mapped into memory, aligned to NUC_MEMORY_ALIGNMENT, and of the same size. */
struct nuc_slots {
    const uint8_t *data[2];
    size_t size;       /* a multiple of erase_size */
    size_t erase_size; /* of a block, a multiple of write_size */
    size_t write_size; /* writes begin and end at multiples of it, and go where nothing was written since the erasure */
    enum nuc_status (*erase)(void *user, size_t slot, size_t offset); /* the block at `offset` */
    enum nuc_status (*write)(void *user, size_t slot, size_t offset, const uint8_t *data, size_t size);
    void *user;
};

/*
 * Loads the newest program that passes nuc_package_check() and nuc_program_load(), else the other one. With NUC_OK,
 * detail->message says why a package that is there was passed over; NULL: none was. Without a program that can run the
 * status is that of the newest package, NUC_BAD_INPUT where both slots are empty.
 */
enum nuc_status nuc_slots_load(struct nuc_program *p, const struct nuc_slots *slots,
                               const struct nuc_firmware *firmware, struct nuc_package *package, struct nuc_bank *rest,
                               struct nuc_detail *detail);

/* An update under way. Only these calls may change the members. */
struct nuc_update {
    const struct nuc_slots *slots;
    const struct nuc_firmware *firmware;
    uint8_t *buffer;
    size_t buffer_size, filled;
    size_t slot, written, erased;
    uint32_t version; /* of the program in use */
    bool in_use;      /* there is one */
    enum nuc_status status;
};

/*
 * Writes go to the slot that does not hold `current`, NULL: to the first one. `buffer` collects pieces to whole writes
 * and holds at least NUC_UPDATE_BUFFER bytes. Nothing is erased before it is full: when the header of the package fits
 * it, a program that is not newer, lacks a kernel or asks for too much memory is refused while the slot still has its
 * package. NUC_BAD_USAGE: sizes of `slots` or of the buffer.
 */
#define NUC_UPDATE_BUFFER 64
enum nuc_status nuc_update_begin(struct nuc_update *u, const struct nuc_slots *slots,
                                 const struct nuc_firmware *firmware, const struct nuc_package *current, void *buffer,
                                 size_t buffer_size);

/* The next bytes of the package. After a failure every call returns its status. */
enum nuc_status nuc_update_write(struct nuc_update *u, const void *data, size_t size, struct nuc_detail *detail);

/*
 * Writes what is left and checks the package as nuc_slots_load() will. One that does not pass stays in its slot and is
 * passed over there, until the next update.
 */
enum nuc_status nuc_update_finish(struct nuc_update *u, struct nuc_detail *detail);

#ifdef __cplusplus
}
#endif
#endif
