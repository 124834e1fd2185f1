/* Bundled programs, and what is read of a device: cases as text. */
#include "test.h"
#include "archive/bundle.h"
#include "device/base/flatbuf.h"
#include "host/flatbuilder.h"
#include "tools/report/device.h"

struct parsing {
    char *text;
    const struct nuc_device_test *test;
};

static void parse(struct nuc_context *cx, void *arg)
{
    struct parsing *p = arg;

    p->test = nuc_device_parse(cx, "device", p->text);
}

#define HEAD "selftest 1 net nodes 2 cases 2\nnode 0 0 CPU aten::relu.out a\nnode 1 1.0 NPU CONV_2D b + c\n"

/* Lines, and the verdict or the error. */
static const struct {
    const char *lines, *verdict;
} logs[] = {
    {HEAD "case 0\nok 0 00000000\nok 1 ffffffff\nPASS\n", "net: PASS: every node leaves"},
    {"Boot 1.0\r\nPASS\r\n" HEAD "ok 0 1\r\n\xff\x01\r\nPASS\r\n", "net: PASS"},
    {HEAD "bad 1 00000001 00000002\nFAIL result node 1: 1.0 NPU CONV_2D b + c\n",
     "net: FAIL at 1.0, NPU CONV_2D, b + c: its inputs"},
    {HEAD "FAIL memory from 0 node 1: x\n", "net: FAIL at 1.0, NPU CONV_2D, b + c: its input changed after a (0)"},
    {HEAD "FAIL driver code 02000113 node 1: x\n",
     "net: FAIL at 1.0, NPU CONV_2D, b + c: the driver refuses the program, code 0x2000113"},
    {HEAD "FAIL image\n", "net: FAIL: the program's checksum"},
    {HEAD "FAIL weights node 7: x\n", "net: FAIL: its microcode"},
    {HEAD "ok 0 1\n" HEAD "ok 0 1\nPASS\n", "net: PASS"},
    {HEAD "ok 0 1\n" HEAD "PASS\n", "device: ends before a node that is right and PASS, or FAIL"},
    {HEAD "FAIL nonsense node 1: x\n", "device: ends before a node that is right and PASS, or FAIL"},
    {HEAD "ok 0 1\n", "device: ends before a node that is right and PASS, or FAIL"},
    {"selftest 2 net nodes 2 cases 2\nPASS\n", "device: holds no self-test"},
    {"selftest 1 net nodes 99999 cases 2\nPASS\n", "device: holds no self-test"},
    {"selftest 1 net nodes\nPASS", "device: holds no self-test"},
    {"", "device: holds no self-test"},
};

/* A device that a watchdog resets. */
static void test_resets(void **state)
{
    struct nuc_context *cx = nuc_context_new(NULL);
    struct parsing p = {.text = nuc_alloc(cx, 101 * strlen(HEAD) + 1)};

    (void)state;
    for (int i = 0; i < 101; i++)
        memcpy(p.text + (size_t)i * strlen(HEAD), HEAD, strlen(HEAD));
    assert_int_equal(nuc_try(cx, parse, &p), NUC_BAD_INPUT);
    assert_non_null(strstr(cx->message, "100 times"));
    nuc_context_free(cx);
}

static void test_logs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
        struct nuc_context *cx = nuc_context_new(NULL);
        struct parsing p = {.text = nuc_strdup(cx, logs[i].lines)};
        enum nuc_status status = nuc_try(cx, parse, &p);
        const char *found = status == NUC_OK ? p.test->verdict : cx->message;
        if (strncmp(found, logs[i].verdict, strlen(logs[i].verdict)) != 0)
            fail_msg("%zu: %s instead of %s", i, found, logs[i].verdict);
        if (status == NUC_OK)
            assert_int_equal(p.test->passed, strstr(found, "PASS") != NULL);
        nuc_context_free(cx);
    }
}

struct reading {
    struct nuc_span file;
    const struct nuc_bundle *bundle;
};

static void read_bundle(struct nuc_context *cx, void *arg)
{
    struct reading *r = arg;

    r->bundle = nuc_bundle_read(cx, "b", r->file);
}

static struct nuc_span write_one(struct nuc_context *cx)
{
    static const uint8_t program[] = "\20\0\0\0ET12 and the rest of a program";
    static const uint8_t data[] = {1, 2, 3, 4, 5, 6};
    const struct nuc_bundle_tensor t = {NUC_I8, 2, {2, 3}, {1, 0}, {data, sizeof data}};
    const struct nuc_bundle_case one = {1, 1, &t, &t};
    const struct nuc_bundle b = {"forward", {program, sizeof program}, 1, &one};

    return nuc_bundle_write(cx, &b);
}

/* Alignments that ExecuTorch's schema demands. */
static void test_bundle(void **state)
{
    struct nuc_context *cx = nuc_context_new(NULL);
    struct reading r = {.file = write_one(cx)};

    (void)state;
    assert_int_equal(nuc_try(cx, read_bundle, &r), NUC_OK);
    const struct nuc_bundle_tensor *t = r.bundle->cases[0].inputs;
    assert_string_equal(r.bundle->method, "forward");
    assert_int_equal(r.bundle->n_cases, 1);
    assert_int_equal((r.bundle->program.data - r.file.data) % NUC_BUNDLE_ALIGNMENT, 0);
    assert_int_equal((t->data.data - r.file.data) % NUC_BUNDLE_DATA_ALIGNMENT, 0);
    assert_int_equal(t->sizes[1], 3);
    assert_int_equal(t->dim_order[0], 1);
    assert_int_equal(t->data.data[5], 6);
    nuc_context_free(cx);
}

RUN_TESTS(cmocka_unit_test(test_logs), cmocka_unit_test(test_resets), cmocka_unit_test(test_bundle))
