/* Texts from files: which are plain, what is shown instead of what is not, and names in JSON that are refused. */
#include "contexts.h"

#include "archive/json.h"
#include "host/characters.h"

static const struct row {
    const char *text, *shown; /* NULL: it is plain */
} rows[] = {
    {"", NULL},
    {"conv2d_1", NULL},
    {"na\xc3\xafve \xe5\x90\x8d \xf0\x9f\x98\x80", NULL}, /* letters of two, three and four bytes */
    {"a\033[2Jb", "a\\x1b[2Jb"},
    {"a\nb\tc\rd", "a\\x0ab\\x09c\\x0dd"},
    {"\x7f", "\\x7f"},
    {"a\xc2\x9b", "a\\u009b"},                    /* C1 */
    {"\xe2\x80\xaetxt", "\\u202etxt"},            /* right to left */
    {"\xe2\x80\xa8", "\\u2028"},                  /* a line end */
    {"\xf3\xa0\x81\x81", "\\ue0041"},             /* a tag */
    {"\xc0\x80", "\\xc0\\x80"},                   /* longer than it has to be */
    {"\xed\xa0\x80", "\\xed\\xa0\\x80"},          /* half of a pair */
    {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* beyond Unicode */
    {"\xe2\x80", "\\xe2\\x80"},                   /* cut short */
    {"\xff\x9b", "\\xff\\x9b"},
};

static void shown(struct nuc_context *cx, void *arg)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *r = &rows[i];
        assert_int_equal(nuc_is_plain(r->text), r->shown == NULL);
        const char *plain = nuc_plain_text(cx, r->text);
        if (r->shown == NULL)
            assert_ptr_equal(plain, r->text);
        else
            assert_string_equal(plain, r->shown);
        assert_true(nuc_is_plain(plain));
    }
}

static void read_name(struct nuc_context *cx, void *arg)
{
    const char *text = arg;
    struct nuc_json root =
        nuc_json_parse(cx, "a.pt2: model.json", (struct nuc_span){(const uint8_t *)text, strlen(text)});
    struct nuc_json name = nuc_json_field(&root, "name");

    nuc_json_string(&name);
}

static void test_json(void **state)
{
    static char good[] = "{\"name\": \"na\\u00efve\"}", bad[] = "{\"name\": \"a\\u001b[2J\"}",
                line[] = "{\"name\": \"a\\nb\"}";

    run_in_context(read_name, good);
    expect_failure(read_name, bad, NUC_BAD_INPUT, "name: the text has control characters");
    expect_failure(read_name, line, NUC_BAD_INPUT, "name: the text has control characters");
}

RUN_TESTS(CONTEXT_TEST(shown), cmocka_unit_test(test_json))
