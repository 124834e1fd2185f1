/* Expansions of matrix products. */
#include "compiler/passes/expand.h"
