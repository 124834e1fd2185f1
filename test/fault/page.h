/* What the sweep and the library it puts in front of the C library share: a page in a file that both map. */
#ifndef NUC_FAULT_PAGE_H
#define NUC_FAULT_PAGE_H

#include <stdint.h>

/* Where the file is: the environment variable that holds its path. */
#define FAULT_PAGE "NUCLEON_FAULT_PAGE"

/* A close() of this descriptor says that the program begins: what happens before is the dynamic linker's. */
#define FAULT_BEGIN (-12345)

struct fault_page {
    int32_t owner;        /* process that is counted, the first one that maps the page; those it starts are not */
    uint32_t persistent;  /* the allocations after the failed one fail, too */
    uint64_t at;          /* number of the allocation that fails, from 1; 0: none */
    uint64_t allocations; /* how many there were */
};

#endif
