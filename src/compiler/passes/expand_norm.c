/* Expansions of normalizations. */
#include "compiler/passes/expand.h"
