/*
 * Calls of the runtime in any order, with any memory. The input is a pair (fuzz_support.h) of a program and the calls,
 * of four bytes each: what to call, and three arguments. Whatever an application does with blocks of its own (too
 * small, unaligned, on top of each other, inputs missing), a call works or says what is wrong, and nothing outside is
 * touched.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_backend.h"
#include "fuzz_support.h"
#include "nucleon/NeutronDriver.h"

#define MOST_BYTES 65536
#define MOST_CALLS 48

enum call { LOAD, SET_INPUT, SET_OUTPUT, EXECUTE, GET_OUTPUT, UNLOAD, INFO, NUMBER, N_CALLS };

struct session {
    const uint8_t *image;
    size_t size;
    struct nuc_program_sizes sizes;
    struct nuc_program program;
    struct nuc_detail detail;
    uint8_t *arena; /* what blocks are cut of; its size is `room` */
    size_t room;
    uint8_t *io; /* MOST_BYTES, for inputs and outputs */
    bool loaded;
    enum nuc_status last; /* of the last execution */
};

/* Block `at` of the arena, in steps of 16 bytes, plus what the lowest bits say; never beyond the arena's end. */
static void *block(struct session *s, size_t *size, size_t at)
{
    if (at > s->room)
        at = s->room;
    if (*size > s->room - at)
        *size = s->room - at;
    return s->arena + at;
}

/* Mostly as it should be, one after the other; bits of the arguments disturb that. */
static void load(struct session *s, const uint8_t *call)
{
    struct nuc_program_memory m = {.state_size = s->sizes.state, .temporary_size = s->sizes.temporary};
    size_t shift = (call[1] & 1) != 0 ? call[2] : 0, at = 0;

    if (s->loaded)
        nuc_program_unload(&s->program);
    if ((call[1] & 2) != 0)
        m.state_size -= call[3] < m.state_size ? call[3] : 0;
    if ((call[1] & 4) != 0)
        m.temporary_size -= call[3] < m.temporary_size ? call[3] : 0;
    m.state = block(s, &m.state_size, at + shift);
    at = (call[1] & 8) != 0 ? 16 * (size_t)call[3] : nuc_align_up(m.state_size, 16);
    m.temporary = block(s, &m.temporary_size, at);
    at += (call[1] & 16) != 0 ? 16 * (size_t)call[2] : nuc_align_up(m.temporary_size, 16);
    for (size_t i = 0; i < s->sizes.n_planned; i++) {
        m.planned_size[i] = s->sizes.planned[i];
        m.planned[i] = (call[1] & 32) != 0 && call[2] == i ? NULL : block(s, &m.planned_size[i], at);
        at += nuc_align_up(m.planned_size[i], 16);
    }
    s->loaded = nuc_program_load(&s->program, s->image, s->size, &m, &nuc_default_kernels, &fuzz_backends,
                                 &s->detail) == NUC_OK &&
                s->program.n_instructions <= 256;
}

/* The block lies in `io`, so that `bytes` of it are there whatever the call says. */
static void set(struct session *s, const uint8_t *call, bool input)
{
    struct nuc_tensor t = {.bytes = 0};
    size_t index = call[1] & 15, at = (call[2] & 1) != 0 ? call[3] : 0;
    enum nuc_status known =
        input ? nuc_program_input_info(&s->program, index, &t) : nuc_program_output_info(&s->program, index, &t);
    size_t bytes = (call[2] & 2) != 0 ? (size_t)call[3] : known == NUC_OK ? t.bytes : 0;
    void *data = (call[2] & 4) != 0 && call[3] == 0 ? NULL : s->io + at;

    if (bytes > MOST_BYTES - at)
        return;
    if (input)
        nuc_program_set_input(&s->program, index, data, bytes, &s->detail);
    else
        nuc_program_set_output(&s->program, index, data, bytes, &s->detail);
}

static void get_output(struct session *s, const uint8_t *call)
{
    struct nuc_tensor t = {.bytes = 0};
    unsigned sum = 0;

    if (nuc_program_output(&s->program, call[1] & 15, &t) != NUC_OK || t.data == NULL || s->last != NUC_OK)
        return;
    for (size_t i = 0; i < t.bytes; i++)
        sum += ((const uint8_t *)t.data)[i];
    s->detail.code = (int32_t)sum;
}

static void make(struct session *s, const uint8_t *call)
{
    double number;

    if (call[0] % N_CALLS == LOAD)
        load(s, call);
    else if (call[0] % N_CALLS == NUMBER)
        nuc_program_number(s->image, s->size, (call[1] & 1) != 0 ? "input0_scale" : "output1_zp", &number, &s->detail);
    else if (!s->loaded)
        return;
    else if (call[0] % N_CALLS == SET_INPUT || call[0] % N_CALLS == SET_OUTPUT)
        set(s, call, call[0] % N_CALLS == SET_INPUT);
    else if (call[0] % N_CALLS == EXECUTE)
        s->last = nuc_program_execute(&s->program, &s->detail);
    else if (call[0] % N_CALLS == GET_OUTPUT)
        get_output(s, call);
    else if (call[0] % N_CALLS == UNLOAD) {
        nuc_program_unload(&s->program);
        s->loaded = false;
    } else {
        struct nuc_tensor t;
        nuc_program_input_info(&s->program, call[1], &t);
        nuc_program_output_info(&s->program, call[1], &t);
        nuc_program_device(&s->program, call[2]);
        /* A state becomes what it was not, or the states what they were. */
        if ((call[3] & 1) != 0)
            nuc_program_reset(&s->program, NULL);
        else if (nuc_program_state(&s->program, call[1], &t) == NUC_OK)
            memset(t.data, call[2], t.bytes);
    }
}

static bool small(const struct nuc_program_sizes *s)
{
    size_t total = 0;

    for (size_t i = 0; i < s->n_planned; i++) {
        if (s->planned[i] > MOST_BYTES)
            return false;
        total += nuc_align_up(s->planned[i], 16);
    }
    return total <= MOST_BYTES && s->temporary <= MOST_BYTES && s->state <= 4 * MOST_BYTES;
}

static void run(struct session *s, struct nuc_span calls)
{
    s->room = nuc_align_up(s->sizes.state, 16) + nuc_align_up(s->sizes.temporary, 16);
    for (size_t i = 0; i < s->sizes.n_planned; i++)
        s->room += nuc_align_up(s->sizes.planned[i], 16);
    s->arena = fuzz_block(s->room);
    s->io = fuzz_block(MOST_BYTES);
    s->last = NUC_BAD_USAGE;
    for (size_t i = 0; i + 4 <= calls.size && i < 4 * MOST_CALLS; i += 4)
        make(s, calls.data + i);
    if (s->loaded)
        nuc_program_unload(&s->program);
    fuzz_verdict_of(s->last, &s->detail);
    free(s->io);
    free(s->arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nuc_span program, calls;
    struct session s = {.loaded = false};

    if (!fuzz_pair(data, size, &program, &calls)) {
        fuzz_verdict("is no pair");
        return 0;
    }
    uint8_t *image = fuzz_copy(program.data, program.size);
    s.image = image;
    s.size = program.size;
    neutronInit();
    enum nuc_status status = nuc_program_sizes(image, program.size, &fuzz_backends, &s.sizes, &s.detail);
    if (status == NUC_OK && !small(&s.sizes))
        status = NUC_NO_MEMORY;
    fuzz_verdict_of(status, &s.detail);
    if (status == NUC_OK)
        run(&s, calls);
    neutronDeinit();
    free(image);
    return 0;
}
