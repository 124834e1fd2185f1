/*
 * What a process would leave behind if it ended now: temporary files and folders, a program that runs for it. Each is
 * entered before it exists and taken out when it is gone, so that a handler of SIGINT or SIGTERM can clear it away.
 */
#ifndef NUC_HOST_UNFINISHED_H
#define NUC_HOST_UNFINISHED_H

#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>

struct nuc_context;

enum nuc_unfinished_kind {
    NUC_UNFINISHED_NONE, /* the place is free */
    NUC_UNFINISHED_FILE,
    NUC_UNFINISHED_FOLDER, /* with what is in it */
    NUC_UNFINISHED_EMPTY,  /* a folder, if nothing is in it; its `folder` is closed with it */
    NUC_UNFINISHED_PROCESS /* with its process group */
};

#define NUC_MAX_UNFINISHED 32
#define NUC_TEMPORARY_NAME 32
#define NUC_UNFINISHED_NAME 256

struct nuc_unfinished_item {
    atomic_int kind; /* written last when an item is entered, first when it is taken out */
    int folder;      /* the open folder that the name is in */
    pid_t process;
    char name[NUC_UNFINISHED_NAME];
};

struct nuc_unfinished {
    struct nuc_unfinished_item items[NUC_MAX_UNFINISHED];
};

/* A random name that begins with ".nucleon-". */
void nuc_temporary_name(char name[NUC_TEMPORARY_NAME]);

/* Enters a file or folder that is going to be made, or a process. NULL: no place is free. */
struct nuc_unfinished_item *nuc_enter_unfinished(struct nuc_unfinished *all, enum nuc_unfinished_kind kind, int folder,
                                                 const char *name, pid_t process);

/* `item` may be NULL. */
void nuc_take_out_unfinished(struct nuc_unfinished_item *item);

/* Removes files and folders and ends processes. A signal handler may call it. */
void nuc_discard_unfinished(struct nuc_unfinished *all);

/* Removes the folder of that name with all that is in it; symbolic links are not followed. As above. */
void nuc_remove_tree(int folder, const char *name);

#endif
