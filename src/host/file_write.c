/* Writing files: new ones under a temporary name in the same folder, then renamed over what is there. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "host/file.h"

/* Of symbolic links, as the kernel follows them. */
#define MAX_LINKS 40
#define MAX_PATH 4096

struct nuc_output {
    struct nuc_output *next;
    struct nuc_output *before; /* the one committed before this one */
    size_t bytes;
    const char *path;                 /* as it was given, for messages */
    const char *name;                 /* in the folder */
    int folder;                       /* open; -1: closed */
    bool is_scratch;                  /* it need not outlive a crash */
    bool existed;                     /* there was a file of that name */
    bool renamed;                     /* the new one stands there */
    struct nuc_unfinished_item *item; /* of the temporary file; NULL: there is none */
    char temporary[NUC_TEMPORARY_NAME];
    char backup[NUC_TEMPORARY_NAME]; /* another name of what was there; "" when there is none */
};

/* Pieces that one call of the system is given. */
#define AT_ONCE 256

/* From byte `done` of piece `first` on, as many as fit; returns how many. */
static int list_pieces(const struct nuc_pieces *p, size_t first, size_t done, struct iovec out[AT_ONCE])
{
    int n = 0;

    for (size_t i = first; i < p->count && n < AT_ONCE; i++, done = 0) {
        /* The system only reads. */
        uintptr_t from = (uintptr_t)(p->items[i].data + done);
        out[n++] = (struct iovec){(void *)from, p->items[i].size - done};
    }
    return n;
}

static bool write_all(int fd, const struct nuc_pieces *p)
{
    struct iovec parts[AT_ONCE];
    size_t piece = 0, done = 0;

    while (piece < p->count) {
        ssize_t n = writev(fd, parts, list_pieces(p, piece, done, parts));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n == 0 ? EIO : errno;
            return false;
        }
        for (done += (size_t)n; piece < p->count && done >= p->items[piece].size; piece++)
            done -= p->items[piece].size;
    }
    return true;
}

_Noreturn static void cannot_write(struct nuc_context *cx, const char *path, int error)
{
    nuc_fail(cx, NUC_IO, "%s: cannot be written: %s", path, strerror(error));
}

/* ---- where the file is ---- */

/* What a symbolic link stands for, and the link of a link; other paths as they are. */
static const char *follow_links(struct nuc_context *cx, const char *path)
{
    char *to = nuc_alloc(cx, MAX_PATH);

    for (int i = 0; i < MAX_LINKS; i++) {
        ssize_t length = readlink(path, to, MAX_PATH - 1);
        if (length < 0 && errno != EINVAL && errno != ENOENT)
            cannot_write(cx, path, errno);
        if (length <= 0)
            return path;
        to[length] = '\0';
        int folder = to[0] == '/' ? 0 : (int)(nuc_base_name(path) - path);
        path = nuc_format(cx, "%.*s%s", folder, path, to);
    }
    cannot_write(cx, path, ELOOP);
}

/* The folder is kept open: names in it need no long path. One that may not be read cannot be flushed either. */
static int open_folder(struct nuc_context *cx, const char *path)
{
    size_t length = (size_t)(nuc_base_name(path) - path);
    const char *folder = length == 0 ? "." : nuc_format(cx, "%.*s", (int)length, path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 && errno == EACCES ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : fd;
}

/* A reader that went away is an error of the call, EPIPE, and no signal that ends the process. */
static bool write_to_reader(int fd, const struct nuc_pieces *bytes)
{
    sigset_t pipe, old, pending;

    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &old);
    sigpending(&pending);
    bool good = write_all(fd, bytes);
    int error = errno;
    if (!good && error == EPIPE && sigismember(&pending, SIGPIPE) == 0)
        sigtimedwait(&pipe, NULL, &(struct timespec){.tv_sec = 0});
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = error;
    return good;
}

/* ---- the new file ---- */

/* Some file systems have nothing to flush and say so. */
static bool flush(int fd)
{
    while (fsync(fd) != 0) {
        if (errno == EINVAL || errno == ENOTSUP)
            return true;
        if (errno != EINTR)
            return false;
    }
    return true;
}

/* Owner first: changing it takes set-user-ID bits away. Owners that this process may not give are left. */
static bool keep_mode(int fd, const struct stat *old)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return false;
    mode_t mode = old->st_mode & 07777;
    if ((st.st_uid != old->st_uid || st.st_gid != old->st_gid) && fchown(fd, old->st_uid, old->st_gid) != 0)
        mode &= 0777;
    return (st.st_mode & 07777) == mode || fchmod(fd, mode) == 0;
}

static void discard(struct nuc_output *o)
{
    if (o->item != NULL)
        unlinkat(o->folder, o->temporary, 0);
    nuc_take_out_unfinished(o->item);
    o->item = NULL;
    if (o->folder >= 0)
        close(o->folder);
    o->folder = -1;
}

/* Ends the call; what was made for the output is gone. */
_Noreturn static void give_up(struct nuc_context *cx, struct nuc_output *o, int error)
{
    discard(o);
    cannot_write(cx, o->path, error);
}

static int create(struct nuc_context *cx, struct nuc_output *o, mode_t mode)
{
    for (int attempts = 0; attempts < 100; attempts++) {
        nuc_temporary_name(o->temporary);
        o->item = nuc_enter_unfinished(&cx->unfinished, NUC_UNFINISHED_FILE, o->folder, o->temporary, 0);
        if (o->item == NULL)
            give_up(cx, o, EMFILE);
        int fd = openat(o->folder, o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (fd >= 0)
            return fd;
        int error = errno;
        nuc_take_out_unfinished(o->item);
        o->item = NULL;
        if (error != EEXIST && error != EINTR)
            give_up(cx, o, error);
    }
    give_up(cx, o, EEXIST);
}

/* The temporary file with all its bytes. `o` is allocated, its path is set. */
static void prepare(struct nuc_context *cx, struct nuc_output *o, const char *target, const struct nuc_pieces *bytes)
{
    struct stat old;

    o->name = nuc_base_name(target);
    o->folder = open_folder(cx, target);
    if (o->folder < 0)
        cannot_write(cx, o->path, errno);
    o->existed = fstatat(o->folder, o->name, &old, 0) == 0;
    if (!o->existed && errno != ENOENT)
        give_up(cx, o, errno);
    if (*o->name == '\0' || (o->existed && !S_ISREG(old.st_mode)))
        give_up(cx, o, *o->name == '\0' || S_ISDIR(old.st_mode) ? EISDIR : EINVAL);
    if (o->existed && faccessat(o->folder, o->name, W_OK, AT_EACCESS) != 0)
        give_up(cx, o, errno);
    int fd = create(cx, o, o->existed ? old.st_mode & 0666 : 0666);
    bool good = write_all(fd, bytes) && (!o->existed || keep_mode(fd, &old)) && (o->is_scratch || flush(fd));
    int error = errno;
    if (close(fd) != 0 && good) {
        good = false;
        error = errno;
    }
    if (!good)
        give_up(cx, o, error);
}

/* ---- to its place ---- */

static bool put_in_place(struct nuc_output *o)
{
    if (renameat(o->folder, o->temporary, o->folder, o->name) != 0)
        return false;
    nuc_take_out_unfinished(o->item);
    o->item = NULL;
    o->renamed = true;
    return true;
}

/* The first that could not be renamed, NULL when all could: else none was. */
static struct nuc_output *put_all_in_place(struct nuc_outputs *all, int *error)
{
    struct nuc_output *failed = NULL;

    for (struct nuc_output *o = all->first; o != NULL && failed == NULL; o = o->next) {
        if (all->count > 1) {
            /*
             * Of several files: what is there keeps a second name, where the file system has such, until all are in
             * place.
             */
            nuc_temporary_name(o->backup);
            if (!o->existed || linkat(o->folder, o->name, o->folder, o->backup, 0) != 0)
                o->backup[0] = '\0';
        }
        if (!put_in_place(o)) {
            *error = errno;
            failed = o;
        }
    }
    for (struct nuc_output *o = all->first; o != NULL; o = o->next) {
        if (failed != NULL) {
            if (o->renamed && !o->existed)
                unlinkat(o->folder, o->name, 0);
            else if (o->renamed && o->backup[0] != '\0')
                renameat(o->folder, o->backup, o->folder, o->name);
            else if (o->backup[0] != '\0')
                unlinkat(o->folder, o->backup, 0);
            o->backup[0] = '\0';
        } else if (o->backup[0] != '\0') {
            unlinkat(o->folder, o->backup, 0);
        }
    }
    return failed;
}

/* Signals wait, so that one cannot come between two of the files. */
static void commit(struct nuc_context *cx, struct nuc_outputs *all)
{
    sigset_t every, old;
    int error = 0;

    sigfillset(&every);
    pthread_sigmask(SIG_BLOCK, &every, &old);
    const struct nuc_output *failed = put_all_in_place(all, &error);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    for (struct nuc_output *o = all->first; o != NULL; o = o->next) {
        if (failed == NULL && !o->is_scratch && !flush(o->folder) && errno != EBADF) {
            error = errno;
            failed = o;
        }
        discard(o);
    }
    all->first = NULL;
    all->count = 0;
    if (failed != NULL)
        cannot_write(cx, failed->path, error);
}

/* ---- calls ---- */

static void write_file(struct nuc_context *cx, const char *path, const struct nuc_pieces *bytes, bool is_scratch)
{
    struct nuc_outputs *staged = is_scratch || cx->outputs.arena == NULL ? NULL : &cx->outputs;
    struct nuc_arena *arena = staged != NULL ? staged->arena : cx->arena;

    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
        /* Devices and pipes cannot be replaced by a rename; they are written in place. */
        int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        bool good = fd >= 0 && write_to_reader(fd, bytes);
        int error = errno;

        if (fd >= 0 && close(fd) != 0 && good) {
            good = false;
            error = errno;
        }
        if (!good)
            cannot_write(cx, path, error);
        return;
    }
    /* All memory first: nothing leaves after that without closing what is open. */
    const char *target = follow_links(cx, path);
    struct nuc_output *o = nuc_alloc_in(cx, arena, sizeof *o);
    o->folder = -1;
    o->is_scratch = is_scratch;
    o->path = nuc_copy_out(cx, arena, path, strlen(path) + 1);
    for (size_t i = 0; i < bytes->count; i++)
        o->bytes += bytes->items[i].size;
    target = nuc_copy_out(cx, arena, target, strlen(target) + 1);
    prepare(cx, o, target, bytes);
    if (staged == NULL) {
        struct nuc_outputs one = {.first = o, .count = 1};
        commit(cx, &one);
        return;
    }
    *staged->last = o;
    staged->last = &o->next;
    staged->count++;
}

void nuc_write_pieces(struct nuc_context *cx, const char *path, const struct nuc_pieces *pieces)
{
    write_file(cx, path, pieces, false);
}

/* A span as pieces. */
static struct nuc_pieces as_pieces(struct nuc_span *bytes)
{
    return (struct nuc_pieces){.items = bytes, .count = bytes->size != 0};
}

void nuc_write_file(struct nuc_context *cx, const char *path, struct nuc_span bytes)
{
    struct nuc_pieces one = as_pieces(&bytes);

    write_file(cx, path, &one, false);
}

void nuc_write_text(struct nuc_context *cx, const char *path, const char *text)
{
    nuc_write_file(cx, path, (struct nuc_span){(const uint8_t *)text, strlen(text)});
}

void nuc_write_scratch(struct nuc_context *cx, const char *path, struct nuc_span bytes)
{
    struct nuc_pieces one = as_pieces(&bytes);

    write_file(cx, path, &one, true);
}

bool nuc_begin_outputs(struct nuc_context *cx)
{
    if (cx->outputs.arena != NULL)
        return false;
    cx->outputs = (struct nuc_outputs){.arena = cx->arena, .last = &cx->outputs.first};
    return true;
}

void nuc_commit_outputs(struct nuc_context *cx)
{
    struct nuc_output *first = cx->outputs.first;

    commit(cx, &cx->outputs); /* forgets them, but for what is in the arena */
    for (struct nuc_output *o = first; o != NULL; o = o->next) {
        o->before = cx->written;
        cx->written = o;
    }
}

bool nuc_written_output(const struct nuc_context *cx, size_t index, const char **path, size_t *bytes)
{
    size_t count = 0;

    for (const struct nuc_output *o = cx->written; o != NULL; o = o->before)
        count++;
    if (index >= count)
        return false;
    const struct nuc_output *o = cx->written;
    for (size_t i = count - 1; i > index; i--)
        o = o->before;
    *path = o->path;
    *bytes = o->bytes;
    return true;
}

void nuc_end_outputs(struct nuc_context *cx)
{
    for (struct nuc_output *o = cx->outputs.first; o != NULL; o = o->next)
        discard(o);
    cx->outputs.arena = NULL;
}

/* ---- folders ---- */

/* So many of them are remembered, which leaves places for temporary files. */
#define MOST_FOLDERS 8

static bool may_remember(const struct nuc_unfinished *all)
{
    size_t count = 0;

    for (size_t i = 0; i < NUC_MAX_UNFINISHED; i++)
        count += atomic_load(&all->items[i].kind) == NUC_UNFINISHED_EMPTY;
    return count < MOST_FOLDERS;
}

void nuc_make_folder(struct nuc_context *cx, const char *path)
{
    char *whole = nuc_strdup(cx, path);

    for (size_t length = strlen(whole); length > 1 && whole[length - 1] == '/';)
        whole[--length] = '\0';
    if (mkdir(whole, 0777) != 0 || !may_remember(&cx->unfinished))
        return;
    char *slash = strrchr(whole, '/');
    const char *name = slash != NULL ? slash + 1 : whole;
    const char *parent = slash == NULL ? "." : slash == whole ? "/" : whole;
    if (strlen(name) >= NUC_UNFINISHED_NAME)
        return;
    if (slash != NULL)
        *slash = '\0';
    int folder = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0)
        nuc_enter_unfinished(&cx->unfinished, NUC_UNFINISHED_EMPTY, folder, name, 0);
}
