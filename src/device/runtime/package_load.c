/* Whether a program can run in a firmware, and running it there. */
#include <string.h>

#include "device/base/microcode.h"
#include "device/base/package.h"
#include "device/runtime/package_load.h"
#include "device/runtime/same_text.h"

static enum nuc_status lacks(struct nuc_detail *detail, const char *message, const char *name)
{
    nuc_package_refuse(detail, NUC_UNSUPPORTED, message);
    detail->where = name;
    return NUC_UNSUPPORTED;
}

static enum nuc_status too_small(struct nuc_detail *detail, const char *message, const char *memory, size_t missing)
{
    nuc_package_refuse(detail, NUC_NO_MEMORY, message);
    detail->argument = memory;
    detail->missing = missing;
    return NUC_NO_MEMORY;
}

/* ---- kernels ---- */

static enum nuc_status check_kernels(const struct nuc_package *p, const struct nuc_firmware *f,
                                     struct nuc_detail *detail)
{
    const char *name = p->names;

    for (uint32_t i = 0; i < p->n_kernels + p->n_backends; i++) {
        if (i < p->n_kernels && nuc_kernel_find(f->kernels, name) == NULL)
            return lacks(detail, NUC_TEXT("the firmware lacks a kernel"), name);
        if (i >= p->n_kernels && nuc_backend_find(f->backends, name) == NULL)
            return lacks(detail, NUC_TEXT("the firmware lacks a backend"), name);
        while (*name++ != '\0')
            ;
    }
    return NUC_OK;
}

/* ---- memory ---- */

/* Where blocks go: the bytes that are taken of each bank, more than it has where they do not fit. */
struct places {
    const struct nuc_firmware *firmware;
    size_t taken[NUC_MAX_BANKS];
};

/* A block in the bank of that name, else in the arena; NULL where the bank is full. */
static void *place(struct places *to, const char *bank, size_t size)
{
    const struct nuc_bank *banks = to->firmware->banks;
    size_t index = 0;

    for (size_t i = 1; bank != NULL && i < to->firmware->n_banks; i++) {
        if (nuc_same_text(banks[i].name, bank))
            index = i;
    }
    size_t at = to->taken[index],
           rounded = size > SIZE_MAX - NUC_MEMORY_ALIGNMENT ? SIZE_MAX : nuc_align_up(size, NUC_MEMORY_ALIGNMENT);
    if (!nuc_add_size(at, rounded, &to->taken[index]))
        to->taken[index] = SIZE_MAX;
    return size != 0 && to->taken[index] <= banks[index].size ? (uint8_t *)banks[index].data + at : NULL;
}

/* Of what holds this, the memory of that number; of no bytes where there is none. */
static struct nuc_package_memory memory_of(const struct nuc_package *p, enum nuc_package_holds holds, size_t index)
{
    for (uint32_t i = 0; i < p->n_memories; i++) {
        struct nuc_package_memory m = nuc_package_memory(p, i);
        if (m.holds == holds && index-- == 0)
            return m;
    }
    return (struct nuc_package_memory){.bank = NULL};
}

static void place_program(struct places *to, const struct nuc_package *p, const struct nuc_program_sizes *sizes,
                          struct nuc_program_memory *m)
{
    *m = (struct nuc_program_memory){.state_size = sizes->state, .temporary_size = sizes->temporary};
    m->state = place(to, NULL, sizes->state);
    for (size_t i = 0; i < sizes->n_planned; i++)
        m->planned[i] = place(to, memory_of(p, NUC_PACKAGE_PLANNED, i).bank, m->planned_size[i] = sizes->planned[i]);
    m->temporary = place(to, memory_of(p, NUC_PACKAGE_TEMPORARY, 0).bank, sizes->temporary);
}

static enum nuc_status check_taken(const struct places *to, struct nuc_detail *detail)
{
    const struct nuc_bank *banks = to->firmware->banks;

    for (size_t i = 0; i < to->firmware->n_banks; i++) {
        if (to->taken[i] > banks[i].size)
            return too_small(detail, NUC_TEXT("memory of the firmware is too small for the program"),
                             i == 0 ? "arena" : banks[i].name, to->taken[i] - banks[i].size);
    }
    return NUC_OK;
}

/* Inputs and outputs that the program leaves to its caller come last, in what is left of the arena. */
static enum nuc_status check_places(struct places *to, const struct nuc_package *p, struct nuc_detail *detail)
{
    (void)place(to, NULL, memory_of(p, NUC_PACKAGE_IO, 0).bytes);
    return check_taken(to, detail);
}

enum nuc_status nuc_package_fits(const struct nuc_package *p, const struct nuc_firmware *f, struct nuc_detail *detail)
{
    struct places to = {.firmware = f};

    for (uint32_t i = 0; i < p->n_memories; i++) {
        struct nuc_package_memory m = nuc_package_memory(p, i);
        if (m.holds != NUC_PACKAGE_IO)
            (void)place(&to, m.bank, m.bytes);
    }
    return check_places(&to, p, detail);
}

enum nuc_status nuc_package_suits(const struct nuc_package *p, const struct nuc_firmware *f, struct nuc_detail *detail)
{
    if (p->version < f->least_version)
        return nuc_package_refuse(detail, NUC_PROPERTY, NUC_TEXT("the program is older than the firmware allows"));
    if (f->cpu != NULL && p->cpu[0] != '\0' && !nuc_same_text(f->cpu, p->cpu))
        return lacks(detail, NUC_TEXT("the program is for another processor"), p->cpu);
    /* nucleon's own microcode says the oldest revision that has all its calls; that of a vendor has one version. */
    if (!(f->microcode == 0 || p->microcode == 0 || f->microcode == p->microcode ||
          (nuc_mc_is_version(f->microcode) && nuc_mc_is_version(p->microcode) && p->microcode <= f->microcode)))
        return nuc_package_refuse(detail, NUC_UNSUPPORTED,
                                  NUC_TEXT("the program is for another version of the NPU's firmware"));
    if (f->copy != NULL && p->program_size > f->copy_size)
        return too_small(detail, NUC_TEXT("memory of the firmware is too small for the program"), "copy",
                         p->program_size - f->copy_size);
    return check_kernels(p, f, detail);
}

/* ---- a package that is whole ---- */

enum nuc_status nuc_package_check_open(const struct nuc_package *p, const struct nuc_firmware *f,
                                       struct nuc_detail *detail)
{
    struct places to = {.firmware = f};
    struct nuc_program_memory memory;
    struct nuc_program_sizes sizes;

    if (!nuc_is_firmware(f) || (uintptr_t)p->bytes % NUC_PACKAGE_ALIGNMENT != 0)
        return NUC_BAD_USAGE;
    enum nuc_status status =
        f->verify != NULL ? f->verify(f->user, p->bytes, p->size, p->signature, p->signature_size) : NUC_OK;
    if (status != NUC_OK)
        return nuc_package_refuse(detail, status, NUC_TEXT("the signature of the package is refused"));
    status = nuc_package_suits(p, f, detail);
    if (status == NUC_OK)
        status = nuc_program_sizes(p->program, p->program_size, f->backends, &sizes, detail);
    if (status != NUC_OK)
        return status;
    place_program(&to, p, &sizes, &memory);
    status = check_places(&to, p, detail);
    /* An update asks this of the header before the program is there: one that is in its slot is asked no less. */
    return status == NUC_OK ? nuc_package_fits(p, f, detail) : status;
}

enum nuc_status nuc_package_check(const void *bytes, size_t size, const struct nuc_firmware *firmware,
                                  struct nuc_package *out, struct nuc_detail *detail)
{
    struct nuc_detail unused;

    detail = detail != NULL ? detail : &unused;
    enum nuc_status status = nuc_package_open(bytes, size, out, detail);
    return status == NUC_OK ? nuc_package_check_open(out, firmware, detail) : status;
}

/* What the program says itself: the record of a package may be too small. */
static void place_io(struct places *to, const struct nuc_program *p)
{
    const size_t n_inputs = nuc_program_n_inputs(p), n = n_inputs + nuc_program_n_outputs(p);
    struct nuc_tensor t;

    for (size_t i = 0; i < n; i++) {
        enum nuc_status status =
            i < n_inputs ? nuc_program_input_info(p, i, &t) : nuc_program_output_info(p, i - n_inputs, &t);
        if (status == NUC_OK && !t.planned && (i < n_inputs || !t.constant))
            (void)place(to, NULL, t.bytes);
    }
}

enum nuc_status nuc_package_load(struct nuc_program *p, const struct nuc_package *package,
                                 const struct nuc_firmware *firmware, struct nuc_bank *rest, struct nuc_detail *detail)
{
    const uint8_t *image = package->program;
    struct places to = {.firmware = firmware};
    struct nuc_program_memory memory;
    struct nuc_program_sizes sizes;
    struct nuc_detail unused;

    detail = detail != NULL ? detail : &unused;
    if (firmware->copy != NULL) {
        if (package->program_size > firmware->copy_size)
            return NUC_NO_MEMORY;
        image = memcpy(firmware->copy, image, package->program_size);
    }
    enum nuc_status status = nuc_program_sizes(image, package->program_size, firmware->backends, &sizes, detail);
    if (status != NUC_OK)
        return status;
    place_program(&to, package, &sizes, &memory);
    if (rest != NULL && to.taken[0] <= firmware->banks[0].size)
        *rest = (struct nuc_bank){NULL, (uint8_t *)firmware->banks[0].data + to.taken[0],
                                  firmware->banks[0].size - to.taken[0]};
    status = nuc_program_load(p, image, package->program_size, &memory, firmware->kernels, firmware->backends, detail);
    if (status != NUC_OK || rest == NULL)
        return status;
    place_io(&to, p);
    status = check_taken(&to, detail);
    if (status != NUC_OK)
        nuc_program_unload(p);
    return status;
}
