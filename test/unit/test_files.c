/* Files that change while they are read, and outputs that appear together. */
#include "contexts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/arrays.h"
#include "host/file.h"
#include "host/limits.h"
#include "host/process.h"

static const char *in_folder(struct nuc_context *cx, const char *folder, const char *name)
{
    return nuc_format(cx, "%s/%s", folder, name);
}

static struct nuc_span text(const char *s)
{
    return (struct nuc_span){(const uint8_t *)s, strlen(s)};
}

static void has_text(struct nuc_context *cx, const char *path, const char *wanted)
{
    struct nuc_span found = nuc_read_file(cx, path);

    assert_int_equal(found.size, strlen(wanted));
    assert_memory_equal(found.data, wanted, found.size);
}

static bool exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

/* ---- reading ---- */

struct part {
    const struct nuc_file *file;
    const struct nuc_array *array;
    size_t offset;
    uint8_t bytes[4];
};

static void read_part(struct nuc_context *cx, void *arg)
{
    struct part *p = arg;

    if (p->array != NULL)
        nuc_array_part(p->array, p->offset, sizeof p->bytes, p->bytes);
    else
        nuc_read_at(p->file, p->offset, p->bytes, sizeof p->bytes);
}

static void changed_files_are_noticed(void **state)
{
    struct nuc_context *cx = *state;
    const char *folder = nuc_temporary_folder(cx), *path = in_folder(cx, folder, "x");

    nuc_write_file(cx, path, text("0123456789"));
    struct part p = {.file = nuc_open_file(cx, path)};
    assert_int_equal(nuc_try(cx, read_part, &p), NUC_OK);
    assert_int_equal(truncate(path, 2), 0);
    assert_int_equal(nuc_try(cx, read_part, &p), NUC_IO);
    assert_non_null(strstr(cx->message, "x: was changed while it was read"));
    nuc_write_file(cx, path, text("0123456789"));
    p.file = nuc_open_file(cx, path);
    assert_int_equal(truncate(path, 100), 0);
    assert_int_equal(nuc_try(cx, read_part, &p), NUC_IO);
    /* As long as before, but of another time. */
    p.file = nuc_open_file(cx, path);
    const struct timespec times[2] = {{1, 0}, {1, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_int_equal(nuc_try(cx, read_part, &p), NUC_IO);
}

/* What is beyond the limit stays in the file: only the part that is asked for is read. */
static void large_arrays_stay_in_their_file(void **state)
{
    struct nuc_context *cx = *state;
    const char *folder = nuc_temporary_folder(cx), *path = in_folder(cx, folder, "x.npy");
    static const char header[] = "{'descr': '|u1', 'fortran_order': False, 'shape': (300000000,), }";
    uint64_t size = 300000000, start = 10 + sizeof header - 1;

    nuc_write_file(cx, path, text(""));
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "\x93NUMPY\x01\x00", 8, 0), 8);
    assert_int_equal(pwrite(fd, (const uint8_t[]){sizeof header - 1, 0}, 2, 8), 2);
    assert_int_equal(pwrite(fd, header, sizeof header - 1, 10), sizeof header - 1);
    assert_int_equal(ftruncate(fd, (off_t)(start + size)), 0);
    assert_int_equal(pwrite(fd, "tail", 4, (off_t)(start + size - 4)), 4);
    assert_int_equal(close(fd), 0);
    struct nuc_arrays arrays = nuc_read_arrays(cx, path);
    assert_true(size > NUC_MAX_ARRAYS_IN_MEMORY);
    assert_int_equal(arrays.count, 1);
    assert_null(arrays.items[0].data.data);
    assert_int_equal(arrays.items[0].data.size, size);
    struct part p = {.array = &arrays.items[0], .offset = size - 4};
    assert_int_equal(nuc_try(cx, read_part, &p), NUC_OK);
    assert_memory_equal(p.bytes, "tail", 4);
    assert_int_equal(truncate(path, 1000), 0);
    assert_int_equal(nuc_try(cx, read_part, &p), NUC_IO);
}

/* ---- writing ---- */

struct writing {
    const char *paths[3];
    bool commits;
};

static void write_all(struct nuc_context *cx, void *arg)
{
    const struct writing *w = arg;

    for (int i = 0; i < 3; i++)
        nuc_write_text(cx, w->paths[i], "new");
    if (w->commits)
        nuc_commit_outputs(cx);
}

static enum nuc_status write_together(struct nuc_context *cx, struct writing *w)
{
    assert_true(nuc_begin_outputs(cx));
    assert_false(nuc_begin_outputs(cx));
    enum nuc_status status = nuc_try(cx, write_all, w);
    nuc_end_outputs(cx);
    return status;
}

static void block_third(struct nuc_context *cx, void *arg)
{
    const struct writing *w = arg;

    for (int i = 0; i < 3; i++)
        nuc_write_text(cx, w->paths[i], "new");
    assert_int_equal(mkdir(w->paths[2], 0777), 0); /* a rename over it fails */
    nuc_commit_outputs(cx);
}

static void outputs_appear_together(void **state)
{
    struct nuc_context *cx = *state;
    const char *folder = nuc_temporary_folder(cx);
    struct writing w = {
        .paths = {in_folder(cx, folder, "a"), in_folder(cx, folder, "b"), in_folder(cx, folder, "none/c")}};

    nuc_write_text(cx, w.paths[0], "old");
    /* One cannot be made. */
    assert_int_equal(write_together(cx, &w), NUC_IO);
    has_text(cx, w.paths[0], "old");
    assert_false(exists(w.paths[1]));
    /* All can, but the call does not come to its end. */
    w.paths[2] = in_folder(cx, folder, "c");
    assert_int_equal(write_together(cx, &w), NUC_OK);
    has_text(cx, w.paths[0], "old");
    assert_false(exists(w.paths[1]));
    /* The last one cannot be put in its place: the others are as they were. */
    assert_true(nuc_begin_outputs(cx));
    assert_int_equal(nuc_try(cx, block_third, &w), NUC_IO);
    assert_non_null(strstr(cx->message, "/c: cannot be written: Is a directory"));
    nuc_end_outputs(cx);
    has_text(cx, w.paths[0], "old");
    assert_false(exists(w.paths[1]));
    assert_int_equal(rmdir(w.paths[2]), 0);
    w.commits = true;
    assert_int_equal(write_together(cx, &w), NUC_OK);
    for (int i = 0; i < 3; i++) {
        has_text(cx, w.paths[i], "new");
        unlink(w.paths[i]);
    }
    assert_int_equal(rmdir(folder), 0); /* no other file is left */
}

/* What a signal handler does in the middle of a call. */
static void unfinished_work_is_cleared_away(void **state)
{
    struct nuc_context *cx = *state;
    const char *folder = nuc_temporary_folder(cx), *outside = nuc_temporary_folder(cx);
    struct writing w = {
        .paths = {in_folder(cx, outside, "a"), in_folder(cx, outside, "b"), in_folder(cx, outside, "c")}};

    nuc_write_text(cx, in_folder(cx, folder, "x"), "x");
    assert_int_equal(mkdir(in_folder(cx, folder, "y"), 0777), 0);
    nuc_write_text(cx, in_folder(cx, folder, "y/z"), "x");
    assert_int_equal(symlink("/etc", in_folder(cx, folder, "link")), 0);
    assert_true(nuc_begin_outputs(cx));
    assert_int_equal(nuc_try(cx, write_all, &w), NUC_OK);
    nuc_discard_unfinished(&cx->unfinished);
    assert_false(exists(folder));
    assert_false(exists(outside));
    assert_true(exists("/etc/passwd"));
    nuc_end_outputs(cx);
}

RUN_TESTS(STATE_TEST(changed_files_are_noticed), STATE_TEST(large_arrays_stay_in_their_file),
          STATE_TEST(outputs_appear_together), STATE_TEST(unfinished_work_is_cleared_away))
