/* Expansions of attention. */
#include "compiler/passes/expand.h"
