/* What a self-test on the device compares with: the test cases are run here, node by node. */
#include "nucleon/selftest.h"

#include <stdlib.h>
#include <string.h>

#include "archive/program_view.h"
#include "back/profile/profile.h"
#include "device/base/microcode_header.h"
#include "device/base/microcode_table.h"
#include "host/call.h"
#include "host/hash.h"
#include "npu/container/payload.h"
#include "run/test_cases.h"

struct kernel_sum {
    uint32_t call, sum;
};

struct place {
    uint32_t memory;
    uint64_t at, bytes;
};

/* What was written where, in the case under way. */
struct written {
    void *data;
    size_t bytes;
    uint16_t node;
};

struct making {
    struct nuc_runner *r;
    struct nuc_context *cx;
    const struct nuc_program_view *view;
    const struct nuc_view_method *method;
    const struct nuc_profile *profile;
    struct nuc_selftest *out;
    struct nuc_selftest_check *checks;
    struct nuc_selftest_block *blocks;
    uint32_t *sums;
    uint32_t n_sums;
    size_t checks_room, blocks_room, sums_room;
    uint32_t n_case;
    const struct nuc_kernel_entry **operators; /* of the method */
    uint16_t *row_of;                          /* by instruction: its node */
    uint16_t *writer_of;                       /* by value: the last call that writes it, */
    struct written *written;                   /* in the case under way, in order */
    uint32_t n_written;
    size_t written_room;
    bool *is_given;             /* by value: it has content before any call */
    struct kernel_sum *kernels; /* of the NPU call under way */
    uint32_t n_kernels, kernels_room;
};

/* ---- nodes ---- */

static void make_nodes(struct making *m)
{
    const struct nuc_profile *p = m->profile;
    struct nuc_selftest_node *nodes = nuc_alloc_array(m->cx, p->n_rows + 1, sizeof *nodes);
    const uint32_t n_instructions = m->method->n_chains > 0 ? m->method->chains[0].n_instructions : 0;

    if (p->n_rows >= NUC_SELFTEST_NO_NODE)
        nuc_fail(m->cx, NUC_UNSUPPORTED, "%s: has %zu nodes: a self-test names at most %d", m->view->file, p->n_rows,
                 NUC_SELFTEST_NO_NODE - 1);
    m->row_of = nuc_alloc_array(m->cx, (size_t)n_instructions + 1, sizeof *m->row_of);
    for (size_t i = 0; i < p->n_rows; i++) {
        const struct nuc_profile_row *row = &p->rows[i];
        const bool kernel = row->kind == NUC_PROFILE_KERNEL;
        nodes[i] =
            (struct nuc_selftest_node){.number = kernel ? nuc_format(m->cx, "%u.%u", row->instruction, row->kernel)
                                                        : nuc_format(m->cx, "%u", row->instruction),
                                       .name = row->what,
                                       .label = row->label != NULL ? row->label : "",
                                       .on_npu = row->kind != NUC_PROFILE_CPU};
        if (!kernel)
            m->row_of[row->instruction] = (uint16_t)i;
    }
    m->out->nodes = nodes;
    m->out->n_nodes = (uint16_t)p->n_rows;
}

/* Element `i` of a list of values, or of one value. */
static uint32_t n_members(const struct making *m, uint32_t value)
{
    const struct nuc_view_value *v = &m->method->values[value];

    return v->kind == NUC_VALUE_TENSORS || v->kind == NUC_VALUE_OPTIONAL_TENSORS ? v->u.list.count : 1;
}

static int64_t member(const struct making *m, uint32_t value, uint32_t i)
{
    const struct nuc_view_value *v = &m->method->values[value];

    return v->kind == NUC_VALUE_TENSORS || v->kind == NUC_VALUE_OPTIONAL_TENSORS ? nuc_view_int(v->u.list, i) : value;
}

/* What an operator writes is refused as a constant; a delegate writes what nothing has written before. */
static bool is_written(const struct making *m, const struct nuc_view_instruction *in, uint32_t argument)
{
    const uint32_t value = (uint32_t)nuc_view_int(in->args, argument);

    if (argument > 0 && argument + 1 == in->args.count && nuc_view_int(in->args, argument - 1) == value)
        argument--; /* what an operator returns is its last argument once more */
    if (in->kind == NUC_INSTRUCTION_DELEGATE)
        return !m->is_given[value] && (m->writer_of[value] == NUC_SELFTEST_NO_NODE ||
                                       m->writer_of[value] == m->row_of[in - m->method->chains[0].instructions]);
    const struct nuc_kernel_entry *kernel = m->operators[in->index];
    for (uint32_t i = 0; kernel != NULL && kernel->accepts[i] != 0; i++) {
        if (i == argument)
            return (kernel->accepts[i] & 1) != 0;
    }
    return false;
}

/* Where a tensor lies before the program is loaded; false: it is a constant, or where the caller puts it. */
static bool place_of(const struct making *m, uint32_t value, struct place *out)
{
    const struct nuc_view_value *v = &m->method->values[value];
    uint64_t bytes = v->kind == NUC_VALUE_TENSOR ? nuc_dtype_size(v->u.tensor.dtype) : 0;

    if (v->kind != NUC_VALUE_TENSOR || !v->u.tensor.planned)
        return false;
    for (uint32_t d = 0; d < v->u.tensor.sizes.count; d++)
        bytes *= (uint64_t)nuc_view_int(v->u.tensor.sizes, d);
    *out = (struct place){v->u.tensor.memory, v->u.tensor.offset, bytes};
    return true;
}

/* Views are values of their own at the same place. */
static bool overlap(const struct making *m, uint32_t a, uint32_t b)
{
    struct place p, q;

    return a == b || (place_of(m, a, &p) && place_of(m, b, &q) && p.memory == q.memory && p.at < q.at + q.bytes &&
                      q.at < p.at + p.bytes);
}

/* Whether the call has a value there among those that it writes, or among those that it reads. */
static bool uses(const struct making *m, const struct nuc_view_instruction *in, uint32_t value, bool written)
{
    if (in->kind == NUC_INSTRUCTION_MOVE)
        return overlap(m, (uint32_t)in->words[written ? 1 : 0], value);
    if (in->kind != NUC_INSTRUCTION_KERNEL && in->kind != NUC_INSTRUCTION_DELEGATE)
        return false;
    for (uint32_t k = 0; k < in->args.count; k++) {
        const uint32_t argument = (uint32_t)nuc_view_int(in->args, k);
        for (uint32_t e = 0; is_written(m, in, k) == written && e < n_members(m, argument); e++) {
            const int64_t of = member(m, argument, e);
            if (of >= 0 && overlap(m, (uint32_t)of, value))
                return true;
        }
    }
    return false;
}

/*
 * Whether anything reads what call `i` writes to the value before something else is written there. Scratch memory of an
 * operator is what nothing reads: its bytes are not compared.
 */
static bool is_read(const struct making *m, uint32_t i, uint32_t value)
{
    const struct nuc_view_chain *chain = m->method->chains;
    bool kept = false;

    for (uint32_t k = i + 1; k < chain->n_instructions; k++) {
        if (uses(m, &chain->instructions[k], value, false))
            return true;
        if (uses(m, &chain->instructions[k], value, true))
            return false;
    }
    for (uint32_t k = 0; k < m->method->outputs.count; k++)
        kept = kept || overlap(m, (uint32_t)nuc_view_int(m->method->outputs, k), value);
    return kept || m->method->values[value].u.tensor.constant != 0; /* a state */
}

static void find_writers(struct making *m)
{
    const struct nuc_view_method *method = m->method;

    m->operators = nuc_alloc_array(m->cx, (size_t)method->n_operators + 1, sizeof(struct nuc_kernel_entry *));
    for (uint32_t i = 0; i < method->n_operators; i++)
        m->operators[i] = nuc_kernel_find(&nuc_default_kernels, nuc_view_operator_name(m->cx, &method->operators[i]));
    m->is_given = nuc_alloc_array(m->cx, (size_t)method->n_values + 1, sizeof *m->is_given);
    m->writer_of = nuc_alloc_array(m->cx, (size_t)method->n_values + 1, sizeof *m->writer_of);
    memset(m->writer_of, 0xff, method->n_values * sizeof *m->writer_of);
    for (uint32_t i = 0; i < method->inputs.count; i++)
        m->is_given[nuc_view_int(method->inputs, i)] = true;
    for (uint32_t i = 0; i < method->n_values; i++)
        m->is_given[i] |= method->values[i].kind == NUC_VALUE_TENSOR && method->values[i].u.tensor.constant != 0;
    for (uint32_t i = 0; method->n_chains > 0 && i < method->chains[0].n_instructions; i++) {
        const struct nuc_view_instruction *in = &method->chains[0].instructions[i];
        if (in->kind != NUC_INSTRUCTION_KERNEL && in->kind != NUC_INSTRUCTION_DELEGATE)
            continue;
        for (uint32_t k = 0; k < in->args.count; k++) {
            const uint32_t value = (uint32_t)nuc_view_int(in->args, k);
            const bool written = is_written(m, in, k);
            for (uint32_t e = 0; written && e < n_members(m, value); e++) {
                const int64_t of = member(m, value, e);
                if (of >= 0)
                    m->writer_of[of] = m->row_of[i];
            }
        }
    }
}

/* ---- microcode and weights ---- */

static void add_block(struct making *m, const uint8_t *base, struct nuc_span bytes, uint32_t payload, size_t node)
{
    m->blocks = nuc_grow(m->cx, m->blocks, &m->blocks_room, m->out->n_blocks + (size_t)1, sizeof *m->blocks);
    if (bytes.size > 0)
        m->blocks[m->out->n_blocks++] = (struct nuc_selftest_block){.at = (uint32_t)(bytes.data - base),
                                                                    .size = (uint32_t)bytes.size,
                                                                    .sum = nuc_crc32_of(0, bytes.data, bytes.size),
                                                                    .node = (uint16_t)node,
                                                                    .payload = (uint16_t)payload};
}

/* Operands of a record in the weights: every record begins with its operands. */
static uint32_t operands_of(const uint8_t *record, struct nuc_mc_ref refs[8])
{
#define ONE(field) +1
#define NONE(field) +0
#define RECORD(record, fields) enum { OPERANDS_OF_##record = 0 fields(ONE, NONE, NONE) };
    NUC_MC_RECORDS(RECORD)
#define COUNT(name, number, record) [number] = OPERANDS_OF_##record,
    static const uint8_t counts[NUC_MC_OPCODE_COUNT] = {NUC_MC_OPCODES(COUNT)};
    const uint32_t word = nuc_load_u32(record), n = counts[word & 0xFFFFu];
    const uint8_t *at = record + sizeof(struct nuc_mc_call);

    for (uint32_t i = 0; i < n; i++, at += sizeof refs[0])
        refs[i] = (struct nuc_mc_ref){nuc_load_u32(at), nuc_load_u32(at + 4)};
    if ((word & NUC_MC_TABLE) == 0)
        return n;
    refs[n] = nuc_mc_table_at(record);
    return n + 1;
}

/* Where the weights of a call begin that no call before it reads; they end where others begin. */
struct start {
    uint32_t offset;
    size_t node;
};

static int by_offset(const void *a, const void *b)
{
    const struct start *x = a, *y = b;

    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* Each record and its weights are their kernel's, what is left, the header, is the call's. */
static void add_kernel_blocks(struct making *m, const uint8_t *base, const struct nuc_payload *p, uint32_t payload,
                              size_t call)
{
    const uint32_t n_calls = nuc_mc_word(p->microcode, NUC_MC_WORD_CALLS);
    uint64_t at = nuc_mc_word(p->microcode, NUC_MC_WORD_CALLS_OFFSET);
    struct start *starts = nuc_alloc_array(m->cx, 8 * (size_t)n_calls + 1, sizeof *starts);
    struct nuc_span head;
    size_t n = 0;

    if (nuc_span_slice(p->microcode, 0, at, &head))
        add_block(m, base, head, payload, call);
    for (uint32_t k = 0; k < n_calls && nuc_span_slice(p->microcode, at, sizeof(struct nuc_mc_call), &head); k++) {
        const uint32_t size = nuc_mc_whole_size(nuc_load_u32(head.data));
        struct nuc_mc_ref refs[8];
        struct nuc_span record;
        if (size == 0 || !nuc_span_slice(p->microcode, at, size, &record))
            break;
        add_block(m, base, record, payload, call + 1 + k);
        const uint32_t n_refs = operands_of(record.data, refs);
        for (uint32_t i = 0; i < n_refs; i++) {
            if ((refs[i].where & 0xFFu) == NUC_MC_WEIGHTS)
                starts[n++] = (struct start){refs[i].offset, call + 1 + k};
        }
        at += size;
    }
    qsort(starts, n, sizeof *starts, by_offset);
    for (size_t i = 0; i < n; i++) {
        size_t next = i + 1;
        struct nuc_span part;
        if (i > 0 && starts[i].offset == starts[i - 1].offset)
            continue;
        while (next < n && starts[next].offset == starts[i].offset)
            next++;
        const uint64_t end = next < n ? starts[next].offset : p->weights.size;
        if (end > starts[i].offset && nuc_span_slice(p->weights, starts[i].offset, end - starts[i].offset, &part))
            add_block(m, base, part, payload, starts[i].node);
    }
}

/* ---- values ---- */

static void add_check(struct making *m, struct nuc_selftest_check check, uint32_t sum)
{
    const uint32_t place = m->n_sums - m->n_case * m->out->n_checks;

    m->sums = nuc_grow(m->cx, m->sums, &m->sums_room, m->n_sums + (size_t)1, sizeof *m->sums);
    m->sums[m->n_sums++] = sum;
    if (m->n_case == 0) {
        m->checks = nuc_grow(m->cx, m->checks, &m->checks_room, m->out->n_checks + (size_t)1, sizeof *m->checks);
        m->checks[m->out->n_checks++] = check;
    } else if (place >= m->out->n_checks || m->checks[place].node != check.node ||
               m->checks[place].argument != check.argument) {
        nuc_fail(m->cx, NUC_UNSUPPORTED, "%s: which operators run depends on the data: there is no self-test for that",
                 m->view->file);
    }
}

static void watch(void *user, const void *handle, uint32_t call, uint32_t sum)
{
    struct making *m = user;
    bool ours = false;

    for (size_t i = 0; nuc_program_device(nuc_runner_program(m->r), i) != NULL && !ours; i++)
        ours = nuc_program_device(nuc_runner_program(m->r), i) == handle;
    if (!ours || m->n_kernels == m->kernels_room)
        return;
    m->kernels[m->n_kernels++] = (struct kernel_sum){call, sum};
}

static bool touches(const struct nuc_value *a, const struct nuc_value *b)
{
    const struct nuc_value *x = a, *y = b;
    const bool list = a->kind == NUC_VALUE_TENSORS || a->kind == NUC_VALUE_OPTIONAL_TENSORS;
    const uint32_t n = list ? a->u.list.count : 1;

    for (uint32_t i = 0; i < n; i++) {
        x = list ? &a->u.list.tensors[i] : a;
        if (x->kind == NUC_VALUE_TENSOR && y->kind == NUC_VALUE_TENSOR &&
            !nuc_is_apart(x->u.tensor.data, x->u.tensor.bytes, y->u.tensor.data, y->u.tensor.bytes))
            return true;
    }
    return false;
}

/* An input is compared where the call leaves it as it is: in memory that nothing of the call's is written to. */
static bool is_compared(const struct making *m, const struct nuc_view_instruction *in, struct nuc_value *const *args,
                        const bool *written, size_t argument)
{
    const struct nuc_value *v = args[argument];
    const bool list = v->kind == NUC_VALUE_TENSORS || v->kind == NUC_VALUE_OPTIONAL_TENSORS;

    if ((v->kind != NUC_VALUE_TENSOR && !list) || (argument > 0 && args[argument] == args[argument - 1]))
        return false;
    if (written[argument])
        return list || is_read(m, (uint32_t)(in - m->method->chains[0].instructions),
                               (uint32_t)nuc_view_int(in->args, (uint32_t)argument));
    for (size_t i = 0; i < in->args.count; i++) {
        if (written[i] && touches(v, args[i]))
            return false;
    }
    return true;
}

/* The call that has written there last. */
static uint16_t writer_at(const struct making *m, const struct nuc_value *v)
{
    for (uint32_t i = m->n_written; i-- > 0;) {
        const struct nuc_value at = {.u.tensor = {.data = m->written[i].data, .bytes = m->written[i].bytes},
                                     .kind = NUC_VALUE_TENSOR};
        if (touches(v, &at))
            return m->written[i].node;
    }
    return NUC_SELFTEST_NO_NODE;
}

static void trace(void *user, uint32_t instruction, const char *name, struct nuc_value *const *args, size_t n_args)
{
    /* Inputs explain a wrong result, so they come first. */
    static const uint8_t order[] = {NUC_SELFTEST_CONSTANT, NUC_SELFTEST_INPUT, NUC_SELFTEST_OUTPUT};
    struct making *m = user;
    const struct nuc_view_instruction *in = &m->method->chains[0].instructions[instruction];
    const uint16_t node = m->row_of[instruction];
    bool written[256];

    (void)name;
    if (n_args > sizeof written)
        nuc_fail(m->cx, NUC_UNSUPPORTED, "%s: a call has %zu arguments: a self-test takes at most %zu", m->view->file,
                 n_args, sizeof written);
    for (uint32_t k = 0; k < m->n_kernels; k++)
        add_check(m,
                  (struct nuc_selftest_check){.node = (uint16_t)(node + 1 + m->kernels[k].call),
                                              .from = NUC_SELFTEST_NO_NODE,
                                              .kind = NUC_SELFTEST_KERNEL},
                  m->kernels[k].sum);
    m->n_kernels = 0;
    for (uint32_t i = 0; i < n_args; i++)
        written[i] = in->kind == NUC_INSTRUCTION_DELEGATE ? m->writer_of[nuc_view_int(in->args, i)] == node
                                                          : is_written(m, in, i);
    for (size_t k = 0; k < sizeof order; k++) {
        for (size_t i = 0; i < n_args; i++) {
            const bool constant = args[i]->kind == NUC_VALUE_TENSOR && args[i]->u.tensor.constant;
            const uint8_t kind = written[i] ? NUC_SELFTEST_OUTPUT
                                 : constant ? NUC_SELFTEST_CONSTANT
                                            : NUC_SELFTEST_INPUT;
            if (kind != order[k] || !is_compared(m, in, args, written, i))
                continue;
            add_check(m,
                      (struct nuc_selftest_check){.node = node,
                                                  .from = kind == NUC_SELFTEST_INPUT ? writer_at(m, args[i])
                                                                                     : (uint16_t)NUC_SELFTEST_NO_NODE,
                                                  .argument = (uint8_t)i,
                                                  .kind = kind},
                      nuc_selftest_sum(NULL, args[i]));
        }
    }
    for (uint32_t i = 0; i < n_args; i++) {
        m->written = nuc_grow(m->cx, m->written, &m->written_room, m->n_written + (size_t)1, sizeof *m->written);
        if (written[i] && args[i]->kind == NUC_VALUE_TENSOR)
            m->written[m->n_written++] = (struct written){args[i]->u.tensor.data, args[i]->u.tensor.bytes, node};
    }
}

static void run_cases(struct making *m)
{
    struct nuc_program *p = nuc_runner_program(m->r);
    const struct nuc_bundle *b = nuc_runner_bundle(m->r);
    struct nuc_detail detail;

    m->kernels_room = m->out->n_nodes;
    m->kernels = nuc_alloc_array(m->cx, (size_t)m->kernels_room + 1, sizeof *m->kernels);
    for (m->n_case = 0; m->n_case < b->n_cases; m->n_case++) {
        m->n_written = 0;
        nuc_give_case(m->r, m->n_case);
        if (nuc_program_execute(p, &detail) != NUC_OK)
            nuc_fail(m->cx, NUC_BAD_INPUT, "%s: test case %u does not run: 'nucleon run' says why", m->view->file,
                     m->n_case);
        if (m->n_sums != (m->n_case + 1) * m->out->n_checks)
            nuc_fail(m->cx, NUC_UNSUPPORTED,
                     "%s: which operators run depends on the data: there is no self-test for that", m->view->file);
    }
    m->out->checks = m->checks;
    m->out->sums = m->sums;
}

static struct nuc_selftest *make(struct nuc_runner *r, const char *file)
{
    struct nuc_context *cx = nuc_context_of(nuc_runner_compiler(r));
    struct making m = {.r = r, .cx = cx, .out = nuc_alloc(cx, sizeof *m.out)};
    struct nuc_span image;

    image.data = nuc_runner_image(r, &image.size);
    m.view = nuc_program_view_open(cx, file, image);
    m.method = m.view->methods;
    m.profile = nuc_profile_read(cx, nuc_target_at(0), m.view, NULL);
    make_nodes(&m);
    find_writers(&m);
    const struct nuc_profile *p = m.profile;
    for (size_t i = 0; i < p->n_rows; i++) {
        if (p->rows[i].kind != NUC_PROFILE_CALL)
            continue;
        const uint32_t index = m.method->chains[0].instructions[p->rows[i].instruction].index;
        const struct nuc_span data = m.method->delegates[index].data;
        const struct nuc_payload payload = nuc_payload_parse(cx, file, data);
        if (nuc_mc_is_version(nuc_mc_word(payload.microcode, NUC_MC_WORD_VERSION)))
            add_kernel_blocks(&m, data.data, &payload, index, i);
        else
            add_block(&m, data.data, data, index, i);
    }
    m.out->blocks = m.blocks;
    const struct nuc_bundle *b = nuc_runner_bundle(r);
    const uint32_t n = (uint32_t)nuc_runner_n_inputs(r);
    const uint8_t **inputs = nuc_alloc_array(cx, (size_t)n * b->n_cases + 1, sizeof *inputs);
    uint32_t *bytes = nuc_alloc_array(cx, (size_t)n + 1, sizeof *bytes);
    if (b->n_cases > UINT16_MAX)
        nuc_fail(cx, NUC_UNSUPPORTED, "%s: has %u test cases: a self-test takes at most %d, bundle fewer", file,
                 b->n_cases, UINT16_MAX);
    for (uint32_t k = 0; k < b->n_cases; k++) {
        for (uint32_t i = 0; i < n; i++) {
            inputs[k * n + i] = b->cases[k].inputs[i].data.data;
            bytes[i] = (uint32_t)b->cases[k].inputs[i].data.size;
        }
    }
    m.out->inputs = inputs;
    m.out->input_bytes = bytes;
    m.out->n_inputs = (uint16_t)n;
    m.out->n_cases = (uint16_t)b->n_cases;
    nuc_program_trace(nuc_runner_program(r), trace, &m);
    nuc_simulator_watch(watch, &m);
    run_cases(&m);
    return m.out;
}

enum nuc_status nuc_runner_selftest(struct nuc_runner *r, const char *file, const struct nuc_selftest **out)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(nuc_runner_compiler(r)), __func__,
                  out != NULL && file != NULL && nuc_runner_n_cases(r) > 0);
        *out = make(r, file);
    }
    /* Also when a run failed. */
    nuc_simulator_watch(NULL, NULL);
    if (r != NULL)
        nuc_program_trace(nuc_runner_program(r), NULL, NULL);
    return nuc_leave(&call);
}
