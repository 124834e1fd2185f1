/* A program's test cases on the device, compared node by node; what is found as lines of text. */
#include "nucleon/selftest.h"

#include "device/base/program_sum.h"
#include "device/base/span.h"

static const char *const words[NUC_SELFTEST_CAUSES] = {
    [NUC_SELFTEST_PASSED] = "passed", [NUC_SELFTEST_WEIGHTS] = "weights", [NUC_SELFTEST_MEMORY] = "memory",
    [NUC_SELFTEST_RESULT] = "result", [NUC_SELFTEST_DRIVER] = "driver",   [NUC_SELFTEST_STOPPED] = "stopped",
    [NUC_SELFTEST_IMAGE] = "image",
};

const char *nuc_selftest_cause_word(enum nuc_selftest_cause cause)
{
    return (unsigned)cause < NUC_SELFTEST_CAUSES ? words[cause] : words[NUC_SELFTEST_RESULT];
}

/* ---- text ---- */

static void print_number(const struct nuc_selftest_run *r, const char *before, uint32_t value)
{
    char text[11];
    size_t at = sizeof text - 1;

    text[at] = '\0';
    do {
        text[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    r->print(before);
    r->print(text + at);
}

static void print_sum(const struct nuc_selftest_run *r, uint32_t sum)
{
    char text[10] = " ";

    for (uint32_t i = 0; i < 8; i++)
        text[1 + i] = "0123456789abcdef"[sum >> (28 - 4 * i) & 15];
    text[9] = '\0';
    r->print(text);
}

static void print_node(const struct nuc_selftest_run *r, uint16_t node)
{
    const struct nuc_selftest_node *n = &r->test->nodes[node];

    r->print(" ");
    r->print(n->number);
    r->print(n->on_npu ? " NPU " : " CPU ");
    r->print(n->name);
    if (n->label[0] != '\0') {
        r->print(" ");
        r->print(n->label);
    }
    r->print("\n");
}

/* ---- what is found ---- */

static void fail(struct nuc_selftest_run *r, enum nuc_selftest_cause cause, uint16_t node, uint16_t from)
{
    r->cause = cause;
    r->node = node;
    r->from = from;
}

void nuc_selftest_begin(struct nuc_selftest_run *r, const struct nuc_selftest *test, void (*print)(const char *text))
{
    *r = (struct nuc_selftest_run){
        .test = test, .print = print, .node = NUC_SELFTEST_NO_NODE, .from = NUC_SELFTEST_NO_NODE};
    r->print("selftest 1 ");
    r->print(test->name);
    print_number(r, " nodes ", test->n_nodes);
    print_number(r, " cases ", test->n_cases);
    r->print("\n");
    for (uint16_t i = 0; i < test->n_nodes; i++) {
        print_number(r, "node ", i);
        print_node(r, i);
    }
}

void nuc_selftest_image(struct nuc_selftest_run *r, const void *image, size_t size)
{
    const struct nuc_selftest *t = r->test;

    r->is_damaged = image != NULL && nuc_program_verify(image, size, NULL) == NUC_BAD_INPUT;
    for (uint32_t i = 0; i < t->n_blocks && !r->is_over; i++) {
        const struct nuc_selftest_block *b = &t->blocks[i];
        const uint8_t *from = t->payloads != NULL ? t->payloads[b->payload] : image;
        if (t->payloads == NULL && (b->at > size || b->size > size - b->at))
            continue;
        if (nuc_crc32(0, from + b->at, b->size) == b->sum)
            continue;
        fail(r, NUC_SELFTEST_WEIGHTS, b->node, NUC_SELFTEST_NO_NODE);
        r->is_over = true;
    }
}

void nuc_selftest_stopped(struct nuc_selftest_run *r, enum nuc_status status, const struct nuc_detail *detail)
{
    const struct nuc_selftest *t = r->test;
    bool is_loading = detail->instruction < 0;
    uint16_t node = NUC_SELFTEST_NO_NODE;

    if (r->is_over)
        return;
    r->is_over = true;
    r->code = detail->code != 0 ? detail->code : (int32_t)status;
    if (r->cause != NUC_SELFTEST_PASSED)
        return;
    if (!is_loading && r->check < t->n_checks)
        node = t->checks[r->check].node;
    for (uint16_t i = 0; is_loading && status == NUC_DEVICE && i < t->n_nodes && node == NUC_SELFTEST_NO_NODE; i++)
        node = t->nodes[i].on_npu ? i : node;
    /* Of a damaged program a call may refuse its own constants. */
    fail(r,
         is_loading && status == NUC_DEVICE ? NUC_SELFTEST_DRIVER
         : r->is_damaged && !is_loading     ? NUC_SELFTEST_WEIGHTS
                                            : NUC_SELFTEST_STOPPED,
         node, NUC_SELFTEST_NO_NODE);
}

/* ---- values ---- */

static uint32_t add_sum(uint32_t sum, const struct nuc_value *v)
{
    return v->kind == NUC_VALUE_TENSOR && v->u.tensor.data != NULL ? nuc_crc32(sum, v->u.tensor.data, v->u.tensor.bytes)
                                                                   : sum;
}

uint32_t nuc_selftest_sum(const struct nuc_value *values, const struct nuc_value *value)
{
    const struct nuc_list *list = &value->u.list;
    uint32_t sum = 0;

    if (value->kind != NUC_VALUE_TENSORS && value->kind != NUC_VALUE_OPTIONAL_TENSORS)
        return add_sum(0, value);
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t index = nuc_load_u32(list->items + 4 * (size_t)i);
        if (list->tensors != NULL)
            sum = add_sum(sum, &list->tensors[i]);
        else if (values != NULL && index != UINT32_MAX)
            sum = add_sum(sum, &values[index]);
    }
    return sum;
}

/* The next check against `sum`. The first difference is kept, but what an NPU call reads explains what it computes. */
static void compare(struct nuc_selftest_run *r, uint32_t sum)
{
    static const uint8_t causes[] = {[NUC_SELFTEST_INPUT] = NUC_SELFTEST_MEMORY,
                                     [NUC_SELFTEST_CONSTANT] = NUC_SELFTEST_WEIGHTS,
                                     [NUC_SELFTEST_OUTPUT] = NUC_SELFTEST_RESULT,
                                     [NUC_SELFTEST_KERNEL] = NUC_SELFTEST_RESULT};
    const struct nuc_selftest *t = r->test;
    const struct nuc_selftest_check *c = &t->checks[r->check];
    const uint32_t expected = t->sums[(size_t)r->n_case * t->n_checks + r->check++];
    const bool is_result = c->kind == NUC_SELFTEST_OUTPUT || c->kind == NUC_SELFTEST_KERNEL;

    if (sum == expected && is_result)
        print_number(r, "ok ", c->node);
    else if (sum != expected)
        print_number(r, is_result ? "bad " : "changed ", c->node);
    if (sum != expected || is_result) {
        print_sum(r, sum);
        if (sum != expected)
            print_sum(r, expected);
        r->print("\n");
    }
    if (sum != expected && (r->cause == NUC_SELFTEST_PASSED || (!is_result && r->cause == NUC_SELFTEST_RESULT)))
        fail(r, (enum nuc_selftest_cause)causes[c->kind], c->node, c->from);
}

void nuc_selftest_case(struct nuc_selftest_run *r, uint32_t index)
{
    if (r->is_over)
        return;
    r->check = 0;
    r->n_case = index;
    print_number(r, "case ", index);
    r->print("\n");
}

void nuc_selftest_kernel(void *run, const void *handle, uint32_t call, uint32_t sum)
{
    struct nuc_selftest_run *r = run;

    (void)handle;
    (void)call;
    if (!r->is_over && r->check < r->test->n_checks && r->test->checks[r->check].kind == NUC_SELFTEST_KERNEL)
        compare(r, sum);
}

void nuc_selftest_step(struct nuc_selftest_run *r, const struct nuc_value *values, struct nuc_value *const *args,
                       size_t n_args)
{
    const struct nuc_selftest *t = r->test;

    /* Kernels that nothing watched. */
    while (!r->is_over && r->check < t->n_checks && t->checks[r->check].kind == NUC_SELFTEST_KERNEL)
        r->check++;
    const uint16_t node = r->check < t->n_checks ? t->checks[r->check].node : NUC_SELFTEST_NO_NODE;
    while (!r->is_over && r->check < t->n_checks && t->checks[r->check].node == node &&
           t->checks[r->check].kind != NUC_SELFTEST_KERNEL && t->checks[r->check].argument < n_args)
        compare(r, nuc_selftest_sum(values, args[t->checks[r->check].argument]));
    r->is_over = r->is_over || r->cause != NUC_SELFTEST_PASSED;
}

static void trace(void *user, uint32_t instruction, const char *name, struct nuc_value *const *args, size_t n_args)
{
    (void)instruction;
    (void)name;
    nuc_selftest_step(user, NULL, args, n_args);
}

void nuc_selftest_program(struct nuc_selftest_run *r, struct nuc_program *p)
{
    const struct nuc_selftest *t = r->test;
    struct nuc_detail detail;

    nuc_program_trace(p, trace, r);
    for (uint32_t k = 0; k < t->n_cases && !r->is_over; k++) {
        enum nuc_status status = nuc_program_reset(p, &detail);
        for (uint32_t i = 0; i < t->n_inputs && status == NUC_OK; i++)
            status = nuc_program_set_input(p, i, t->inputs[k * t->n_inputs + i], t->input_bytes[i], &detail);
        nuc_selftest_case(r, k);
        if (status == NUC_OK)
            status = nuc_program_execute(p, &detail);
        if (status != NUC_OK)
            nuc_selftest_stopped(r, status, &detail);
    }
    nuc_program_trace(p, NULL, NULL);
}

int nuc_selftest_end(struct nuc_selftest_run *r)
{
    if (r->cause == NUC_SELFTEST_PASSED && r->is_damaged)
        r->cause = NUC_SELFTEST_IMAGE;
    if (r->cause == NUC_SELFTEST_PASSED) {
        r->print("PASS\n");
        return 0;
    }
    r->print("FAIL ");
    r->print(nuc_selftest_cause_word(r->cause));
    if (r->code != 0) {
        r->print(" code");
        print_sum(r, (uint32_t)r->code);
    }
    if (r->cause == NUC_SELFTEST_MEMORY && r->from != NUC_SELFTEST_NO_NODE)
        print_number(r, " from ", r->from);
    if (r->node == NUC_SELFTEST_NO_NODE) {
        r->print("\n");
        return 1;
    }
    print_number(r, " node ", r->node);
    r->print(":");
    print_node(r, r->node);
    return 1;
}
