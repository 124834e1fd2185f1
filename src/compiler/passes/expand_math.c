/* Expansions of elementwise operators. */
#include "compiler/passes/expand.h"
