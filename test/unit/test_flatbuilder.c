/* The FlatBuffer builder, read back by the bounded reader, which knows nothing of it. */
#include "contexts.h"

#include "device/base/flatbuf.h"
#include "host/flatbuilder.h"

static uint32_t begin(struct nuc_span bytes, struct nuc_fb_reader *r, struct nuc_fb_table *root)
{
    *r = (struct nuc_fb_reader){bytes, false};
    *root = nuc_fb_root(r, 0);
    return root->at;
}

static const uint8_t *vtable_of(struct nuc_span bytes, struct nuc_fb_table t)
{
    return bytes.data + t.at - (int32_t)nuc_load_u32(bytes.data + t.at);
}

static void test_scalars(void **state)
{
    struct nuc_fb_builder *b = nuc_fb_builder_new(*state);
    struct nuc_fb_reader r;
    struct nuc_fb_table t;

    nuc_fb_table_begin(b);
    nuc_fb_put_u8(b, 0, 200, 0);
    nuc_fb_put_i8(b, 1, -3, 0);
    nuc_fb_put_bool(b, 2, true, false);
    nuc_fb_put_i32(b, 3, -70000, 0);
    nuc_fb_put_u32(b, 4, 0xfedcba98u, 0);
    nuc_fb_put_i64(b, 6, -5000000000, 0);
    nuc_fb_put_u64(b, 7, 0xfedcba9876543210u, 0);
    nuc_fb_put_f32(b, 8, 1.5f, 0);
    nuc_fb_put_f64(b, 9, -0.0, 0);
    nuc_fb_put_i32(b, 10, 7, 7); /* the default: left out */
    struct nuc_span s = nuc_fb_finish(b, nuc_fb_table_end(b), "TEST", NULL, 0, 1);

    assert_memory_equal(s.data + 4, "TEST", 4);
    assert_int_not_equal(begin(s, &r, &t), 0);
    assert_int_equal(nuc_fb_u8(&r, t, 0, 1), 200);
    assert_int_equal(nuc_fb_i8(&r, t, 1, 1), -3);
    assert_true(nuc_fb_bool(&r, t, 2, false));
    assert_int_equal(nuc_fb_i32(&r, t, 3, 1), -70000);
    assert_int_equal(nuc_fb_u32(&r, t, 4, 1), 0xfedcba98u);
    assert_int_equal(nuc_fb_i32(&r, t, 5, 99), 99);
    assert_true(nuc_fb_i64(&r, t, 6, 1) == -5000000000);
    assert_true(nuc_fb_u64(&r, t, 7, 1) == 0xfedcba9876543210u);
    assert_true(nuc_fb_f32(&r, t, 8, 1) == 1.5f);
    assert_true(1 / nuc_fb_f64(&r, t, 9, 1) < 0);
    assert_int_equal(nuc_fb_i32(&r, t, 10, 7), 7);
    assert_int_equal(nuc_load_u16(vtable_of(s, t)), 4 + 2 * 10);
    assert_int_equal(t.at % 4, 0);
    assert_false(r.bad);
}

static void test_strings_and_vectors(void **state)
{
    static const int64_t wide[] = {1, -2, 3};
    static const uint8_t bytes[] = {9, 8, 7, 6, 5};
    struct nuc_fb_builder *b = nuc_fb_builder_new(*state);
    struct nuc_fb_reader r;
    struct nuc_fb_table t;
    uint32_t length;

    nuc_fb_ref names[] = {nuc_fb_add_string(b, "abc"), nuc_fb_add_string(b, ""), nuc_fb_add_string(b, "four")};
    nuc_fb_ref list = nuc_fb_add_refs(b, names, 3);
    nuc_fb_ref v64 = nuc_fb_add_vector(b, wide, 3, 8, 8);
    nuc_fb_ref v8 = nuc_fb_add_vector(b, bytes, 5, 1, 32);
    nuc_fb_ref empty = nuc_fb_add_vector(b, NULL, 0, 4, 4);
    nuc_fb_table_begin(b);
    nuc_fb_put_ref(b, 0, list);
    nuc_fb_put_ref(b, 1, v64);
    nuc_fb_put_ref(b, 2, v8);
    nuc_fb_put_ref(b, 3, 0);
    nuc_fb_put_ref(b, 4, empty);
    struct nuc_span s = nuc_fb_finish(b, nuc_fb_table_end(b), "TEST", NULL, 0, 64);

    begin(s, &r, &t);
    struct nuc_fb_vector l = nuc_fb_vec(&r, t, 0, 4);
    assert_int_equal(l.count, 3);
    assert_string_equal(nuc_fb_vec_string(&r, l, 0, &length), "abc");
    assert_int_equal(length, 3);
    assert_string_equal(nuc_fb_vec_string(&r, l, 1, &length), "");
    assert_string_equal(nuc_fb_vec_string(&r, l, 2, NULL), "four");
    struct nuc_fb_vector w = nuc_fb_vec(&r, t, 1, 8);
    assert_int_equal(w.count, 3);
    assert_int_equal(w.at % 8, 0);
    assert_true(nuc_fb_vec_i64(&r, w, 1) == -2);
    assert_int_equal(nuc_fb_vec(&r, t, 2, 1).at % 32, 0);
    assert_memory_equal(nuc_fb_bytes(&r, t, 2).data, bytes, 5);
    assert_int_equal(nuc_fb_vec(&r, t, 3, 1).at, 0);
    assert_int_not_equal(nuc_fb_vec(&r, t, 4, 4).at, 0);
    assert_int_equal(nuc_fb_vec(&r, t, 4, 4).count, 0);
    assert_int_equal(s.size % 64, 0);
    assert_int_equal((uintptr_t)s.data % 64, 0);
    assert_false(r.bad);
}

static nuc_fb_ref pair(struct nuc_fb_builder *b, int32_t x, uint64_t y)
{
    nuc_fb_table_begin(b);
    nuc_fb_put_i32(b, 0, x, 0);
    nuc_fb_put_u64(b, 1, y, 0);
    return nuc_fb_table_end(b);
}

/* Tables of one shape share a vtable wherever they land, and a nested table is found. */
static void test_tables(void **state)
{
    struct nuc_fb_builder *b = nuc_fb_builder_new(*state);
    struct nuc_fb_reader r;
    struct nuc_fb_table t;
    nuc_fb_ref items[5];

    for (int i = 0; i < 5; i++) {
        nuc_fb_add_vector(b, "xyzxyz", (size_t)i, 1, 1);
        items[i] = pair(b, i + 1, 10);
    }
    nuc_fb_ref list = nuc_fb_add_refs(b, items, 5);
    nuc_fb_table_begin(b);
    nuc_fb_put_ref(b, 2, list);
    nuc_fb_put_ref(b, 0, items[4]);
    struct nuc_span s = nuc_fb_finish(b, nuc_fb_table_end(b), "TEST", NULL, 0, 1);

    begin(s, &r, &t);
    struct nuc_fb_vector l = nuc_fb_vec(&r, t, 2, 4);
    struct nuc_fb_table first = nuc_fb_vec_table(&r, l, 0);
    for (uint32_t i = 0; i < 5; i++) {
        struct nuc_fb_table item = nuc_fb_vec_table(&r, l, i);
        assert_int_equal(nuc_fb_i32(&r, item, 0, 0), i + 1);
        assert_true(nuc_fb_u64(&r, item, 1, 0) == 10);
        assert_ptr_equal(vtable_of(s, item), vtable_of(s, first));
    }
    assert_int_equal(nuc_fb_i32(&r, nuc_fb_sub(&r, t, 0), 0, 0), 5);
    assert_false(r.bad);
}

/* Every 8-byte scalar and aligned vector is aligned from the first byte, whatever stands in front. */
static void test_header_and_alignment(void **state)
{
    static const uint8_t header[24] = "eh00 and twenty others.";
    struct nuc_fb_reader r;
    struct nuc_fb_table t;

    for (size_t header_size = 0; header_size <= sizeof header; header_size++) {
        struct nuc_fb_builder *b = nuc_fb_builder_new(*state);
        nuc_fb_ref v = nuc_fb_add_vector(b, header, 3, 1, 16);
        nuc_fb_table_begin(b);
        nuc_fb_put_bool(b, 0, true, false);
        nuc_fb_put_u64(b, 1, 42, 0);
        nuc_fb_put_ref(b, 2, v);
        struct nuc_span s = nuc_fb_finish(b, nuc_fb_table_end(b), "HEAD", header, header_size, 1);

        begin(s, &r, &t);
        assert_int_equal((t.at + nuc_load_u16(vtable_of(s, t) + 4 + 2)) % 8, 0);
        assert_true(nuc_fb_u64(&r, t, 1, 0) == 42);
        assert_int_equal(nuc_fb_vec(&r, t, 2, 1).at % 16, 0);
        assert_memory_equal(s.data + 8, header, header_size);
        assert_false(r.bad);
    }
}

/* Big enough to move the buffer several times. */
static void test_growth(void **state)
{
    struct nuc_fb_builder *b = nuc_fb_builder_new(*state);
    struct nuc_fb_reader r;
    struct nuc_fb_table t;
    nuc_fb_ref names[3000];
    char text[16];

    for (int i = 0; i < 3000; i++) {
        snprintf(text, sizeof text, "name%d", i);
        names[i] = nuc_fb_add_string(b, text);
    }
    nuc_fb_ref list = nuc_fb_add_refs(b, names, 3000);
    nuc_fb_table_begin(b);
    nuc_fb_put_ref(b, 0, list);
    struct nuc_span s = nuc_fb_finish(b, nuc_fb_table_end(b), "TEST", NULL, 0, 1);

    begin(s, &r, &t);
    struct nuc_fb_vector l = nuc_fb_vec(&r, t, 0, 4);
    for (uint32_t i = 0; i < 3000; i++) {
        snprintf(text, sizeof text, "name%u", i);
        assert_string_equal(nuc_fb_vec_string(&r, l, i, NULL), text);
    }
    assert_false(r.bad);
}

static void put_twice(struct nuc_context *cx, void *arg)
{
    struct nuc_fb_builder *b = nuc_fb_builder_new(cx);

    nuc_fb_table_begin(b);
    nuc_fb_put_i32(b, 3, 1, 0);
    nuc_fb_put_i32(b, 3, 2, 0);
    nuc_fb_table_end(b);
}

static void nest(struct nuc_context *cx, void *arg)
{
    struct nuc_fb_builder *b = nuc_fb_builder_new(cx);

    nuc_fb_table_begin(b);
    nuc_fb_add_string(b, "inside");
}

static void exceed(struct nuc_context *cx, void *arg)
{
    nuc_fb_add_vector(nuc_fb_builder_new(cx), arg, SIZE_MAX / 4, 8, 8);
}

static void test_misuse(void **state)
{
    struct nuc_context *cx = *state;

    assert_int_equal(nuc_try(cx, put_twice, NULL), NUC_INTERNAL);
    assert_int_equal(nuc_try(cx, nest, NULL), NUC_INTERNAL);
    assert_int_equal(nuc_try(cx, exceed, NULL), NUC_UNSUPPORTED);
    assert_non_null(strstr(cx->message, "2 GiB"));
}

/* The word in front counts for alignment: elements of 8 bytes lie at multiples of 8 from it. */
static void test_prefixed(void **state)
{
    struct nuc_fb_builder *b = nuc_fb_builder_new(*state);
    const uint64_t words[3] = {1, 2, 3};

    for (int strings = 0; strings < 9; strings++)
        nuc_fb_add_string(b, "x");
    nuc_fb_ref list = nuc_fb_add_vector(b, words, 3, 8, 8);
    nuc_fb_table_begin(b);
    nuc_fb_put_ref(b, 0, list);
    struct nuc_span s = nuc_fb_finish_prefixed(b, nuc_fb_table_end(b), "TEST");
    struct nuc_fb_reader r = {s, false};
    struct nuc_fb_vector v = nuc_fb_vec(&r, nuc_fb_root(&r, 4), 0, 8);

    assert_int_equal(nuc_load_u32(s.data), s.size - 4);
    assert_memory_equal(s.data + 8, "TEST", 4);
    assert_int_equal(v.count, 3);
    assert_int_equal(v.at % 8, 0);
    assert_true(nuc_fb_vec_i64(&r, v, 2) == 3);
    assert_false(r.bad);
}

RUN_TESTS(STATE_TEST(test_scalars), STATE_TEST(test_strings_and_vectors), STATE_TEST(test_tables),
          STATE_TEST(test_header_and_alignment), STATE_TEST(test_growth), STATE_TEST(test_prefixed),
          STATE_TEST(test_misuse))
