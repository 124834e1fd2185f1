/* JSON texts taken apart in place: what is JSON, what strings stand for, long lists and objects. */
#include "contexts.h"

#include <math.h>

#include "archive/json_text.h"
#include "host/text.h"

static struct nuc_json_text *parse(struct nuc_context *cx, const char *text, size_t size, bool *good)
{
    struct nuc_json_text *t = nuc_json_text_new(cx, size);

    memcpy(t->text, text, size);
    *good = nuc_json_text_parse(t);
    return t;
}

static const struct {
    const char *text;
    const char *what; /* is wrong; NULL: nothing */
    int line;
} texts[] = {
    {"{}", NULL, 0},
    {" [ ] \n", NULL, 0},
    {"[1,-1,0,-0,9223372036854775807,-9223372036854775808]", NULL, 0},
    {"[1.5,-2e3,0.25E-2,1e308,1e-400]", NULL, 0},
    {"[true,false,null,\"\"]", NULL, 0},
    {"{\"a\":{\"a\":{\"a\":[]}}}", NULL, 0},
    {"[\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"]", NULL, 0},
    {"", "premature end of input", 1},
    {"[", "premature end of input", 1},
    {"[1,\n", "premature end of input", 2},
    {"[1", "',' or a closing bracket expected", 1},
    {"[1}", "',' or a closing bracket expected", 1},
    {"[1 2]", "',' or a closing bracket expected", 1},
    {"[\"a", "premature end of input", 1},
    {"1", "'[' or '{' expected", 1},
    {"[]\n\n]", "end of file expected", 3},
    {"[,1]", "invalid token", 1},
    {"[1,]", "invalid token", 1},
    {"[tru]", "invalid token", 1},
    {"[True]", "invalid token", 1},
    {"[nul", "invalid token", 1},
    {"[+1]", "invalid token", 1},
    {"[.5]", "invalid token", 1},
    {"[01]", "invalid number", 1},
    {"[-]", "invalid number", 1},
    {"[1.]", "invalid number", 1},
    {"[1e]", "invalid number", 1},
    {"[9223372036854775808]", "too big an integer", 1},
    {"[-9223372036854775809]", "too big an integer", 1},
    {"[1e400]", "real number overflow", 1},
    {"{1:2}", "a key in quotation marks is missing", 1},
    {"{\"a\" 1}", "':' expected", 1},
    {"{\"a\":1,}", "a key in quotation marks is missing", 1},
    {"{\"a\":1,\n\"b\":2,\n\"a\":3}", "duplicate object key", 3},
    {"{\"a\":1,\"\\u0061\":3}", "duplicate object key", 1},
    {"[\"a\nb\"]", "control character in a string", 1},
    {"[\"\\x\"]", "invalid escape", 1},
    {"[\"\\u12g4\"]", "invalid escape", 1},
    {"[\"\\", "invalid escape", 1},
    {"[\"\\u12", "invalid escape", 1},
    {"[\"\\u0000\"]", "\\u0000 is not allowed", 1},
    {"[\"\\ud800\"]", "invalid Unicode", 1},
    {"[\"\\ud800\\u0041\"]", "invalid Unicode", 1},
    {"[\"\\udc00\"]", "invalid Unicode", 1},
    {"[\"\x80\"]", "not in UTF-8", 1},
    {"[\"\xc0\x80\"]", "not in UTF-8", 1},
    {"[\"\xe0\x80\x80\"]", "not in UTF-8", 1},
    {"[\"\xed\xa0\x80\"]", "not in UTF-8", 1},
    {"[\"\xf4\x90\x80\x80\"]", "not in UTF-8", 1},
    {"[\"\xf0\x8f\xbf\xbf\"]", "not in UTF-8", 1},
    {"[\"\xe2\x82", "not in UTF-8", 1},
};

static void texts_are_json_or_not(void **state)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        bool good;
        struct nuc_json_text *t = parse(*state, texts[i].text, strlen(texts[i].text), &good);
        if (good != (texts[i].what == NULL))
            fail_msg("'%s': %s", texts[i].text, good ? "is taken" : t->what);
        if (good)
            continue;
        assert_string_equal(t->what, texts[i].what);
        assert_int_equal(t->line, texts[i].line);
    }
}

static void strings_are_what_they_stand_for(void **state)
{
    static const char text[] =
        "\t[\"a\\\"b\\\\\\/\\b\\f\\n\\r\\t\",\r\n\"\\u00e4\\u20AC\\ud83d\\ude00z\", \"\xc3\xa4\\u0041\"]";
    bool good;
    struct nuc_json_text *t = parse(*state, text, sizeof text - 1, &good);

    assert_true(good);
    assert_int_equal(nuc_json_text_count(t, 0), 3);
    assert_string_equal(nuc_json_text_string(t, nuc_json_text_item(t, 0, 0)), "a\"b\\/\b\f\n\r\t");
    assert_string_equal(nuc_json_text_string(t, nuc_json_text_item(t, 0, 1)), "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z");
    assert_string_equal(nuc_json_text_string(t, nuc_json_text_item(t, 0, 2)), "\xc3\xa4"
                                                                              "A");
    assert_int_equal(nuc_json_text_item(t, 0, 3), 0);
}

static void messages_show_the_place(void **state)
{
    static const char text[] = "[1,\"ab\",\n tru]", ended[] = "[1,";
    bool good;

    assert_string_equal(parse(*state, text, sizeof text - 1, &good)->near, "tru]");
    assert_string_equal(parse(*state, ended, sizeof ended - 1, &good)->near, "");
}

static void values_have_types(void **state)
{
    static const char text[] =
        "{\"o\":{\"x\":[]},\"s\":\"1\",\"i\":-12,\"r\":-1.25e1,\"t\":true,\"f\":false,\"n\":null}";
    static const struct {
        const char *key;
        enum nuc_json_type type;
    } members[] = {{"o", NUC_JSON_OBJECT}, {"s", NUC_JSON_STRING}, {"i", NUC_JSON_INTEGER}, {"r", NUC_JSON_REAL},
                   {"t", NUC_JSON_TRUE},   {"f", NUC_JSON_FALSE},  {"n", NUC_JSON_NULL}};
    bool good;
    struct nuc_json_text *t = parse(*state, text, sizeof text - 1, &good);

    assert_true(good);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        assert_int_equal(nuc_json_text_type(t, nuc_json_text_member(t, 0, members[i].key)), members[i].type);
    assert_int_equal(nuc_json_text_integer(t, nuc_json_text_member(t, 0, "i")), -12);
    assert_true(fabs(nuc_json_text_number(t, nuc_json_text_member(t, 0, "r")) + 12.5) < 1e-12);
    assert_int_equal(nuc_json_text_member(t, 0, "x"), 0);
    assert_int_equal(nuc_json_text_type(t, nuc_json_text_member(t, nuc_json_text_member(t, 0, "o"), "x")),
                     NUC_JSON_ARRAY);
}

/* Members and items of long ones are found by an index, whatever lies between them. */
static void long_ones_have_an_index(void **state)
{
    enum { MANY = 5000 };
    struct nuc_text text = {.cx = *state};
    bool good;

    nuc_text_addf(&text, "{\"list\":[");
    for (int i = 0; i < MANY; i++)
        nuc_text_addf(&text, "%s{\"n\":%d}", i == 0 ? "" : ",", i);
    nuc_text_addf(&text, "]");
    for (int i = 0; i < MANY; i++)
        nuc_text_addf(&text, ",\"k%d\":[%d]", i, i);
    size_t whole = text.length;
    nuc_text_addf(&text, "}");
    struct nuc_json_text *t = parse(*state, text.data, text.length, &good);
    assert_true(good);
    assert_int_equal(t->n_indexes, 2);
    assert_true(t->n_tokens <= t->most_tokens);
    uint32_t list = nuc_json_text_member(t, 0, "list");
    assert_int_equal(nuc_json_text_count(t, 0), MANY + 1);
    assert_int_equal(nuc_json_text_count(t, list), MANY);
    for (uint32_t i = 0; i < MANY; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%u", (unsigned)i);
        uint32_t item = nuc_json_text_member(t, nuc_json_text_item(t, list, i), "n");
        assert_int_equal(nuc_json_text_integer(t, item), i);
        uint32_t own = nuc_json_text_item(t, nuc_json_text_member(t, 0, key), 0);
        assert_int_equal(nuc_json_text_integer(t, own), i);
    }
    assert_int_equal(nuc_json_text_member(t, 0, "k5000"), 0);
    text.length = whole;
    nuc_text_addf(&text, ",\"k77\":0}");
    t = parse(*state, text.data, text.length, &good);
    assert_false(good);
    assert_string_equal(t->what, "duplicate object key");
}

static void nesting_is_bounded(void **state)
{
    char text[2 * 2049];
    bool good;

    for (size_t depth = 2048; depth <= 2049; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        const struct nuc_json_text *t = parse(*state, text, 2 * depth, &good);
        assert_int_equal(good, depth == 2048);
        assert_true(good || strcmp(t->what, "maximum parsing depth reached") == 0);
    }
}

/* Two texts to each of some places, whichever is taken, the hash of the whole is the same: 2^13 keys that collide. */
static void keys_that_collide_are_refused(void **state)
{
    enum { PLACES = 13, LENGTH = 5 };
    char texts_at[PLACES][2][LENGTH + 1];
    uint32_t hash = NUC_INDEX_NOTHING;
    struct nuc_text text = {.cx = *state};
    bool good;

    for (int place = 0; place < PLACES; place++) {
        struct nuc_index seen = {.used = 0};
        for (uint32_t i = 0;; i++) {
            char(*two)[LENGTH + 1] = texts_at[place];
            snprintf(two[1], sizeof two[1], "%05x", (unsigned)i & 0xfffff);
            uint32_t h = nuc_index_characters(hash, two[1], LENGTH);
            struct nuc_index_search s = nuc_index_search(&seen, h);
            if (nuc_index_next(&s)) {
                snprintf(two[0], sizeof two[0], "%05x", (unsigned)s.place & 0xfffff);
                hash = h;
                break;
            }
            nuc_index_add(*state, &seen, h, i);
        }
    }
    for (unsigned key = 0; key < 1u << PLACES; key++) {
        nuc_text_addf(&text, "%s\"", key == 0 ? "{" : ",");
        for (int place = 0; place < PLACES; place++)
            nuc_text_addf(&text, "%s", texts_at[place][key >> place & 1]);
        nuc_text_addf(&text, "\":0");
    }
    nuc_text_addf(&text, "}");
    assert_string_equal(parse(*state, text.data, text.length, &good)->what,
                        "keys of an object that are made to collide");
    assert_false(good);
}

RUN_TESTS(STATE_TEST(texts_are_json_or_not), STATE_TEST(strings_are_what_they_stand_for),
          STATE_TEST(messages_show_the_place), STATE_TEST(values_have_types), STATE_TEST(long_ones_have_an_index),
          STATE_TEST(keys_that_collide_are_refused), STATE_TEST(nesting_is_bounded))
