/* Programs as written: structure, constants, views, delegates; that they run is test_runtime.c's matter. */
#include "back/program/banks.h"
#include "device/base/flatbuf.h"
#include "device/base/program_schema.h"
#include "npu/target/target.h"
#include "program_graphs.h"

/* The tables of the first method. Field numbers: schema/program.fbs of ExecuTorch. */
struct written {
    struct nuc_span file;
    struct nuc_fb_reader r;
    struct nuc_fb_table program, plan;
};

static void open_written(struct written *w, struct nuc_span file)
{
    w->file = file;
    w->r = (struct nuc_fb_reader){{file.data, (size_t)nuc_load_u64(file.data + 16)}, false};
    w->program = nuc_fb_root(&w->r, 0);
    w->plan = nuc_fb_vec_table(&w->r, nuc_fb_vec(&w->r, w->program, 1, 4), 0);
}

static uint8_t value_kind(struct written *w, uint32_t index)
{
    return nuc_fb_u8(&w->r, nuc_fb_vec_table(&w->r, nuc_fb_vec(&w->r, w->plan, 2, 4), index), 0, 0);
}

static struct nuc_fb_table value(struct written *w, uint32_t index)
{
    return nuc_fb_sub(&w->r, nuc_fb_vec_table(&w->r, nuc_fb_vec(&w->r, w->plan, 2, 4), index), 1);
}

static struct nuc_fb_vector call_args(struct written *w, uint32_t instruction, uint8_t *type, int32_t *index)
{
    struct nuc_fb_table chain = nuc_fb_vec_table(&w->r, nuc_fb_vec(&w->r, w->plan, 5, 4), 0);
    struct nuc_fb_table in = nuc_fb_vec_table(&w->r, nuc_fb_vec(&w->r, chain, 2, 4), instruction);
    struct nuc_fb_table call = nuc_fb_sub(&w->r, in, 1);

    *type = nuc_fb_u8(&w->r, in, 0, 0);
    *index = nuc_fb_i32(&w->r, call, 0, 0);
    return nuc_fb_vec(&w->r, call, 1, 4);
}

static void assert_args(struct written *w, uint32_t instruction, const int32_t *expected, uint32_t count)
{
    uint8_t type;
    int32_t index;
    struct nuc_fb_vector args = call_args(w, instruction, &type, &index);

    assert_int_equal(args.count, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(nuc_fb_vec_i32(&w->r, args, i), expected[i]);
}

static void header_and_numbering(struct nuc_context *cx, void *arg)
{
    struct nuc_program_memory_report report;
    struct nuc_program_options o = {.keep_order = true, .report = &report};
    struct nuc_span file = nuc_write_program(test_graph(cx, false), &o);
    struct nuc_span again = nuc_write_program(test_graph(cx, false), &o);
    struct written w;

    assert_int_equal(file.size, again.size);
    assert_memory_equal(file.data, again.data, file.size);
    assert_memory_equal(file.data + 4, "ET12eh00", 8);
    assert_int_equal(nuc_load_u32(file.data + 12), 32);
    uint64_t base = nuc_load_u64(file.data + 24);
    assert_int_equal(base % 16, 0);
    assert_true(base >= nuc_load_u64(file.data + 16));
    assert_int_equal(base + nuc_load_u64(file.data + 32), file.size);

    open_written(&w, file);
    /* weight, input, quantize's result and its five scalars, ... : results before scalars, out argument twice. */
    assert_args(&w, 0, (const int32_t[]){1, 3, 4, 5, 6, 7, 2, 2}, 8);
    assert_args(&w, 1, (const int32_t[]){2, 9, 10, 11, 12, 13, 14, 8, 8}, 9);
    assert_int_equal(value_kind(&w, 3), 4);
    assert_int_equal(value_kind(&w, 4), 2);
    assert_int_equal(value_kind(&w, 14), 1);
    assert_false(w.r.bad);
    /* Input 32, int8 16 (8), float 32: the input is dead when the third is born. */
    assert_int_equal(report.planned, report.lower_bound);
    assert_int_equal(report.planned, 48);
    assert_int_equal(report.n_instructions, 5);
    assert_int_equal(report.constants, 8);
}

/* Quantize and dequantize have scale, zero point and bounds in common; what differs has a value of its own. */
static void values_once(struct nuc_context *cx, void *arg)
{
    struct nuc_program_memory_report each, shared;
    struct nuc_program_options o = {.keep_order = true, .report = &each};
    struct nuc_span file = nuc_write_program(test_graph(cx, false), &o);
    struct written w;
    uint8_t type;
    int32_t index;

    o = (struct nuc_program_options){.report = &shared};
    struct nuc_span smaller = nuc_write_program(test_graph(cx, false), &o);
    assert_true(shared.n_values + 5 <= each.n_values);
    assert_true(smaller.size < file.size);
    open_written(&w, smaller);
    struct nuc_fb_vector quantize = call_args(&w, 0, &type, &index), dequantize = call_args(&w, 1, &type, &index);
    for (uint32_t i = 1; i < 6; i++)
        assert_int_equal(nuc_fb_vec_i32(&w.r, quantize, i), nuc_fb_vec_i32(&w.r, dequantize, i));
    assert_int_not_equal(nuc_fb_vec_i32(&w.r, quantize, 2), nuc_fb_vec_i32(&w.r, quantize, 3));
    /* A convolution's strides and dilations are the same list, its paddings another one. */
    struct nuc_fb_vector conv = call_args(&w, 2, &type, &index);
    assert_int_equal(nuc_fb_vec_i32(&w.r, conv, 3), nuc_fb_vec_i32(&w.r, conv, 5));
    assert_int_not_equal(nuc_fb_vec_i32(&w.r, conv, 3), nuc_fb_vec_i32(&w.r, conv, 4));
    assert_false(w.r.bad);
}

/* The view is a second tensor value at the same address, and no instruction. */
static void static_view(struct nuc_context *cx, void *arg)
{
    struct nuc_program_options o = {.method = "run"};
    struct written w;
    uint8_t type;
    int32_t index;

    open_written(&w, nuc_write_program(test_graph(cx, false), &o));
    assert_string_equal(nuc_fb_string(&w.r, w.plan, 0, NULL), "run");
    uint32_t relu = (uint32_t)nuc_fb_vec_i32(&w.r, call_args(&w, 3, &type, &index), 1);
    struct nuc_fb_vector add = call_args(&w, 4, &type, &index);
    uint32_t view = (uint32_t)nuc_fb_vec_i32(&w.r, add, 0);
    assert_int_equal(view, nuc_fb_vec_i32(&w.r, add, 1));
    assert_int_not_equal(view, relu);
    struct nuc_fb_table a = nuc_fb_sub(&w.r, value(&w, relu), 6);
    struct nuc_fb_table b = nuc_fb_sub(&w.r, value(&w, view), 6);
    assert_int_equal(nuc_fb_u32(&w.r, a, 1, 0), nuc_fb_u32(&w.r, b, 1, 0));
    assert_int_equal(nuc_fb_vec(&w.r, value(&w, view), 2, 4).count, 2);
    assert_false(w.r.bad);
}

/* Equal bytes are stored once, whatever their shape; a channels-last constant is stored in memory order. */
static void constants_once(struct nuc_context *cx, void *arg)
{
    struct nuc_program_memory_report report;
    struct nuc_program_options o = {.report = &report};
    struct nuc_graph *g = parse_quantized(
        cx, "%a = constant : int8[4] values(1, 2, 3, 4) ! 0.5, 1; %b = constant : int8[4] values(1, 2, 3, 4) ! 0.5, 1\n"
            "%c = constant : int8[1, 2, 2, 1] channels-last values(1, 2, 3, 4) ! 0.5, 1\n"
            "%output = output([%da, %db, %dc])");
    struct test_program p;
    struct nuc_tensor t;

    struct nuc_span file = nuc_write_program(g, &o);
    assert_int_equal(report.constants, 4);
    test_load(cx, &p, file, NULL);
    assert_int_equal(p.status, NUC_OK);
    assert_int_equal(nuc_program_execute(&p.program, NULL), NUC_OK);
    assert_int_equal(nuc_program_output(&p.program, 2, &t), NUC_OK);
    assert_true(((const float *)t.data)[3] == 1.5f);
    assert_int_equal(t.dim_order[1], 2);
}

/* Both places for payloads; the key and value of every compile spec are there. */
static void delegate_data(struct nuc_context *cx, void *arg)
{
    static const uint8_t payload[40] = {1, 1, 1};

    for (int segment = 0; segment < 2; segment++) {
        struct nuc_program_options o = {.delegate_data = segment ? NUC_DELEGATE_SEGMENT : NUC_DELEGATE_INLINE};
        struct nuc_span bytes = {payload, sizeof payload};
        struct written w;
        open_written(&w, nuc_write_program(test_delegate_graph(cx, 2, false, bytes), &o));
        struct nuc_fb_table d = nuc_fb_vec_table(&w.r, nuc_fb_vec(&w.r, w.plan, 7, 4), 0);
        struct nuc_fb_table reference = nuc_fb_sub(&w.r, d, 1);
        struct nuc_fb_table spec = nuc_fb_vec_table(&w.r, nuc_fb_vec(&w.r, d, 2, 4), 1);
        assert_string_equal(nuc_fb_string(&w.r, d, 0, NULL), "NeutronBackend");
        assert_string_equal(nuc_fb_string(&w.r, spec, 0, NULL), "compile_flags");
        assert_non_null(nuc_fb_bytes(&w.r, spec, 1).data);
        assert_int_equal(nuc_fb_i8(&w.r, reference, 0, 0), segment);
        uint32_t index = nuc_fb_u32(&w.r, reference, 1, 0);
        struct nuc_span stored = {NULL, 0};
        if (segment) {
            struct nuc_fb_table s = nuc_fb_vec_table(&w.r, nuc_fb_vec(&w.r, w.program, 4, 4), index);
            uint64_t base = nuc_load_u64(w.file.data + 24);
            assert_true(nuc_span_slice(w.file, base + nuc_fb_u64(&w.r, s, 0, 0), nuc_fb_u64(&w.r, s, 1, 0), &stored));
        } else {
            stored = nuc_fb_bytes(&w.r, nuc_fb_vec_table(&w.r, nuc_fb_vec(&w.r, w.program, 3, 4), index), 0);
        }
        assert_int_equal((stored.data - w.file.data) % 16, 0);
        assert_int_equal(stored.size, sizeof payload);
        assert_memory_equal(stored.data, payload, sizeof payload);
        assert_false(w.r.bad);
    }
}

/* A payload's maps name arguments by place: one value that is two inputs is two arguments. */
static void value_given_twice(struct nuc_context *cx, void *arg)
{
    static const uint8_t payload[4] = {0, 0, 0, 0};
    struct nuc_program_options o = {.method = NULL};
    struct nuc_graph *g = test_delegate_graph(cx, 2, false, (struct nuc_span){payload, 4});
    struct nuc_node *q = node_of(g, "q"), *twice[2] = {q, q};
    struct written w;

    nuc_set_arg_nodes(node_of(g, "call"), g, NUC_ARG(CALL_DELEGATE, inputs), twice, 2);
    open_written(&w, nuc_write_program(g, &o));
    uint8_t type;
    int32_t index;
    struct nuc_fb_vector args = call_args(&w, 1, &type, &index);
    assert_int_equal(args.count, 3);
    assert_int_equal(nuc_fb_vec_i32(&w.r, args, 0), nuc_fb_vec_i32(&w.r, args, 1));
    assert_false(w.r.bad);
}

/* Whether what the inputs are made of is there while the delegate runs, and lies in its scratch. */
static bool lies_in_scratch(struct nuc_context *cx, const char *inputs)
{
    enum { SCRATCH = 768 };
    static const uint8_t payload[4] = {0, 0, 0, 0};
    static const uint32_t input_places[2] = {0, 64}, output_places[1] = {UINT32_MAX};
    struct nuc_program_memory_report report;
    struct nuc_program_options o = {.plan_delegate_scratch = true, .report = &report};
    struct nuc_graph *g = parse_quantized(
        cx,
        nuc_format(cx,
                   "%%x = input : float32[8, 16]\n"
                   "%%q = quantized_decomposed.quantize_per_tensor.default(%%x, 0.5, 1, -128, 127, int8)\n"
                   "%%s = edge.aten.slice_copy.Tensor(%%q, 0, 0, 4); %%t = edge.aten.slice_copy.Tensor(%%q, 0, 4, 8)\n"
                   "%%call = call_delegate([%s]) : (int8[4, 1]); %%i = getitem(%%call, 0)\n"
                   "%%d = quantized_decomposed.dequantize_per_tensor.default(%%i, 0.5, 1, -128, 127, int8)\n",
                   inputs));
    struct nuc_delegate *d = nuc_alloc(cx, sizeof *d);
    struct nuc_planned scratch = {.size = 0}, q = {.size = 0};

    *d = (struct nuc_delegate){.backend_id = "NeutronBackend",
                               .tag = "tag0",
                               .payload = {payload, sizeof payload},
                               .scratch_size = SCRATCH,
                               .input_places = input_places,
                               .output_places = output_places};
    node_of(g, "call")->delegate = d;
    nuc_write_program(g, &o);
    for (size_t i = 0; i < report.n_tensors; i++) {
        scratch = report.tensors[i].size == SCRATCH ? report.tensors[i] : scratch;
        q = report.tensors[i].size == 128 ? report.tensors[i] : q;
    }
    assert_int_equal(scratch.size, SCRATCH);
    assert_int_equal(q.size, 128);
    return q.last >= scratch.first && q.address < scratch.address + SCRATCH && scratch.address < q.address + 128;
}

/* An input's place in the scratch is kept for its bytes alone: what lies elsewhere is written over. */
static void slices_beside_scratch(struct nuc_context *cx, void *arg)
{
    assert_true(lies_in_scratch(cx, "%q"));
    assert_true(lies_in_scratch(cx, "%s"));
    assert_false(lies_in_scratch(cx, "%t"));
    assert_false(lies_in_scratch(cx, "%s, %t"));
    assert_false(lies_in_scratch(cx, "%t, %s"));
    assert_false(lies_in_scratch(cx, "%q, %q"));
}

/* No constants: the offsets still have their placeholder. */
static void no_constants(struct nuc_context *cx, void *arg)
{
    static const uint8_t payload[4] = {0, 0, 0, 0};
    struct nuc_program_options o = {.method = NULL};
    struct written w;

    open_written(&w, nuc_write_program(test_delegate_graph(cx, 2, false, (struct nuc_span){payload, 4}), &o));
    struct nuc_fb_table constants = nuc_fb_sub(&w.r, w.program, 5);
    assert_int_equal(nuc_fb_vec(&w.r, constants, 1, 8).count, 1);
}

static void unknown_operator(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = test_graph(cx, false);
    struct nuc_program_options o = {.method = NULL};

    for (struct nuc_node *n = g->first; n != NULL; n = n->next)
        n->dialect = NUC_ATEN;
    nuc_write_program(g, &o);
}

/* Two weights dequantized in front, used one after the other: sunk, they share memory. */
static void constants_sink(struct nuc_context *cx, void *arg)
{
    size_t planned[2];

    for (int keep = 0; keep < 2; keep++) {
        struct nuc_program_memory_report report;
        struct nuc_program_options o = {.keep_order = keep, .report = &report};
        nuc_write_program(parse_quantized(cx, "%a = constant : int8[64] values(0) ! 0.5, 1\n"
                                              "%b = constant : int8[64] values(0) ! 0.5, 1; %x = input : float32[64]\n"
                                              "%s = edge.aten.add.Tensor(%x, %da); %t = edge.aten.add.Tensor(%s, %db)"),
                          &o);
        planned[keep] = report.planned;
    }
    assert_int_equal(planned[0], 3 * 256);
    assert_int_equal(planned[1], 4 * 256);
}

/* Nothing of nothing is a name, too. */
static void slices_of_nothing(struct nuc_context *cx, void *arg)
{
    struct nuc_program_memory_report report;
    struct nuc_program_options o = {.report = &report};

    nuc_write_program(
        parse_quantized(cx, "%x = input : float32[8, 4]; %s = edge.aten.slice_copy.Tensor(%x, 0, 3, 3)\n"
                            "%t = edge.aten.slice_copy.Tensor(%s, 0, 0, 1); %z = edge.aten.cat.default([%x, %t])"),
        &o);
    assert_int_equal(report.n_instructions, 1);
}

/* Slices that are names need no memory; a bank as large as what is planned has room, and holds that. */
static void named_slices_in_banks(struct nuc_context *cx, void *arg)
{
    const char *text = "%k = constant : float32[64, 4] values(1); %x = input : float32[4]\n"
                       "%y = edge.aten.add.Tensor(%x, %k); %s = edge.aten.slice_copy.Tensor(%y, 0, 0, 32)\n"
                       "%t = edge.aten.slice_copy.Tensor(%y, 0, 32, 64); %z = edge.aten.add.Tensor(%s, %t)";
    struct nuc_banks banks = {
        .n = 1, .of = {{.name = "ram", .bytes = 1024 + 512, .most = UINT64_MAX, .reach = NUC_BY_CPU | NUC_BY_NPU}}};
    struct nuc_program_memory_report report;

    for (int split = 0; split < 2; split++) {
        struct nuc_program_options o = {.banks = split ? &banks : NULL, .report = &report};
        nuc_write_program(parse_quantized(cx, text), &o);
        assert_int_equal(report.planned, 1024 + 512);
        assert_int_equal(report.n_instructions, 2);
    }
    assert_int_equal(report.n_banks, 1);
    assert_int_equal(report.banks[0].planned, 1024 + 512);
}

/* A pool on a channels-last tensor gets a contiguous copy, and the output is contiguous. */
static void dim_orders_for_kernels(struct nuc_context *cx, void *arg)
{
    static const float in[8] = {1, 10, 2, 20, 3, 30, 6, 60};
    struct nuc_program_options o = {.method = NULL};
    struct test_program p;
    struct written w;
    struct nuc_tensor t;

    struct nuc_span file =
        nuc_write_program(parse_quantized(cx, "%x = input : float32[1, 2, 2, 2] channels-last\n"
                                              "%y = edge.aten._adaptive_avg_pool2d.default(%x, [1, 1])"),
                          &o);
    open_written(&w, file);
    assert_int_equal(nuc_fb_vec(&w.r, w.plan, 6, 4).count, 2);
    test_load(cx, &p, file, NULL);
    assert_int_equal(p.status, NUC_OK);
    assert_int_equal(nuc_program_set_input(&p.program, 0, in, sizeof in, NULL), NUC_OK);
    assert_int_equal(nuc_program_execute(&p.program, NULL), NUC_OK);
    assert_int_equal(nuc_program_output(&p.program, 0, &t), NUC_OK);
    assert_int_equal(t.dim_order[1], 1);
    assert_true(((const float *)t.data)[0] == 3.0f && ((const float *)t.data)[1] == 30.0f);
}

/* s = a + x; a becomes s, b the old a; s and the old b are returned. */
static const char states_text[] = "nucleon-graph 1\n"
                                  "%a = state \"cell.a\" : float32[4] values(1, 2, 3, 4)\n"
                                  "%b = state \"cell.b\" : float32[4] values(0)\n"
                                  "%x = input : float32[4]\n"
                                  "%s = edge.aten.add.Tensor(%a, %x) : float32[4]\n"
                                  "%output = output([%s, %b, %s, %a])\n";

static void step(struct test_program *p, float x, float s, float b)
{
    const float in[4] = {x, x, x, x};
    struct nuc_tensor t;

    assert_int_equal(nuc_program_set_input(&p->program, 0, in, sizeof in, NULL), NUC_OK);
    assert_int_equal(nuc_program_execute(&p->program, NULL), NUC_OK);
    assert_int_equal(nuc_program_output(&p->program, 0, &t), NUC_OK);
    assert_float_equal(((const float *)t.data)[0], s, 0);
    assert_int_equal(nuc_program_output(&p->program, 1, &t), NUC_OK);
    assert_float_equal(((const float *)t.data)[0], b, 0);
}

/* States keep what a run leaves, each instance its own; reset and saved bytes bring an earlier one back. */
static void states_last(struct nuc_context *cx, void *arg)
{
    struct nuc_program_options o = {.method = NULL};
    struct nuc_span file = nuc_write_program(nuc_graph_parse(cx, "states", states_text), &o);
    struct test_program p, other;
    struct nuc_tensor a, b;
    float saved[2][4];
    struct written w;

    open_written(&w, file);
    assert_int_equal(nuc_fb_vec(&w.r, w.plan, 6, 4).count, 3);
    test_load(cx, &p, file, NULL);
    test_load(cx, &other, file, NULL);
    assert_int_equal(p.status, NUC_OK);
    assert_int_equal(p.sizes.n_planned, 2);
    assert_int_equal(p.sizes.planned[1], 32);
    assert_int_equal(nuc_program_n_states(&p.program), 2);
    step(&p, 10, 11, 0);
    step(&p, 10, 21, 1);
    step(&other, 5, 6, 0);
    assert_int_equal(nuc_program_state(&p.program, 0, &a), NUC_OK);
    assert_int_equal(nuc_program_state(&p.program, 1, &b), NUC_OK);
    assert_int_equal(nuc_program_state(&p.program, 2, &b), NUC_BAD_USAGE);
    memcpy(saved[0], a.data, a.bytes);
    memcpy(saved[1], b.data, b.bytes);
    step(&p, 10, 31, 11);
    assert_int_equal(nuc_program_reset(&p.program, NULL), NUC_OK);
    step(&p, 10, 11, 0);
    memcpy(a.data, saved[0], a.bytes);
    memcpy(b.data, saved[1], b.bytes);
    step(&p, 10, 31, 11);
    step(&other, 5, 11, 1);
    nuc_program_unload(&p.program);
    assert_int_equal(nuc_program_n_states(&p.program), 0);
    assert_int_equal(nuc_program_reset(&p.program, NULL), NUC_BAD_USAGE);
}

/* Where the scalar `field` of a table lies in the file. */
static size_t field_at(const struct written *w, struct nuc_fb_table t, int field)
{
    const uint8_t *data = w->file.data;
    size_t vtable = t.at - nuc_load_u32(data + t.at);

    return t.at + nuc_load_u16(data + vtable + 4 + 2 * (size_t)field);
}

/* The file with `bytes` bytes of `number` at a place is refused, with the message. */
static void assert_refused(struct nuc_context *cx, const struct written *w, size_t at, uint64_t number, size_t bytes,
                           const char *message)
{
    uint8_t *data = nuc_copy(cx, w->file.data, w->file.size);
    struct test_program p = {.status = NUC_OK};

    memcpy(data + at, &number, bytes);
    test_load(cx, &p, (struct nuc_span){data, w->file.size}, NULL);
    assert_int_equal(p.status, NUC_BAD_INPUT);
    assert_non_null(p.detail.message);
    if (strstr(p.detail.message, message) == NULL)
        fail_msg("'%s' in place of '%s'", p.detail.message, message);
}

/* States outside their memory, initial data that are missing, short or outside the file. */
static void states_refused(struct nuc_context *cx, void *arg)
{
    struct nuc_program_options o = {.method = NULL};
    struct written w;

    open_written(&w, nuc_write_program(nuc_graph_parse(cx, "states", states_text), &o));
    struct nuc_fb_vector sizes = nuc_fb_vec(&w.r, w.plan, NUC_PLAN_BUFFER_SIZES, 8);
    struct nuc_fb_vector all = nuc_fb_vec(&w.r, w.program, NUC_PROGRAM_MUTABLE_SEGMENTS, 4);
    struct nuc_fb_table initial = nuc_fb_vec_table(&w.r, all, 0);
    struct nuc_fb_vector offsets = nuc_fb_vec(&w.r, initial, NUC_SUBSEGMENT_OFFSETS, 8);
    struct nuc_fb_vector segments = nuc_fb_vec(&w.r, w.program, NUC_PROGRAM_SEGMENTS, 4);
    struct nuc_fb_table segment = nuc_fb_vec_table(&w.r, segments, segments.count - 1);
    struct nuc_fb_table allocation = nuc_fb_sub(&w.r, value(&w, 0), NUC_TENSOR_ALLOCATION);

    assert_false(w.r.bad);
    assert_int_equal(nuc_fb_u32(&w.r, allocation, NUC_ALLOCATION_MEMORY, 0), 2);
    assert_refused(cx, &w, sizes.at + 16, 16, 8, "outside its planned memory");
    assert_refused(cx, &w, field_at(&w, allocation, NUC_ALLOCATION_MEMORY), 3, 4, "memory that does not exist");
    assert_refused(cx, &w, field_at(&w, value(&w, 0), NUC_TENSOR_DATA_BUFFER), 3, 4, "");
    assert_refused(cx, &w, all.at - 4, 0, 4, "");
    assert_refused(cx, &w, offsets.at - 4, 2, 4, "");
    assert_refused(cx, &w, offsets.at + 16, (uint64_t)1 << 40, 8, "initial data lies outside its segment");
    assert_refused(cx, &w, offsets.at + 16, 17, 8, "initial data lies outside its segment");
    assert_refused(cx, &w, field_at(&w, initial, NUC_SUBSEGMENT_INDEX), 9, 4, "");
    assert_refused(cx, &w, field_at(&w, segment, NUC_SEGMENT_SIZE), 31, 8, "initial data lies outside its segment");
}

static void test_structure(void **state)
{
    run_in_context(header_and_numbering, NULL);
    run_in_context(values_once, NULL);
    run_in_context(static_view, NULL);
    run_in_context(delegate_data, NULL);
    run_in_context(dim_orders_for_kernels, NULL);
    expect_failure(unknown_operator, NULL, NUC_UNSUPPORTED, "");
}

RUN_TESTS(cmocka_unit_test(test_structure), CONTEXT_TEST(constants_once), CONTEXT_TEST(value_given_twice),
          CONTEXT_TEST(no_constants), CONTEXT_TEST(constants_sink), CONTEXT_TEST(states_last),
          CONTEXT_TEST(states_refused), CONTEXT_TEST(slices_beside_scratch), CONTEXT_TEST(named_slices_in_banks),
          CONTEXT_TEST(slices_of_nothing))
