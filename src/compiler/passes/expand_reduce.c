/* Expansions of reductions, scans and sorting. */
#include "compiler/passes/expand.h"
