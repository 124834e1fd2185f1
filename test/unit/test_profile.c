/* Profiles: records a program leaves when it runs, the table, the ETDump and the ETRecord made of them. */
#include <unistd.h>

#include "archive/zip.h"
#include "back/profile/profile.h"
#include "device/base/flatbuf.h"
#include "driver/driver.h"
#include "program_graphs.h"

#define MODEL NUCLEON_EXAMPLES "/digits/digits_unsupported.pt2"
#define SAMPLES NUCLEON_EXAMPLES "/digits/calibration.npz"
#define MAX_CALLS 8

/* A program of the example, what its calls left, and what explain says about the model. */
struct profiled {
    struct nuc_compiler *c;
    struct nuc_span program;
    struct nuc_profile_call calls[MAX_CALLS];
    size_t n_calls;
    struct nuc_explain_result explained;
};

static void keep(void *user, uint32_t instruction, const uint8_t *records, size_t bytes)
{
    struct profiled *p = user;

    assert_true(p->n_calls < MAX_CALLS);
    p->calls[p->n_calls++] = (struct nuc_profile_call){instruction, nuc_copy(p->c->cx, records, bytes), bytes};
}

static void must(const struct profiled *p, enum nuc_status status)
{
    if (status != NUC_OK)
        fail_msg("%s", nuc_compiler_message(p->c));
}

static void run_program(struct profiled *p)
{
    struct test_program loaded;
    struct nuc_tensor t;

    test_load(p->c->cx, &loaded, p->program, &nuc_default_backends);
    assert_int_equal(loaded.status, NUC_OK);
    nuc_program_profile(&loaded.program, keep, p);
    assert_int_equal(nuc_program_input_info(&loaded.program, 0, &t), NUC_OK);
    void *zeros = nuc_alloc(p->c->cx, t.bytes);
    assert_int_equal(nuc_program_set_input(&loaded.program, 0, zeros, t.bytes, NULL), NUC_OK);
    assert_int_equal(nuc_program_execute(&loaded.program, &loaded.detail), NUC_OK);
    nuc_program_unload(&loaded.program);
}

static void setup(struct profiled *p, bool profile, enum nuc_segment_mode mode)
{
    struct nuc_options o;
    struct nuc_model *m, *lowered;
    struct nuc_dataset *samples;
    const uint8_t *bytes;

    nuc_options_default(&o);
    o.profile = profile;
    o.delegate_data = mode;
    memset(p, 0, sizeof *p);
    p->c = nuc_compiler_new(&o, NULL);
    must(p, nuc_model_open(p->c, MODEL, &m));
    must(p, nuc_dataset_open(p->c, SAMPLES, &samples));
    must(p, nuc_quantize(m, samples, &m));
    must(p, nuc_partition(m, &m));
    must(p, nuc_explain(m, NULL, &p->explained));
    must(p, nuc_lower(m, &lowered));
    must(p, nuc_program(lowered, &bytes, &p->program.size));
    p->program.data = bytes;
    run_program(p);
}

static struct nuc_profile *profile_of(struct profiled *p, bool with_calls)
{
    const struct nuc_profile_run run = {p->calls, p->n_calls};

    return nuc_profile_read(p->c->cx, nuc_target_find(p->c->cx, NULL),
                            nuc_program_view_open(p->c->cx, "program", p->program), with_calls ? &run : NULL);
}

static const struct nuc_profile_row *row_of(const struct nuc_profile *p, const char *label)
{
    size_t i = 0;

    while (i < p->n_rows && (p->rows[i].label == NULL || strcmp(p->rows[i].label, label) != 0))
        i++;
    if (i == p->n_rows)
        fail_msg("no row for %s", label);
    return &p->rows[i];
}

/* The records' times are those explain has for the same kernels; names and lines are the model's. */
static void recorded(void **state)
{
    struct profiled p;

    for (int mode = NUC_DELEGATE_INLINE; mode <= NUC_DELEGATE_SEGMENT; mode++) {
        setup(&p, true, (enum nuc_segment_mode)mode);
        assert_int_equal(p.n_calls, 2);
        const struct nuc_profile *profile = profile_of(&p, true);
        assert_false(profile->unrecorded || profile->foreign);
        assert_true(profile->cycles == p.explained.cycles);
        const struct nuc_profile_row *conv = row_of(profile, "stem + relu6");
        assert_string_equal(conv->what, "CONV_2D");
        assert_non_null(strstr(conv->source, "train.py:23"));
        assert_true(conv->recorded && conv->metadata == 1);
        const struct nuc_profile_row *pool = row_of(profile, "blocks.2/max_pool2d");
        assert_string_equal(pool->node, "cortex_m_maximum_default_2");
        assert_int_equal(pool->kind, NUC_PROFILE_CPU);
        assert_string_equal(pool->what, "cortex_m::maximum.out");
        const char *table = nuc_profile_table(p.c->cx, profile);
        assert_non_null(strstr(table, "blocks.2/max_pool2d"));
        assert_null(strstr(table, "without --profile"));
        nuc_compiler_free(p.c);
    }
}

/* Without profiling nothing is recorded and named, and the table says so; times are the model's, the same. */
static void unrecorded(void **state)
{
    struct profiled p;

    setup(&p, false, NUC_DELEGATE_INLINE);
    assert_int_equal(p.n_calls, 0);
    const struct nuc_profile *profile = profile_of(&p, false);
    assert_true(profile->unrecorded);
    assert_true(profile->cycles == p.explained.cycles);
    for (size_t i = 0; i < profile->n_rows; i++)
        assert_true(profile->rows[i].label == NULL && profile->rows[i].node == NULL);
    assert_non_null(strstr(nuc_profile_table(p.c->cx, profile), "without --profile"));
    nuc_compiler_free(p.c);
}

/* Records that are cut off count as far as they go. */
static void cut_records(void **state)
{
    struct profiled p;

    setup(&p, true, NUC_DELEGATE_INLINE);
    uint64_t whole = profile_of(&p, true)->cycles;
    p.calls[0].bytes = 16 + 15;
    const struct nuc_profile *profile = profile_of(&p, true);
    assert_true(profile->unrecorded);
    assert_true(profile->cycles == whole);
    nuc_compiler_free(p.c);
}

/* ---- ETDump ---- */

struct dump {
    struct nuc_fb_reader r;
    struct nuc_fb_vector runs, events; /* events: of run 0 */
};

static struct nuc_fb_table event_at(struct dump *d, uint32_t i)
{
    return nuc_fb_sub(&d->r, nuc_fb_vec_table(&d->r, d->events, i), 0);
}

static void open_dump(struct dump *d, struct nuc_span bytes)
{
    assert_int_equal(nuc_load_u32(bytes.data), bytes.size - 4);
    assert_memory_equal(bytes.data + 8, "ED00", 4);
    d->r = (struct nuc_fb_reader){bytes, false};
    d->runs = nuc_fb_vec(&d->r, nuc_fb_root(&d->r, 4), 1, 4);
    d->events = nuc_fb_vec(&d->r, nuc_fb_vec_table(&d->r, d->runs, 0), 3, 4);
    assert_false(d->r.bad);
}

static const char *label_of_kernel(const struct nuc_profile *p, uint32_t instruction, uint32_t kernel)
{
    for (size_t i = 0; i < p->n_rows; i++) {
        const struct nuc_profile_row *row = &p->rows[i];
        if (row->kind == NUC_PROFILE_KERNEL && row->instruction == instruction && row->kernel == kernel)
            return row->label;
    }
    return NULL;
}

/* Kernels are numbered from 0 in each call, by label, lie inside the call, and end with the event of the dump. */
static void check_call(struct dump *d, const struct nuc_profile *p, uint32_t at, uint32_t n_kernels)
{
    struct nuc_fb_table call = event_at(d, at);
    int32_t instruction = nuc_fb_i32(&d->r, call, 2, -1);

    for (uint32_t k = 0; k <= n_kernels; k++) {
        struct nuc_fb_table e = event_at(d, at + 1 + k);
        assert_int_equal(nuc_fb_i32(&d->r, e, 2, -1), instruction);
        const char *name = nuc_fb_string(&d->r, e, 4, NULL);
        const char *label = label_of_kernel(p, (uint32_t)instruction, k);
        assert_true((label == NULL) == (k == n_kernels));
        assert_int_equal(nuc_fb_i32(&d->r, e, 3, -1), label == NULL ? (int)k : -1);
        if (label != NULL)
            assert_true(name != NULL && strtoul(name, NULL, 10) == k && strstr(name, label) != NULL);
        struct nuc_span metadata = nuc_fb_bytes(&d->r, e, 5);
        assert_int_equal(metadata.size, 1);
        assert_int_equal(metadata.data[0], k == n_kernels ? 0 : k + 1);
        uint64_t start = nuc_fb_u64(&d->r, e, 6, 0), end = nuc_fb_u64(&d->r, e, 7, 0);
        assert_true(start >= nuc_fb_u64(&d->r, call, 6, 0) && end <= nuc_fb_u64(&d->r, call, 7, 0));
        assert_true(k == n_kernels ? start == end : start < end);
    }
}

static void etdump(void **state)
{
    struct profiled p;
    struct dump d;

    setup(&p, true, NUC_DELEGATE_INLINE);
    const struct nuc_profile *profile = profile_of(&p, true);
    const struct nuc_profile *const runs[2] = {profile, profile};
    open_dump(&d, nuc_profile_dump(p.c->cx, runs, 2));
    assert_int_equal(d.runs.count, 2);
    size_t call = 0, operators = 0;
    for (uint32_t i = 0; i < d.events.count; i++) {
        const char *name = nuc_fb_string(&d.r, event_at(&d, i), 0, NULL);
        operators += name != NULL && strcmp(name, "OPERATOR_CALL") == 0;
        if (name == NULL || strcmp(name, "DELEGATE_CALL") != 0)
            continue;
        check_call(&d, profile, i, (uint32_t)(p.calls[call].bytes / 16 - 1));
        call++;
    }
    assert_int_equal(call, 2);
    assert_true(operators > 3);
    struct nuc_fb_table last = event_at(&d, d.events.count - 1);
    assert_string_equal(nuc_fb_string(&d.r, last, 0, NULL), "Method::execute");
    assert_true(nuc_fb_u64(&d.r, last, 7, 0) == profile->cycles);
    assert_false(d.r.bad);
    nuc_compiler_free(p.c);
}

/* ---- ETRecord ---- */

static bool says(const struct nuc_zip *zip, const char *entry, const char *text)
{
    const struct nuc_zip_entry *e = nuc_zip_find(zip, entry);

    assert_non_null(e);
    struct nuc_span content = nuc_zip_read(zip, e);
    const char *whole = nuc_format(zip->cx, "%.*s", (int)content.size, (const char *)content.data);
    return strstr(whole, text) != NULL;
}

/* Made without a run: by the numbers of NeutronBackend's events and the names of nucleon's. */
static void etrecord(void **state)
{
    static const char *const empty[] = {"ETRECORD_V0", "edge_dialect_exported_program/forward_state_dict",
                                        "edge_dialect_exported_program/forward_constants",
                                        "edge_dialect_exported_program/forward_example_inputs"};
    struct profiled p;

    setup(&p, true, NUC_DELEGATE_INLINE);
    const struct nuc_pieces record = nuc_profile_record(p.c->cx, profile_of(&p, false), "record");
    struct nuc_zip *zip =
        nuc_zip_open(p.c->cx, (struct nuc_stored){.path = "record", .bytes = nuc_join_pieces(p.c->cx, &record)});
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++)
        assert_int_equal(nuc_zip_find(zip, empty[i])->size, 0);
    assert_true(says(zip, "debug_handle_map", "{\"forward\":{\"0\":[1],\"1\":[2,3,4,5,6,7,8,9,10,11],\"2\":[12],"));
    assert_true(says(zip, "instruction_id_to_num_outs_map", "{\"forward\":{\"0\":1,\"1\":1,"));
    assert_true(
        says(zip, "delegate_map", "{\"1\":{\"name\":\"NeutronBackend\",\"delegate_map\":{\"0\":[2],\"1\":[3],"));
    assert_true(says(zip, "delegate_map", "\"9\":[11],\"10\":[],\"0 CONV_2D: stem + relu6 (train.py:23)\":[2],"));
    const char *program = "edge_dialect_exported_program/forward";
    assert_true(says(zip, program, "\"name\":\"stem___relu6_1_0\""));
    assert_true(says(zip, program,
                     "train.py\\\", line 23\",\"nn_module_stack\":\"L__self__,,torch.nn.Module;L__self___stem,stem,"
                     "torch.nn.Module\",\"debug_handle\":\"2\"}"));
    nuc_compiler_free(p.c);
}

RUN_TESTS(cmocka_unit_test(recorded), cmocka_unit_test(unrecorded), cmocka_unit_test(cut_records),
          cmocka_unit_test(etdump), cmocka_unit_test(etrecord))
