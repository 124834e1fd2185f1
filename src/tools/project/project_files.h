/* The files of firmware/project and port/, which embed.cmake makes arrays of, by their path in the project. */
#ifndef NUC_TOOLS_PROJECT_PROJECT_FILES_H
#define NUC_TOOLS_PROJECT_PROJECT_FILES_H

#include <stddef.h>

struct nuc_project_file {
    const char *path, *bytes;
    const size_t *size;
};

extern const struct nuc_project_file nuc_project_files[];
extern const size_t nuc_n_project_files;

#endif
