/*
 * What a file is, by its first bytes or, of a zip archive, by its entries, and what to do with one that a command
 * cannot use. Asked before a file is read as what it should be.
 */
#ifndef NUC_ARCHIVE_FILE_KIND_H
#define NUC_ARCHIVE_FILE_KIND_H

#include "host/context.h"
#include "host/file.h"

enum nuc_file_role {
    NUC_FILE_MODEL,     /* a torch.export archive or a LiteRT model */
    NUC_FILE_ARCHIVE,   /* a torch.export archive */
    NUC_FILE_LITERT,    /* a LiteRT model */
    NUC_FILE_PROGRAM,   /* an ExecuTorch program */
    NUC_FILE_DATA,      /* arrays; folders are not looked at */
    NUC_FILE_DESCRIBED, /* what 'nucleon inspect' describes */
    NUC_FILE_ROLE_COUNT
};

/*
 * Fails with NUC_BAD_INPUT and one sentence (what the file is, what it should be, the remedy) when it is of another
 * kind; with NUC_IO when it cannot be opened, or is neither a regular file nor a folder. A damaged zip archive fails as
 * nuc_zip_open() does. What passes may still be damaged: its reader says so.
 */
void nuc_expect_file(struct nuc_context *cx, const char *path, enum nuc_file_role role);
void nuc_expect_stored(struct nuc_context *cx, struct nuc_stored input, enum nuc_file_role role);

#endif
