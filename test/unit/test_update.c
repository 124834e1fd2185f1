/*
 * Packages and slots: what is damaged or does not suit a firmware is refused with its reason, and an update that stops
 * at any byte leaves the program that was there.
 */
#include "nucleon/update.h"

#include "device/base/flatbuf.h"
#include "device/base/microcode.h"
#include "device/base/package.h"
#include "device/base/program_schema.h"
#include "device/base/program_sum.h"
#include "program_graphs.h"
#include "random.h"
#include "tools/codegen/codegen.h"

enum { ERASE = 256, WRITE = 16, SLOT = 48 * ERASE, ARENA = 16384, BUFFER = 512 };

/* ---- programs ---- */

/* x [1, n] + x, or its product with itself where `op` is mul: output 2x or x * x. */
static struct nuc_span package_of(struct nuc_context *cx, const char *op, int n, uint32_t version)
{
    const struct nuc_program_options o = {.named = NULL};
    struct nuc_graph *g = parse_quantized(
        cx, nuc_format(cx, "%%x = input : float32[1, %d]\n%%a = edge.aten.%s.Tensor(%%x, %%x)\n", n, op));
    const struct nuc_program_view *view = nuc_program_view_open(cx, "test.pte", nuc_write_program(g, &o));

    return nuc_make_package(cx, view, version);
}

static _Alignas(16) uint8_t arena[ARENA];

/* What a firmware with all kernels has; the bank has `bytes` of the arena. */
static struct nuc_firmware firmware_with(struct nuc_bank *bank, size_t bytes)
{
    *bank = (struct nuc_bank){NULL, arena, bytes};
    return (struct nuc_firmware){
        .kernels = &nuc_default_kernels, .backends = &nuc_default_backends, .banks = bank, .n_banks = 1};
}

/* Of the loaded program, for an input of 3s: 6 or 9. */
static float result_of(struct nuc_program *p, const struct nuc_bank *rest)
{
    static float threes[512];
    struct nuc_detail d;
    struct nuc_tensor t;

    for (size_t i = 0; i < 512; i++)
        threes[i] = 3;
    assert_int_equal(nuc_program_input_info(p, 0, &t), NUC_OK);
    assert_true(t.bytes <= sizeof threes);
    assert_int_equal(nuc_program_set_input(p, 0, threes, t.bytes, &d), NUC_OK);
    assert_int_equal(nuc_program_output_info(p, 0, &t), NUC_OK);
    if (!t.planned) {
        assert_true(t.bytes <= rest->size);
        assert_int_equal(nuc_program_set_output(p, 0, rest->data, t.bytes, &d), NUC_OK);
    }
    assert_int_equal(nuc_program_execute(p, &d), NUC_OK);
    assert_int_equal(nuc_program_output(p, 0, &t), NUC_OK);
    return ((const float *)t.data)[t.bytes / sizeof(float) - 1];
}

static void seal(uint8_t *package)
{
    uint32_t size = nuc_load_u32(package + NUC_PACKAGE_HEADER_SIZE) + nuc_load_u32(package + NUC_PACKAGE_PROGRAM_SIZE);

    nuc_store_u32(package + NUC_PACKAGE_CHECKSUM,
                  nuc_crc32(0, package + NUC_PACKAGE_AT_FORMAT, size - NUC_PACKAGE_AT_FORMAT));
}

/* ---- one package ---- */

static void suits(struct nuc_context *cx, void *arg)
{
    struct nuc_span package = package_of(cx, "add", 8, 7);
    struct nuc_program program;
    struct nuc_package p;
    struct nuc_detail d;
    struct nuc_bank bank, rest;
    struct nuc_firmware f = firmware_with(&bank, ARENA);

    assert_int_equal(nuc_package_check(package.data, package.size, &f, &p, &d), NUC_OK);
    assert_int_equal(p.version, 7);
    assert_int_equal(p.size, package.size);
    assert_int_equal(p.n_kernels, 1);
    assert_string_equal(p.names, "aten::add.out");
    assert_int_equal(p.signature_size, 0);
    assert_int_equal(nuc_package_load(&program, &p, &f, &rest, &d), NUC_OK);
    assert_true(result_of(&program, &rest) == 6);
    /* The least arena that suffices; what is less is said. */
    size_t least = ARENA;
    while (bank.size = least - 1, nuc_package_check(package.data, package.size, &f, &p, &d) == NUC_OK)
        least--;
    assert_int_equal(d.missing, 1);
    assert_string_equal(d.argument, "arena");
    bank.size = 16;
    assert_int_equal(nuc_package_check(package.data, package.size, &f, &p, &d), NUC_NO_MEMORY);
    assert_int_equal(d.missing, least - 16);
    bank.size = least;
    assert_int_equal(nuc_package_load(&program, &p, &f, &rest, &d), NUC_OK);
    assert_true(result_of(&program, &rest) == 6);
}

/* The program with inputs and outputs that the caller places, where all its tensors are such. */
static struct nuc_span caller_places(struct nuc_context *cx, struct nuc_span image)
{
    struct nuc_fb_reader r = {.bytes = {nuc_copy(cx, image.data, image.size), image.size}};
    struct nuc_fb_table plan = nuc_fb_vec_table(&r, nuc_fb_vec(&r, nuc_fb_root(&r, 0), 1, 4), 0);
    struct nuc_fb_table tensor = nuc_fb_sub(&r, nuc_fb_vec_table(&r, nuc_fb_vec(&r, plan, 2, 4), 0), 1);
    uint8_t *fields = (uint8_t *)(uintptr_t)r.bytes.data + tensor.at - nuc_load_u32(r.bytes.data + tensor.at) + 4;

    memset(fields + 2 * (size_t)NUC_TENSOR_ALLOCATION, 0, 2);
    return r.bytes;
}

/* Room for inputs and outputs is checked against the program, whatever the header says. */
static void understated(struct nuc_context *cx, void *arg)
{
    const struct nuc_program_options o = {.named = NULL};
    struct nuc_graph *g = parse_quantized(cx, "%x = input : float32[1, 8]\n%a = edge.aten.add.Tensor(%x, %x)\n");
    struct nuc_span image = caller_places(cx, nuc_write_program(g, &o));
    struct nuc_span package = nuc_make_package(cx, nuc_program_view_open(cx, "test.pte", image), 7);
    struct nuc_program program;
    struct nuc_package p;
    struct nuc_detail d;
    struct nuc_bank bank, rest;
    struct nuc_firmware f = firmware_with(&bank, ARENA);
    uint8_t *changed = nuc_copy(cx, package.data, package.size);

    assert_int_equal(nuc_package_check(package.data, package.size, &f, &p, &d), NUC_OK);
    assert_int_equal(nuc_package_memory(&p, p.n_memories - 1).bytes, 64); /* an input and an output */
    assert_int_equal(nuc_package_load(&program, &p, &f, &rest, &d), NUC_OK);
    assert_true(result_of(&program, &rest) == 6);
    nuc_store_u32(changed + (p.records - p.bytes) + (p.n_memories - 1) * NUC_PACKAGE_RECORD_SIZE + 4, 0);
    seal(changed);
    bank.size = bank.size - rest.size + 63;
    assert_int_equal(nuc_package_check(package.data, package.size, &f, &p, &d), NUC_NO_MEMORY);
    assert_int_equal(nuc_package_check(changed, package.size, &f, &p, &d), NUC_OK);
    assert_int_equal(nuc_package_load(&program, &p, &f, &rest, &d), NUC_NO_MEMORY);
    assert_string_equal(d.argument, "arena");
    assert_int_equal(d.missing, 1);
    assert_int_equal(nuc_program_execute(&program, &d), NUC_BAD_USAGE);
}

static void lacks(struct nuc_context *cx, void *arg)
{
    struct nuc_span package = package_of(cx, "add", 8, 7);
    const struct nuc_kernel_table kernels = {nuc_kernel_find(&nuc_default_kernels, "aten::mul.out"), 1};
    struct nuc_package p;
    struct nuc_detail d;
    struct nuc_bank bank;
    struct nuc_firmware f = firmware_with(&bank, ARENA);
    uint8_t *changed = nuc_copy(cx, package.data, package.size);

    f.kernels = &kernels;
    assert_int_equal(nuc_package_check(package.data, package.size, &f, &p, &d), NUC_UNSUPPORTED);
    assert_string_equal(d.where, "aten::add.out");
    f.kernels = &nuc_default_kernels;
    f.least_version = 8;
    assert_int_equal(nuc_package_check(package.data, package.size, &f, &p, &d), NUC_PROPERTY);
    f.least_version = 7;
    f.microcode = NUC_MC_VERSION_4;
    assert_int_equal(nuc_package_check(package.data, package.size, &f, &p, &d), NUC_OK);
    nuc_store_u32(changed + NUC_PACKAGE_MICROCODE, NUC_MC_VERSION_3);
    seal(changed);
    assert_int_equal(nuc_package_check(changed, package.size, &f, &p, &d), NUC_OK);
    nuc_store_u32(changed + NUC_PACKAGE_MICROCODE, NUC_MC_VERSION);
    seal(changed);
    assert_int_equal(nuc_package_check(changed, package.size, &f, &p, &d), NUC_UNSUPPORTED);
    nuc_store_u32(changed + NUC_PACKAGE_AT_FORMAT, NUC_PACKAGE_FORMAT + 1);
    seal(changed);
    assert_int_equal(nuc_package_check(changed, package.size, &f, &p, &d), NUC_UNSUPPORTED);
    assert_int_equal(nuc_package_check(package.data, package.size, NULL, &p, &d), NUC_BAD_USAGE);
    f.n_banks = 0;
    assert_int_equal(nuc_package_check(package.data, package.size, &f, &p, &d), NUC_BAD_USAGE);
}

static void copies(struct nuc_context *cx, void *arg)
{
    struct nuc_span package = package_of(cx, "mul", 8, 1);
    struct nuc_program program;
    struct nuc_package p;
    struct nuc_detail d;
    struct nuc_bank bank, rest;
    struct nuc_firmware f = firmware_with(&bank, ARENA);

    f.copy = nuc_alloc(cx, package.size);
    assert_int_equal(nuc_package_open(package.data, package.size, &p, &d), NUC_OK);
    f.copy_size = p.program_size - 5;
    assert_int_equal(nuc_package_check(package.data, package.size, &f, &p, &d), NUC_NO_MEMORY);
    assert_int_equal(d.missing, 5);
    assert_string_equal(d.argument, "copy");
    assert_int_equal(nuc_package_load(&program, &p, &f, &rest, &d), NUC_NO_MEMORY);
    f.copy_size = p.program_size;
    assert_int_equal(nuc_package_check(package.data, package.size, &f, &p, &d), NUC_OK);
    assert_int_equal(nuc_package_load(&program, &p, &f, &rest, &d), NUC_OK);
    assert_ptr_equal(program.image, f.copy);
    assert_true(result_of(&program, &rest) == 9);
}

/* A sum stands for a signature. */
static enum nuc_status verify(void *user, const uint8_t *bytes, size_t size, const uint8_t *signature,
                              size_t signature_size)
{
    *(size_t *)user += 1;
    return signature_size == 4 && nuc_load_u32(signature) == nuc_crc32(1, bytes, size) ? NUC_OK : NUC_BAD_INPUT;
}

static void signature(struct nuc_context *cx, void *arg)
{
    struct nuc_span package = package_of(cx, "add", 8, 1), whole;
    struct nuc_package p;
    struct nuc_detail d;
    struct nuc_bank bank;
    struct nuc_firmware f = firmware_with(&bank, ARENA);
    uint8_t sum[4];
    size_t calls = 0;

    f.verify = verify;
    f.user = &calls;
    nuc_store_u32(sum, nuc_crc32(1, package.data, package.size));
    whole = nuc_sign_package(cx, package, (struct nuc_span){sum, 4});
    assert_int_equal(nuc_package_check(package.data, package.size, &f, &p, &d), NUC_BAD_INPUT);
    assert_non_null(strstr(d.message, "signature"));
    assert_int_equal(nuc_package_check(whole.data, whole.size, &f, &p, &d), NUC_OK);
    assert_int_equal(p.size, package.size); /* what is signed are the bytes before the signature */
    for (size_t cut = 1; cut < 12; cut++)
        assert_int_equal(nuc_package_check(whole.data, whole.size - cut, &f, &p, &d), NUC_BAD_INPUT);
    sum[3] ^= 1;
    whole = nuc_sign_package(cx, package, (struct nuc_span){sum, 4});
    assert_int_equal(nuc_package_check(whole.data, whole.size, &f, &p, &d), NUC_BAD_INPUT);
    assert_int_equal(calls, 14);
    f.verify = NULL;
    assert_int_equal(nuc_package_check(whole.data, whole.size, &f, &p, &d), NUC_OK);
}

/* ---- damage ---- */

/* In memory of exactly its size, so that sanitizers see what is read behind it. */
static enum nuc_status check_exactly(const uint8_t *bytes, size_t size, struct nuc_package *p, struct nuc_program *run)
{
    struct nuc_bank bank, rest;
    struct nuc_firmware f = firmware_with(&bank, ARENA);
    struct nuc_detail d;
    void *exact;

    assert_int_equal(posix_memalign(&exact, 16, size > 0 ? size : 1), 0);
    memcpy(exact, bytes, size);
    enum nuc_status status = nuc_package_check(exact, size, &f, p, &d);
    if (status == NUC_OK && nuc_package_load(run, p, &f, &rest, &d) == NUC_OK)
        assert_true(result_of(run, &rest) == 6);
    free(exact);
    return status;
}

static void damaged_bytes(struct nuc_context *cx, void *arg)
{
    struct nuc_span package = package_of(cx, "add", 8, 1);
    struct nuc_program run;
    struct nuc_package p;
    uint32_t seed = 1;

    for (int k = 0; k < 1000; k++) {
        uint8_t *changed = nuc_copy(cx, package.data, package.size);
        for (uint32_t n = 1 + next_random(&seed) % 4; n > 0; n--)
            changed[next_random(&seed) % package.size] ^= (uint8_t)(1 + next_random(&seed) % 255);
        if (memcmp(changed, package.data, package.size) != 0)
            assert_int_not_equal(check_exactly(changed, package.size, &p, &run), NUC_OK);
    }
    for (size_t size = 0; size < package.size; size++)
        assert_int_not_equal(check_exactly(package.data, size, &p, &run), NUC_OK);
}

/* Fields that say something else, under a checksum that fits: refused, or the program is the same. */
static void damaged_fields(struct nuc_context *cx, void *arg)
{
    static const uint32_t values[] = {0,     1,     2,         15,          16,          63,        64,
                                      65536, 65552, INT32_MAX, 0x80000000u, 0xFFFFFFF0u, UINT32_MAX};
    struct nuc_span package = package_of(cx, "add", 8, 1);
    struct nuc_program run;
    struct nuc_package p;
    uint32_t seed = 2;
    size_t refused = 0;

    for (int k = 0; k < 1000; k++) {
        uint8_t *changed = nuc_copy(cx, package.data, package.size);
        size_t header = nuc_load_u32(changed + NUC_PACKAGE_HEADER_SIZE);
        for (uint32_t n = 1 + next_random(&seed) % 3; n > 0; n--) {
            uint8_t *field = changed + NUC_PACKAGE_AT_FORMAT + next_random(&seed) % (header / 4 - 2) * 4;
            uint32_t value = next_random(&seed) % 2 == 0
                                 ? values[next_random(&seed) % (sizeof values / sizeof values[0])]
                                 : nuc_load_u32(field) + next_random(&seed) % 65 - 32;
            nuc_store_u32(field, value);
        }
        uint64_t size = (uint64_t)nuc_load_u32(changed + NUC_PACKAGE_HEADER_SIZE) +
                        nuc_load_u32(changed + NUC_PACKAGE_PROGRAM_SIZE);
        if (size <= package.size && size >= NUC_PACKAGE_AT_FORMAT)
            seal(changed);
        refused += check_exactly(changed, package.size, &p, &run) != NUC_OK;
    }
    assert_in_range(refused, 300, 999);
}

/* ---- flash ---- */

struct flash {
    _Alignas(16) uint8_t bytes[2][SLOT];
    uint32_t seed;
    size_t left; /* bytes until the power fails */
    size_t wrong;
};

/* A block whose erasure is cut off holds anything in its other part. */
static enum nuc_status erase(void *user, size_t slot, size_t offset)
{
    struct flash *f = user;

    f->wrong += slot > 1 || offset % ERASE != 0 || offset + ERASE > SLOT;
    for (size_t i = 0; i < ERASE && f->wrong == 0; i++) {
        if (f->left > 0)
            f->bytes[slot][offset + i] = 0xFF;
        f->left -= f->left > 0;
    }
    return f->left > 0 ? NUC_OK : NUC_IO;
}

static enum nuc_status write(void *user, size_t slot, size_t offset, const uint8_t *data, size_t size)
{
    struct flash *f = user;

    f->wrong += slot > 1 || offset % WRITE != 0 || size % WRITE != 0 || offset + size > SLOT;
    for (size_t i = 0; i < size && f->wrong == 0 && f->left > 0; i++) {
        f->wrong += f->bytes[slot][offset + i] != 0xFF; /* written twice */
        f->bytes[slot][offset + i] = data[i];
        f->left--;
    }
    return f->left > 0 ? NUC_OK : NUC_IO;
}

static struct nuc_slots slots_of(struct flash *f)
{
    return (struct nuc_slots){.data = {f->bytes[0], f->bytes[1]},
                              .size = SLOT,
                              .erase_size = ERASE,
                              .write_size = WRITE,
                              .erase = erase,
                              .write = write,
                              .user = f};
}

static void put(struct flash *f, size_t slot, struct nuc_span package)
{
    memset(f->bytes[slot], 0xFF, SLOT);
    memcpy(f->bytes[slot], package.data, package.size);
}

/* As the firmware does it: what is in use, a package in pieces, and what is in use then. */
static enum nuc_status update(struct flash *f, const struct nuc_firmware *firmware, struct nuc_span package,
                              struct nuc_detail *d)
{
    const struct nuc_slots slots = slots_of(f);
    uint8_t buffer[BUFFER + 3]; /* not a multiple of a write */
    struct nuc_program program;
    struct nuc_package current;
    struct nuc_update u;
    bool in_use = nuc_slots_load(&program, &slots, firmware, &current, NULL, d) == NUC_OK;

    assert_int_equal(nuc_update_begin(&u, &slots, firmware, in_use ? &current : NULL, buffer, sizeof buffer), NUC_OK);
    for (size_t at = 0, n; at < package.size; at += n) {
        n = 1 + next_random(&f->seed) % 700;
        n = n < package.size - at ? n : package.size - at;
        if (nuc_update_write(&u, package.data + at, n, d) != NUC_OK)
            break;
    }
    enum nuc_status status = nuc_update_finish(&u, d);
    assert_int_equal(f->wrong, 0);
    return status;
}

static uint32_t in_use(struct flash *f, const struct nuc_firmware *firmware, float *result, struct nuc_detail *d)
{
    const struct nuc_slots slots = slots_of(f);
    struct nuc_program program;
    struct nuc_package current;
    struct nuc_bank rest;

    if (nuc_slots_load(&program, &slots, firmware, &current, &rest, d) != NUC_OK)
        return 0;
    *result = result_of(&program, &rest);
    return current.version;
}

static void updates(struct nuc_context *cx, void *arg)
{
    struct flash *f = nuc_alloc(cx, sizeof *f);
    struct nuc_bank bank;
    struct nuc_firmware firmware = firmware_with(&bank, ARENA);
    struct nuc_detail d;
    float result = 0;

    memset(f, 0xFF, sizeof f->bytes);
    f->left = SIZE_MAX;
    assert_int_equal(in_use(f, &firmware, &result, &d), 0);
    assert_null(d.message);
    assert_int_equal(update(f, &firmware, package_of(cx, "add", 8, 1), &d), NUC_OK);
    assert_int_equal(in_use(f, &firmware, &result, &d), 1);
    for (uint32_t v = 2; v < 7; v++) { /* programs of all sizes, in both slots */
        assert_int_equal(update(f, &firmware, package_of(cx, v % 2 == 0 ? "mul" : "add", 1 << v, v), &d), NUC_OK);
        assert_int_equal(in_use(f, &firmware, &result, &d), v);
        assert_true(result == (v % 2 == 0 ? 9 : 6));
        assert_null(d.message);
    }
    assert_int_equal(update(f, &firmware, package_of(cx, "add", 8, 6), &d), NUC_PROPERTY);
    assert_int_equal(in_use(f, &firmware, &result, &d), 6);
}

static void refused_updates(struct nuc_context *cx, void *arg)
{
    struct flash *f = nuc_alloc(cx, sizeof *f), *before = nuc_alloc(cx, sizeof *f);
    struct nuc_bank bank;
    struct nuc_firmware firmware = firmware_with(&bank, ARENA);
    const struct nuc_kernel_table kernels = {nuc_kernel_find(&nuc_default_kernels, "aten::add.out"), 1};
    struct nuc_span large = package_of(cx, "add", 400, 3), other = package_of(cx, "mul", 8, 3), cut = other;
    struct nuc_detail d;
    float result = 0;

    f->left = SIZE_MAX;
    put(f, 0, package_of(cx, "add", 8, 2));
    put(f, 1, package_of(cx, "add", 8, 1));
    firmware.kernels = &kernels;
    bank.size = 2048;
    memcpy(before->bytes, f->bytes, sizeof f->bytes);
    /* By the header: nothing is erased for them. 3,200 bytes of input and output, and where the state goes. */
    assert_int_equal(update(f, &firmware, large, &d), NUC_NO_MEMORY);
    assert_int_equal(d.missing, 3200 - 2048);
    assert_int_equal(update(f, &firmware, other, &d), NUC_UNSUPPORTED);
    assert_string_equal(d.where, "aten::mul.out");
    assert_memory_equal(before->bytes, f->bytes, sizeof f->bytes);
    firmware.kernels = &nuc_default_kernels;
    cut.size -= 20;
    assert_int_equal(update(f, &firmware, cut, &d), NUC_BAD_INPUT);
    assert_int_equal(in_use(f, &firmware, &result, &d), 2);
    assert_non_null(d.message); /* what is in the other slot */
    cut = (struct nuc_span){nuc_copy(cx, other.data, other.size), other.size};
    ((uint8_t *)(uintptr_t)cut.data)[other.size - 9] ^= 4;
    assert_int_equal(update(f, &firmware, cut, &d), NUC_BAD_INPUT);
    assert_int_equal(update(f, &firmware, (struct nuc_span){other.data, 0}, &d), NUC_BAD_INPUT);
    /* One that does not suit and is in the slot all the same is passed over. */
    put(f, 1, large);
    assert_int_equal(in_use(f, &firmware, &result, &d), 2);
    assert_true(d.missing > 0);
    put(f, 0, large);
    assert_int_equal(in_use(f, &firmware, &result, &d), 0);
    assert_true(d.missing > 0);
    bank.size = ARENA;
    assert_int_equal(in_use(f, &firmware, &result, &d), 3);
    /* Larger than a slot. */
    struct nuc_slots slots = slots_of(f);
    struct nuc_update u;
    uint8_t buffer[BUFFER];
    slots.size = ERASE;
    assert_int_equal(nuc_update_begin(&u, &slots, &firmware, NULL, buffer, sizeof buffer), NUC_OK);
    assert_true(other.size > ERASE);
    assert_int_equal(nuc_update_write(&u, other.data, other.size, &d), NUC_NO_MEMORY);
    assert_int_equal(d.missing, other.size - ERASE);
    assert_int_equal(nuc_update_finish(&u, NULL), NUC_NO_MEMORY);
    assert_int_equal(nuc_update_begin(&u, &slots, &firmware, NULL, buffer, NUC_UPDATE_BUFFER - 1), NUC_BAD_USAGE);
    firmware.n_banks = 0;
    assert_int_equal(nuc_update_begin(&u, &slots, &firmware, NULL, buffer, sizeof buffer), NUC_BAD_USAGE);
    firmware.n_banks = 1;
    slots.size = ERASE + WRITE;
    assert_int_equal(nuc_update_begin(&u, &slots, &firmware, NULL, buffer, sizeof buffer), NUC_BAD_USAGE);
}

/* At every byte that is erased or written the power fails once. */
static void power_failures(struct nuc_context *cx, void *arg)
{
    struct flash *f = nuc_alloc(cx, sizeof *f), *start = nuc_alloc(cx, sizeof *start);
    struct nuc_bank bank;
    struct nuc_firmware firmware = firmware_with(&bank, ARENA);
    struct nuc_span next = package_of(cx, "mul", 8, 3);
    struct nuc_detail d;
    size_t n_old = 0;
    float result;

    put(start, 0, package_of(cx, "add", 16, 2));
    put(start, 1, package_of(cx, "add", 8, 1));
    for (size_t after = 0;; after++) {
        memcpy(f, start, sizeof *f);
        f->left = after;
        f->seed = (uint32_t)after;
        enum nuc_status status = update(f, &firmware, next, &d);
        result = 0;
        uint32_t version = in_use(f, &firmware, &result, &d);
        if (status == NUC_OK) {
            assert_int_equal(version, 3);
            assert_true(result == 9);
            break;
        }
        /* The last byte may be there, and only the word of the flash driver be missing. */
        assert_true((version == 2 && result == 6) || (version == 3 && result == 9 && f->left == 0));
        n_old += version == 2;
        f->left = SIZE_MAX; /* the power is back */
        assert_int_equal(update(f, &firmware, package_of(cx, "mul", 8, 4), &d), NUC_OK);
        assert_int_equal(in_use(f, &firmware, &result, &d), 4);
        after += after % 7; /* some in a row, then a gap */
    }
    assert_true(n_old > 500);
}

RUN_TESTS(CONTEXT_TEST(suits), CONTEXT_TEST(understated), CONTEXT_TEST(lacks), CONTEXT_TEST(copies),
          CONTEXT_TEST(signature), CONTEXT_TEST(damaged_bytes), CONTEXT_TEST(damaged_fields), CONTEXT_TEST(updates),
          CONTEXT_TEST(refused_updates), CONTEXT_TEST(power_failures))
