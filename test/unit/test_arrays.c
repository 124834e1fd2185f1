/* NumPy files: every element type and order read, written archives read back, damaged files refused. */
#include "contexts.h"

#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include "archive/zip.h"
#include "data/arrays.h"
#include "host/file.h"

/* A version-1 file with that dictionary, padded so that `data` is aligned to 64 bytes. */
static struct nuc_span npy(struct nuc_context *cx, const char *dictionary, const void *data, size_t size)
{
    size_t length = nuc_align_up(10 + strlen(dictionary), 64) - 10;
    uint8_t *file = nuc_alloc(cx, 10 + length + size);

    memcpy(file, "\x93NUMPY\x01\x00", 8);
    file[8] = (uint8_t)length;
    file[9] = (uint8_t)(length >> 8);
    memset(file + 10, ' ', length);
    memcpy(file + 10, dictionary, strlen(dictionary));
    if (size != 0)
        memcpy(file + 10 + length, data, size);
    return (struct nuc_span){file, 10 + length + size};
}

struct reading {
    struct nuc_span file;
    const char *path; /* read instead of `file` when set */
    struct nuc_array array;
    struct nuc_arrays arrays;
};

static void read_file(struct nuc_context *cx, void *arg)
{
    struct reading *r = arg;

    if (r->path != NULL)
        r->arrays = nuc_read_arrays(cx, r->path);
    else
        r->array = nuc_read_npy(cx, "file", r->file);
}

static void expect_array(struct nuc_context *cx, struct nuc_span file, struct nuc_array *array)
{
    struct reading r = {.file = file};

    if (nuc_try(cx, read_file, &r) != NUC_OK)
        fail_msg("%s", cx->message);
    *array = r.array;
}

static void reads_element_types(void **state)
{
    static const struct {
        const char *descr;
        enum nuc_dtype dtype;
    } types[] = {
        {"|u1", NUC_U8},  {"|i1", NUC_I8},  {"<i2", NUC_I16}, {"<i4", NUC_I32},  {"<i8", NUC_I64},
        {"<f2", NUC_F16}, {"<f4", NUC_F32}, {"<f8", NUC_F64}, {"|b1", NUC_BOOL}, {"<u2", NUC_U16},
    };
    uint8_t bytes[48];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct nuc_context *cx = nuc_context_new(NULL);
        struct nuc_array a;
        size_t size = 6 * nuc_dtype_size(types[i].dtype);
        const char *text = nuc_format(cx, "{'shape': (2, 3), \"descr\": '%s', 'fortran_order': False}", types[i].descr);
        struct nuc_span file = npy(cx, text, bytes, size);
        expect_array(cx, file, &a);
        assert_int_equal(a.dtype, types[i].dtype);
        assert_int_equal(a.rank, 2);
        assert_int_equal(a.shape[1], 3);
        assert_int_equal(a.data.size, size);
        assert_ptr_equal(a.data.data, file.data + file.size - size); /* in place */
        nuc_context_free(cx);
    }
}

/* As in an .npz archive, where the .npy file begins anywhere. */
static void aligns_elements_on_demand(void **state)
{
    static const float floats[] = {1.5f, -2.0f, 3.25f};
    struct nuc_context *cx = *state;
    struct nuc_span file = npy(cx, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", floats, sizeof floats);
    uint8_t *moved = nuc_alloc(cx, file.size + 1);
    struct nuc_array a;

    memcpy(moved + 1, file.data, file.size);
    expect_array(cx, (struct nuc_span){moved + 1, file.size}, &a);
    assert_ptr_equal(a.data.data, moved + 1 + file.size - sizeof floats);
    const void *elements = nuc_array_elements(cx, &a);
    assert_int_equal((uintptr_t)elements % sizeof(float), 0);
    assert_memory_equal(elements, floats, sizeof floats);
    assert_ptr_equal(nuc_array_elements(cx, &a), elements);
}

static void reads_fortran_order(void **state)
{
    static const int16_t columns[] = {1, 4, 2, 5, 3, 6};
    static const int16_t rows[] = {1, 2, 3, 4, 5, 6};
    struct nuc_context *cx = *state;
    struct nuc_array a;

    expect_array(cx, npy(cx, "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }", columns, sizeof columns),
                 &a);
    assert_memory_equal(a.data.data, rows, sizeof rows);
}

static void reads_complex_numbers_as_pairs(void **state)
{
    static const float parts[] = {1, -2, 3, 4};
    struct nuc_context *cx = *state;
    struct nuc_array a;

    expect_array(cx, npy(cx, "{'descr': '<c8', 'fortran_order': False, 'shape': (2,)}", parts, sizeof parts), &a);
    assert_int_equal(a.dtype, NUC_F32);
    assert_int_equal(a.rank, 2);
    assert_int_equal(a.shape[1], 2);
    assert_memory_equal(a.data.data, parts, sizeof parts);
}

static void reads_scalars_and_empty_arrays(void **state)
{
    static const float seven = 7.0f;
    struct nuc_context *cx = *state;
    struct nuc_array a;

    expect_array(cx, npy(cx, "{'descr': '<f4', 'fortran_order': False, 'shape': ()}", &seven, sizeof seven), &a);
    assert_int_equal(a.rank, 0);
    assert_memory_equal(a.data.data, &seven, sizeof seven);
    expect_array(cx, npy(cx, "{'descr': '<f4', 'fortran_order': True, 'shape': (3L, 0)}", NULL, 0), &a);
    assert_int_equal(a.rank, 2);
    assert_int_equal(a.data.size, 0);
}

static void refuses_bad_headers(void **state)
{
    static const char *const headers[] = {
        "{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<c8', 'fortran_order': True, 'shape': (0,)}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775807)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4",
        "",
    };
    static const float one = 1.0f;

    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        struct nuc_context *cx = nuc_context_new(NULL);
        struct reading r = {.file = npy(cx, headers[i], &one, sizeof one)};
        enum nuc_status status = nuc_try(cx, read_file, &r);
        if (status != NUC_BAD_INPUT && status != NUC_UNSUPPORTED)
            fail_msg("header '%s': status %d", headers[i], (int)status);
        assert_non_null(strstr(cx->message, "file: "));
        nuc_context_free(cx);
    }
}

/* Every prefix of a file is refused: each lacks an element at least. */
static void refuses_truncated_files(void **state)
{
    static const float values[4] = {1.0f, 2.0f, 3.0f, 4.0f};
    struct nuc_context *cx = *state;
    struct nuc_span file = npy(cx, "{'descr': '<f4', 'fortran_order': False, 'shape': (4,)}", values, sizeof values);

    for (size_t size = 0; size < file.size; size++) {
        struct reading r = {.file = {nuc_copy(cx, file.data, size), size}};
        assert_int_equal(nuc_try(cx, read_file, &r), NUC_BAD_INPUT);
    }
}

/* ---- archives and folders ---- */

static const char *temporary_folder(struct nuc_context *cx)
{
    char *folder = nuc_strdup(cx, "/tmp/nucleon_arrays_XXXXXX");

    assert_non_null(mkdtemp(folder));
    return folder;
}

static const float floats[6] = {0.5f, -1.0f, 2.0f, 3.0f, 4.0f, 5.0f};
static const int8_t bytes[3] = {-1, 0, 1};

static struct nuc_arrays two_arrays(struct nuc_context *cx)
{
    struct nuc_arrays arrays = {2, nuc_alloc_array(cx, 2, sizeof(struct nuc_array))};

    arrays.items[0] = (struct nuc_array){
        .name = "in0", .dtype = NUC_F32, .rank = 2, .shape = {2, 3}, .data = {(const uint8_t *)floats, sizeof floats}};
    arrays.items[1] = (struct nuc_array){
        .name = "in1", .dtype = NUC_I8, .rank = 1, .shape = {3}, .data = {(const uint8_t *)bytes, sizeof bytes}};
    return arrays;
}

static void check_two(const struct nuc_arrays *arrays)
{
    const struct nuc_array *in0 = nuc_find_array(arrays, "in0");
    const struct nuc_array *in1 = nuc_find_array(arrays, "in1");

    assert_int_equal(arrays->count, 2);
    assert_ptr_equal(in0, &arrays->items[0]);
    assert_ptr_equal(in1, &arrays->items[1]);
    assert_null(nuc_find_array(arrays, "in2"));
    assert_int_equal(in0->rank, 2);
    assert_memory_equal(in0->data.data, floats, sizeof floats);
    assert_int_equal(in1->dtype, NUC_I8);
    assert_memory_equal(in1->data.data, bytes, sizeof bytes);
}

static void written_archives_read_back(void **state)
{
    struct nuc_context *cx = *state;
    const char *folder = temporary_folder(cx);
    const char *paths[2] = {nuc_format(cx, "%s/a.npz", folder), nuc_format(cx, "%s/b.npz", folder)};
    struct nuc_arrays arrays = two_arrays(cx);
    struct nuc_span files[2];

    for (int i = 0; i < 2; i++) {
        nuc_write_npz(cx, paths[i], &arrays);
        files[i] = nuc_read_file(cx, paths[i]);
    }
    assert_int_equal(files[0].size, files[1].size);
    assert_memory_equal(files[0].data, files[1].data, files[0].size);
    struct nuc_arrays back = nuc_read_arrays(cx, paths[0]);
    check_two(&back);
    assert_int_equal((uintptr_t)back.items[1].data.data % 64, 0);
    unlink(paths[0]);
    unlink(paths[1]);
    rmdir(folder);
}

/* libzip, an implementation of its own, finds the entries and agrees with their checksums. */
static void other_readers_accept_archives(void **state)
{
    struct nuc_context *cx = *state;
    const char *folder = temporary_folder(cx);
    const char *path = nuc_format(cx, "%s/a.npz", folder);
    struct nuc_arrays arrays = two_arrays(cx);
    char content[512];

    nuc_write_npz(cx, path, &arrays);
    zip_t *zip = zip_open(path, ZIP_RDONLY | ZIP_CHECKCONS, NULL);
    assert_non_null(zip);
    assert_int_equal(zip_get_num_entries(zip, 0), 2);
    assert_string_equal(zip_get_name(zip, 1, 0), "in1.npy");
    for (zip_uint64_t i = 0; i < 2; i++) {
        zip_file_t *file = zip_fopen_index(zip, i, 0);
        assert_non_null(file);
        assert_true(zip_fread(file, content, sizeof content) > 64);
        assert_int_equal(zip_fclose(file), 0); /* compares the checksum */
    }
    zip_discard(zip);
    unlink(path);
    rmdir(folder);
}

/* The archive of another writer, its entries deflated. */
static void reads_deflated_entries(void **state)
{
    struct nuc_context *cx = *state;
    const char *folder = temporary_folder(cx);
    const char *path = nuc_format(cx, "%s/a.npz", folder);
    struct nuc_span files[2] = {
        npy(cx, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", floats, sizeof floats),
        npy(cx, "{'descr': '|i1', 'fortran_order': False, 'shape': (3,)}", bytes, sizeof bytes),
    };
    zip_t *zip = zip_open(path, ZIP_CREATE, NULL);

    for (int i = 0; i < 2; i++) {
        zip_source_t *source = zip_source_buffer(zip, files[i].data, files[i].size, 0);
        zip_int64_t index = zip_file_add(zip, i == 0 ? "in0.npy" : "in1.npy", source, 0);
        assert_int_equal(index, i);
        assert_int_equal(zip_set_file_compression(zip, (zip_uint64_t)index, ZIP_CM_DEFLATE, 9), 0);
    }
    assert_int_equal(zip_close(zip), 0);
    const struct nuc_zip *archive = nuc_zip_open(cx, (struct nuc_stored){.path = path});
    assert_int_equal(archive->entries[0].method, 8);
    struct nuc_arrays back = nuc_read_arrays(cx, path);
    check_two(&back);
    unlink(path);
    rmdir(folder);
}

static void reads_folders_sorted_and_single_files(void **state)
{
    struct nuc_context *cx = *state;
    const char *folder = temporary_folder(cx);
    const char *paths[3] = {nuc_format(cx, "%s/in1.npy", folder), nuc_format(cx, "%s/in0.npy", folder),
                            nuc_format(cx, "%s/notes.txt", folder)};

    nuc_write_file(cx, paths[0], npy(cx, "{'descr': '|i1', 'fortran_order': False, 'shape': (3,)}", bytes, 3));
    nuc_write_file(cx, paths[1],
                   npy(cx, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", floats, sizeof floats));
    nuc_write_file(cx, paths[2], (struct nuc_span){(const uint8_t *)"x", 1});
    struct nuc_arrays arrays = nuc_read_arrays(cx, folder);
    check_two(&arrays);
    arrays = nuc_read_arrays(cx, paths[0]);
    assert_int_equal(arrays.count, 1);
    assert_string_equal(arrays.items[0].name, "in1");
    for (int i = 0; i < 3; i++)
        unlink(paths[i]);
    struct reading empty = {.path = folder};
    assert_int_equal(nuc_try(cx, read_file, &empty), NUC_BAD_INPUT);
    rmdir(folder);
    assert_int_equal(nuc_try(cx, read_file, &empty), NUC_IO);
}

/* A bit of an archive that is turned over is an error, or one that decides nothing. */
static void refuses_flipped_bits(void **state)
{
    const char *folder = temporary_folder(*state), *path = nuc_format(*state, "%s/a.npz", folder);
    struct nuc_arrays arrays = two_arrays(*state);

    nuc_write_npz(*state, path, &arrays);
    const struct nuc_span file = nuc_read_file(*state, path);
    for (size_t at = 0; at < file.size; at++) {
        struct nuc_context *cx = nuc_context_new(NULL);
        uint8_t *copy = nuc_copy(cx, file.data, file.size);
        struct reading r = {.path = path};
        copy[at] ^= (uint8_t)(1u << at % 8);
        nuc_write_file(cx, path, (struct nuc_span){copy, file.size});
        enum nuc_status status = nuc_try(cx, read_file, &r);
        if (status == NUC_OK)
            check_two(&r.arrays);
        else
            assert_in_range(status, NUC_BAD_INPUT, NUC_UNSUPPORTED);
        nuc_context_free(cx);
    }
    unlink(path);
    rmdir(folder);
}

RUN_TESTS(cmocka_unit_test(reads_element_types), STATE_TEST(aligns_elements_on_demand), STATE_TEST(reads_fortran_order),
          STATE_TEST(reads_complex_numbers_as_pairs), STATE_TEST(reads_scalars_and_empty_arrays),
          cmocka_unit_test(refuses_bad_headers), STATE_TEST(refuses_truncated_files),
          STATE_TEST(written_archives_read_back), STATE_TEST(other_readers_accept_archives),
          STATE_TEST(reads_deflated_entries), STATE_TEST(reads_folders_sorted_and_single_files),
          STATE_TEST(refuses_flipped_bits))
