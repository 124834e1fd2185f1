/* The payload: its bytes as the reference writes them, taken apart again, and broken in every place. */
#include "contexts.h"

#include "device/base/microcode.h"
#include "npu/container/disassemble.h"
#include "npu/container/payload.h"

#define MICROCODE_SIZE (NUC_MC_HEADER_WORDS * 4 + 4)

struct sample {
    uint8_t microcode[MICROCODE_SIZE], weights[21], kernels[1];
    struct nuc_payload_io inputs[2], outputs[1];
    struct nuc_payload payload;
    struct nuc_span bytes;
};

static void set(struct sample *s, uint32_t word, uint32_t value)
{
    nuc_store_u32(s->microcode + word * 4, value);
}

static void compose(struct nuc_context *cx, struct sample *s)
{
    memset(s, 0, sizeof *s);
    memset(s->weights, 0x77, sizeof s->weights);
    set(s, NUC_MC_WORD_MAGIC, NUC_MC_MAGIC);
    set(s, NUC_MC_WORD_VERSION, NUC_MC_VERSION);
    set(s, NUC_MC_WORD_SIZE, MICROCODE_SIZE);
    set(s, NUC_MC_WORD_WEIGHTS, sizeof s->weights);
    set(s, NUC_MC_WORD_KERNELS, 1);
    set(s, NUC_MC_WORD_SCRATCH, 4096);
    set(s, NUC_MC_WORD_PROFILE, 0x80000020);
    set(s, NUC_MC_WORD_DEBUG, 7);
    set(s, NUC_MC_WORD_PREFETCH, 9);
    set(s, NUC_MC_WORD_INPUTS, 2);
    set(s, NUC_MC_WORD_OUTPUTS, 1);
    s->inputs[0] = (struct nuc_payload_io){1, 2};
    s->inputs[1] = (struct nuc_payload_io){0, 0};
    s->outputs[0] = (struct nuc_payload_io){1, 0};
    s->payload = (struct nuc_payload){.n_inputs = 2,
                                      .n_outputs = 1,
                                      .n_args = 3,
                                      .version = 1,
                                      .inputs = s->inputs,
                                      .outputs = s->outputs,
                                      .microcode = {s->microcode, MICROCODE_SIZE},
                                      .weights = {s->weights, sizeof s->weights},
                                      .kernels = {s->kernels, 1}};
    s->bytes = nuc_payload_compose(cx, &s->payload);
}

static void check_bytes(struct nuc_context *cx, void *arg)
{
    static const uint8_t header[16] = {2, 1, 3, 1, 0, 1, 2, 0, 0, 1};
    struct sample s;

    compose(cx, &s);
    assert_int_equal(s.bytes.size, 16 + 96 + 32 + 16);
    assert_memory_equal(s.bytes.data, header, sizeof header);
    assert_memory_equal(s.bytes.data + 16, s.microcode, MICROCODE_SIZE);
    assert_memory_equal(s.bytes.data + 16 + 96, s.weights, sizeof s.weights);
    for (size_t i = 16 + 96 + sizeof s.weights; i < s.bytes.size; i++)
        assert_int_equal(s.bytes.data[i], 0);
}

static void check_round_trip(struct nuc_context *cx, void *arg)
{
    struct sample s;

    compose(cx, &s);
    struct nuc_payload p = nuc_payload_parse(cx, "x.pte", s.bytes);
    struct nuc_payload_sizes sizes = nuc_payload_sizes_of(&p);
    assert_true(p.n_inputs == 2 && p.n_outputs == 1 && p.n_args == 3 && p.version == 1);
    assert_memory_equal(p.inputs, s.inputs, sizeof s.inputs);
    assert_memory_equal(p.outputs, s.outputs, sizeof s.outputs);
    assert_int_equal(p.microcode.size, MICROCODE_SIZE);
    assert_int_equal(p.weights.size, sizeof s.weights);
    assert_memory_equal(p.weights.data, s.weights, sizeof s.weights);
    assert_int_equal(p.kernels.size, 16);
    assert_true(sizes.scratch == 4096 && sizes.profile == 0x20 && sizes.debug == 7 && sizes.prefetch == 9);
    assert_true(nuc_is_microcode(p.microcode));
}

struct part {
    const uint8_t *data;
    size_t size;
};

static void parse_part(struct nuc_context *cx, void *arg)
{
    const struct part *part = arg;
    struct nuc_text text = {.cx = cx};
    struct nuc_payload p = nuc_payload_parse(cx, "x.pte", (struct nuc_span){part->data, part->size});

    nuc_disassemble(&text, p.microcode);
    (void)nuc_payload_sizes_of(&p);
}

static void broken_payloads(struct nuc_context *cx, void *arg)
{
    struct sample s;
    uint32_t seed = 1;

    compose(cx, &s);
    for (size_t cut = 0; cut < s.bytes.size - 16; cut++) {
        uint8_t *copy = malloc(cut + 1);
        memcpy(copy, s.bytes.data, cut);
        assert_int_equal(nuc_try(cx, parse_part, &(struct part){copy, cut}), NUC_BAD_INPUT);
        assert_non_null(strstr(cx->message, "x.pte"));
        free(copy);
    }
    for (int round = 0; round < 3000; round++) {
        uint8_t *copy = malloc(s.bytes.size);
        memcpy(copy, s.bytes.data, s.bytes.size);
        for (int k = 0; k < 3; k++) {
            seed = seed * 1664525u + 1013904223u;
            copy[(seed >> 8) % s.bytes.size] = (uint8_t)(seed >> 24);
        }
        enum nuc_status status = nuc_try(cx, parse_part, &(struct part){copy, s.bytes.size});
        assert_true(status == NUC_OK || status == NUC_BAD_INPUT);
        free(copy);
    }
}

static void bad_map(struct nuc_context *cx, void *arg)
{
    struct sample s;

    compose(cx, &s);
    s.inputs[0].map = 3;
    assert_int_equal(s.payload.inputs[0].map, 3);
    nuc_payload_compose(cx, &s.payload);
}

static void map_beyond_arguments(void **state)
{
    expect_failure(bad_map, NULL, NUC_INTERNAL, "");
}

RUN_TESTS(CONTEXT_TEST(check_bytes), CONTEXT_TEST(check_round_trip), CONTEXT_TEST(broken_payloads),
          cmocka_unit_test(map_beyond_arguments))
