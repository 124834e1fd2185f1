/* The files of a command line against each other, and whether those to be written can be: before the work. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/cli/arguments/command_args.h"

struct path {
    const char *what, *path;
    enum cli_file kind;
};

/* ---- two names of one file ---- */

/* A name's folder, into `folder`, which has room for it and two more; returns the rest. */
static const char *split(const char *path, char *folder)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 0 : (size_t)(slash - path) + 1;

    memcpy(folder, path, length);
    if (length > 1)
        length--; /* "/" alone stays */
    if (length == 0)
        folder[length++] = '.';
    folder[length] = '\0';
    return slash == NULL ? path : slash + 1;
}

static bool is_same(const struct stat *x, const struct stat *y)
{
    return x->st_dev == y->st_dev && x->st_ino == y->st_ino;
}

/* Names of files that are not there yet: equal, or equal in one folder. */
static bool same_name(const char *a, const char *b)
{
    char *folders = malloc(strlen(a) + strlen(b) + 6), *other = folders + strlen(a) + 3;
    struct stat x, y;

    if (folders == NULL)
        return strcmp(a, b) == 0;
    bool same = strcmp(split(a, folders), split(b, other)) == 0 && stat(folders, &x) == 0 && stat(other, &y) == 0 &&
                is_same(&x, &y);
    free(folders);
    return same || strcmp(a, b) == 0;
}

/* Also where one is a link to the other. Devices may be written twice. */
static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    bool there = stat(a, &x) == 0, other = stat(b, &y) == 0;

    if (!there && !other)
        return same_name(a, b);
    return there && other && S_ISREG(x.st_mode) && is_same(&x, &y);
}

static int check_clashes(const char *command, const struct path *paths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = i + 1; k < count; k++) {
            const struct path *a = &paths[i], *b = &paths[k];
            if ((a->kind != CLI_READ || b->kind != CLI_READ) && same_file(a->path, b->path))
                return cli_usage("%s: %s and %s are the same file '%s': give another one", command, a->what, b->what,
                                 a->path);
        }
    }
    return CLI_OK;
}

/* ---- what is written ---- */

static int check_folder(const struct path *p, const char *folder)
{
    struct stat st;

    if (stat(folder, &st) != 0 && errno == ENOENT)
        return cli_bad("%s: cannot be written: the folder '%s' of %s does not exist: make it first", p->path, folder,
                       p->what);
    if (stat(folder, &st) != 0)
        return cli_bad("%s: cannot be written: %s: give %s another path", p->path, strerror(errno), p->what);
    if (!S_ISDIR(st.st_mode))
        return cli_bad("%s: cannot be written: '%s' is not a folder: give %s another path", p->path, folder, p->what);
    if (access(folder, W_OK | X_OK) != 0)
        return cli_bad("%s: cannot be written: the folder '%s': %s: give %s another one", p->path, folder,
                       strerror(errno), p->what);
    return CLI_OK;
}

/* The folder that holds what has this path. */
static int check_holder(const struct path *p)
{
    size_t length = strlen(p->path);
    char *folder = malloc(length + 3), *path = malloc(length + 1);
    int code = CLI_OK;

    if (folder == NULL || path == NULL) {
        code = cli_report(NUC_NO_MEMORY, NULL);
    } else {
        memcpy(path, p->path, length + 1);
        while (p->kind == CLI_FOLDER && length > 1 && path[length - 1] == '/')
            path[--length] = '\0';
        split(path, folder);
        code = check_folder(p, folder);
    }
    free(folder);
    free(path);
    return code;
}

static int check_written(const struct path *p)
{
    struct stat st;
    size_t length = strlen(p->path);

    if (p->kind == CLI_READ)
        return CLI_OK;
    if (strcmp(p->path, "-") == 0)
        return cli_usage("%s -: nothing is written to standard output: give a file's name, or './-'", p->what);
    if (stat(p->path, &st) != 0 && errno != ENOENT)
        return cli_bad("%s: cannot be written: %s: give %s another path", p->path, strerror(errno), p->what);
    if (stat(p->path, &st) != 0 && (p->kind == CLI_FOLDER || p->path[length - 1] != '/'))
        return check_holder(p);
    if (p->kind == CLI_FOLDER)
        return check_folder(p, p->path);
    if (p->path[length - 1] == '/' || S_ISDIR(st.st_mode))
        return cli_bad("%s: cannot be written: it is a folder: give %s the name of a file in it", p->path, p->what);
    if (S_ISREG(st.st_mode) && access(p->path, W_OK) != 0)
        return cli_bad("%s: cannot be written: %s: give %s another path, or make it writable", p->path, strerror(errno),
                       p->what);
    return S_ISREG(st.st_mode) ? check_holder(p) : CLI_OK;
}

/*
 * An output that is called as another kind of file is most often an option taken for another one; what reads tables
 * would take the bytes for text.
 */
static int check_suffix(const struct cli_option *o, const char *path)
{
    static const char *const others[] = {".pt2", ".pt", ".pth", ".tflite", ".pte", ".npz", ".npy", ".json", ".onnx"};
    static const char *const tables[] = {".csv", ".tsv", ".txt"};
    const char *own = strrchr(o->argument, '.'), *given = strrchr(path, '.');
    char text[CLI_MESSAGE];

    if (own == NULL || given == NULL || strcmp(own, given) == 0)
        return CLI_OK;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0] && strcmp(own, ".npz") == 0; i++) {
        if (strcmp(given, tables[i]) == 0)
            return cli_usage("%s %s: arrays are written as %s, which numpy.load() reads: give the file that name",
                             o->name, path, own);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strcmp(given, others[i]) != 0)
            continue;
        snprintf(text, sizeof text, "%s %s: what is written there is a %s file, whatever its name", o->name, path, own);
        cli_warn(NULL, text);
    }
    return CLI_OK;
}

/* ---- all of a command line ---- */

int cli_check_files(const struct cli_args *args)
{
    struct path paths[CLI_MAX_OPTIONS + 1];
    size_t count = 0;

    if (args->command->what != NULL)
        paths[count++] = (struct path){args->command->what, args->positional[0], CLI_READ};
    for (enum cli_file kind = CLI_READ; kind <= CLI_FOLDER; kind++) {
        for (size_t i = 0; i < cli_n_options; i++) {
            const struct cli_option *o = &cli_options[i];
            if (args->given[i] && o->file == kind)
                paths[count++] = (struct path){o->name, args->values[i], kind};
        }
    }
    int code = check_clashes(args->command->name, paths, count);
    for (size_t i = 0; i < count && code == CLI_OK; i++)
        code = check_written(&paths[i]);
    for (size_t i = 0; i < cli_n_options && code == CLI_OK; i++) {
        if (args->given[i] && cli_options[i].file == CLI_WRITTEN)
            code = check_suffix(&cli_options[i], args->values[i]);
    }
    return code;
}
